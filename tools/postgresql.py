"""PostgreSQL's programs for the tests: `python -m tools.postgresql`.

Owns where they are looked for (PATH, else Debian's folders) and, where they are missing and this
is root on Debian, their installation by apt-get. The tests that need them say the rest.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

DEBIAN: Final = Path("/usr/lib/postgresql")
MISSING: Final = (
    "PostgreSQL's initdb and postgres are missing: `make postgresql` installs them as root where "
    "apt-get is; else install them, they are looked for on PATH and in /usr/lib/postgresql/*/bin"
)
_PROGRAMS: Final = ("initdb", "postgres")


def folder() -> Path | None:
    """The folder of the programs, if there is one."""
    found = shutil.which("postgres")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(DEBIAN.glob("*/bin"), key=lambda place: place.parent.name, reverse=True)
    return next((place for place in places if all((place / p).exists() for p in _PROGRAMS)), None)


def install() -> None:
    """Debian's package; what goes wrong is on stderr."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", "postgresql"]):
        subprocess.run(["apt-get", "-qq", *command], check=False, env=environment, stdout=2)


def main() -> None:
    """Says where they are, after installing them if need be."""
    if folder() is None and os.geteuid() == 0 and shutil.which("apt-get"):
        install()
    place = folder()
    print(MISSING if place is None else f"PostgreSQL: {place}", file=sys.stderr)


if __name__ == "__main__":
    main()
