"""kubectl-view-allocations: where it is, how it is asked, and what it says.

It is built with cargo into the user's cache, once. Where that cannot be done the run says so and
goes on without it.
"""

import csv
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.builders import GPU
from tests.controlplane.build import cache

NAME: Final = "kubectl-view-allocations"
BUILD_S: Final = 1800


def found() -> Path | None:
    """The executable; built if there is cargo. Says on stderr why there is none."""
    root = cache().parent / "peers"
    place = root / "bin" / NAME
    if place.exists():
        return place
    cargo = shutil.which("cargo")
    if cargo is None:
        print(f"{NAME} is left out: there is no cargo", file=sys.stderr)
        return None
    print(f"building {NAME}; the first time takes minutes", file=sys.stderr)
    ended = subprocess.run(
        [cargo, "install", "--locked", "--quiet", "--root", str(root), NAME],
        env=os.environ, timeout=BUILD_S, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if ended.returncode:
        print(f"{NAME} is left out: {ended.stderr[-500:]}", file=sys.stderr)
        return None
    return place


def command(place: Path, *options: str) -> list[str]:
    """The question for one resource, as CSV."""
    return [str(place), "-r", GPU, "-g", "resource", "-o", "csv", *options]


def free(out: str, resource: str) -> int | None:
    """What its CSV says is free of the resource; None where it does not name it."""
    for row in csv.DictReader(io.StringIO(out)):
        if row.get("resource") == resource:
            return round(float(row.get("Free") or row.get("free") or 0))
    return None
