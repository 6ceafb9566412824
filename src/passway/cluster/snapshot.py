"""The snapshot: one immutable view of the cluster, from which every verdict is made.

Owns how it is asked (free units, who advertises, who holds) and what was read: per kind *read*,
*empty*, *unread* or *forbidden*. It shares its maps with the state that made it, which copies a
map before it writes to it again; taking a snapshot therefore costs nothing that grows with pods.
Free = allocatable minus the requests of the pods assigned to the node, never allocatable alone.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, TypeVar, cast

import msgspec

from passway.cluster import kinds, records
from passway.cluster.fold import FoldedPod, NodeInfo
from passway.cluster.kinds import Kind

R = TypeVar("R", bound=records.Record)
Key = tuple[str, str]


class Read(StrEnum):
    """What is known of a kind."""

    READ = "read"
    EMPTY = "empty"
    UNREAD = "unread"
    FORBIDDEN = "forbidden"

    @property
    def known(self) -> bool:
        return self in {Read.READ, Read.EMPTY}


class Usage(msgspec.Struct, gc=False):
    """The unfinished pods assigned to a node, by name, and what they leave of its allocatable.

    `free` has no zeros; it is negative where pods hold more than the node offers (any more). The
    state that made it writes to it as long as no snapshot has it.
    """

    pods: list[FoldedPod] = []
    free: dict[str, int] = {}


NO_USAGE: Final = Usage()
POD_KEY: Final = attrgetter("namespace", "name")


def position(pods: Sequence[FoldedPod], key: Key) -> int:
    """Where the pod is, or would be, in a node's list, which is sorted."""
    return bisect_left(pods, key, key=POD_KEY)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All maps are keyed by name or (namespace, name); the namespace of cluster objects is ''."""

    nodes: Mapping[str, NodeInfo] = field(default_factory=dict)
    usage: Mapping[str, Usage] = field(default_factory=dict)
    pending: Mapping[Key, FoldedPod] = field(default_factory=dict)
    guarded: Mapping[Key, FoldedPod] = field(default_factory=dict)
    """Pods with a required anti-affinity: they may keep others away."""
    nominated: Mapping[Key, FoldedPod] = field(default_factory=dict)
    """Pending pods for which the scheduler keeps room on a node."""
    places: Mapping[str, Mapping[str, str | None]] = field(default_factory=dict)
    """Namespace -> name of an unfinished pod -> its node, or None while it is pending."""
    advertisers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Device resource or hugepage size -> the nodes whose capacity or allocatable names it."""
    objects: Mapping[str, Mapping[Key, Any]] = field(default_factory=dict)
    reads: Mapping[str, Read] = field(default_factory=dict)
    """Kind (plural) -> how its reading went; ask `read`, which also tells empty ones."""
    within: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Kind (plural) that may not be listed in all namespaces -> those that it was listed in."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Kind (plural) -> resourceVersion of the last event or list."""
    confirmed: Mapping[str, str] = field(default_factory=dict)
    """Kind (plural) -> when the source last said that this is so (RFC 3339, UTC)."""
    at: str | None = None
    """The moment that ages are judged at (RFC 3339, UTC)."""

    def read(self, kind: Kind, namespace: str | None = None) -> Read:
        """What is known of the kind, as far as one namespace is concerned if one is given.

        *Empty* is a kind that was read and has no objects, anywhere or in the one namespace of few
        that could be read.
        """
        read = self.reads.get(kind.plural, Read.UNREAD)
        if read is Read.READ:
            return read if self._filled(kind) else Read.EMPTY
        if namespace is None or namespace not in self.within.get(kind.plural, ()):
            return read
        held = any(key[0] == namespace for key in self.objects.get(kind.plural, ()))
        return Read.READ if held else Read.EMPTY

    def _filled(self, kind: Kind) -> bool:
        if kind is kinds.PODS:
            return bool(self.places)
        return bool(self.nodes if kind is kinds.NODES else self.objects.get(kind.plural))

    def all(self, kind: Kind, record: type[R]) -> Mapping[Key, R]:
        """The objects of a kind; `record` is the type its table entry names."""
        assert kind.record is record  # noqa: S101 - a wrong pair is a bug, not input
        return cast("Mapping[Key, R]", self.objects.get(kind.plural, {}))

    def used(self, node: str, resource: str) -> int:
        """The requests of the pods assigned to the node, which may not be known (yet)."""
        known = self.nodes.get(node)
        offered = known.allocatable.get(resource, 0) if known else 0
        return offered - self.free(node, resource)

    def free(self, node: str, resource: str) -> int:
        """May be negative, where pods hold more than a node offers any more."""
        return self.free_on(node).get(resource, 0)

    def free_on(self, node: str) -> Mapping[str, int]:
        """What is free of every resource; one that is not there has nothing free."""
        return self.usage.get(node, NO_USAGE).free

    def pods_on(self, node: str) -> Sequence[FoldedPod]:
        return self.usage.get(node, NO_USAGE).pods

    def assigned_in(self, namespaces: Collection[str]) -> Iterator[FoldedPod]:
        """The assigned pods of these namespaces, in no order."""
        if 2 * len(namespaces) > len(self.places):  # then it is quicker to look at all pods
            wanted = frozenset(namespaces)
            for held in self.usage.values():
                yield from [pod for pod in held.pods if pod.namespace in wanted]
            return
        for namespace in namespaces:
            for name, node in self.places.get(namespace, {}).items():
                if node is not None:
                    pods = self.usage[node].pods
                    yield pods[position(pods, (namespace, name))]

    def holders(self, resource: str) -> Iterator[tuple[FoldedPod, int]]:
        """The assigned pods that hold units of a device or hugepage resource, and how many."""
        amounts: dict[int, int] = {}  # vectors are shared, so each is looked through once
        for node in sorted(self.advertisers.get(resource, ())):
            for pod in self.pods_on(node):
                vector = id(pod.requests)
                if vector not in amounts:
                    amounts[vector] = dict(pod.requests).get(resource, 0)
                if amounts[vector]:
                    yield pod, amounts[vector]

    def devices(self) -> tuple[str, ...]:
        """All device resources that some node advertises, sorted."""
        from passway.cluster.amounts import is_device

        return tuple(sorted(resource for resource in self.advertisers if is_device(resource)))

    @property
    def kubevirt(self) -> records.KubeVirt | None:
        """The KubeVirt object; of several, the first by name."""
        found = self.all(kinds.KUBEVIRTS, records.KubeVirt)
        return found[min(found)] if found else None

    @property
    def hyperconverged(self) -> records.HyperConverged | None:
        found = self.all(kinds.HYPERCONVERGEDS, records.HyperConverged)
        return found[min(found)] if found else None
