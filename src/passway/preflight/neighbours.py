"""What the pods of the snapshot make of the launcher's place: counted once, for all nodes.

Owns which pods have to be looked at (those of the namespaces that a rule reaches, and those with a
required anti-affinity), so that work grows with what is asked. Also the launcher's priority, by
which pods with a nominated node count before it and others may have to make room for it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from passway.cluster import kinds
from passway.cluster.fold import FoldedPod, NodeInfo
from passway.cluster.labels import matches_selector
from passway.cluster.records import LabelSelector, Named, PodAffinity, PriorityClass
from passway.cluster.snapshot import Snapshot
from passway.preflight.stage import Question
from passway.scheduler.filters import Demand, counts_for
from passway.scheduler.terms import Namespaces, Terms, merged, merged_spread, reaches
from passway.scheduler.topology import Counts, Incoming

CREATED_BY: Final = "kubevirt.io/created-by"
UNKNOWN_UID: Final = "(uid)"
"""Stands for the UID of a VMI that does not exist yet; no label can have this value."""
NEVER: Final = "Never"
BUILT_IN: Final[Mapping[str, int]] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Every cluster has them, be they in what was read or not."""


@dataclass(frozen=True, slots=True)
class Priority:
    """The launcher's priority; `value` is None where it is not known. `missing`: no such class."""

    value: int | None = 0
    preempts: bool = True
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The counts of all assigned pods, and by node the nominated pods that count before ours."""

    counts: Counts
    nominated: Mapping[str, tuple[FoldedPod, ...]] = field(default_factory=dict)


def incoming(question: Question) -> Incoming:
    """The launcher as other pods' rules see it, and its own rules about them."""
    pod = question.pod
    labels = {**pod.labels, CREATED_BY: UNKNOWN_UID}
    return Incoming(
        pod.namespace,
        labels,
        affinity=merged(_required(pod.affinity.pod_affinity), labels),
        anti_affinity=merged(_required(pod.affinity.pod_anti_affinity), labels),
        spread=merged_spread(pod.spread, labels),
    )


def _required(affinity: PodAffinity | None) -> Terms:
    return (affinity.required or ()) if affinity else ()


def priority(question: Question) -> Priority:
    """By the VM's class, else by the cluster's default one (admission plugin Priority)."""
    snapshot, name = question.snapshot, question.pod.priority_class
    classes = snapshot.all(kinds.PRIORITY_CLASSES, PriorityClass)
    if name:
        found = classes.get(("", name))
        if found is None and name in BUILT_IN:
            return Priority(BUILT_IN[name])
    else:
        default = [item for item in classes.values() if item.global_default]
        found = min(default, key=lambda item: item.value, default=None)
    if found is not None:
        return Priority(found.value, found.preemption_policy != NEVER)
    if not snapshot.read(kinds.PRIORITY_CLASSES).known:
        return Priority(None)
    return Priority(missing=bool(name))


def survey(question: Question, demand: Demand, own: Priority, *, assumed: bool) -> Neighbours:
    """Counts the pods. `assumed` says how to take what was not read: in the VM's favour, or not."""
    snapshot = question.snapshot
    read = snapshot.read(kinds.NAMESPACES).known
    known = snapshot.all(kinds.NAMESPACES, Named) if read else None
    counts = Counts(incoming(question), Namespaces(known, assumed), Namespaces(known, not assumed))
    if counts.incoming.spread:
        counts.open(snapshot.nodes.values(), partial(counts_for, demand))
    for guard in snapshot.guarded.values():
        node = snapshot.nodes.get(guard.node or "")
        if node is not None:
            counts.add_guard(guard, node)
    for pod, labels, node in seen(counts.incoming, snapshot, anywhere=known is None):
        counts.add_seen(pod, labels, node)
    return Neighbours(counts, _nominated(snapshot, own.value, assumed=assumed))


def seen(
    own: Incoming, snapshot: Snapshot, *, anywhere: bool = False
) -> Iterator[tuple[FoldedPod, Mapping[str, str], NodeInfo]]:
    """The assigned pods that a rule of the incoming pod may be about, with labels and node.

    `anywhere` is for namespaces that are not known: all of them are looked at.
    """
    if not own.looks_at_pods:
        return
    terms = (*own.affinity, *own.anti_affinity)
    wanted = [term.label_selector for term in terms] + [rule.label_selector for rule in own.spread]
    selectors = [selector for selector in wanted if selector is not None]
    read = Namespaces(None if anywhere else snapshot.all(kinds.NAMESPACES, Named), assumed=True)
    found: dict[int, Mapping[str, str] | None] = {}  # pods of one owner share their labels
    told = _telling(selectors)
    reached = [
        namespace
        for namespace in snapshot.places
        if (own.spread and namespace == own.namespace)
        or any(reaches(term, own.namespace, namespace, read) for term in terms)
    ]
    for pod in snapshot.assigned_in(reached):
        held = pod.labels
        if told and told.isdisjoint(held):
            continue
        if id(held) not in found:
            found[id(held)] = _selected(pod, selectors)
        labels, node = found[id(held)], snapshot.nodes.get(pod.node or "")
        if labels is not None and node is not None:
            yield pod, labels, node


def _telling(selectors: list[LabelSelector]) -> frozenset[str]:
    """Values of which a pod must have one to be selected at all; empty where that cannot be said.

    Most pods of a cluster have none of them, which is seen before their labels are looked at.
    """
    pairs = [selector.match_labels for selector in selectors]
    if not all(pairs):
        return frozenset()
    return frozenset(next(iter(found.values())) for found in pairs if found)


def _selected(pod: FoldedPod, selectors: list[LabelSelector]) -> Mapping[str, str] | None:
    """The pod's labels, if some selector selects them."""
    held = pod.label_map()
    return held if any(matches_selector(item, held) for item in selectors) else None


def _nominated(
    snapshot: Snapshot, own: int | None, *, assumed: bool
) -> dict[str, tuple[FoldedPod, ...]]:
    """By node. Source: kube-scheduler framework/runtime/framework.go addGENominatedPods."""
    found: dict[str, tuple[FoldedPod, ...]] = {}
    for pod in snapshot.nominated.values():
        if not assumed if own is None else pod.priority >= own:
            node = pod.nominated_node or ""
            found[node] = (*found.get(node, ()), pod)
    return found
