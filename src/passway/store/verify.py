"""Checks the audit of a database, without a service: where its chain is whole, and its end."""

import asyncio

from passway.model.errors import NotFound
from passway.service.audit import Break, Head
from passway.store.audit import SqlAudit
from passway.store.database import Database, database, default_file


def verified(where: str | None, head: str | None) -> tuple[Head, Break | None]:
    """The end of what is whole, and the first break. `where` None: where `serve` keeps it."""
    found = database(where or str(default_file()))
    if found.file is not None and not found.file.is_file():
        raise NotFound(f"there is no audit in {found.file}", hint="name it with --database")
    return asyncio.run(_verified(found, head))


async def _verified(found: Database, head: str | None) -> tuple[Head, Break | None]:
    async with SqlAudit(found, reading=True) as kept:
        return await kept.verify(head)
