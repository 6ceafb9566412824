"""Small VMIs for the tests of defaults and admission."""

import json
from typing import Any

from passway.kubevirt.admission import mutate_and_judge
from passway.kubevirt.admission.cause import Cause
from passway.kubevirt.settings import Settings, settings_of
from passway.model.reasons import REASONS, render
from passway.model.verdict import Issue, Severity, Stage
from passway.preflight.refusals import reason_of

Object = dict[str, Any]


def settings(*gates: str, disabled: tuple[str, ...] = (), **configuration: Any) -> Settings:
    listed = {"featureGates": list(gates), "disabledFeatureGates": list(disabled)}
    return settings_of({"developerConfiguration": listed, **configuration})


def vmi(
    domain: Object | None = None,
    devices: Object | None = None,
    *,
    metadata: Object | None = None,
    **spec: Any,
) -> Object:
    """A VMI with 1Gi; `domain` and `devices` are laid over, None takes a field away.

    It is read from JSON, as in life: then no word in it is the same object as one in the code.
    """
    whole = {"memory": {"guest": "1Gi"}, **(domain or {}), "devices": devices or {}}
    made: Object = json.loads(
        json.dumps(
            {
                "metadata": {"name": "vm", "namespace": "default", **(metadata or {})},
                "spec": {"domain": {k: v for k, v in whole.items() if v is not None}, **spec},
            }
        )
    )
    return made


def causes(given: Object, on: Settings | None = None) -> tuple[Cause, ...]:
    """The causes; each is told once, so that a reason without its params shows itself."""
    found = mutate_and_judge(given, on or settings()).causes
    for cause in found:
        assert reason_of(cause) in REASONS, cause
        for site in cause.sites:
            issue = Issue(reason_of(cause), Stage.ADMISSION, Severity.ERROR, None, site.path,
                          dict(site.params))  # fmt: skip
            told = render(issue)
            assert "{" not in told.message + told.remedy
    return found


def rules(given: Object, on: Settings | None = None) -> list[str]:
    """The rules that a VMI breaks, each once."""
    return list(dict.fromkeys(cause.rule for cause in causes(given, on)))


def places(given: Object, on: Settings | None = None) -> dict[str, tuple[str, str]]:
    """rule -> (KubeVirt's field, the place)."""
    return {cause.rule: (cause.field, cause.sites[0].path) for cause in causes(given, on)}
