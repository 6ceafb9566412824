"""No row can be changed, taken out, moved or put in without being found."""

import asyncio
import sys
import tempfile
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.exc import IntegrityError
from tests.store.rows import draft, outcome
from tests.store.test_store import execute, quiet

from passway.main import cli
from passway.service.audit import (
    GENESIS,
    AuditEntry,
    AuditUnavailable,
    Chain,
    Filter,
    Head,
    chained,
)
from passway.store.audit import CHUNK
from passway.store.database import database

ROWS = 5
FIELDS = AuditEntry.__struct_fields__


def chain(count=ROWS):
    found, head = [], Head()
    for index in range(count):
        made = outcome(index) if index % 2 else draft()
        found.append(chained(made, head))
        head = Head(found[-1].sequence, found[-1].hash)
    return found


def broken(rows):
    following = Chain()
    for row in rows:
        found = following.add(row)
        if found is not None:
            return found.sequence
    return None


def other(value):
    """Another value of the same sort."""
    match value:
        case int():
            return value + 1
        case None:
            return "x"
        case "intent" | "outcome":
            return {"intent": "outcome", "outcome": "intent"}[value]
        case _:
            return f"{value}x"


def test_a_chain_is_whole_and_says_its_end():
    rows, following = chain(), Chain()
    assert [following.add(row) for row in rows] == [None] * ROWS
    assert following.head == Head(ROWS, rows[-1].hash)
    assert broken([]) is None


@pytest.mark.parametrize("field", FIELDS)
@given(at=st.integers(0, ROWS - 1))
def test_a_changed_field_is_found_where_it_is(field, at):
    rows = chain()
    rows[at] = msgspec.structs.replace(rows[at], **{field: other(getattr(rows[at], field))})
    assert broken(rows) == at + 1


@given(at=st.integers(0, ROWS - 1), to=st.integers(0, ROWS - 1))
def test_moved_removed_and_repeated_rows_are_found(at, to):
    rows = chain()
    if at != to:
        swapped = chain()
        swapped[at], swapped[to] = swapped[to], swapped[at]
        assert broken(swapped) == min(at, to) + 1
        renumbered = [
            msgspec.structs.replace(row, sequence=index + 1) for index, row in enumerate(swapped)
        ]
        assert broken(renumbered) == min(at, to) + 1
    if at < ROWS - 1:
        assert broken(rows[:at] + rows[at + 1 :]) == at + 1
    assert broken([*rows[: at + 1], rows[at], *rows[at + 1 :]]) == at + 2


def test_text_that_is_no_unicode_is_found():
    rows = chain(1)
    assert broken([msgspec.structs.replace(rows[0], user="\ud800")]) == 1


# -- in a database --------------------------------------------------------------------------------


async def filled(where, count=ROWS):
    async with quiet(where) as audit:
        for index in range(count):
            await audit.append(outcome(index) if index % 2 else draft())
        return [row.hash for row in (await audit.page(Filter(), count))[::-1]]


async def verified(where, head=None):
    async with quiet(where, reading=True) as audit:
        return await audit.verify(head)


CHANGES = {
    **{field: f"UPDATE audit SET \"{field}\" = '%' WHERE sequence = 3" for field in (
        "time", "request_id", "replica", "user", "source", "action", "api_version", "kind",
        "namespace", "name", "before", "after", "result", "detail", "previous", "hash",
    )},
    "phase": "UPDATE audit SET phase = 'outcome' WHERE sequence = 3",
    "a phase that there is not": "UPDATE audit SET phase = '?' WHERE sequence = 3",
    "intent": "UPDATE audit SET intent = 4711 WHERE sequence = 3",
    "sequence": "UPDATE audit SET sequence = 4711 WHERE sequence = 3",
    "NULL": "UPDATE audit SET namespace = NULL WHERE sequence = 3",
    "deleted": "DELETE FROM audit WHERE sequence = 3",
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_in_the_database_is_found_where_it_is(where, change):
    await filled(where)
    await execute(where, CHANGES[change].replace("'%'", "'" + "f" * 64 + "'"))
    end, found = await verified(where)
    assert (end.sequence, found.sequence) == (2, 3)


async def test_swapped_rows_are_found(where):
    await filled(where)
    steps = ((2, -1), (3, 2), (-1, 3))
    await execute(
        where, *(f"UPDATE audit SET sequence = {to} WHERE sequence = {at}" for at, to in steps)
    )
    assert (await verified(where))[1].sequence == 2


async def test_a_row_before_the_first_is_found(where):
    await filled(where)
    await execute(where, "UPDATE audit SET sequence = -5 WHERE sequence = 4")
    assert (await verified(where))[1].sequence == 1


async def test_an_end_that_was_cut_off_is_found_by_the_noted_head(where):
    hashes = await filled(where)
    for noted in hashes:
        assert (await verified(where, noted))[1] is None
    await execute(where, "DELETE FROM audit WHERE sequence > 3")
    assert await verified(where) == (Head(3, hashes[2]), None)
    end, found = await verified(where, hashes[4])
    assert (end.sequence, found.sequence) == (3, 4)
    await execute(where, "DELETE FROM audit")
    assert await verified(where) == (Head(0, GENESIS), None)
    assert (await verified(where, hashes[0]))[1].sequence == 1


@given(at=st.integers(1, ROWS), field=st.sampled_from(FIELDS), text=st.text(max_size=5))
@settings(max_examples=40)
def test_any_text_in_any_field_is_found(at, field, text):
    async def look() -> None:
        with tempfile.TemporaryDirectory() as folder:
            where = database(f"{folder}/a.db")
            await filled(where)
            engine = where.engine()
            async with engine.begin() as connection:
                query = f'SELECT "{field}" FROM audit WHERE sequence = {at}'
                was = (await connection.exec_driver_sql(query)).scalar()
                try:
                    await connection.exec_driver_sql(
                        f'UPDATE audit SET "{field}" = ? WHERE sequence = {at}', (text,)
                    )
                except IntegrityError:
                    was = text  # not even possible
                now = (await connection.exec_driver_sql(query)).scalar() if was != text else text
            await engine.dispose()
            found = (await verified(where))[1]
            assert (found is None) == (was in (now, text)), (was, now)
            assert found is None or found.sequence == at

    asyncio.run(look())


async def test_a_long_chain_is_followed_piece_by_piece(where):
    hashes = await filled(where, CHUNK + 3)
    assert await verified(where) == (Head(CHUNK + 3, hashes[-1]), None)
    await execute(where, f"DELETE FROM audit WHERE sequence = {CHUNK + 1}")
    assert (await verified(where))[1].sequence == CHUNK + 1


async def test_a_page_of_what_is_no_row_is_no_bug(where):
    await filled(where)
    await execute(where, "UPDATE audit SET phase = '?' WHERE sequence = 3")
    async with quiet(where) as audit:
        with pytest.raises(AuditUnavailable):
            await audit.page(Filter(), 10)


# -- the command ----------------------------------------------------------------------------------


def run(*args, code, env=None):
    done = CliRunner().invoke(cli, ["audit", "verify", *args], env=env)
    assert done.exit_code == code, done.output
    return done.output


def test_the_command_says_whether_it_is_whole(url, where):
    hashes = asyncio.run(filled(where))
    assert run("--database", url, code=0) == f"whole: 5 rows\nhead: {hashes[-1]}\n"
    assert "whole" in run("--head", hashes[2].upper(), code=0, env={"PASSWAY_AUDIT": url})
    asyncio.run(execute(where, "DELETE FROM audit WHERE sequence = 5"))
    assert "whole: 4 rows" in run("--database", url, code=0)
    told = run("--database", url, "--head", hashes[4], code=1)
    assert told == (
        "broken: the noted head is not in the chain: its end was cut off\n"
        f"whole up to row 4, {hashes[3]}\n"
    )
    asyncio.run(execute(where, "UPDATE audit SET result = 'done' WHERE sequence = 3"))
    assert "broken: row 3 is not what was written" in run("--database", url, code=1)


def test_the_command_makes_no_database(tmp_path):
    state = {"XDG_STATE_HOME": str(tmp_path), "PASSWAY_AUDIT": ""}
    assert "there is no audit in" in run(code=6, env=state)
    assert "hexadecimal" in run("--head", "abc", code=2, env=state)
    (tmp_path / "passway").mkdir()
    (tmp_path / "passway" / "audit.db").write_bytes(b"no database" * 1000)
    told = run(code=7, env=state)
    assert "audit database does not answer" in told
    assert [path.name for path in Path(tmp_path, "passway").iterdir()] == ["audit.db"]


def test_the_command_says_no_password():
    told = run("--database", "postgresql://me:hunter2@127.0.0.1:1/x", code=7)
    assert "hunter2" not in told
    assert "hunter2" not in run("--database", "mysql://me:hunter2@h/x", code=2)


def test_the_command_says_what_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "passway.store.verify", None)
    assert "passway[server]" in run(code=2)
