"""What a cluster has of one VM, read when somebody asks about that VM.

Owns the two ways to it: from a Cluster (the VM, its VMI, its launchers by label, and only the
events about them by field), and from objects that are at hand (dumps, the sample). Both give the
same `Traces`. What may not be read is named there, except the VM itself.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, Protocol

from passway.cluster import kinds
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Key, Read
from passway.cluster.traces import Traces, events_of, is_event, launchers_told, traces
from passway.model.errors import Forbidden, NotFound
from passway.service.ports import Cluster, Object, OtherVersion

CREATED_BY: Final = "kubevirt.io/created-by"
OF_MACHINE: Final = "vm.kubevirt.io/name"


class Stored(Protocol):
    """Where VMs are read whole."""

    async def machines(self, keys: Iterable[Key]) -> Mapping[Key, Object]:
        """The VMs as they are stored, or the VMIs of those without a VM; only those found."""
        ...

    async def traces(self, key: Key) -> Traces:
        """Everything of one VM; raises NotFound."""
        ...

    async def told(self) -> Mapping[str, int]:
        """How many events there are of each reason; raises what keeps them from being read."""
        ...


def _counted(objects: Iterable[Mapping[str, Any]]) -> Mapping[str, int]:
    return Counter(str(item.get("reason") or "none") for item in objects if is_event(item))


def missing(key: Key) -> NotFound:
    """The error for a VM that is not there."""
    return NotFound(
        f'there is no VM "{key[1]}" in namespace "{key[0]}"', hint="passway get vms -A lists them"
    )


class AtHand:
    """Objects that are there already. `objects` gives them, each time from the beginning.

    Where there is no event at all, nobody read them, unless the objects are `complete`.
    """

    def __init__(
        self, objects: Callable[[], Iterable[Mapping[str, Any]]], *, complete: bool = False
    ) -> None:
        self._objects = objects
        self._complete = complete

    async def machines(self, keys: Iterable[Key]) -> Mapping[Key, Object]:
        """As the protocol says."""
        wanted = frozenset(keys)
        found: dict[Key, Object] = {}
        for item in self._objects():
            kind = kinds.kind_of(str(item.get("apiVersion")), str(item.get("kind")))
            meta = item.get("metadata") or {}
            key = (meta.get("namespace") or "default", meta.get("name") or "")
            if key in wanted and (
                kind == kinds.MACHINES or (kind == kinds.INSTANCES and key not in found)
            ):
                found[key] = dict(item)
        return found

    async def traces(self, key: Key) -> Traces:
        """As the protocol says."""
        told = self._complete
        unread: dict[str, Read] = {}

        def objects() -> Iterator[Mapping[str, Any]]:
            nonlocal told
            for item in self._objects():
                told = told or is_event(item)
                yield item

        found = traces(objects(), key, unread)
        if found is None:
            raise missing(key)
        if not told:
            unread[kinds.EVENTS.plural] = Read.UNREAD
        return found

    async def told(self) -> Mapping[str, int]:
        """As the protocol says."""
        found = _counted(self._objects())
        if not found and not self._complete:
            raise NotFound("there are no events in the files")
        return found


class InCluster:
    """What a Cluster has."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def machines(self, keys: Iterable[Key]) -> Mapping[Key, Object]:
        """As the protocol says."""
        wanted = tuple(keys)
        found = await asyncio.gather(*map(self._machine, wanted))
        return {key: item for key, item in zip(wanted, found, strict=True) if item}

    async def _machine(self, key: Key) -> Object | None:
        found = await self._optional(kinds.MACHINES, key)
        return found or await self._optional(kinds.INSTANCES, key)

    async def traces(self, key: Key) -> Traces:
        """As the protocol says."""
        unread: dict[str, Read] = {}
        machine, instance = await asyncio.gather(
            self._optional(kinds.MACHINES, key), self._optional(kinds.INSTANCES, key)
        )
        uid = instance["metadata"].get("uid") if instance else None
        labels = {CREATED_BY: uid} if uid else {OF_MACHINE: key[1]}
        own = [
            (kind.kind, key[1])
            for kind, found in ((kinds.MACHINES, machine), (kinds.INSTANCES, True))
            if found
        ]
        pods, told = await asyncio.gather(
            self._listed(kinds.PODS, key[0], unread, labels=labels),
            self._events(key[0], own, unread),
        )
        names = [pod["metadata"]["name"] for pod in pods]
        names += [name for name in launchers_told(events_of(told), key[1]) if name not in names]
        told += await self._events(key[0], [("Pod", name) for name in names], unread)
        objects = [item for item in (machine, instance) if item] + pods + told
        found = traces(objects, key, unread)
        if found is None:
            raise missing(key)
        return found

    async def told(self) -> Mapping[str, int]:
        """As the protocol says."""
        return _counted((await self._cluster.list(kinds.EVENTS))[0])

    async def _events(
        self, namespace: str, about: Iterable[tuple[str, str]], unread: dict[str, Read]
    ) -> list[Object]:
        """The events about these objects (kind, name)."""
        lists = await asyncio.gather(
            *(
                self._listed(
                    kinds.EVENTS, namespace, unread,
                    fields={"involvedObject.kind": kind, "involvedObject.name": name},
                )
                for kind, name in about
            )
        )  # fmt: skip
        return [event for listed in lists for event in listed]

    async def _listed(
        self,
        kind: Kind,
        namespace: str,
        unread: dict[str, Read],
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> list[Object]:
        try:
            return (await self._cluster.list(kind, namespace, labels=labels, fields=fields))[0]
        except Forbidden:
            unread[kind.plural] = Read.FORBIDDEN
            return []

    async def _optional(self, kind: Kind, key: Key) -> Object | None:
        try:
            return await self._cluster.get(kind, key[1], key[0])
        except OtherVersion:
            raise
        except NotFound:
            return None
