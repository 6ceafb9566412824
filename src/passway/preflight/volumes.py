"""The VM's claims: what keeps it away from every node, and which nodes have no place for one.

Owns what is told about claims; how they stand is `volume_claims`'. A claim that keeps the launcher
away from every node is told by `judge`, nodes that one cannot be used on by `elsewhere`.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds
from passway.model.quantity import Quantity
from passway.model.verdict import Issue, Ref, Severity, Stage
from passway.preflight import supply
from passway.preflight.stage import Question
from passway.preflight.volume_claims import (
    SELECTED_NODE,
    Claimed,
    annotation,
    bound_of,
    claimed,
    class_name,
    size,
    users,
    volumes_of,
)

STAGE: Final = Stage.SCHEDULING


def judge(question: Question) -> Iterator[Issue]:
    """Claims that keep the launcher away from every node, or of which too little is known."""
    items = claimed(question)
    if not items:
        return
    yield from question.unread(STAGE, kinds.VOLUME_CLAIMS, "the volumes' claims")
    yield from question.unread(STAGE, kinds.VOLUMES, "the topology of the volumes")
    standings = {item.standing for item in items}
    if "class unread" in standings:
        yield from question.unread(STAGE, kinds.STORAGE_CLASSES, "how the volumes are made")
    if "waiting" in standings:
        yield from question.unread(STAGE, kinds.CSI_DRIVERS, "the storage that is left")
        yield from question.unread(STAGE, kinds.STORAGE_CAPACITIES, "the storage that is left")
    for item in items:
        yield from _judge(question, item)


def _judge(question: Question, item: Claimed) -> Iterator[Issue]:
    path, claim = item.volume.path, _ref(question, item)
    match item.standing:
        case "later":
            yield question.issue(STAGE, Severity.UNKNOWN, "VolumeNotPlaced", path, claim=claim)
        case "missing":
            yield question.issue(STAGE, Severity.ERROR, "VolumeMissing", path, claim=claim)
        case "deleting":
            yield question.issue(STAGE, Severity.ERROR, "VolumeClaimDeleted", path, claim=claim)
        case "lost":
            volume = item.spec.volume_name or ""
            yield question.issue(
                STAGE, Severity.ERROR, "VolumeLost", path, claim=claim, volume=volume
            )
        case "unbound":
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "VolumeNotBound",
                path,
                claim=claim,
                storage_class=class_name(item),
            )
        case _:
            holders = tuple(sorted({supply.holder_of(pod) for pod in users(question, item)}))
            if holders:
                yield question.issue(
                    STAGE, Severity.ERROR, "VolumeInUse", path, claim=claim, holders=holders
                )


def elsewhere(question: Question, nodes: tuple[str, ...]) -> Iterator[Issue]:
    """The volumes that keep the VM away from nodes that have all else, each with its nodes."""
    known, volumes = question.snapshot.nodes, volumes_of(question)
    away = {name: volumes.away(known[name]) for name in nodes}
    for item in claimed(question):
        there = tuple(name for name in nodes if item.name in away[name])
        if there:
            yield _elsewhere(question, item, there)


def _elsewhere(question: Question, item: Claimed, nodes: tuple[str, ...]) -> Issue:
    free = supply.devices_on(question.snapshot, question.pod.requests, nodes)
    ref = _ref(question, item)
    if item.standing != "bound":
        return question.issue(
            STAGE,
            Severity.ERROR,
            "VolumeNotAvailable",
            item.volume.path,
            nodes,
            claim=ref,
            storage_class=class_name(item),
            size=Quantity(size(item), "BinarySI"),
            selected_node=annotation(item, SELECTED_NODE),
            free=free,
        )
    where, keys = _place(question, item)
    known = question.snapshot.nodes
    told = {
        f"{key}={known[name].labels[key]}"
        for name in nodes
        for key in keys
        if key in known[name].labels
    }
    return question.issue(
        STAGE,
        Severity.ERROR,
        "VolumeBoundElsewhere",
        item.volume.path,
        nodes,
        claim=ref,
        where=where,
        there=tuple(sorted(told)),
        free=free,
    )


def _place(question: Question, item: Claimed) -> tuple[str, tuple[str, ...]]:
    """Where a bound volume can be used, in words, and the labels that say so."""
    bound = bound_of(question, item)
    zones = [f"{key} in [{', '.join(sorted(values))}]" for key, values in bound.zones]
    keys = [key for key, _ in bound.zones]
    if bound.affinity is not None:
        return " and ".join([bound.affinity.text(), *zones]), (*bound.affinity.labels(), *keys)
    return " and ".join(zones), tuple(keys)


def _ref(question: Question, item: Claimed) -> Ref:
    return Ref("PersistentVolumeClaim", item.name, question.spec.namespace)
