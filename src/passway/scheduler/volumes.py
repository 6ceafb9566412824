"""Where a pod's volumes let it go: bound volumes, volumes that can still be bound, new ones.

Owns the rules of the VolumeBinding and VolumeZone filters for one node. Everything that does not
depend on the node (which volumes of the cluster could serve a claim at all) is sorted out by the
caller. Source: kube-scheduler plugins/volumebinding/binder.go, plugins/volumezone, and
component-helpers/storage/volume (FindMatchingVolume, CheckNodeAffinity), v1.36. Translating
volumes of old in-tree plugins to CSI is left out, and so is the number of volumes that a node can
attach (NodeVolumeLimits), which the scheduler counts from attachments that are not read.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Final

from passway.cluster.fold import NodeInfo
from passway.cluster.labels import matches_selector
from passway.cluster.records import LabelSelector, NodeSelector, TopologySelectorTerm
from passway.scheduler.selectors import matches_node

_GENERAL: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Old labels of a place, and what they are called now."""
PLACES: Final = (*_GENERAL, *_GENERAL.values())
"""The labels of a volume that say where it is."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A claim that has its volume: where that can be used, and the places its labels name."""

    claim: str
    affinity: NodeSelector | None = None
    zones: tuple[tuple[str, frozenset[str]], ...] = ()

    def admits(self, node: NodeInfo) -> bool:
        """A node without any label of a place is in all of them (VolumeZone)."""
        if not _reachable(self.affinity, node):
            return False
        placed = any(key in node.labels for key in PLACES)
        return not placed or all(_place(node, key) in values for key, values in self.zones)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A volume that could serve a claim; one that is `reserved` for it is the only choice."""

    name: str
    size_nanos: int
    affinity: NodeSelector | None = None
    reserved: bool = False


@dataclass(frozen=True, slots=True)
class Provision:
    """How a volume would be made: places, and the topologies with enough storage (None: any)."""

    topologies: tuple[TopologySelectorTerm, ...] = ()
    pools: tuple[LabelSelector, ...] | None = None

    def admits(self, node: NodeInfo) -> bool:
        """A volume for a pod on this node could be made."""
        placed = not self.topologies or any(
            _matches_topology(term, node.labels) for term in self.topologies
        )
        return placed and (
            self.pools is None or any(matches_selector(pool, node.labels) for pool in self.pools)
        )


@dataclass(frozen=True, slots=True)
class Unbound:
    """A claim that waits for its first consumer. `candidates` are sorted: smallest first."""

    claim: str
    size_nanos: int = 0
    candidates: tuple[Candidate, ...] = ()
    provision: Provision | None = None
    selected_node: str | None = None

    def match(self, node: NodeInfo, taken: Container[str]) -> Candidate | None:
        """The volume that would be bound to it for a pod on this node."""
        free = [item for item in self.candidates if item.name not in taken]
        reserved = [item for item in free if item.reserved]
        usable = (item for item in reserved[:1] or free if _reachable(item.affinity, node))
        return next(usable, None)


@dataclass(frozen=True, slots=True)
class Volumes:
    """All of a pod's claims. `refused`: some claim keeps the pod away from every node."""

    bound: tuple[Bound, ...] = ()
    unbound: tuple[Unbound, ...] = ()
    refused: bool = False

    def __bool__(self) -> bool:
        return bool(self.bound or self.unbound or self.refused)

    def admits(self, node: NodeInfo) -> bool:
        """All of the claims can be used on this node."""
        return not self.refused and not self.away(node)

    def away(self, node: NodeInfo) -> tuple[str, ...]:
        """The claims that cannot be used on this node."""
        found = [item.claim for item in self.bound if not item.admits(node)]
        to_make: list[Unbound] = []
        taken: set[str] = set()
        for item in sorted(self.unbound, key=lambda item: item.size_nanos):
            if item.selected_node is not None:
                if item.selected_node == node.name:
                    to_make.append(item)
                else:
                    found.append(item.claim)
            elif (match := item.match(node, taken)) is not None:
                taken.add(match.name)
            else:
                to_make.append(item)
        found += [
            item.claim
            for item in to_make
            if item.provision is None or not item.provision.admits(node)
        ]
        return tuple(found)


def _reachable(affinity: NodeSelector | None, node: NodeInfo) -> bool:
    """Only labels count here: for a volume, a node has no name (CheckNodeAffinity)."""
    return affinity is None or matches_node(affinity, "", node.labels)


def _place(node: NodeInfo, key: str) -> str | None:
    value = node.labels.get(key)
    return node.labels.get(_GENERAL.get(key, key)) if value is None else value


def _matches_topology(term: TopologySelectorTerm, labels: Mapping[str, str]) -> bool:
    wanted = term.match_label_expressions or ()
    return bool(wanted) and all(labels.get(item.key) in (item.values or ()) for item in wanted)
