"""Where the audit is kept, and what of that may be printed."""

import stat

import pytest

from passway.model.errors import InvalidInput
from passway.store.database import Database, database, default_file, memory, prepare


@pytest.mark.parametrize(
    ("text", "shown", "file"),
    [
        ("/var/a.db", "sqlite+aiosqlite:////var/a.db", "/var/a.db"),
        ("a.db", "sqlite+aiosqlite:///a.db", "a.db"),
        ("sqlite:////var/a.db", "sqlite+aiosqlite:////var/a.db", "/var/a.db"),
        ("postgresql://me:hunter2@db/x", "postgresql+psycopg://me:***@db/x", None),
        ("postgres://db/x?password=hunter2", "postgresql+psycopg://db/x", None),
    ],
)
def test_a_database_is_named_without_its_password(text, shown, file):
    found = database(text)
    assert str(found) == shown
    assert (None if found.file is None else str(found.file)) == file
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    "text",
    ["mysql://me:hunter2@h/x", "://hunter2", "postgresql://h:hunter2/x", "sqlite:///a?x=hunter2"],
)
def test_what_is_not_known_is_refused_without_repeating_it(text):
    with pytest.raises(InvalidInput) as caught:
        database(text)
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


def test_the_file_is_its_owners_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = database(str(default_file()))
    assert found.file == tmp_path / "state" / "passway" / "audit.db"
    prepare(found)
    assert stat.S_IMODE(found.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(found.file.parent.stat().st_mode) == 0o700
    prepare(found)
    prepare(memory())
    prepare(database("postgresql://h/x"))
    monkeypatch.delenv("XDG_STATE_HOME")
    assert default_file().parts[-4:] == (".local", "state", "passway", "audit.db")


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="cannot be kept in"):
        prepare(database(str(tmp_path / "file" / "a.db")))


@pytest.mark.parametrize(("setting", "value"), [("journal_mode", "wal"), ("synchronous", 2)])
async def test_a_file_is_kept_durably(tmp_path, setting, value):
    engine = database(str(tmp_path / "a.db")).engine()
    async with engine.connect() as connection:
        assert (await connection.exec_driver_sql(f"PRAGMA {setting}")).scalar() == value
    await engine.dispose()


def test_settings_of_the_url_are_kept_beside_the_limits():
    found = database("postgresql://h/x?options=-csearch_path%3Daudit")
    assert isinstance(found, Database)
    assert found.engine().url.query["options"] == "-csearch_path=audit"
