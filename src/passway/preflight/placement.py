"""Where the launchers could go: every criterion of every node that matters.

Walks the nodes that advertise the rarest resource asked for (all nodes where none is asked for)
and keeps for each which criteria hold; the rest is one folded group that lacks that resource. Pods
with a nominated node and no lower priority count as if they were there, and as if they were not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import repeat

from passway.cluster import kinds
from passway.cluster.amounts import HUGEPAGES
from passway.cluster.fold import FoldedPod, NodeInfo
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import NO_USAGE, Snapshot
from passway.model.verdict import NodeGroup, NodeResult
from passway.preflight.neighbours import Neighbours, Priority, priority, survey
from passway.preflight.stage import Question
from passway.preflight.volume_claims import volumes_of
from passway.scheduler.copies import fit_together
from passway.scheduler.filters import Demand, alone, fails, places


@dataclass(frozen=True, slots=True)
class Scene:
    """What nodes are judged by: the launcher's needs, and what other pods make of them."""

    demand: Demand
    neighbours: Neighbours
    priority: Priority


@dataclass(frozen=True, slots=True)
class Placement:
    """Nodes walked, the folded rest, copies in all, and what ends them (criterion -> nodes).

    `unsure` are the kinds that were not read and decide; the answer is then the better one.
    """

    nodes: tuple[NodeResult, ...] = ()
    groups: tuple[NodeGroup, ...] = ()
    places: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    unsure: tuple[Kind, ...] = ()
    scene: Scene | None = field(default=None, compare=False, repr=False)

    @property
    def feasible(self) -> tuple[NodeResult, ...]:
        return tuple([node for node in self.nodes if not node.fails])


def place(question: Question, *, expand: bool = False) -> Placement:
    """Judges the nodes. `expand` walks every node instead of folding those without the resource."""
    demand, own = demand_of(question), priority(question)
    scene = _scene(question, demand, own, assumed=True)
    found = _placed(question.snapshot, scene, expand=expand)
    unread = tuple(
        kind
        for kind in (kinds.NAMESPACES, kinds.PRIORITY_CLASSES)
        if not question.snapshot.read(kind).known
    )
    if not unread:
        return found
    other = _placed(question.snapshot, _scene(question, demand, own, assumed=False), expand=expand)
    best = max(found, other, key=lambda item: item.places)
    same = (found.nodes, found.places) == (other.nodes, other.places)
    return best if same else replace(best, unsure=unread)


def demand_of(question: Question) -> Demand:
    """The launcher's needs as the filters read them, without what other pods make of them."""
    pod = question.pod
    return Demand(
        requests=pod.requests,
        labels=pod.node_labels,
        node_selector=pod.node_selector,
        node_affinity=pod.node_affinity,
        tolerations=pod.tolerations,
        volumes=volumes_of(question),
        avoided=pod.avoided_labels,
    )


def _scene(question: Question, demand: Demand, own: Priority, *, assumed: bool) -> Scene:
    neighbours = survey(question, demand, own, assumed=assumed)
    return Scene(replace(demand, rules=neighbours.counts.rules()), neighbours, own)


def _placed(snapshot: Snapshot, scene: Scene, *, expand: bool) -> Placement:
    anchor = None if expand else _rarest(snapshot, scene.demand.requests)
    if anchor is None:
        return walk(snapshot, scene, sorted(snapshot.nodes))
    names = sorted(snapshot.advertisers.get(anchor, ()))
    walked = walk(snapshot, scene, names)
    rest = len(snapshot.nodes) - len(names)
    groups = (NodeGroup(rest, (anchor,)),) if rest else ()
    return replace(walked, groups=groups)


def walk(snapshot: Snapshot, scene: Scene, names: list[str]) -> Placement:
    """The criteria of the named nodes."""
    demand, nominated = scene.demand, scene.neighbours.nominated
    criteria = demand.criteria()
    nodes = [snapshot.nodes[name] for name in names]
    free = [held.free for held in map(snapshot.usage.get, names, repeat(NO_USAGE))]
    results: list[NodeResult] = []
    limits: dict[str, int] = {}
    able: list[tuple[NodeInfo, int]] = []
    for node, found in zip(nodes, places(_in_the_end(demand), nodes, free), strict=True):
        now = found
        if demand.rules and not all(rule.admits(node.labels) for rule in demand.rules):
            now = (0, "")
        if nominated and node.name in nominated:
            now = found = _with_nominated(snapshot, scene, node, now)
        if found[0] and demand.rules:
            able.append((node, found[0]))
        if now[0]:
            count, limit = alone(demand, node, now) if demand.rules else now
            limits[limit] = limits.get(limit, 0) + 1
            results.append(NodeResult(node.name, criteria, (), count))
        else:
            failed = failing(snapshot, scene, node)
            met = tuple([criterion for criterion in criteria if criterion not in failed])
            results.append(NodeResult(node.name, met, failed))
    total = sum(item.places for item in results)
    if demand.rules and total:
        together = fit_together(scene.neighbours.counts, able)
        total = together.places
        limits.update(dict.fromkeys(together.ended_by, len(able)))
    return Placement(tuple(results), (), total, limits, scene=scene)


def _in_the_end(demand: Demand) -> Demand:
    """The needs without what copies on other nodes may change."""
    if not any(rule.may_yield for rule in demand.rules):
        return demand
    rules = [
        replace(rule, blocked=frozenset()) if rule.may_yield else rule for rule in demand.rules
    ]
    return replace(demand, rules=tuple(rules))


def failing(snapshot: Snapshot, scene: Scene, node: NodeInfo) -> tuple[str, ...]:
    """The criteria that a node fails, with or without the pods that are nominated to it."""
    found = fails(scene.demand, node, snapshot.free_on(node.name))
    pods = scene.neighbours.nominated.get(node.name, ())
    if pods:
        demand, free = changed(scene, node, snapshot.free_on(node.name), pods)
        found += fails(demand, node, free)
    return tuple(dict.fromkeys(found))


def changed(
    scene: Scene,
    node: NodeInfo,
    free: Mapping[str, int],
    added: tuple[FoldedPod, ...] = (),
    gone: tuple[FoldedPod, ...] = (),
) -> tuple[Demand, dict[str, int]]:
    """The needs and what is free, if some pods were on the node as well and others were not."""
    counts, left = scene.neighbours.counts.copy(), dict(free)
    for pods, times in ((added, 1), (gone, -1)):
        for pod in pods:
            counts.add(pod, node, times)
            for resource, amount in pod.requests:
                left[resource] = left.get(resource, 0) - times * amount
    return replace(scene.demand, rules=counts.rules()), left


def _with_nominated(
    snapshot: Snapshot, scene: Scene, node: NodeInfo, alone: tuple[int, str]
) -> tuple[int, str]:
    """How many copies it takes both with and without the pods that are nominated to it."""
    pods = scene.neighbours.nominated[node.name]
    demand, free = changed(scene, node, snapshot.free_on(node.name), pods)
    return min(alone, *places(demand, [node], [free]), key=lambda item: item[0])


def _rarest(snapshot: Snapshot, requests: Mapping[str, int]) -> str | None:
    """The device or hugepage resource that the fewest nodes advertise, be it none."""
    indexed = [name for name in requests if "/" in name or name.startswith(HUGEPAGES)]
    return min(
        indexed, key=lambda name: (len(snapshot.advertisers.get(name, ())), name), default=None
    )
