"""Stage 6: would the scheduler find a node, now, for all of the VM's needs together?

Tells the one thing that is in the way: a need that no node meets, too few places for the
replicas, a taint or cordon on otherwise suitable nodes, other pods, or that no single node has
everything; and beside it, who would be evicted to make room.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds
from passway.model.verdict import Issue, NodeResult, Severity, Stage
from passway.preflight import eviction, obstacles, shortage, volumes
from passway.preflight.networks import functions
from passway.preflight.placement import Placement
from passway.preflight.stage import Question
from passway.scheduler.filters import VOLUMES

STAGE: Final = Stage.SCHEDULING
_NEEDED: Final = {
    kinds.NAMESPACES: "which pods the rules of pod affinity are about",
    kinds.PRIORITY_CLASSES: "which pods the VM has to make room for",
}


def judge(question: Question, placement: Placement) -> Iterator[Issue]:
    """The issues of this stage."""
    yield from question.unread(STAGE, kinds.NODES, "the nodes")
    if not question.snapshot.read(kinds.NODES).known:
        return
    yield from _undecided(question, placement)
    yield from volumes.judge(question)
    if placement.scene is not None and placement.scene.priority.missing:
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "PriorityClassMissing",
            question.spec.vmi_field("priorityClassName"),
            name=question.pod.priority_class or "",
        )
    if placement.places >= question.replicas:
        yield from _fits(question)
    elif placement.feasible:
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "NotEnoughPlaces",
            nodes=tuple(node.name for node in placement.feasible),
            wanted=question.replicas,
            places=placement.places,
            limits=tuple(sorted(placement.limits)),
        )
    else:
        yield from _refused(question, placement)
        yield from eviction.judge(question, placement)


def _undecided(question: Question, placement: Placement) -> Iterator[Issue]:
    """What was not read and decides whether there are enough places."""
    for kind in placement.unsure:
        yield from question.unread(STAGE, kind, _NEEDED[kind])


def _fits(question: Question) -> Iterator[Issue]:
    yield from question.unread(STAGE, kinds.PODS, "the units in use")
    if question.spec.cpu.numa_passthrough:
        path = question.spec.vmi_field("domain.cpu.numa.guestMappingPassthrough")
        yield question.issue(STAGE, Severity.WARNING, "NumaNotVisible", path)


def _refused(question: Question, placement: Placement) -> Iterator[Issue]:
    unmet = shortage.unmet(question, placement.nodes)
    for resource in unmet:
        yield from shortage.explain(question, resource)
    pools = functions(question.spec, question.snapshot)
    if any(resource not in pools for resource in unmet):
        return
    # What keeps the VM away from every node is told by itself: here the rest is judged without it,
    # be it an empty pool, which is told by the networks stage, or a claim.
    scene = placement.scene
    told = set(unmet)
    if scene is not None and scene.demand.volumes.refused:
        told.add(VOLUMES)
    nodes = [
        NodeResult(node.name, node.meets, tuple(fail for fail in node.fails if fail not in told))
        for node in placement.nodes
    ]
    if scene is not None and all(node.fails for node in nodes) and (nodes or not told):
        yield from obstacles.judge(question, scene, tuple(nodes))
