"""What a tenant may read of a verdict: nothing that names objects of foreign namespaces.

Pure, on typed parameters, before the one renderer makes words of them: holders and references of
other namespaces are taken out, an owner is simply absent, and where a sentence needs them a
neutral word stands in. What the tenant wrote into the own manifest stays. Nodes, resources and
amounts are the cluster's and stay; outcomes never change.
"""

from collections.abc import Mapping
from dataclasses import replace
from string import Formatter
from typing import Final

from passway.model.reasons import REASONS
from passway.model.verdict import Holding, Issue, Param, Ref, StageResult, Verdict

SOMEONE: Final = "a pod of another namespace"
NEAR: Final = "near"
NAMESPACES: Final = "NamespaceMissing"


def redact(verdict: Verdict, namespaces: frozenset[str]) -> Verdict:
    """The verdict for somebody who may see only these namespaces."""
    stages = tuple(
        StageResult(
            stage.stage,
            stage.outcome,
            tuple(redact_issue(issue, namespaces) for issue in stage.issues),
        )
        for stage in verdict.stages
    )
    return replace(verdict, stages=stages)


def redact_issue(issue: Issue, namespaces: frozenset[str]) -> Issue:
    """The issue without foreign objects; its message still reads as a sentence."""
    if issue.reason == NAMESPACES:
        return _keep(issue, {name: v for name, v in issue.params.items() if name != NEAR} | {
            NEAR: _own_names(issue.params.get(NEAR, ()), namespaces)
        })  # fmt: skip
    needed = _needed(issue.reason)
    kept: dict[str, Param] = {}
    beyond = False
    for name, value in issue.params.items():
        if isinstance(value, tuple):
            kept[name] = _listed(value, namespaces, needed=name in needed)
        elif not _foreign(value, namespaces):
            kept[name] = value
        else:
            beyond = True
            if name in needed:  # the VM's own manifest names it
                kept[name] = value
    if beyond and NEAR in kept:
        kept[NEAR] = ()  # would list what else is in that namespace
    return _keep(issue, kept)


def _keep(issue: Issue, params: Mapping[str, Param]) -> Issue:
    return issue if params == issue.params else replace(issue, params=params)


def _own_names(value: Param, namespaces: frozenset[str]) -> Param:
    return tuple(v for v in value if v in namespaces) if isinstance(value, tuple) else ()


def _listed(value: tuple[Param, ...], namespaces: frozenset[str], *, needed: bool) -> Param:
    kept = tuple(item for item in value if not _foreign(item, namespaces))
    return (*kept, SOMEONE) if needed and len(kept) < len(value) else kept


def _foreign(value: Param, namespaces: frozenset[str]) -> bool:
    """An object of a namespace that is not among these; objects without one are the cluster's."""
    found = value.holder if isinstance(value, Holding) else value
    return isinstance(found, Ref) and bool(found.namespace) and found.namespace not in namespaces


def _needed(reason: str) -> frozenset[str]:
    """The params without which the message or the remedy has a hole."""
    texts = (REASONS[reason].message, REASONS[reason].remedy)
    return frozenset(
        name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None
    )
