"""Brings libvirt's RELAX NG schema of domains: `python -m tools.libvirt_schema`.

Owns where the schema is looked for (the system's own, else the user's cache) and how it gets into
the cache from Debian's package: apt-get fetches and verifies it, dpkg-deb unpacks it, neither needs
root. Nothing of it is committed. Where there are no Debian packages it says so and ends well: the
tests that need the schema say the rest.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

DOMAIN: Final = "domain.rng"
_INSIDE: Final = "usr/share/libvirt/schemas"
SYSTEM: Final = Path("/") / _INSIDE
PACKAGES: Final = ("libvirt-common", "libvirt0")
"""Who has the schemas: the second up to Debian 12."""
MISSING: Final = (
    "libvirt's RELAX NG schema is missing: `make libvirt-schema` fetches it where apt-get is, "
    f"or install the package that has {SYSTEM / DOMAIN}"
)
_COMMANDS: Final = ("apt-get", "dpkg-deb")


def cache() -> Path:
    """The folder of the schema that was fetched."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "passway" / "libvirt-schema"


def folder() -> Path | None:
    """The folder that has the schema, if there is one."""
    return next((place for place in (SYSTEM, cache()) if (place / DOMAIN).is_file()), None)


def fetch() -> Path | None:
    """Fills the cache from Debian's package; None where none has the schema."""
    target = cache()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        found = _unpacked(Path(work))
        if found is None:
            return None
        shutil.rmtree(target, ignore_errors=True)
        found.rename(target)
    return target


def _unpacked(work: Path) -> Path | None:
    """The schemas' folder below `work`: with the lists of packages there are, else with new ones.

    The new ones are lists of its own, so the system's stay as they are.
    """
    own = [f"Dir::State::Lists={work}/lists", f"Dir::Cache={work}/cache"]
    for options in ([], own):
        if options:
            for part in ("lists/partial", "cache/archives/partial"):
                (work / part).mkdir(parents=True)
            _apt(work, options, "update")
        for package in PACKAGES:
            if _apt(work, options, "download", package):
                archive = next(work.glob(f"{package}_*.deb"))
                subprocess.run(["dpkg-deb", "-x", archive, work / package], check=True)
                schemas = work / package / _INSIDE
                if (schemas / DOMAIN).is_file():
                    return schemas
    return None


def _apt(work: Path, options: list[str], *command: str) -> bool:
    given = [part for option in options for part in ("-o", option)]
    done = subprocess.run(
        ["apt-get", "-qq", *given, *command], cwd=work, check=False, capture_output=True
    )
    return done.returncode == 0


def main() -> None:
    """Says where the schema is, after fetching it if need be."""
    place = folder()
    if place is None and all(map(shutil.which, _COMMANDS)):
        place = fetch()
    print(MISSING if place is None else f"libvirt schema: {place}", file=sys.stderr)


if __name__ == "__main__":
    main()
