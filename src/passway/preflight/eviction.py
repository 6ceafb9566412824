"""Preemption: who would have to go, so that the launcher fits.

Follows kube-scheduler's dry run: on a node that refuses only what pods hold or ask for, every pod
of lower priority is taken away in mind, then put back one by one, the important ones first; who
cannot be put back is a victim. The scheduler does this by itself, after it found no room. Which
node it takes also hangs on start times and disruption budgets, which it only prefers to keep.
Source: plugins/defaultpreemption and framework/preemption, v1.36.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from passway.cluster.fold import FoldedPod, NodeInfo
from passway.cluster.snapshot import Snapshot
from passway.model.verdict import Issue, Severity, Stage
from passway.preflight.placement import Placement, Scene, changed
from passway.preflight.stage import Question
from passway.preflight.supply import holder_of
from passway.scheduler.filters import fails
from passway.scheduler.topology import OTHERS_ANTI_AFFINITY, POD_ANTI_AFFINITY, SPREAD

STAGE: Final = Stage.SCHEDULING
NODES_TOLD: Final = 10
_BY_PODS: Final = frozenset({POD_ANTI_AFFINITY, OTHERS_ANTI_AFFINITY, SPREAD})


@dataclass(frozen=True, slots=True)
class Eviction:
    """The pods that would be evicted from a node, the most important first."""

    node: str
    victims: tuple[FoldedPod, ...]

    @property
    def cost(self) -> tuple[int, int, int, str]:
        """What the scheduler likes least first: important victims, then many."""
        priorities = [pod.priority for pod in self.victims]
        return max(priorities), sum(priorities), len(priorities), self.node


def judge(question: Question, placement: Placement) -> Iterator[Issue]:
    """What evicting would bring, where no node takes the launcher as things are."""
    scene = placement.scene
    if scene is None or scene.priority.value is None or not scene.priority.preempts:
        return
    found = sorted(evictions(question.snapshot, scene, placement), key=lambda item: item.cost)
    if found:
        best = found[0]
        yield question.issue(
            STAGE,
            Severity.WARNING,
            "FitsByEviction",
            question.spec.vmi_field("priorityClassName"),
            tuple(sorted(item.node for item in found)),
            priority=scene.priority.value,
            node=best.node,
            victims=tuple(sorted({holder_of(pod) for pod in best.victims})),
        )


def evictions(snapshot: Snapshot, scene: Scene, placement: Placement) -> Iterator[Eviction]:
    """At most NODES_TOLD nodes on which evicting would make room."""
    able = _BY_PODS.union(scene.demand.requests)
    told = 0
    for result in placement.nodes:
        if told < NODES_TOLD and result.fails and able.issuperset(result.fails):
            victims = _victims(snapshot, scene, snapshot.nodes[result.name])
            if victims:
                told += 1
                yield Eviction(result.name, victims)


def _victims(snapshot: Snapshot, scene: Scene, node: NodeInfo) -> tuple[FoldedPod, ...]:
    own = scene.priority.value or 0
    lower = [pod for pod in snapshot.pods_on(node.name) if pod.priority < own]
    lower.sort(key=lambda pod: (-pod.priority, pod.key))
    if not lower or not _fits(snapshot, scene, node, tuple(lower)):
        return ()
    gone = tuple(lower)
    for pod in lower:
        rest = tuple([other for other in gone if other is not pod])
        if _fits(snapshot, scene, node, rest):
            gone = rest
    return gone


def _fits(snapshot: Snapshot, scene: Scene, node: NodeInfo, gone: tuple[FoldedPod, ...]) -> bool:
    """The launcher would fit without these pods, with and without those nominated to the node."""
    held = snapshot.free_on(node.name)
    expected = scene.neighbours.nominated.get(node.name, ())
    for added in dict.fromkeys(((), expected)):
        demand, free = changed(scene, node, held, added, gone)
        if fails(demand, node, free):
            return False
    return True
