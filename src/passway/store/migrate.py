"""Brings a database to the schema of this version, in the transaction that is open.

Whoever calls holds the lock of the chain, so of two replicas that start at once one finds the work
done. A database of a newer version is refused.
"""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.util import CommandError
from sqlalchemy import Connection

from passway.model.errors import InvalidInput

FOLDER: Final = Path(__file__).parent / "migrations"


def migrate(connection: Connection) -> None:
    """Applies what is missing; raises InvalidInput where there is more than this version knows."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise InvalidInput(
            f"the audit database does not fit this version of Passway: {error}",
            hint="run the version that made it, or a newer one",
        ) from None
