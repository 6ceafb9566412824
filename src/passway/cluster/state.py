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
from passway.cluster.records import Meta, Node, Pod, PodMeta, Record
from passway.cluster.snapshot import NO_USAGE, POD_KEY, Key, Read, Snapshot, Usage, position
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
        self._fresh: set[str] = set()
        self._own: dict[str, dict[str, str | None]] = {}
        self._reads: dict[str, Read] = {}
        self._versions: dict[str, str] = {}
        self._confirmed: dict[str, str] = {}
        self._within: dict[str, frozenset[str]] = {}
        self._newest: str | None = None
        self._snapshot: Snapshot | None = None

    @classmethod
    def of(cls, snapshot: Snapshot) -> "ClusterState":
        """A state that goes on from a snapshot, which stays as it is; for overlays."""
        made = cls()
        maps: dict[str, Any] = {
            "nodes": snapshot.nodes, "usage": snapshot.usage, "pending": snapshot.pending,
            "guarded": snapshot.guarded, "nominated": snapshot.nominated, "places": snapshot.places,
            "advertisers": snapshot.advertisers, **snapshot.objects,
        }  # fmt: skip
        made._maps, made._shared = maps, set(maps)  # shared: copied before the first write
        made._reads, made._versions = dict(snapshot.reads), dict(snapshot.versions)
        made._within, made._confirmed = dict(snapshot.within), dict(snapshot.confirmed)
        return made

    # -- events ---------------------------------------------------------------------------------

    def put(self, kind: Kind, key: Key, kept: Any) -> None:
        """What is kept of one object, or None where it is gone; says nothing about the kind."""
        if kept is None:
            self.delete(kind, key[0], key[1])
        else:
            self._put(kind, key, kept)
            self._snapshot = None

    def apply(self, kind: Kind, record: Record) -> None:
        """An object was added or changed. Raises InvalidInput before anything has changed."""
        self._take(kind, record, _folded(kind, record))

    def delete(self, kind: Kind, namespace: str | None, name: str) -> None:
        """An object is gone; one that was never seen is no error."""
        if kind is kinds.PODS:
            self._set_pod((namespace or "default", name), None)
        elif kind is kinds.NODES:
            self._set_node(name, None)
        else:
            self._write(kind.plural).pop((namespace or "" if kind.namespaced else "", name), None)
        self._snapshot = None

    def remove(self, kind: Kind, record: Record) -> None:
        """The same by the object as it last was, which has the version of its removal."""
        meta = _meta(record)
        self.delete(kind, meta.namespace, meta.name)
        self.mark(kind, Read.READ, meta.resource_version)

    def replace(self, kind: Kind, items: Iterable[Record], resource_version: str = "") -> None:
        """A complete list of a kind: whatever is not in it is gone."""
        listing = self.listing(kind)
        listing.add(items)
        listing.done(resource_version)

    def listing(self, kind: Kind) -> "Listing":
        """The same for a list that comes page by page."""
        return Listing(self, kind)

    def mark(
        self,
        kind: Kind,
        read: Read,
        resource_version: str = "",
        within: frozenset[str] = frozenset(),
    ) -> None:
        """Says what is known of a kind as a whole; `within`: of which namespaces, if not of all."""
        self._reads[kind.plural] = read
        self._within[kind.plural] = within
        if resource_version:
            self._versions[kind.plural] = resource_version
        self._snapshot = None

    def confirm(self, kind: Kind, at: str) -> None:
        """What is known of the kind was true at this moment (RFC 3339, UTC)."""
        self._confirmed[kind.plural] = at

    def is_read(self, kind: Kind) -> bool:
        """Whether the kind is known as a whole."""
        return self._reads.get(kind.plural) is Read.READ

    @property
    def newest(self) -> str | None:
        """The newest time in the objects: the moment that files are judged at."""
        return self._newest

    # -- snapshots ------------------------------------------------------------------------------

    def snapshot(self, at: str | None = None) -> Snapshot:
        """An immutable view; the same object as long as nothing changed."""
        if self._snapshot is None or self._snapshot.at != at:
            self._shared.update(self._maps)
            self._fresh.clear()
            self._own.clear()
            maps = self._maps
            self._snapshot = Snapshot(
                nodes=maps.get("nodes", {}),
                usage=maps.get("usage", {}),
                pending=maps.get("pending", {}),
                guarded=maps.get("guarded", {}),
                nominated=maps.get("nominated", {}),
                places=maps.get("places", {}),
                advertisers=maps.get("advertisers", {}),
                objects={plural: maps[plural] for plural in _WHOLE if maps.get(plural)},
                reads=dict(self._reads),
                within={plural: spaces for plural, spaces in self._within.items() if spaces},
                versions=dict(self._versions),
                confirmed=dict(self._confirmed),
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

    def _take(self, kind: Kind, record: Record, folded: Any) -> None:
        meta = _meta(record)
        self._put(kind, _key(kind, meta), folded)
        for time in (meta.creation_timestamp, meta.deletion_timestamp):
            if time:
                self._saw(time)
        self.mark(kind, Read.READ, meta.resource_version)

    def _swapped(self, kind: Kind, items: dict[Key, Any], newest: str | None, version: str) -> None:
        """A complete list in place of what is known of the kind."""
        for key in [key for key in self._keys(kind) if key not in items]:
            self.delete(kind, key[0], key[1])
        for key, folded in items.items():
            self._put(kind, key, folded)
        self._saw(newest)
        self.mark(kind, Read.READ, version)

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
            places = self._maps.get("places", {})
            return [(namespace, name) for namespace, names in places.items() for name in names]
        if kind is kinds.NODES:
            return [("", name) for name in self._maps.get("nodes", {})]
        return list(self._maps.get(kind.plural, {}))

    def _saw(self, time: str | None) -> None:
        if time and (self._newest is None or time > self._newest):
            self._newest = time

    def _set_node(self, name: str, node: NodeInfo | None) -> None:
        nodes = self._write("nodes")
        known = nodes.get(name)
        if node is None:
            nodes.pop(name, None)
        else:
            nodes[name] = node
        offered = known.allocatable if known else {}
        offers = node.allocatable if node else {}
        if offered != offers:
            held = self._held(name)
            _shift(held.free, offered.items(), -1)
            _shift(held.free, offers.items(), 1)
            self._drop_unused(name, held)
        before, after = _advertised(known), _advertised(node)
        if before != after:
            self._advertise(name, before - after, after - before)

    def _held(self, node: str) -> Usage:
        """What is held on the node, safe to write to."""
        usage = self._write("usage")
        held: Usage = usage.get(node, NO_USAGE)
        if node not in self._fresh or held is NO_USAGE:
            self._fresh.add(node)
            held = usage[node] = Usage(held.pods.copy(), held.free.copy())
        return held

    def _drop_unused(self, node: str, held: Usage) -> None:
        if not (held.pods or held.free):
            del self._maps["usage"][node]

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
        before = self._pod(key)
        if before == pod:
            return  # nothing that is kept has changed
        if before and pod and before.node == pod.node and before.requests == pod.requests:
            self._swap(pod)
        else:
            if before is not None:
                self._place(before, add=False)
            if pod is not None:
                self._place(pod, add=True)
            self._index(key, pod)
        if before is not None and (before.anti_affinity or before.nominated_node):
            self._mark_out(before, add=False)
        if pod is not None and (pod.anti_affinity or pod.nominated_node):
            self._mark_out(pod, add=True)

    def _pod(self, key: Key) -> FoldedPod | None:
        """The pod as it was last seen."""
        names = self._maps.get("places", {}).get(key[0])
        if names is None or key[1] not in names:
            return None
        node = names[key[1]]
        if node is None:
            waiting: FoldedPod = self._maps["pending"][key]
            return waiting
        pods: list[FoldedPod] = self._maps["usage"][node].pods
        return pods[position(pods, key)]

    def _mark_out(self, pod: FoldedPod, *, add: bool) -> None:
        """Pods that others are judged by, wherever they are."""
        if pod.anti_affinity:
            self._enter("guarded", pod, add=add)
        if pod.node is None and pod.nominated_node:
            self._enter("nominated", pod, add=add)

    def _index(self, key: Key, pod: FoldedPod | None) -> None:
        """Where the pod is from now on."""
        namespace = key[0]
        names = self._own.get(namespace)
        if names is None:
            places = self._write("places")
            names = places.get(namespace, {}).copy()
            places[intern(namespace)] = self._own[intern(namespace)] = names
        if pod is not None:
            names[pod.name] = pod.node
        else:
            del names[key[1]]
            if not names:
                del self._maps["places"][namespace], self._own[namespace]

    def _swap(self, pod: FoldedPod) -> None:
        """A pod that still holds the same."""
        if pod.node is None:
            self._enter("pending", pod, add=True)
        else:
            pods = self._held(pod.node).pods
            pods[position(pods, pod.key)] = pod

    def _place(self, pod: FoldedPod, *, add: bool) -> None:
        if pod.node is None:
            self._enter("pending", pod, add=add)
            return
        held = self._held(pod.node)
        if add:
            insort(held.pods, pod, key=POD_KEY)
            _shift(held.free, pod.requests, -1)
        else:
            del held.pods[position(held.pods, pod.key)]
            _shift(held.free, pod.requests, 1)
            self._drop_unused(pod.node, held)

    def _enter(self, name: str, pod: FoldedPod, *, add: bool) -> None:
        if add:
            self._write(name)[pod.key] = pod
        else:
            del self._write(name)[pod.key]


class Listing:
    """A complete list as it comes. Records are folded at once; nothing is seen until it is done."""

    def __init__(self, state: ClusterState, kind: Kind) -> None:
        self._state = state
        self._kind = kind
        self._items: dict[Key, Any] = {}
        self._newest: str | None = None

    def add(self, records: Iterable[Record]) -> None:
        """More of the list. Raises InvalidInput; the state stays as it was."""
        for record in records:
            meta = _meta(record)
            self._items[_key(self._kind, meta)] = _folded(self._kind, record)
            for time in (meta.creation_timestamp, meta.deletion_timestamp):
                if time and (self._newest is None or time > self._newest):
                    self._newest = time

    def remove(self, record: Record) -> None:
        """An object went while the list came."""
        self._items.pop(_key(self._kind, _meta(record)), None)

    def done(self, resource_version: str = "") -> None:
        """The list is complete: whatever is not in it is gone."""
        # A private way in: the two classes are one thing, and stand in one module.
        self._state._swapped(self._kind, self._items, self._newest, resource_version)  # noqa: SLF001


def _folded(kind: Kind, record: Record) -> Any:
    """What is kept of an object: None for a finished pod."""
    try:
        if isinstance(record, Pod):
            return fold_pod(record)
        return fold_node(record) if isinstance(record, Node) else record
    except InvalidQuantity as error:
        name = record.metadata.name  # type: ignore[attr-defined] # only nodes and pods raise it
        raise InvalidInput(f"{kind.kind} {name}: {error}") from None


def _meta(record: Record) -> Meta | PodMeta:
    return record.metadata  # type: ignore[attr-defined,no-any-return] # every entry has it


def _key(kind: Kind, meta: Meta | PodMeta) -> Key:
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


def _shift(free: dict[str, int], amounts: Iterable[tuple[str, int]], sign: int) -> None:
    """More or less is free of some resources; zeros are left out."""
    for resource, amount in amounts:
        left = free.get(resource, 0) + sign * amount
        if left:
            free[resource] = left
        else:
            free.pop(resource, None)
