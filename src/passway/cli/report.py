"""`passway report`: what somebody needs to help, in one file without secrets.

Owns which questions are asked and how the file is written: by its owner readable only, and never
over another one unless that is said. What may not be read is named in it and is no failure.
"""

import os
import platform
from collections.abc import Awaitable, Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from passway import __version__
from passway.cli.options import Source, Usage, command, sourced
from passway.cli.sources import answer, open_backend, reason
from passway.cli.words import complain
from passway.cluster import kinds
from passway.model.errors import InvalidInput, PasswayError

if TYPE_CHECKING:
    from passway.service.backend import Backend
    from passway.service.bundle import Bundle

_LIBRARIES: Final = ("aiohttp", "click", "msgspec", "protobuf", "PyYAML")


@command(
    "report",
    examples=(
        "passway report -o report.tar.gz",
        "passway report -o report.tar.gz --vm ml/trainer --demo",
    ),
)
@click.option(
    "-o", "--output", "path", required=True, metavar="FILE", type=click.Path(path_type=Path),
    help="The archive to write (tar.gz).",
)  # fmt: skip
@click.option("--vm", metavar="NAMESPACE/NAME", help="Also the verdict on this VM.")
@click.option("--overwrite", is_flag=True, help="Replace the file if there is one.")
@sourced
def report(path: Path, vm: str | None, overwrite: bool, source: Source) -> None:
    """Write a support report without secrets: versions, what was read, devices, drift.

    It holds names of nodes, namespaces and VMs. Look at it before you send it.
    """
    from passway.service.bundle import Bundle

    key = _key(vm)
    if path.exists() and not overwrite:
        raise Usage(f"{path} exists", "--overwrite replaces it")
    bundle = Bundle()
    bundle.add("versions", _versions(source))
    try:
        backend = open_backend(source, namespaces=[key[0]] if key else ())
    except PasswayError as error:
        bundle.miss("cluster", error)
    else:
        answer(_gather(bundle, backend, key))
    _write(path, bundle.archive(), overwrite=overwrite)
    for name, why in bundle.missing.items():
        complain(f"{name} is not in it: {why}", severity="warning")
    click.echo(f"wrote {path}; it has names of nodes, namespaces and VMs, and no secrets")


def _key(vm: str | None) -> tuple[str, str] | None:
    if vm is None:
        return None
    namespace, _, name = vm.partition("/")
    if not namespace or not name or "/" in name:
        raise Usage(f"--vm: {vm[:100]!r} is not NAMESPACE/NAME")
    return namespace, name


def _versions(source: Source) -> dict[str, Any]:
    asked = "files" if source.paths else "sample" if source.demo else "cluster"
    return {
        "passway": __version__,
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
        "libraries": {name: metadata.version(name) for name in _LIBRARIES},
        "source": "service" if source.server else asked,
    }


async def _gather(bundle: "Bundle", backend: "Backend", key: tuple[str, str] | None) -> None:
    """Asks everything; what is refused is noted."""
    questions: dict[str, Callable[[], Awaitable[Any]]] = {
        "devices": backend.inventory,
        "nodes": backend.nodes,
        "permits": backend.permits,
        "drift": backend.drift,
        "events": lambda: _events(backend),
        "state": lambda: _state(backend),
    }
    if key is not None:
        questions["vm"] = lambda: _verdict(backend, key)
    for name, ask in questions.items():
        try:
            bundle.add(name, await ask())
        except PasswayError as error:
            bundle.miss(name, error)


async def _verdict(backend: "Backend", key: tuple[str, str]) -> dict[str, Any]:
    """Our words on the VM; those of others may quote what is in it."""
    found = await backend.explain(*key)
    return {
        "machine": found.machine,
        "state": found.state,
        "agreement": found.agreement,
        "issues": found.issues,
        "verdict": found.verdict,
    }


async def _state(backend: "Backend") -> dict[str, Any]:
    """How each kind was read, and how many objects there are."""
    from passway.service import report as reports

    snapshot = _reading(backend).snapshot
    return {
        "at": snapshot.at,
        "read": reports.read(snapshot),
        "objects": {kind.plural: reports.count(snapshot, kind) for kind in kinds.ALL},
    }


async def _events(backend: "Backend") -> dict[str, int]:
    return dict(await _reading(backend).stored.told())


def _reading(backend: "Backend") -> Any:
    """A backend that holds what it has read."""
    from passway.service.reading import Reading

    if not isinstance(backend, Reading):
        raise InvalidInput("a service does not tell", hint="ask the cluster itself")
    return backend


def _write(path: Path, data: bytes, *, overwrite: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if overwrite else os.O_EXCL)
    try:
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise InvalidInput(f"{path}: {reason(error)}") from None
