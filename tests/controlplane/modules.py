"""Module files for a minor of Kubernetes: `python -m tests.controlplane.modules v1.35.4`.

Kubernetes cannot be required like other modules: its own module points to its staging folders. The
files made here pin what upstream's own pin, with those folders replaced by the published modules.
Go verifies all of it against its checksum database; the result is kept in the repository.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

from tests.controlplane.build import HERE, go

STAGED = re.compile(r"^\s*(k8s\.io/\S+) => \./staging/src/\S+$")
UNNEEDED = "k8s.io/sample-"
"""Examples: nothing is built of them, and not every version was published."""
REQUIRED = re.compile(r"^\s*(?:require )?(\S+/\S+) (v\S+)(?: // indirect)?$")


def write(version: str) -> Path:
    """Writes `kubernetes/MINOR.mod` and `MINOR.sum`; answers with the first."""
    told = _go("mod", "download", "-json", f"k8s.io/kubernetes@{version}")
    theirs = Path(json.loads(told)["GoMod"]).read_text()
    place = HERE / "kubernetes" / f"{minor_of(version)}.mod"
    place.write_text(_text(theirs, version))
    _go("mod", "tidy", f"-modfile={place.name}")
    return place


def minor_of(version: str) -> str:
    """`v1.35.4` -> `1.35`."""
    return version.removeprefix("v").rpartition(".")[0]


def _text(theirs: str, version: str) -> str:
    """Our module file, from theirs."""
    published = f"v0.{version.removeprefix('v1.')}"
    lines = theirs.splitlines()
    every = [found[1] for line in lines if (found := STAGED.match(line))]
    staged = [name for name in every if not name.startswith(UNNEEDED)]
    required = {found[1]: found[2] for line in lines if (found := REQUIRED.match(line))}
    required = {name: pinned for name, pinned in required.items() if not name.startswith(UNNEEDED)}
    required |= dict.fromkeys(staged, published)
    required["k8s.io/kubernetes"] = version
    kept = [line for line in lines if line.startswith(("go ", "godebug "))]
    return "\n".join(
        [
            "module passway.dev/tests/controlplane/kubernetes",
            *kept,
            "require (",
            *(f"\t{name} {pinned}" for name, pinned in sorted(required.items())),
            ")",
            "replace (",
            *(f"\t{name} => {name} {published}" for name in staged),
            ")",
            *(f"exclude {name} v0.0.0" for name in every if name.startswith(UNNEEDED)),
            "",
        ]
    )


def _go(*arguments: str) -> str:
    ended = subprocess.run(
        [go(), *arguments], cwd=HERE / "kubernetes", timeout=600, check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return ended.stdout


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        print(write(wanted))
