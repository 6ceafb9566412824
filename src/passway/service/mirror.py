"""The mirror: a ClusterState kept true by listing and watching a Cluster.

Owns one task for each kind of the table: a watch that begins with what there is, or else a list and
a watch from there; mark what could be read, and read again when the history is gone. A kind that
may not be listed is *forbidden*, one that the API does not serve is *empty*, one that it serves in
another version only is *unread*; all three are listed again now and then, and nothing is kept of
what was read of them before. After any fault the kind is read anew, after a pause that grows while
it lasts. One writer: only the event loop that started it feeds the state. It writes nothing to the
cluster.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Final

from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Read, Snapshot
from passway.cluster.state import ClusterState, Listing
from passway.model.errors import Forbidden, NotFound, NotSynced, PasswayError, Unavailable
from passway.service.backoff import Backoff
from passway.service.ports import Cluster, Expired, OtherVersion, WatchEvent

RELIST_S: Final = 30.0
REFUSALS: Final = 4
"""How often what was allowed before is asked for again after a refusal."""
LISTS: Final = 3
"""How often a list that expires is begun anew before that counts as a fault."""
_log = logging.getLogger("passway.mirror")


class Mirror:
    """`async with Mirror(cluster) as mirror:` until its end; `snapshot()` from any use case.

    `read`: the kinds to read; the others stay unread. `namespaces`: where a kind may not be listed
    in all of them, it is listed in these, as far as that is allowed. `relist_s`: after how long a
    kind that could not be listed is tried again. `now` gives the time (RFC 3339, UTC) that ages are
    judged at; without it, it is the newest time in the objects.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        read: Iterable[Kind] = kinds.ALL,
        namespaces: Iterable[str] = (),
        relist_s: float = RELIST_S,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], str] | None = None,
    ) -> None:
        self._cluster = cluster
        self._kinds = tuple(read)
        self._namespaces = tuple(namespaces)
        self._state = ClusterState()
        self._relist_s = relist_s
        self._sleep = sleep
        self._now = now
        self._listed: set[str] = set()
        self._refused: dict[str, int] = {}
        self._ready = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Mirror":
        self._tasks = [
            asyncio.create_task(self._follow(kind), name=f"mirror {kind.plural}")
            for kind in self._kinds
        ]
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def ready(self, timeout_s: float = 60.0) -> None:
        """Waits until each of its kinds was listed once; raises NotSynced."""
        try:
            await asyncio.wait_for(self._ready.wait(), timeout_s)
        except TimeoutError:
            raise self._unsynced() from None

    async def read(self) -> None:
        """Each of its kinds once, and no watch; raises what stands in the way of all."""
        try:
            async with asyncio.TaskGroup() as group:
                for kind in self._kinds:
                    group.create_task(self._read(kind), name=f"read {kind.plural}")
        except ExceptionGroup as failed:  # one cause is enough, and mostly they are all the same
            raise failed.exceptions[0] from None

    def snapshot(self) -> Snapshot:
        """The cluster as of now; raises NotSynced until each of its kinds was listed once."""
        if not self._ready.is_set():
            raise self._unsynced()
        return self._state.snapshot(self._now() if self._now else self._state.newest)

    def apply(self, obj: dict[str, Any]) -> None:
        """An object that a write of ours returned, ahead of its watch event.

        One alone does not make its kind known.
        """
        decoded = decode_object(obj)
        if decoded is not None and self._state.is_read(decoded[0]):
            self._state.apply(*decoded)

    def _unsynced(self) -> NotSynced:
        waiting = sorted(kind.plural for kind in self._kinds if kind.plural not in self._listed)
        return NotSynced(
            f"not read yet: {', '.join(waiting[:5])}", hint="try again in a few seconds"
        )

    async def _follow(self, kind: Kind) -> None:
        backoff = Backoff()
        while True:
            wait_s = await self._followed(kind)
            await self._sleep(backoff.next_s() if wait_s is None else wait_s)

    async def _followed(self, kind: Kind) -> float | None:
        """Reads and watches until that ends; says how long to wait, if it was not by a fault."""
        try:
            if await self._streamed(kind):
                return None
            version = await self._read(kind)
            if version is None:
                return self._relist_s
            await self._watch(kind, version)
        except Expired as error:
            _log.info("%s will be listed again: %s", kind.plural, error)
        except Forbidden as error:
            if self._bears(kind):
                return None
            _log.warning("%s may be listed, but not watched: %s", kind.plural, error)
            return self._relist_s
        except PasswayError as error:
            _log.warning("reading %s failed: %s", kind.plural, error)
        except Exception:  # noqa: BLE001 - a bug; the kind would go stale, and nobody would know
            _log.exception("following %s failed", kind.plural)
        return None

    async def _streamed(self, kind: Kind) -> bool:
        """Follows a watch that begins with what there is; False where that did not come whole.

        Why it did not is for the list to say. Nothing of it is seen before it is complete.
        """
        listing = self._state.listing(kind)
        async with aclosing(self._cluster.watch(kind)) as events:
            try:
                version = await _complete(events, listing)
            except PasswayError as error:
                _log.debug("%s are listed, and not streamed: %s", kind.plural, error)
                return False
            listing.done(version)
            self._mark(kind, Read.READ)
            await self._take_all(kind, events)
        return True

    async def _read(self, kind: Kind) -> str | None:
        """Lists the kind and says from where to watch; None where there is nothing to watch."""
        try:
            return await self._list(kind)
        except Forbidden as error:
            if self._bears(kind):
                raise Unavailable(str(error)) from error
            _log.warning("%s may not be read: %s", kind.plural, error)
            await self._read_within(kind)
        except OtherVersion as error:
            _log.warning("%s are not read: %s", kind.plural, error)
            self._lost(kind, Read.UNREAD)
        except NotFound:
            self._lost(kind, Read.READ)
        return None

    async def _list(self, kind: Kind) -> str:
        """One whole list; one that expires between two pages is begun anew, a few times."""
        for _ in range(LISTS - 1):
            with suppress(Expired):
                return await self._listed_once(kind)
        return await self._listed_once(kind)

    async def _listed_once(self, kind: Kind) -> str:
        """Nothing of a list is seen before it is complete."""
        listing = self._state.listing(kind)
        version = await self._gather(kind, None, listing)
        listing.done(version)
        self._mark(kind, Read.READ)
        return version

    async def _gather(self, kind: Kind, namespace: str | None, listing: Listing) -> str:
        version = ""
        async with aclosing(self._cluster.pages(kind, namespace)) as pages:
            async for page in pages:
                listing.add(page.records)
                version = page.version
        return version

    async def _read_within(self, kind: Kind) -> None:
        """What may not be listed in all namespaces may be in some: of those it is known then."""
        listing, within = self._state.listing(kind), set()
        if kind in kinds.OF_A_MACHINE or kind is kinds.PODS:
            for namespace in self._namespaces:
                with suppress(Forbidden, NotFound):
                    await self._gather(kind, namespace, listing)
                    within.add(namespace)
        listing.done()
        self._mark(kind, Read.FORBIDDEN, frozenset(within))

    async def _watch(self, kind: Kind, version: str) -> None:
        async with aclosing(self._cluster.watch(kind, version)) as events:
            await self._take_all(kind, events)

    async def _take_all(self, kind: Kind, events: AsyncIterator[WatchEvent]) -> None:
        async for event in events:
            self._refused.pop(kind.plural, None)
            self._take(kind, event)

    def _take(self, kind: Kind, event: WatchEvent) -> None:
        if event.record is None:  # a bookmark
            self._state.mark(kind, Read.READ, event.version)
        elif event.type == "DELETED":
            self._state.remove(kind, event.record)
        else:
            self._state.apply(kind, event.record)
        self._confirm(kind)

    def _bears(self, kind: Kind) -> bool:
        """Whether a refusal may pass: a server that has just started does not know all rights yet.

        So what was allowed before is asked for a few times more before it counts as taken away.
        """
        if not self._state.is_read(kind):
            return False
        self._refused[kind.plural] = self._refused.get(kind.plural, 0) + 1
        return self._refused[kind.plural] <= REFUSALS

    def _confirm(self, kind: Kind) -> None:
        """A list, an event or a bookmark: as of now this is what there is."""
        if self._now is not None:
            self._state.confirm(kind, self._now())

    def _lost(self, kind: Kind, read: Read) -> None:
        """What was read of the kind before is not true any more, or not for our eyes."""
        self._state.replace(kind, ())
        self._mark(kind, read)

    def _mark(self, kind: Kind, read: Read, within: frozenset[str] = frozenset()) -> None:
        self._state.mark(kind, read, within=within)
        self._confirm(kind)
        self._listed.add(kind.plural)
        if len(self._listed) == len(self._kinds):
            self._ready.set()


async def _complete(events: AsyncIterator[WatchEvent], listing: Listing) -> str:
    """Gathers what there is, and says from which version on it changes."""
    async for event in events:
        if event.record is None:  # the bookmark that is complete
            return event.version
        if event.type == "DELETED":
            listing.remove(event.record)
        else:
            listing.add((event.record,))
    raise Unavailable("the watch ended before all was told")
