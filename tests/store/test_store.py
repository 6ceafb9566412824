"""The audit on a database: the same tests on SQLite and on PostgreSQL."""

import asyncio
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from tests.store.rows import draft, outcome

from passway.model.errors import InvalidInput
from passway.service.audit import GENESIS, AuditUnavailable, Filter, Head, digest
from passway.store import schema
from passway.store.audit import LOCK, SqlAudit
from passway.store.database import Database, database, memory
from passway.store.migrate import migrate

ROOT = Path(__file__).parents[2]


def quiet(where: Database, **options) -> SqlAudit:
    return SqlAudit(where, write=lambda _: None, **options)


async def test_rows_are_kept_chained_and_logged(where):
    lines = []
    async with SqlAudit(where, write=lines.append) as audit:
        assert audit.head == Head(0, GENESIS)
        first = await audit.append(draft(after='{"a":"ä"}'))
        second = await audit.append(outcome(1))
        assert (first.sequence, first.previous, second.previous) == (1, GENESIS, first.hash)
        assert audit.head == Head(2, second.hash)
        assert [json.loads(line)["hash"] for line in lines] == [first.hash, second.hash]
        assert await audit.page(Filter(), 10) == (second, first)
    assert digest(first) == first.hash
    async with quiet(where) as again:
        assert again.head == Head(2, second.hash)
        assert await again.page(Filter(), 10) == (second, first)
        assert await again.verify() == (Head(2, second.hash), None)


async def test_pages_are_newest_first_bounded_and_filtered(where):
    async with quiet(where) as audit:
        for index in range(6):
            await audit.append(draft(name=f"n{index % 2}", user=f"u{index}", namespace=None))
        assert [row.sequence for row in await audit.page(Filter(), 2)] == [6, 5]
        assert [row.sequence for row in await audit.page(Filter(), 2, 5)] == [4, 3]
        assert [row.sequence for row in await audit.page(Filter(name="n1"), 9)] == [6, 4, 2]
        assert await audit.page(Filter(name="n1", user="u0"), 9) == ()
        assert await audit.page(Filter(namespace="x"), 9) == ()
        assert await audit.page(Filter(user="\0\ud800"), 9) == ()


async def test_text_that_databases_refuse_is_kept_all_the_same(where):
    async with quiet(where) as audit:
        row = await audit.append(draft(user="a\0b\ud800", detail="\U0001f600"))
        assert (row.user, row.detail) == ("a\ufffdb?", "\U0001f600")
        assert await audit.page(Filter(user="a\0b\ud800"), 1) == (row,)
        assert (await audit.verify())[1] is None


async def test_an_intent_has_one_outcome(where):
    async with quiet(where) as audit:
        await audit.append(draft())
        await audit.append(draft())
        await audit.append(outcome(None))
        assert [row.sequence for row in await audit.dangling(10)] == [1, 2]
        assert [row.sequence for row in await audit.dangling(1)] == [1]
        assert (await audit.append(outcome(1))).intent == 1
        assert await audit.append(outcome(1)) is None
        assert [row.sequence for row in await audit.dangling(10)] == [2]
        await audit.append(outcome(2))
        assert await audit.dangling(10) == ()
        await audit.append(draft())
        assert [row.sequence for row in await audit.dangling(10)] == [6]


async def test_the_head_of_others_is_seen_with_the_next_look(where):
    async with quiet(where) as one, quiet(where) as two:
        row = await two.append(draft())
        assert one.head == Head()
        await one.dangling(1)
        assert one.head == two.head == Head(1, row.hash)


async def test_many_tasks_and_two_replicas_make_one_chain(where):
    async with quiet(where) as one, quiet(where) as two:
        await asyncio.gather(*(audit.append(draft()) for _ in range(40) for audit in (one, two)))
        end, broken = await one.verify()
        assert (end.sequence, broken) == (80, None)


@pytest.mark.slow
def test_two_processes_that_start_at_once_make_one_chain(where, url):
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.store.writer", url, str(index), "150"],
            stdout=subprocess.PIPE,
            cwd=ROOT,
        )
        for index in range(2)
    ]
    said = [writer.communicate(timeout=120)[0].decode().split() for writer in writers]
    assert [len(lines) for lines in said] == [150, 150]

    async def look() -> None:
        async with quiet(where) as audit:
            end, broken = await audit.verify()
            assert (end.sequence, broken) == (300, None)
            rows = await audit.page(Filter(), 1000)
            assert {row.hash for row in rows} == {*said[0], *said[1]}

    asyncio.run(look())


async def test_replicas_that_migrate_at_once_do_it_once(where):
    replicas = [quiet(where) for _ in range(4)]
    await asyncio.gather(*(replica.__aenter__() for replica in replicas))
    assert [replica.head for replica in replicas] == [Head()] * 4
    await asyncio.gather(*(replica.__aexit__(None, None, None) for replica in replicas))


async def test_the_migrations_make_the_table_of_the_schema(where):
    def compare(connection: sa.Connection) -> None:
        migrate(connection)
        from alembic.autogenerate import compare_metadata
        from alembic.runtime.migration import MigrationContext

        assert compare_metadata(MigrationContext.configure(connection), schema.METADATA) == []

    engine = where.engine()
    async with engine.begin() as connection:
        await connection.run_sync(compare)
    await engine.dispose()


async def test_a_database_of_a_newer_version_is_refused(where):
    async with quiet(where):
        pass
    await execute(where, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(InvalidInput, match="does not fit this version"):
        async with quiet(where):
            pass


async def execute(where: Database, *statements: str) -> None:
    """As somebody would who has the database in hand."""
    engine = where.engine()
    async with engine.begin() as connection:
        for statement in statements:
            await connection.exec_driver_sql(statement)
    await engine.dispose()


async def test_a_row_is_kept_whole_although_the_caller_leaves(where):
    async with quiet(where) as audit:
        for rounds in range(12):
            task = asyncio.create_task(audit.append(draft()))
            for _ in range(rounds):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await audit.append(draft())
        _, broken = await audit.verify()
        assert broken is None


async def test_while_another_holds_the_chain_there_is_an_error_and_then_none(where, url):
    async with quiet(where, answer_s=0.3) as audit:
        if where.file:
            holder = sqlite3.connect(where.file, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
        else:
            holder = psycopg.connect(url)
            holder.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        with pytest.raises(AuditUnavailable) as caught:
            await audit.append(draft())
        assert (caught.value.code, caught.value.kind.status) == ("AUDIT_UNAVAILABLE", 503)
        assert "nothing is changed" in str(caught.value)
        holder.rollback() if not where.file else holder.execute("ROLLBACK")
        holder.close()
        for _ in range(50):  # the one that was given up may come first
            try:
                row = await audit.append(draft(name="later"))
                break
            except AuditUnavailable:
                pass
        assert row.name == "later"
        assert (await audit.verify())[1] is None


async def test_what_is_not_open_is_not_available(where):
    audit = quiet(where)
    assert audit.head is None
    with pytest.raises(AuditUnavailable, match="not open"):
        await audit.append(draft())


async def test_reading_changes_nothing(where):
    engine = where.engine()
    async with engine.begin():
        pass
    await engine.dispose()
    async with quiet(where, reading=True) as audit:
        with pytest.raises(AuditUnavailable):
            await audit.verify()
    async with quiet(where) as audit:
        row = await audit.append(draft())
    async with quiet(where, reading=True) as audit:
        assert await audit.verify(row.hash) == (Head(1, row.hash), None)


async def test_the_memory_of_a_process_is_a_database_too():
    async with quiet(memory()) as audit:
        await audit.append(draft())
        assert (await audit.verify())[0].sequence == 1
    async with quiet(memory()) as other:
        assert other.head == Head()


@pytest.mark.postgres
async def test_appending_needs_no_more_rights_than_the_page_says(postgres):
    url = postgres.database()
    async with quiet(database(url)):
        pass
    with psycopg.connect(url, autocommit=True) as owner:
        owner.execute("DROP ROLE IF EXISTS writer")
        owner.execute("CREATE ROLE writer LOGIN PASSWORD 'hunter2'")
        owner.execute("GRANT INSERT, SELECT ON audit TO writer")
        owner.execute("GRANT SELECT ON alembic_version TO writer")
    own = database(url).url.set(username="writer", password="hunter2")
    async with quiet(Database(own)) as audit:
        row = await audit.append(draft())
        assert await audit.verify(row.hash) == (Head(1, row.hash), None)
    with psycopg.connect(own.set(drivername="postgresql").render_as_string(False)) as writer:
        for statement in ("DELETE FROM audit", "UPDATE audit SET result = 'x'"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                writer.execute(statement)
            writer.rollback()
