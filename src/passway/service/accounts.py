"""The documents of `explain` and `what_if`, made of values of the core; as pure as `report`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Literal, assert_never

from passway.cluster.snapshot import Read, Snapshot
from passway.model.verdict import Issue, Verdict
from passway.plan.what_if import AddNode, After, Allow, Drain, Fact, Stop, Supposed
from passway.preflight.explain import Explanation
from passway.preflight.moves import Moves
from passway.preflight.said import Words
from passway.service import documents as d
from passway.service import report


def explanation(
    found: Explanation, unread: Mapping[str, Read], snapshot: Snapshot
) -> d.ExplanationDocument:
    standing = found.standing
    return d.ExplanationDocument(
        machine=report.machine_ref(found.verdict.subject),
        state=standing.state.value,
        status=found.status,
        phase=found.phase,
        node=found.node,
        stage=standing.stage.value if standing.stage else None,
        said=tuple(map(_words, standing.words)),
        agreement=found.agreement.value,
        issues=_placeless(found.issues),
        also=_placeless(found.also),
        stages=report.stages(found.stages),
        verdict=report.verdict(without_places(found.verdict), snapshot),
        unread={plural: read.value for plural, read in sorted(unread.items())},
    )


def _placeless(found: Iterable[Issue]) -> tuple[d.IssueDocument, ...]:
    return report.issues(replace(item, position=None) for item in found)


def without_places(found: Verdict) -> Verdict:
    """Nobody wrote the text that a stored object was read from: its lines say nothing."""
    stages = tuple(
        replace(stage, issues=tuple(replace(item, position=None) for item in stage.issues))
        for stage in found.stages
    )
    return replace(found, stages=stages)


def _words(said: Words) -> d.WordsDocument:
    return d.WordsDocument(
        component=said.component,
        about=report.machine_ref(said.about),
        reason=said.reason,
        message=said.message,
        time=said.time or None,
        count=said.times,
    )


def what_if(
    after: After, asked: Iterable[tuple[Verdict, Verdict]], found: Moves, snapshot: Snapshot
) -> d.WhatIfDocument:
    """`snapshot` is the cluster as it is."""
    return d.WhatIfDocument(
        changes=tuple(map(_supposition, after.supposed)),
        asked=tuple(_comparison(*pair, snapshot, after.snapshot) for pair in asked),
        moved=tuple(
            d.MoveDocument(
                machine=report.machine_ref(item.verdict.subject),
                node=item.node,
                verdict=report.verdict(without_places(item.verdict), after.snapshot),
            )
            for item in found.items
        ),
        together=found.together.value if found.items else None,
    )


def _supposition(found: Supposed) -> d.SuppositionDocument:
    change, target = _fact(found.fact)
    return d.SuppositionDocument(
        change=change,
        target=target,
        changed=found.changed,
        impacts=tuple(map(report.impact, found.impacts)),
        other_pods=found.others,
    )


def _fact(fact: Fact) -> tuple[Literal["drain", "stop", "permit", "add-node"], str]:
    match fact:
        case Drain(node):
            return "drain", node
        case Stop(key):
            return "stop", "/".join(key)
        case Allow(permit):
            return "permit", permit.resource_name
        case AddNode(node):
            return "add-node", node.metadata.name
        case _:
            assert_never(fact)


def _comparison(
    before: Verdict, after: Verdict, now: Snapshot, then: Snapshot
) -> d.ComparisonDocument:
    had = {_told(item) for item in before.issues}
    has = {_told(item) for item in after.issues}
    return d.ComparisonDocument(
        machine=report.machine_ref(after.subject),
        before=report.verdict(before, now),
        after=report.verdict(after, then),
        resolved=report.issues(item for item in before.issues if _told(item) not in has),
        added=report.issues(item for item in after.issues if _told(item) not in had),
    )


def _told(found: Issue) -> tuple[str, str]:
    """What makes two findings the same, whatever the numbers in them are."""
    return (found.reason, found.path)
