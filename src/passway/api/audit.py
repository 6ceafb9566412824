"""`passway audit`: looks after the database of the audit, without a service.

Owns the words of `verify`. The chain says whether a row was changed, taken out or moved; whether
its end is still there, only a head that was noted elsewhere says.
"""

import asyncio
import re
from typing import TYPE_CHECKING, Final

import click

from passway.model.errors import EXIT_NO, EXIT_OK, InvalidInput, NotFound

if TYPE_CHECKING:  # the database's libraries are loaded when it is looked at, not for --help
    from passway.service.audit import Break, Head
    from passway.store.database import Database

_HASH: Final = re.compile("[0-9a-f]{64}")


@click.group("audit")
def audit() -> None:
    """Look after the database of the audit."""


@audit.command("verify")
@click.option(
    "--database",
    "where",
    metavar="URL",
    envvar="PASSWAY_AUDIT",
    help="The database, as serve --audit names it.  [env: PASSWAY_AUDIT; default: that of serve]",
)
@click.option("--head", metavar="HASH", help="A hash noted earlier, which must be in the chain.")
def verify(where: str | None, head: str | None) -> int:
    """Check every row against the chain of hashes, and say where it breaks first."""
    noted = None if head is None else head.strip().lower()
    if noted is not None and not _HASH.fullmatch(noted):
        raise InvalidInput("--head takes the 64 hexadecimal digits of a row's hash")
    from passway.store.database import database, default_file

    found = database(where or str(default_file()))
    if found.file is not None and not found.file.is_file():
        raise NotFound(f"there is no audit in {found.file}", hint="name it with --database")
    end, broken = asyncio.run(_verified(found, noted))
    if broken is not None:
        click.echo(f"broken: {broken.why}")
        click.echo(f"whole up to row {end.sequence}, {end.hash}")
        return EXIT_NO
    click.echo(f"whole: {end.sequence} rows")
    click.echo(f"head: {end.hash}")
    return EXIT_OK


async def _verified(found: "Database", head: str | None) -> tuple["Head", "Break | None"]:
    from passway.store.audit import SqlAudit

    async with SqlAudit(found, reading=True) as kept:
        return await kept.verify(head)
