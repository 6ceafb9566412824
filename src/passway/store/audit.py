"""The audit in a database: one chain, however many replicas append to it.

Owns appending under a lock (SQLite's write lock, PostgreSQL's advisory lock), reading in pages, and
what every failure of a database means to the rest of Passway. A transaction, once begun, comes to
its end whatever happens to the caller. The schema is brought up to date with the first transaction
that succeeds, so a database that is away at the start is no reason not to start.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import msgspec
from sqlalchemy import RowMapping, Select, exists, func, insert, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from passway.model.override import override
from passway.service.audit import (
    Audit,
    AuditEntry,
    AuditUnavailable,
    Break,
    Chain,
    Draft,
    Filter,
    Head,
    chained,
    clean,
)
from passway.store.database import IMMEDIATE, Database
from passway.store.migrate import migrate
from passway.store.schema import ENTRIES

T = TypeVar("T")
LOCK: Final = 0x70617373776179
"""The advisory lock of the chain: "passway" in ASCII."""
ANSWER_S: Final = 10.0
CHUNK: Final = 500
_rows = ENTRIES.c
_log = logging.getLogger("passway.audit")


class SqlAudit(Audit):
    """A context; `write` gets each row as a line of JSON once it is kept.

    With `reading` nothing of the database is touched, not even an old schema.
    """

    def __init__(
        self,
        database: Database,
        *,
        write: Callable[[str], None] = _log.info,
        reading: bool = False,
        answer_s: float = ANSWER_S,
    ) -> None:
        self._database = database
        self._write = write
        self._answer_s = answer_s
        self._reading = reading
        self._engine: AsyncEngine | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._migrated = False
        self._head: Head | None = None
        self._closed = 0  # no intent up to this one is open

    async def __aenter__(self) -> Self:
        self._engine = self._database.engine(reading=self._reading)
        self._migrated = self._reading
        if self._reading:
            return self
        try:
            self._seen(await self._run(_newest))
        except AuditUnavailable:
            _log.warning("until %s answers, no change is made", self._database)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        engine, self._engine = self._engine, None
        if self._tasks:
            await asyncio.wait(self._tasks)
        if engine is not None:
            await asyncio.shield(asyncio.create_task(engine.dispose()))

    @property
    @override
    def head(self) -> Head | None:
        return self._head

    def _seen(self, head: Head) -> None:
        if self._head is None or head.sequence > self._head.sequence:
            self._head = head

    @override
    async def append(self, draft: Draft) -> AuditEntry | None:
        return await self._run(lambda connection: self._append(connection, draft), write=True)

    async def _append(self, connection: AsyncConnection, draft: Draft) -> AuditEntry | None:
        if draft.intent is not None:
            answered = select(exists().where(_rows.intent == draft.intent))
            if (await connection.execute(answered)).scalar():
                return None
        entry = chained(draft, await _newest(connection))
        await connection.execute(insert(ENTRIES).values(**msgspec.structs.asdict(entry)))
        return entry

    @override
    async def page(
        self, wanted: Filter, limit: int, before: int | None = None
    ) -> tuple[AuditEntry, ...]:
        query = select(ENTRIES).order_by(_rows.sequence.desc()).limit(limit)
        if before is not None:
            query = query.where(_rows.sequence < before)
        for name, value in msgspec.structs.asdict(wanted).items():
            if value is not None:
                query = query.where(_rows[name] == clean(value))
        return await self._run(lambda connection: _entries(connection, query))

    @override
    async def dangling(self, limit: int) -> tuple[AuditEntry, ...]:
        outcomes = ENTRIES.alias("outcomes")
        query = (
            select(ENTRIES)
            .where(_rows.phase == "intent", _rows.sequence > self._closed)
            .where(~exists().where(outcomes.c.intent == _rows.sequence))
            .order_by(_rows.sequence)
            .limit(limit)
        )

        async def look(connection: AsyncConnection) -> tuple[Head, tuple[AuditEntry, ...]]:
            return await _newest(connection), await _entries(connection, query)

        head, found = await self._run(look)
        self._closed = found[0].sequence - 1 if found else head.sequence
        self._seen(head)
        return found

    async def verify(self, head: str | None = None) -> tuple[Head, Break | None]:
        """Follows the whole chain, a piece at a time; with `head`, that hash must be in it."""
        chain, seen = Chain(), head is None
        async for row in self._all():
            try:
                entry = _entry(row)
            except msgspec.ValidationError as error:
                at = chain.head.sequence + 1
                return chain.head, Break(at, f"row {at} is not what was written: {error}")
            found = chain.add(entry)
            if found is not None:
                return chain.head, found
            seen = seen or entry.hash == head
        if not seen:
            at = chain.head.sequence + 1
            return chain.head, Break(at, "the noted head is not in the chain: its end was cut off")
        return chain.head, None

    async def _all(self) -> AsyncIterator[RowMapping]:
        query = select(ENTRIES).order_by(_rows.sequence).limit(CHUNK)
        after: Select[Any] | None = query
        while after is not None:
            rows = await self._run(_reading(after))
            for row in rows:
                yield row
            after = query.where(_rows.sequence > rows[-1]["sequence"]) if rows else None

    # -- transactions -----------------------------------------------------------------------------

    async def _run(
        self, work: Callable[[AsyncConnection], Awaitable[T]], *, write: bool = False
    ) -> T:
        """Does the work in a transaction of its own, to its end; raises AuditUnavailable."""
        if self._engine is None:
            raise AuditUnavailable("the audit is not open")
        task = asyncio.create_task(self._transaction(self._engine, work, write=write))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            async with asyncio.timeout(self._answer_s):
                return await asyncio.shield(task)
        except (SQLAlchemyError, OSError, TimeoutError, msgspec.ValidationError) as error:
            words = str(getattr(error, "orig", None) or error).strip() or type(error).__name__
            _log.warning("%s: %s", self._database, words.splitlines()[0])
            raise AuditUnavailable(
                "the audit database does not answer; without it nothing is changed",
                hint="try again in a moment; if it stays so, ask whoever runs this service",
            ) from error

    async def _transaction(
        self,
        engine: AsyncEngine,
        work: Callable[[AsyncConnection], Awaitable[T]],
        *,
        write: bool,
    ) -> T:
        alone = write or not self._migrated
        async with engine.connect() as connection:
            await connection.execution_options(**{IMMEDIATE: alone})
            async with connection.begin():
                if alone and engine.dialect.name == "postgresql":
                    await connection.execute(select(func.pg_advisory_xact_lock(LOCK)))
                if not self._migrated:
                    await connection.run_sync(migrate)
                done = await work(connection)
        self._migrated = True
        if isinstance(done, AuditEntry):
            self._seen(Head(done.sequence, done.hash))
            self._write(msgspec.json.encode(done).decode())
        return done


async def _newest(connection: AsyncConnection) -> Head:
    query = select(_rows.sequence, _rows.hash).order_by(_rows.sequence.desc()).limit(1)
    row = (await connection.execute(query)).first()
    return Head() if row is None else Head(row.sequence, row.hash)


async def _entries(connection: AsyncConnection, query: Select[Any]) -> tuple[AuditEntry, ...]:
    rows = (await connection.execute(query)).mappings().all()
    return tuple(map(_entry, rows))


def _entry(row: RowMapping) -> AuditEntry:
    fields = {name: row[name] for name in AuditEntry.__struct_fields__}
    return msgspec.convert(fields, AuditEntry)


def _reading(
    query: Select[Any],
) -> Callable[[AsyncConnection], Awaitable[list[RowMapping]]]:
    async def read(connection: AsyncConnection) -> list[RowMapping]:
        return list((await connection.execute(query)).mappings().all())

    return read
