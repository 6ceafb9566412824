"""The state: fed by events, one writer, the source of snapshots.

Owns the indexes that snapshots are asked by and keeps them true event by event. Maps are copied
before the first write after a snapshot (copy on write), so that snapshots stay immutable and cost
nothing while nothing changes. The order in which events of different objects arrive does not
change the state. It performs no IO and knows no clock.
"""

from bisect import insort
from collections.abc import Iterable
from sys import intern
from typing import Any, Final

from passway.cluster import kinds
from passway.cluster.amounts import HUGEPAGES, NATIVE
from passway.cluster.fold import FoldedPod, NodeInfo, fold_node, fold_pod
from passway.cluster.kinds import Kind
from passway.cluster.records import Meta, Node, Pod, Record
from passway.cluster.snapshot import NO_USAGE, Key, Read, Snapshot, Usage
from passway.model.errors import InvalidInput
from passway.model.quantity import InvalidQuantity

_WHOLE: Final = tuple(
    kind.plural for kind in kinds.ALL if kind is not kinds.NODES and kind is not kinds.PODS
)
"""The kinds whose objects are kept as they are."""


class ClusterState:
    """Feed it with `apply`, `delete` and `replace`; take `snapshot()` whenever one is needed."""

    def __init__(self) -> None:
        self._maps: dict[str, dict[Any, Any]] = {}
        self._shared: set[str] = set()
        self._pods: dict[str, dict[str, FoldedPod]] = {}
        self._reads: dict[str, Read] = {}
        self._versions: dict[str, str] = {}
        self._newest: str | None = None
        self._snapshot: Snapshot | None = None

    # -- events ---------------------------------------------------------------------------------

    def apply(self, kind: Kind, record: Record) -> None:
        """An object was added or changed. Raises InvalidInput before anything has changed."""
        meta: Meta = record.metadata  # type: ignore[attr-defined] # every entry of the table has it
        self._put(kind, _key(kind, meta), _folded(kind, record))
        self._saw(meta.creation_timestamp)
        self._saw(meta.deletion_timestamp)
        self.mark(kind, Read.READ, meta.resource_version)

    def delete(self, kind: Kind, namespace: str | None, name: str) -> None:
        """An object is gone; one that was never seen is no error."""
        if kind is kinds.PODS:
            self._set_pod((namespace or "default", name), None)
        elif kind is kinds.NODES:
            self._set_node(name, None)
        else:
            self._write(kind.plural).pop((namespace or "" if kind.namespaced else "", name), None)
        self._snapshot = None

    def replace(self, kind: Kind, items: Iterable[Record], resource_version: str = "") -> None:
        """A complete list of a kind: whatever is not in it is gone."""
        items = tuple(items)
        for item in items:  # a fault is raised before anything has changed
            _folded(kind, item)
        kept = {_key(kind, item.metadata) for item in items}  # type: ignore[attr-defined] # as above
        for key in [key for key in self._keys(kind) if key not in kept]:
            self.delete(kind, key[0], key[1])
        for item in items:
            self.apply(kind, item)
        self.mark(kind, Read.READ, resource_version)

    def mark(self, kind: Kind, read: Read, resource_version: str = "") -> None:
        """Says what is known of a kind as a whole."""
        self._reads[kind.plural] = read
        if resource_version:
            self._versions[kind.plural] = resource_version
        self._snapshot = None

    @property
    def newest(self) -> str | None:
        """The newest time in the objects: the moment that files are judged at."""
        return self._newest

    # -- snapshots ------------------------------------------------------------------------------

    def snapshot(self, at: str | None = None) -> Snapshot:
        """An immutable view; the same object as long as nothing changed."""
        if self._snapshot is None or self._snapshot.at != at:
            self._shared.update(self._maps)
            maps = self._maps
            self._snapshot = Snapshot(
                nodes=maps.get("nodes", {}),
                usage=maps.get("usage", {}),
                pending=maps.get("pending", {}),
                guarded=maps.get("guarded", {}),
                advertisers=maps.get("advertisers", {}),
                objects={plural: maps[plural] for plural in _WHOLE if maps.get(plural)},
                reads=dict(self._reads),
                versions=dict(self._versions),
                at=at,
            )
        return self._snapshot

    # -- writing --------------------------------------------------------------------------------

    def _write(self, name: str) -> dict[Any, Any]:
        """The map of that name, safe to write to."""
        self._snapshot = None
        found = self._maps.get(name)
        if found is None:
            found = self._maps[name] = {}
        elif name in self._shared:
            self._shared.discard(name)
            found = self._maps[name] = dict(found)
        return found

    def _put(self, kind: Kind, key: Key, folded: Any) -> None:
        if kind is kinds.PODS:
            self._set_pod(key, folded)
        elif kind is kinds.NODES:
            self._set_node(key[1], folded)
            self._saw(folded.heartbeat)
        else:
            self._write(kind.plural)[key] = folded

    def _keys(self, kind: Kind) -> list[Key]:
        if kind is kinds.PODS:
            return [(namespace, name) for namespace, pods in self._pods.items() for name in pods]
        if kind is kinds.NODES:
            return [("", name) for name in self._maps.get("nodes", {})]
        return list(self._maps.get(kind.plural, {}))

    def _saw(self, time: str | None) -> None:
        if time and (self._newest is None or time > self._newest):
            self._newest = time

    def _set_node(self, name: str, node: NodeInfo | None) -> None:
        nodes = self._write("nodes")
        before = _advertised(nodes.get(name))
        after = _advertised(node)
        if node is None:
            nodes.pop(name, None)
        else:
            nodes[name] = node
        if before != after:
            self._advertise(name, before - after, after - before)

    def _advertise(self, node: str, lost: frozenset[str], gained: frozenset[str]) -> None:
        advertisers = self._write("advertisers")
        for resource in lost:
            rest = advertisers[resource] - {node}
            if rest:
                advertisers[resource] = rest
            else:
                del advertisers[resource]
        for resource in gained:
            advertisers[resource] = advertisers.get(resource, frozenset()) | {node}

    def _set_pod(self, key: Key, pod: FoldedPod | None) -> None:
        namespace = self._pods.setdefault(intern(key[0]), {})
        before = namespace.pop(key[1], None)
        if pod is not None:
            namespace[pod.name] = pod
        elif not namespace:
            del self._pods[key[0]]
        if before and pod and before.node == pod.node and before.requests == pod.requests:
            self._swap(before, pod)
        else:
            if before is not None:
                self._place(before, add=False)
            if pod is not None:
                self._place(pod, add=True)
        for changed, add in ((before, False), (pod, True)):
            if changed is not None and changed.anti_affinity:
                self._enter("guarded", changed, add=add)

    def _swap(self, before: FoldedPod, pod: FoldedPod) -> None:
        """A pod that still holds the same: most events are of this kind."""
        if pod.node is None:
            self._enter("pending", pod, add=True)
        else:
            usage = self._write("usage")
            held = usage[pod.node]
            pods = tuple([pod if other is before else other for other in held.pods])
            usage[pod.node] = Usage(pods, held.used)

    def _place(self, pod: FoldedPod, *, add: bool) -> None:
        if pod.node is None:
            self._enter("pending", pod, add=add)
        else:
            usage = self._write("usage")
            changed = _usage(usage.get(pod.node, NO_USAGE), pod, add=add)
            if changed.pods:
                usage[pod.node] = changed
            else:
                del usage[pod.node]

    def _enter(self, name: str, pod: FoldedPod, *, add: bool) -> None:
        if add:
            self._write(name)[pod.key] = pod
        else:
            del self._write(name)[pod.key]


def _folded(kind: Kind, record: Record) -> Any:
    """What is kept of an object: None for a finished pod."""
    try:
        if isinstance(record, Pod):
            return fold_pod(record)
        return fold_node(record) if isinstance(record, Node) else record
    except InvalidQuantity as error:
        name = record.metadata.name  # type: ignore[attr-defined] # only nodes and pods raise it
        raise InvalidInput(f"{kind.kind} {name}: {error}") from None


def _key(kind: Kind, meta: Meta) -> Key:
    return (meta.namespace or "default" if kind.namespaced else "", meta.name)


def _advertised(node: NodeInfo | None) -> frozenset[str]:
    """The resources that an index is kept for: devices and hugepages."""
    if node is None:
        return frozenset()
    names = (*node.allocatable, *node.capacity)
    return frozenset(
        name
        for name in names
        if name not in NATIVE
        and (
            not name.startswith(HUGEPAGES) or node.allocatable.get(name) or node.capacity.get(name)
        )
    )


def _usage(usage: Usage, pod: FoldedPod, *, add: bool) -> Usage:
    used = dict(usage.used)
    sign = 1 if add else -1
    for resource, amount in pod.requests:
        left = used.get(resource, 0) + sign * amount
        if left:
            used[resource] = left
        else:
            del used[resource]
    if not add:
        return Usage(tuple([other for other in usage.pods if other is not pod]), used)
    pods = list(usage.pods)
    insort(pods, pod, key=_pod_key)
    return Usage(tuple(pods), used)


def _pod_key(pod: FoldedPod) -> Key:
    return (pod.namespace, pod.name)
