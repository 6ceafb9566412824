"""Where the launchers could go: every criterion of every node that matters.

Walks the nodes that advertise the rarest resource asked for (all nodes where none is asked for)
and keeps for each which criteria hold; the rest is one folded group that lacks that resource.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat

from passway.cluster.amounts import HUGEPAGES
from passway.cluster.labels import matches_selector
from passway.cluster.records import PodAffinityTerm
from passway.cluster.snapshot import NO_USAGE, Snapshot
from passway.model.verdict import NodeGroup, NodeResult
from passway.preflight.stage import Question
from passway.preflight.volumes import bound_to
from passway.scheduler.filters import Demand, fails, places

HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True, slots=True)
class Placement:
    """Nodes walked, the folded rest, copies in all, and what ends them (criterion -> nodes)."""

    nodes: tuple[NodeResult, ...] = ()
    groups: tuple[NodeGroup, ...] = ()
    places: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def feasible(self) -> tuple[NodeResult, ...]:
        return tuple([node for node in self.nodes if not node.fails])


def place(question: Question, *, expand: bool = False) -> Placement:
    """Judges the nodes. `expand` walks every node instead of folding those without the resource."""
    demand, snapshot = demand_of(question), question.snapshot
    anchor = None if expand else _rarest(snapshot, demand.requests)
    if anchor is None:
        return walk(snapshot, demand, sorted(snapshot.nodes))
    names = sorted(snapshot.advertisers.get(anchor, ()))
    walked = walk(snapshot, demand, names)
    rest = len(snapshot.nodes) - len(names)
    groups = (NodeGroup(rest, (anchor,)),) if rest else ()
    return Placement(walked.nodes, groups, walked.places, walked.limits)


def demand_of(question: Question) -> Demand:
    """The launcher's needs as the filters read them."""
    pod = question.pod
    return Demand(
        requests=pod.requests,
        labels=pod.node_labels,
        node_selector=pod.node_selector,
        node_affinity=pod.node_affinity,
        tolerations=pod.tolerations,
        volumes=bound_to(question),
        exclusive=keeps_itself_away(question),
        avoided=pod.avoided_labels,
    )


def walk(snapshot: Snapshot, demand: Demand, names: list[str]) -> Placement:
    """The criteria of the named nodes."""
    criteria = demand.criteria()
    nodes = [snapshot.nodes[name] for name in names]
    free = [held.free for held in map(snapshot.usage.get, names, repeat(NO_USAGE))]
    results: list[NodeResult] = []
    limits: dict[str, int] = {}
    total = 0
    for name, (count, limit) in zip(names, places(demand, nodes, free), strict=True):
        if count:
            total += count
            limits[limit] = limits.get(limit, 0) + 1
            results.append(NodeResult(name, criteria, (), count))
        else:
            failed = tuple(fails(demand, snapshot.nodes[name], snapshot.free_on(name)))
            met = tuple([criterion for criterion in criteria if criterion not in failed])
            results.append(NodeResult(name, met, failed))
    return Placement(tuple(results), (), total, limits)


def own_anti_affinity(question: Question) -> tuple[PodAffinityTerm, ...]:
    """The VM's required pod anti-affinity."""
    anti = question.pod.affinity.pod_anti_affinity
    return (anti.required or ()) if anti else ()


def keeps_itself_away(question: Question) -> bool:
    """Its anti-affinity holds copies of itself apart by node."""
    return any(
        term.topology_key == HOSTNAME
        and term.label_selector is not None
        and not term.namespaces
        and matches_selector(term.label_selector, question.pod.labels)
        for term in own_anti_affinity(question)
    )


def _rarest(snapshot: Snapshot, requests: Mapping[str, int]) -> str | None:
    """The device or hugepage resource that the fewest nodes advertise, be it none."""
    indexed = [name for name in requests if "/" in name or name.startswith(HUGEPAGES)]
    return min(
        indexed, key=lambda name: (len(snapshot.advertisers.get(name, ())), name), default=None
    )
