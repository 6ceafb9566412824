"""`passway audit`: looks after the database of the audit, without a service.

Owns the words of `verify`. The chain says whether a row was changed, taken out or moved; whether
its end is still there, only a head that was noted elsewhere says. The libraries of databases come
with the extra `server`, and are loaded when a database is looked at.
"""

import re
from importlib import import_module
from typing import Any, Final

import click

from passway.cli.lazy import ExampleGroup
from passway.cli.options import Usage, command
from passway.model.errors import EXIT_NO, EXIT_OK

_HASH: Final = re.compile("[0-9a-f]{64}")
_EXAMPLES: Final = (
    "passway audit verify --database /var/lib/passway/audit.db",
    "passway audit verify --database postgresql://db.example.com/passway --head HASH",
)


@click.group("audit", cls=ExampleGroup, examples=_EXAMPLES)
def audit() -> None:
    """Look after the database of the audit."""


@command("verify", examples=_EXAMPLES)
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
        raise Usage("--head takes the 64 hexadecimal digits of a row's hash")
    end, broken = _store().verified(where, noted)
    if broken is not None:
        click.echo(f"broken: {broken.why}")
        click.echo(f"whole up to row {end.sequence}, {end.hash}")
        return EXIT_NO
    click.echo(f"whole: {end.sequence} rows")
    click.echo(f"head: {end.hash}")
    return EXIT_OK


def _store() -> Any:
    try:
        return import_module("passway.store.verify")
    except ModuleNotFoundError:
        raise Usage("audit verify needs the extra: pip install 'passway[server]'") from None


audit.add_command(verify)
