"""Which database, and how a connection to it behaves.

Owns what `--audit` may say, what of it may be printed (never a password), and the settings on which
durability and the single chain rest: SQLite with a write-ahead log and full sync, one connection
and transactions that take the write lock at their beginning; PostgreSQL with limits on waiting.
It knows no table.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL, Connection, event, make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from passway.model.errors import InvalidInput
from passway.model.override import override

WAIT_S: Final = 5
CONNECTIONS: Final = 4
IMMEDIATE: Final = "passway_immediate"
"""The execution option of a connection that is going to write."""
_DRIVERS: Final = {
    "sqlite": "sqlite+aiosqlite", "sqlite+aiosqlite": "sqlite+aiosqlite",
    "postgres": "postgresql+psycopg", "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}  # fmt: skip
_READING: Final = ("trusted_schema=OFF",)
_WRITING: Final = (*_READING, "journal_mode=WAL", "synchronous=FULL")
_HINT: Final = "a file, or postgresql://USER:PASSWORD@HOST/NAME"
_LIMITS: Final = f"-c statement_timeout={WAIT_S}s -c lock_timeout={WAIT_S}s"


@dataclass(frozen=True, slots=True)
class Database:
    """One database. Its text names no password."""

    url: URL = field(repr=False)

    @override
    def __str__(self) -> str:
        return self.url.set(query={}).render_as_string(hide_password=True)

    @property
    def file(self) -> Path | None:
        """Where SQLite keeps it; None for one in memory and for a server."""
        name = self.url.database
        return Path(name) if self.url.get_backend_name() == "sqlite" and name else None

    def engine(self, *, reading: bool = False) -> AsyncEngine:
        """Connects when it is first needed; with `reading` a file stays as it is."""
        if self.url.get_backend_name() == "sqlite":
            return _sqlite(_unchanged(self.file) if reading and self.file else self.url, reading)
        given = self.url.query.get("options", "")
        return create_async_engine(
            self.url,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=WAIT_S,
            pool_pre_ping=True,
            hide_parameters=True,
            connect_args={
                "connect_timeout": WAIT_S,
                "tcp_user_timeout": WAIT_S * 1000,
                "options": f"{given} {_LIMITS}".strip(),
            },
        )


def memory() -> Database:
    """A database that goes with the process."""
    return Database(URL.create("sqlite+aiosqlite"))


def database(text: str) -> Database:
    """What `--audit` says: a file's path or a URL; raises InvalidInput, never with the text."""
    if "://" not in text:
        return Database(URL.create("sqlite+aiosqlite", database=text))
    try:
        url = make_url(text)
        driver = _DRIVERS[url.drivername]
    except (SQLAlchemyError, KeyError, ValueError):
        raise InvalidInput("the audit database is not one that is known", hint=_HINT) from None
    if driver.startswith("sqlite") and url.query:
        raise InvalidInput("the URL of a SQLite database takes no parameters", hint=_HINT)
    return Database(url.set(drivername=driver))


def default_file() -> Path:
    """Where the audit is when nobody says: in the user's folder for state."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "passway" / "audit.db"


def prepare(found: Database) -> None:
    """Makes the file of a SQLite database, for its owner only; raises InvalidInput."""
    if found.file is None:
        return
    try:
        found.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(found.file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise InvalidInput(
            f"the audit cannot be kept in {found.file}: {error.strerror}",
            hint="name another place with --audit",
        ) from None


def _unchanged(file: Path) -> URL:
    return URL.create(
        "sqlite+aiosqlite", database=f"file:{quote(str(file))}", query={"mode": "ro", "uri": "true"}
    )


def _sqlite(url: URL, reading: bool) -> AsyncEngine:
    """One connection, for which tasks wait in their order."""
    engine = create_async_engine(
        url,
        poolclass=AsyncAdaptedQueuePool,
        pool_size=1,
        max_overflow=0,
        pool_timeout=WAIT_S,
        hide_parameters=True,
        connect_args={"timeout": WAIT_S},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # the driver begins no transactions: `begun` does
        cursor = connection.cursor()
        for setting in _READING if reading else _WRITING:
            cursor.execute(f"PRAGMA {setting}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begun(connection: Connection) -> None:
        immediate = connection.get_execution_options().get(IMMEDIATE)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

    return engine
