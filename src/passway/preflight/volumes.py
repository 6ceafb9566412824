"""Where the VM's volumes let it go, as far as that is decided already.

A claim that is bound to a volume with a node affinity is a criterion of the node. One that does
not exist, is not bound yet, or was not read is said so: where it will be is not known. Source:
kube-scheduler's VolumeBinding filter, v1.34.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.records import NodeSelector
from passway.manifest.spec import Volume
from passway.model.verdict import Issue, Ref, Severity, Stage
from passway.preflight import supply
from passway.preflight.stage import Question
from passway.scheduler.selectors import matches_node

STAGE: Final = Stage.SCHEDULING


def bound_to(question: Question) -> tuple[NodeSelector, ...]:
    """The node affinities of the volumes that the VM's claims are bound to."""
    return tuple(selector for _, selector in _bound(question))


def _bound(question: Question) -> Iterator[tuple[Volume, NodeSelector]]:
    for volume in claimed(question):
        found = _volume(question, volume)
        affinity = found.spec.node_affinity if found and found.spec else None
        if affinity is not None and affinity.required is not None:
            yield volume, affinity.required


def claimed(question: Question) -> tuple[Volume, ...]:
    """The VM's volumes that stand on a PersistentVolumeClaim."""
    return tuple(volume for volume in question.spec.volumes if volume.claim_name)


def elsewhere(question: Question, nodes: tuple[str, ...]) -> Iterator[Issue]:
    """The volumes that keep the VM away from nodes that have all else, each with its nodes."""
    known = question.snapshot.nodes
    for volume, selector in _bound(question):
        away = tuple(name for name in nodes if not matches_node(selector, name, known[name].labels))
        if not away:
            continue
        there = {
            f"{key}={known[name].labels[key]}"
            for name in away
            for key in selector.labels()
            if key in known[name].labels
        }
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "VolumeBoundElsewhere",
            volume.path,
            away,
            claim=_ref(question, volume),
            where=selector.text(),
            there=tuple(sorted(there)),
            free=supply.devices_on(question.snapshot, question.pod.requests, away),
        )


def judge(question: Question) -> Iterator[Issue]:
    """Volumes that are missing or not placed yet."""
    volumes = claimed(question)
    if not volumes:
        return
    yield from question.unread(STAGE, kinds.VOLUME_CLAIMS, "the volumes' claims")
    yield from question.unread(STAGE, kinds.VOLUMES, "the topology of the volumes")
    if not question.read(kinds.VOLUME_CLAIMS).known:
        return
    for volume in volumes:
        yield from _judge(question, volume)


def _judge(question: Question, volume: Volume) -> Iterator[Issue]:
    claim = _claim(question, volume)
    ref = _ref(question, volume)
    if (
        claim is None
        and volume.source == "persistentVolumeClaim"
        and not _made_later(question, volume)
    ):
        yield question.issue(STAGE, Severity.ERROR, "VolumeMissing", volume.path, claim=ref)
    elif _volume(question, volume) is None and question.snapshot.read(kinds.VOLUMES).known:
        yield question.issue(
            STAGE,
            Severity.UNKNOWN,
            "VolumeNotPlaced",
            volume.path,
            claim=ref,
            exists=int(claim is not None),
        )


def _ref(question: Question, volume: Volume) -> Ref:
    return Ref("PersistentVolumeClaim", volume.claim_name or "", question.spec.namespace)


def _claim(question: Question, volume: Volume) -> records.PersistentVolumeClaim | None:
    claims = question.snapshot.all(kinds.VOLUME_CLAIMS, records.PersistentVolumeClaim)
    return claims.get((question.spec.namespace, volume.claim_name or ""))


def _volume(question: Question, volume: Volume) -> records.PersistentVolume | None:
    claim = _claim(question, volume)
    name = claim.spec.volume_name if claim and claim.spec else None
    volumes = question.snapshot.all(kinds.VOLUMES, records.PersistentVolume)
    return volumes.get(("", name)) if name else None


def _made_later(question: Question, volume: Volume) -> bool:
    """The VM brings a DataVolume template of that name."""
    document, index = question.spec.document, 0
    while (made := document.find(f"spec.dataVolumeTemplates[{index}]")) is not None:
        name = made.find("metadata.name")
        if name is not None and name.plain() == volume.claim_name:
            return True
        index += 1
    return False
