"""A Kubernetes API in memory that behaves like an API server in what matters to a client.

Owns resource versions, optimistic locking, generations, finalizers, generated names, RBAC-style
refusals, and watches over a bounded history. It knows no schema, admission, defaulting,
subresource or controller: what is stored is what was written. Stored objects are never changed in
place, only replaced, so one object serves the store and the history; copies go in and out. A
watcher keeps a place in its kind's history instead of a queue: a slow one finds its place gone and
gets `Expired`, and no watcher costs memory.
"""

import asyncio
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random, SystemRandom
from typing import Any, Final
from uuid import UUID

import msgspec

from passway.cluster.kinds import Kind
from passway.kube.objects import (
    copy_of,
    expect_scope,
    expect_segment,
    expect_version,
    kind_of,
    taken,
    to_create,
    value_at,
)
from passway.kube.patch import patched, same
from passway.model.errors import Conflict, Forbidden, InvalidInput, NotFound
from passway.model.names import InvalidName, dns_subdomain
from passway.service.ports import Change, Expired, Object, Page, Patch, Trial, WatchEvent

_NAMESPACES: Final = "namespaces"
_IDENTITY: Final = ("name", "namespace", "uid")
_SERVER_KEPT: Final = (
    "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    "generation",
)  # fmt: skip
# k8s.io/apimachinery/pkg/util/rand and k8s.io/apiserver/pkg/storage/names
_RANDOM_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_GENERATED_PREFIX: Final = 58
_GENERATE_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class Rule:
    """What a caller may do; '*' stands for all. `namespaces` None: everywhere, cluster included."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    namespaces: tuple[str, ...] | None = None

    def allows(self, verb: str, kind: Kind, namespace: str | None) -> bool:
        """Does this rule alone allow it? `namespace` None: in all namespaces, or the cluster's."""
        return (
            _covers(self.verbs, verb)
            and _covers(self.groups, kind.group)
            and _covers(self.resources, kind.plural)
            and (self.namespaces is None or namespace in self.namespaces)
        )


def _covers(allowed: tuple[str, ...], wanted: str) -> bool:
    return "*" in allowed or wanted in allowed


@dataclass(slots=True)
class _History:
    """The last changes of one kind. `first`: the number of the oldest that is still kept."""

    kept: deque[tuple[int, Change, Object]]
    first: int = 0
    dropped_version: int = 0

    def add(self, version: int, change: Change, obj: Object) -> None:
        if len(self.kept) == self.kept.maxlen:
            self.dropped_version = self.kept[0][0]
            self.first += 1
        self.kept.append((version, change, obj))

    def after(self, version: int) -> int:
        """The number of the first change after `version`."""
        if version < self.dropped_version:
            raise _expired(str(version))
        return self.first + bisect_right(self.kept, version, key=lambda entry: entry[0])

    def get(self, number: int) -> tuple[int, Change, Object] | None:
        """The change with that number; None when it has not happened yet."""
        if number < self.first:
            raise _expired(f"of change {number}")
        index = number - self.first
        return self.kept[index] if index < len(self.kept) else None


@dataclass(slots=True)
class _Shelf:
    """The objects of one kind by (namespace or "", name), and what happened to them."""

    history: _History
    objects: dict[tuple[str, str], Object] = field(default_factory=dict)


class MemoryCluster:
    """A `service.ports.Cluster` in memory; every call gives way to others once, as a request would.

    `rules` None allows everything. `history`: changes kept for each kind. Not thread-safe.
    """

    def __init__(
        self,
        objects: Iterable[Mapping[str, Any]] = (),
        *,
        rules: tuple[Rule, ...] | None = None,
        kinds: Iterable[Kind] = (),
        history: int = 10_000,
        now: Callable[[], str] = lambda: datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        random: Random | None = None,
    ) -> None:
        self._rules = rules
        self._kinds = tuple(kinds)
        self._now = now
        self._random = random or SystemRandom()
        self._version = 0
        self._shelves: dict[str, _Shelf] = defaultdict(
            lambda: _Shelf(_History(deque(maxlen=max(1, history))))
        )
        self._waiting: set[asyncio.Future[None]] = set()
        self.load(objects)

    def load(self, objects: Iterable[Mapping[str, Any]]) -> None:
        """Takes well-formed objects of any kind as they are, over those that exist."""
        for source in objects:
            kind = kind_of(source, self._kinds)
            obj = taken(kind, source)
            _expect_name(kind, obj["metadata"])
            old = self._shelves[kind.resource].objects.get(_key(obj["metadata"]))
            self._commit(kind, self._stamped(obj, old), "MODIFIED" if old else "ADDED")

    async def get(self, kind: Kind, name: str, namespace: str | None = None) -> Object:
        """One object."""
        return copy_of(await self._current("get", kind, name, namespace))

    async def list(
        self,
        kind: Kind,
        namespace: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> tuple[list[Object], str]:
        """The objects, by namespace and name, and the resourceVersion to watch from."""
        if namespace is not None:
            expect_scope(kind, namespace)
        await self._admit("list", kind, namespace)
        objects = self._shelves[kind.resource].objects
        items = [
            copy_of(objects[key])
            for key in sorted(objects)
            if namespace in (None, key[0]) and _selected(objects[key], labels or {}, fields or {})
        ]
        return items, str(self._version)

    async def pages(self, kind: Kind, namespace: str | None = None) -> AsyncGenerator[Page, None]:
        """The objects as records, in one page."""
        objects, version = await self.list(kind, namespace)
        yield Page(msgspec.convert(objects, list[kind.record], strict=False), version)  # type: ignore[name-defined] # a type made at run time

    async def create(self, kind: Kind, obj: Object, *, dry_run: bool = False) -> Object:
        """Stores `obj`; a dry run gives it back without a resourceVersion."""
        new = to_create(kind, obj)
        meta = new["metadata"]
        await self._admit("create", kind, meta.get("namespace"))
        self._name(kind, meta)
        self._expect_namespace(meta.get("namespace"))
        if _key(meta) in self._shelves[kind.resource].objects:
            raise Conflict(f"{_where(kind, *_named(meta))} exists already", code="ALREADY_EXISTS")
        for name in ("uid", *_SERVER_KEPT):
            meta.pop(name, None)
        stamped = self._stamped(new)
        return stamped if dry_run else self._commit(kind, stamped, "ADDED")

    async def trial(self, kind: Kind, obj: Object) -> Trial:
        """Creates nothing; there is nobody on the way here who would say anything."""
        try:
            await self.create(kind, obj, dry_run=True)
        except Conflict as error:
            return Trial(accepted=True, reason="AlreadyExists", message=str(error))
        except (InvalidInput, NotFound) as error:
            return Trial(accepted=False, reason=error.code, message=str(error))
        return Trial(accepted=True)

    async def patch(
        self,
        kind: Kind,
        name: str,
        namespace: str | None,
        patch: Patch,
        *,
        dry_run: bool = False,
    ) -> Object:
        """Changes one object; the last finalizer taken from a deleted one removes it."""
        current = await self._current("patch", kind, name, namespace)
        new = _next(kind, current, patched(current, patch))
        if dry_run or same(new, current):
            return new
        meta = new["metadata"]
        gone = "deletionTimestamp" in meta and not meta.get("finalizers")
        return self._commit(kind, new, "DELETED" if gone else "MODIFIED")

    async def delete(self, kind: Kind, name: str, namespace: str | None = None) -> None:
        """Removes the object, or marks it while finalizers hold it."""
        obj = copy_of(await self._current("delete", kind, name, namespace))
        meta = obj["metadata"]
        if not meta.get("finalizers"):
            self._commit(kind, obj, "DELETED")
        elif "deletionTimestamp" not in meta:
            meta |= {"deletionTimestamp": self._now(), "deletionGracePeriodSeconds": 0}
            self._commit(kind, obj, "MODIFIED")

    async def watch(
        self, kind: Kind, resource_version: str | None = None
    ) -> AsyncGenerator[WatchEvent, None]:
        """The changes after `resource_version`, or after what there is, in order, without end."""
        await self._admit("watch", kind, None)
        if resource_version is None:
            resource_version = str(self._version)
            for obj in list(self._shelves[kind.resource].objects.values()):
                record = msgspec.convert(copy_of(obj), kind.record, strict=False)
                yield WatchEvent("ADDED", obj["metadata"]["resourceVersion"], record)
            yield WatchEvent("BOOKMARK", resource_version, complete=True)
        expect_version(resource_version)
        if len(resource_version) > 20 or int(resource_version) > self._version:
            # An API server would say nothing until it gets there.
            raise _expired(resource_version[:40])
        history = self._shelves[kind.resource].history
        number = history.after(int(resource_version))
        while True:
            found = history.get(number)
            if found is None:
                await self._change()
            else:
                number += 1
                version, change, obj = found
                record = msgspec.convert(copy_of(obj), kind.record, strict=False)
                yield WatchEvent(change, str(version), record)

    async def _admit(self, verb: str, kind: Kind, namespace: str | None) -> None:
        await asyncio.sleep(0)
        if self._rules is None or any(rule.allows(verb, kind, namespace) for rule in self._rules):
            return
        where = f'in namespace "{namespace}"' if namespace else "at the cluster scope"
        raise Forbidden(
            f"not allowed: {verb} {kind.resource} {where}",
            code="RBAC_DENIED",
            hint=f"Ask for the right to {verb} {kind.resource} {where}.",
        )

    async def _current(self, verb: str, kind: Kind, name: str, namespace: str | None) -> Object:
        """The stored object itself: to be read, never changed."""
        expect_scope(kind, namespace)
        expect_segment(name, "a name")
        await self._admit(verb, kind, namespace)
        obj = self._shelves[kind.resource].objects.get((namespace or "", name))
        if obj is None:
            raise NotFound(f"{_where(kind, name, namespace)} does not exist")
        return obj

    def _name(self, kind: Kind, meta: Object) -> None:
        """Checks the name, or makes one up from generateName."""
        prefix = meta.get("generateName")
        if not meta.get("name") and isinstance(prefix, str) and prefix:
            for _ in range(_GENERATE_TRIES):
                ending = "".join(self._random.choices(_RANDOM_LETTERS, k=5))
                meta["name"] = prefix[:_GENERATED_PREFIX] + ending
                if _key(meta) not in self._shelves[kind.resource].objects:
                    break
        _expect_name(kind, meta)
        try:
            dns_subdomain(meta["name"])
        except InvalidName as fault:
            raise InvalidInput(f"metadata.name: {fault}") from None

    def _expect_namespace(self, namespace: str | None) -> None:
        known = self._shelves[_NAMESPACES].objects
        if namespace is not None and known and ("", namespace) not in known:
            raise NotFound(f'namespace "{namespace}" does not exist')

    def _stamped(self, obj: Object, old: Object | None = None) -> Object:
        """Adds what the server sets, where it is missing; a replaced object hands it on."""
        set_by_server = {
            "uid": str(UUID(int=self._random.getrandbits(128), version=4)),
            "creationTimestamp": self._now(),
            "generation": 1,
        }
        meta, old_meta = obj["metadata"], old["metadata"] if old else {}
        for name, value in set_by_server.items():
            meta.setdefault(name, old_meta.get(name, value))
        return obj

    def _commit(self, kind: Kind, obj: Object, change: Change) -> Object:
        """Stores `obj` (the store's own from here on) and tells the watchers; returns a copy."""
        self._version += 1
        obj["metadata"]["resourceVersion"] = str(self._version)
        shelf, key = self._shelves[kind.resource], _key(obj["metadata"])
        if change == "DELETED":
            del shelf.objects[key]
        else:
            shelf.objects[key] = obj
        shelf.history.add(self._version, change, obj)
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        return copy_of(obj)

    async def _change(self) -> None:
        """Returns after the next change of any kind."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiter)
        try:
            await waiter
        finally:
            self._waiting.discard(waiter)


def _next(kind: Kind, current: Object, wanted: Any) -> Object:
    """What a patch makes of `current`: identity kept, version checked, server fields restored."""
    meta, old = wanted.get("metadata") if isinstance(wanted, dict) else None, current["metadata"]
    if not isinstance(meta, dict):
        raise InvalidInput("a patch must leave an object with metadata")
    meta["uid"] = meta.get("uid") or old["uid"]
    changed = [name for name in ("apiVersion", "kind") if wanted.get(name) != current[name]]
    changed += [f"metadata.{name}" for name in _IDENTITY if meta.get(name) != old.get(name)]
    if changed:
        raise InvalidInput(f"{' and '.join(changed)} of a {kind.kind} cannot change")
    version = meta.get("resourceVersion") or old["resourceVersion"]
    if version != old["resourceVersion"]:
        raise Conflict(
            f"{_where(kind, *_named(old))} has changed since it was read",
            code="CONCURRENT_CHANGE",
            hint="Read the object again and decide anew.",
        )
    for name in _SERVER_KEPT:
        meta.pop(name, None)
    meta |= {name: old[name] for name in _SERVER_KEPT if name in old}
    if not same(wanted.get("spec"), current.get("spec")):
        meta["generation"] = old["generation"] + 1
    return {**wanted}


def _selected(obj: Object, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    own = obj["metadata"].get("labels") or {}
    return all(own.get(name) == value for name, value in labels.items()) and all(
        (value_at(obj, path) or "") == value for path, value in fields.items()
    )


def _key(meta: Object) -> tuple[str, str]:
    return (meta.get("namespace") or "", meta["name"])


def _named(meta: Object) -> tuple[str, str | None]:
    return (meta["name"], meta.get("namespace"))


def _where(kind: Kind, name: str, namespace: str | None) -> str:
    place = f' in namespace "{namespace}"' if namespace else ""
    return f'{kind.resource} "{name}"{place}'


def _expect_name(kind: Kind, meta: Object) -> None:
    if not (isinstance(meta.get("name"), str) and meta["name"]):
        raise InvalidInput(f"the {kind.kind} has no metadata.name")


def _expired(what: str) -> Expired:
    return Expired(
        f"the resource version {what} is not in the history",
        hint="List the objects again and watch from there.",
    )
