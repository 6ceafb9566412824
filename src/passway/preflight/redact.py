"""What a tenant may read of a verdict: nothing that names objects of foreign namespaces.

Pure, on typed parameters, before the one renderer makes words of them: holders, references and
namespaces of others are taken out, an owner is simply absent, and where a sentence needs them a
neutral word stands in. How many devices are free is a word: some, or none. What the tenant wrote
into the own manifest stays. Nodes and resources are the cluster's and stay; outcomes never change.
"""

from dataclasses import replace
from string import Formatter
from typing import Final, assert_never

from passway.model.quantity import Quantity
from passway.model.reasons import REASONS
from passway.model.verdict import (
    Free,
    Holding,
    Issue,
    Level,
    Param,
    Part,
    Ref,
    Shortage,
    Some,
    StageResult,
    Unlisted,
    Verdict,
)

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
    needed = _needed(issue.reason)
    kept: dict[str, Param] = {}
    elsewhere = False
    for name, value in issue.params.items():
        shown = _shown(value, namespaces)
        if shown is None:  # a reference of its own
            elsewhere = True
            if name in needed:  # the VM's own manifest names it
                kept[name] = value
        elif _fewer(shown, value) and name in needed:
            kept[name] = (*_items(shown), SOMEONE)
        else:
            kept[name] = shown
    if elsewhere and NEAR in kept:
        kept[NEAR] = ()  # would list what else is in that namespace
    if issue.reason == NAMESPACES:
        kept[NEAR] = tuple(v for v in _items(issue.params.get(NEAR, ())) if v in namespaces)
    return issue if kept == issue.params else replace(issue, params=kept)


def _shown(value: Param, namespaces: frozenset[str]) -> "Param | None":
    """The value without foreign objects; None where nothing is left of it."""
    match value:
        case Holding():
            return value if _own(value.holder, namespaces) else None
        case Ref():
            return value if _own(value, namespaces) else None
        case Some():
            kept = _kept(value.items, namespaces)
            # The total would count others' objects, and what was cut off may be theirs.
            objects = any(isinstance(item, Holding | Ref) for item in value.items)
            return Some(kept, len(kept) if objects else value.total)
        case tuple():
            return _kept(value, namespaces)
        case Free():
            return Level(value.node, value.free.nanos > 0)
        case Unlisted():
            return replace(value, within=tuple(n for n in value.within if n in namespaces))
        case str() | int() | Quantity() | Level() | Shortage() | Part():
            return value
        case _:
            assert_never(value)


def _kept(items: tuple[Param, ...], namespaces: frozenset[str]) -> tuple[Param, ...]:
    shown = (_shown(item, namespaces) for item in items)
    return tuple(item for item in shown if item is not None)


def _fewer(shown: Param, value: Param) -> bool:
    """Something was taken out of a list."""
    if isinstance(shown, Some) and isinstance(value, Some) and shown.total < value.total:
        return True
    return len(_items(shown)) < len(_items(value))


def _items(value: Param) -> tuple[Param, ...]:
    if isinstance(value, Some):
        return value.items
    return value if isinstance(value, tuple) else (value,)


def _own(found: Ref, namespaces: frozenset[str]) -> bool:
    """An object of these namespaces, or one of the cluster, which has none."""
    return not found.namespace or found.namespace in namespaces


def _needed(reason: str) -> frozenset[str]:
    """The params without which the message or the remedy has a hole."""
    texts = (REASONS[reason].message, REASONS[reason].remedy)
    return frozenset(
        name for text in texts for _, name, _, _ in Formatter().parse(text) if name is not None
    )
