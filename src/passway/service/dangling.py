"""Intents without an outcome: what became of the change is found out by looking at the object.

Owns when an intent counts as given up (this process does not work on it any more, or it is older
than any write can take), and what the object says about it. What the object cannot say is
`unknown`; an object that cannot be read now is looked at again. Runs from the start of the service
on, so an outcome that a dead replica owes comes soon after.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

import msgspec

from passway.cluster import kinds
from passway.cluster.kinds import Kind
from passway.model.errors import Forbidden, InvalidInput, NotFound, PasswayError
from passway.plan.permit import listing_in
from passway.service.audit import Audit, AuditEntry, closing
from passway.service.changes import WRITE_S, Recorded
from passway.service.ports import Cluster, Object, OtherVersion
from passway.service.withheld import kept, without_secrets

Result: TypeAlias = Literal["applied", "not_applied", "unknown"]
EVERY_S: Final = 10.0
STALE_S: Final = WRITE_S + 60.0
"""Age at which no replica can still be working on an intent, whatever its clock."""
BATCH: Final = 100
_KNOWN: Final = (kinds.MACHINES, kinds.KUBEVIRTS, kinds.HYPERCONVERGEDS)
_log = logging.getLogger("passway.audit")


@dataclass(frozen=True, slots=True)
class Found:
    """What became of a change, and what was read to know it."""

    result: Result
    detail: str
    after: str | None = None


def judged(intent: AuditEntry, kind: Kind, obj: Object | None) -> Found:
    """What the object (None: there is none) says about the change; pure."""
    if intent.action == "create":
        return _created(intent, obj)
    if obj is None:
        return Found("unknown", "the object is gone")
    after = kept(listing_in(kind, obj))
    found, wanted, was = map(_value, (after, intent.after, intent.before))
    version = f"resourceVersion {obj['metadata'].get('resourceVersion')}"
    if found == was:
        return Found("not_applied", f"the list is as it was before ({version})", after)
    has, new, old = map(_entries, (found, wanted, was))
    if found == wanted or (new != old and new - old <= has and not (old - new) & has):
        return Found("applied", f"the list has the change ({version})", after)
    return Found("unknown", f"the list has changed, and not in this way ({version})", after)


def _entries(listing: Any) -> frozenset[tuple[str, bytes]]:
    """The entries of a list object, in a form that can be compared."""
    fields = listing.items() if isinstance(listing, dict) else ()
    return frozenset(
        (field, msgspec.json.encode(entry, order="sorted"))
        for field, entries in fields
        if isinstance(entries, list)
        for entry in entries
    )


def _created(intent: AuditEntry, obj: Object | None) -> Found:
    if obj is None:
        return Found("not_applied", "there is no such object")
    meta = obj["metadata"]
    after = kept({"metadata": {name: meta.get(name) for name in ("uid", "creationTimestamp")}})
    wanted, made = _value(intent.after), str(meta.get("creationTimestamp"))
    if made >= intent.time and _within(wanted, without_secrets(obj)):
        return Found("applied", f"the object is there, created {made}", after)
    return Found("unknown", f"an object of that name is there, created {made}", after)


def _value(text: str | None) -> Any:
    return None if text is None else msgspec.json.decode(text)


def _within(wanted: Any, found: Any) -> bool:
    """Is everything that was wanted there? The API server adds to objects."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(
            name in found and _within(item, found[name]) for name, item in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(wanted) == len(found)
            and all(map(_within, wanted, found))
        )
    return bool(wanted == found)


class Resolver:
    """Closes dangling intents, now and then. A context in which it runs."""

    def __init__(
        self,
        cluster: Cluster,
        audit: Audit,
        changes: Recorded,
        *,
        now: Callable[[], str],
        every_s: float = EVERY_S,
        stale_s: float = STALE_S,
    ) -> None:
        self._cluster = cluster
        self._audit = audit
        self._changes = changes
        self._now = now
        self._every_s = every_s
        self._stale_s = stale_s
        self._running: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._run())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            try:
                await self.resolve()
            except PasswayError as error:
                _log.debug("dangling intents are looked at later: %s", error)
            except Exception:  # noqa: BLE001 - a bug here must not end what looks after open intents
                _log.exception("dangling intents could not be looked at")
            await asyncio.sleep(self._every_s)

    async def resolve(self) -> int:
        """Closes what can be closed now; says how many intents that were."""
        closed = 0
        for intent in await self._audit.dangling(BATCH):
            if self._changes.given_up(intent) or self._stale(intent):
                closed += await self._resolve(intent)
        return closed

    def _stale(self, intent: AuditEntry) -> bool:
        now, then = map(datetime.fromisoformat, (self._now(), intent.time))
        return (now - then).total_seconds() >= self._stale_s

    async def _resolve(self, intent: AuditEntry) -> bool:
        try:
            found = await self._look(intent)
        except PasswayError as error:
            _log.warning("intent %d stays open: %s", intent.sequence, error)
            return False
        outcome = closing(
            intent, time=self._now(), replica=self._changes.replica, result=found.result,
            detail=f"found out afterwards: {found.detail}", after=found.after,
        )  # fmt: skip
        return await self._audit.append(outcome) is not None

    async def _look(self, intent: AuditEntry) -> Found:
        kind = kinds.kind_of(intent.api_version, intent.kind)
        if kind is None or kind not in _KNOWN:
            return Found("unknown", f"{intent.kind} is not looked at")
        kind = replace(kind, version=intent.api_version.rpartition("/")[2])
        try:
            obj = await self._cluster.get(kind, intent.name, intent.namespace)
        except OtherVersion as error:
            return Found("unknown", str(error))
        except NotFound:
            return judged(intent, kind, None)
        except (Forbidden, InvalidInput) as error:
            return Found("unknown", f"{error.code}: {error}")
        return judged(intent, kind, obj)
