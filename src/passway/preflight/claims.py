"""Stage 5: resource claims (DRA). Not judged yet, and said so: unknown, never a guess."""

from collections.abc import Iterator
from typing import Final

from passway.model.verdict import Issue, Severity, Stage
from passway.preflight.stage import Question

STAGE: Final = Stage.CLAIMS


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    spec = question.spec
    claims = [device.claim_name for device in spec.claim_devices]
    claims += [interface.claim[0] for interface in spec.interfaces if interface.claim]
    if claims:
        yield question.issue(
            STAGE,
            Severity.UNKNOWN,
            "ClaimsNotJudged",
            spec.vmi_field("resourceClaims"),
            count=len(claims),
            claims=tuple(sorted(set(claims))),
        )
