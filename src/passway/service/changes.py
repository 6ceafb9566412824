"""Changes that leave a trace: an intent before, the write, an outcome after.

Owns when rows of the audit are written, and that a change which was begun comes to its end: it
runs in a task of its own, so a caller that leaves does not stop it half way. A change whose intent
cannot be written is not made. An outcome that cannot be written, or that nobody knows, leaves the
intent open; `dangling` closes it by looking at the object. It does not know what is changed.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeVar

import msgspec

from passway.cluster.kinds import Kind
from passway.model import errors
from passway.model.errors import PasswayError, Unavailable
from passway.model.verdict import Ref
from passway.service.audit import (
    DONE,
    Actor,
    Audit,
    AuditEntry,
    AuditUnavailable,
    Draft,
    closing,
    short,
)
from passway.service.withheld import kept

T = TypeVar("T")
WRITE_S: Final = 60.0
FINISH_S: Final = 8.0
REFUSALS: Final = (
    errors.InvalidInput, errors.Unauthenticated, errors.Forbidden, errors.NotFound,
    errors.Conflict, errors.TooLarge, errors.PreflightFailed,
)  # fmt: skip
"""Errors after which it is known that nothing was written."""
_log = logging.getLogger("passway.audit")


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody wants to change. `kind` None: which object it is about was not found out."""

    action: str
    kind: Kind | None
    target: Ref
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    detail: str | None = None


class Changes(Protocol):
    """The way to every write."""

    async def made(self, actor: Actor, attempt: Attempt, write: Callable[[], Awaitable[T]]) -> T:
        """Makes the change; what `write` raises is raised."""
        ...

    async def refused(self, actor: Actor, attempt: Attempt, error: PasswayError) -> None:
        """Notes a change that was refused before anything was tried."""
        ...


class Unrecorded:
    """Changes of who writes to the cluster as themselves, which the cluster's own audit names."""

    async def made(
        self,
        actor: Actor,  # noqa: ARG002 - of the port
        attempt: Attempt,  # noqa: ARG002
        write: Callable[[], Awaitable[T]],
    ) -> T:
        return await write()

    async def refused(self, actor: Actor, attempt: Attempt, error: PasswayError) -> None:
        """Nobody is told but the caller."""


class Recorded:
    """Changes in the audit. `now` gives RFC 3339 in UTC; `replica` is a name of this process alone.

    A context: leaving it waits for what runs, at most `finish_s`.
    """

    def __init__(
        self,
        audit: Audit,
        *,
        now: Callable[[], str],
        replica: str,
        write_s: float = WRITE_S,
        finish_s: float = FINISH_S,
    ) -> None:
        self.replica = replica
        self._audit = audit
        self._now = now
        self._write_s = write_s
        self._finish_s = finish_s
        self._tasks: set[asyncio.Task[Any]] = set()
        self._beginning = 0
        self._running: set[int] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=self._finish_s)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def given_up(self, entry: AuditEntry) -> bool:
        """Is this an intent of this process that nothing works on any more?"""
        return (
            entry.replica == self.replica
            and not self._beginning
            and entry.sequence not in self._running
        )

    async def made(self, actor: Actor, attempt: Attempt, write: Callable[[], Awaitable[T]]) -> T:
        """As the protocol says; once begun it goes on although the caller is cancelled."""
        return await self._finished(self._made(actor, attempt, write))

    async def refused(self, actor: Actor, attempt: Attempt, error: PasswayError) -> None:
        """As the protocol says."""
        draft = self._draft(actor, attempt, "outcome", error.code, str(error))
        await self._finished(self._audit.append(draft))

    async def _finished(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def _made(self, actor: Actor, attempt: Attempt, write: Callable[[], Awaitable[T]]) -> T:
        intent = await self._begun(self._draft(actor, attempt, "intent", None, attempt.detail))
        try:
            try:
                async with asyncio.timeout(self._write_s):
                    made = await write()
            except TimeoutError as error:
                raise Unavailable(
                    f"the change took longer than {self._write_s:.0f} s; whether it was made is "
                    "being found out",
                    hint="the audit will say (GET /api/v1/audit)",
                ) from error
            except REFUSALS as error:
                await self._close(intent, error.code, str(error))
                raise
            await self._close(intent, DONE)
            return made
        finally:
            self._running.discard(intent.sequence)

    async def _begun(self, draft: Draft) -> AuditEntry:
        self._beginning += 1
        try:
            intent = await self._audit.append(draft)
            assert intent is not None  # noqa: S101 - only an outcome may come too late
            self._running.add(intent.sequence)
            return intent
        finally:
            self._beginning -= 1

    async def _close(self, intent: AuditEntry, result: str, detail: str | None = None) -> None:
        """The change is made or refused already: what fails here must not say otherwise."""
        draft = closing(
            intent, time=self._now(), replica=self.replica, result=result, detail=detail
        )
        try:
            if await self._audit.append(draft) is None:
                _log.warning("intent %d was closed by another replica: %s", intent.sequence, result)
        except AuditUnavailable as error:
            text = msgspec.json.encode(draft).decode()
            _log.error("an outcome could not be kept (%s): %s", error, text)

    def _draft(
        self, actor: Actor, attempt: Attempt, phase: Any, result: str | None, detail: str | None
    ) -> Draft:
        return Draft(
            time=self._now(),
            request_id=short(actor.request_id),
            replica=self.replica,
            user=short(actor.user),
            source=short(actor.source),
            action=short(attempt.action),
            api_version=attempt.kind.api_version if attempt.kind else "",
            kind=attempt.kind.kind if attempt.kind else attempt.target.kind,
            namespace=attempt.target.namespace,
            name=short(attempt.target.name),
            before=kept(attempt.before),
            after=kept(attempt.after),
            phase=phase,
            intent=None,
            result=result,
            detail=None if detail is None else short(detail),
        )
