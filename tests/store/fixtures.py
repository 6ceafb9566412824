"""Databases for tests: PostgreSQL once a run, and a new database of each sort for each test."""

import os
from collections.abc import Iterator

import pytest
from tests.store.postgres import Missing, Postgres

from passway.store.database import Database, database


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server; a machine without one fails in CI."""
    try:
        server = Postgres()
    except Missing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    with server:
        yield server


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request, tmp_path) -> str:
    """What --audit would say."""
    if request.param == "sqlite":
        return str(tmp_path / "audit.db")
    return request.getfixturevalue("postgres").database()


@pytest.fixture
def where(url) -> Database:
    return database(url)
