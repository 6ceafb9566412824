"""From a source to a Backend: dumps and the sample are read here, the rest is asked where it is.

Owns the files (which, how large, how read) and the words of `--read`. What a kind's absence means
is said by the options: a kind that does not occur in the files is unread, unless `--complete` or
`--read` says that there is none.
"""

import stat
import sys
import threading
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from passway.cli.loop import run
from passway.cli.options import Source, Usage
from passway.cli.words import complain, visible
from passway.cluster import dump, kinds
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Read
from passway.cluster.state import ClusterState
from passway.model.errors import InvalidInput, TooLarge
from passway.model.names import nearest

if TYPE_CHECKING:  # what it needs is loaded while the cluster is read
    from passway.service.backend import Backend

T = TypeVar("T")

SUFFIXES: Final = frozenset({".json", ".yaml", ".yml"})
PATIENCE_S: Final = 1.0
STDIN: Final = "<stdin>"
TRACES: Final = frozenset({"VirtualMachine", "VirtualMachineInstance", "Pod", "Event"})
"""The kinds that tell of one VM."""

# The short names of the CRDs and of kubectl.
_SHORT: Final = {
    "no": "nodes", "po": "pods", "ns": "namespaces", "quota": "resourcequotas",
    "limits": "limitranges", "pvc": "persistentvolumeclaims", "pv": "persistentvolumes",
    "pc": "priorityclasses", "sc": "storageclasses", "pdb": "poddisruptionbudgets",
    "crd": "customresourcedefinitions", "crds": "customresourcedefinitions", "kv": "kubevirts",
    "kvs": "kubevirts", "hco": "hyperconvergeds", "hcos": "hyperconvergeds",
    "vm": "virtualmachines", "vms": "virtualmachines", "vmi": "virtualmachineinstances",
    "vmis": "virtualmachineinstances", "vmf": "virtualmachineinstancetypes",
    "vmcf": "virtualmachineclusterinstancetypes", "vmp": "virtualmachinepreferences",
    "vmcp": "virtualmachineclusterpreferences", "nad": "network-attachment-definitions",
    "net-attach-def": "network-attachment-definitions",
}  # fmt: skip


def answer(question: Coroutine[Any, Any, T]) -> T:
    """Asks a backend, with a line on stderr if it takes long."""
    with progress("waiting for the answer"):
        return run(question)


def open_backend(
    source: Source, reads: Iterable[str] = kinds.BY_PLURAL, namespaces: Iterable[str] = ()
) -> "Backend":
    """The backend of a source; raises PasswayError or a usage error.

    `reads`: the kinds (plural) that the question needs; of a live cluster no other one is read.
    `namespaces`: those that it is about, for who may not list a kind in all of them.
    """
    if source.server:
        from passway.cli.remote import RemoteBackend

        return RemoteBackend(source.server, source.token, source.timeout_s)
    with progress("reading the cluster"):
        if source.demo:
            return _sample()
        if source.paths:
            return _dumps(source)
        from passway.cli.live import open_cluster

        return open_cluster(source, [kinds.BY_PLURAL[name] for name in reads], namespaces)


# -- the sample and dumps -------------------------------------------------------------------------


def _sample() -> "Backend":
    from passway.sample.cluster import AT, sample_objects
    from passway.service.backend import SnapshotBackend

    if sys.stderr.isatty():
        complain("sample data, not your cluster", severity="note")
    state = ClusterState()
    for kind in kinds.ALL:
        state.mark(kind, Read.READ)
    for kind, record in filter(None, map(dump.decode_object, sample_objects())):
        state.apply(kind, record)
    return SnapshotBackend(state.snapshot(AT), "the sample cluster", sample_objects)


def _dumps(source: Source) -> "Backend":
    from passway.service.backend import SnapshotBackend

    at = None if source.at is None else moment(source.at)
    state = ClusterState()
    known = kinds.ALL if source.complete else [kind_named(word) for word in source.read]
    for kind in known:
        state.mark(kind, Read.READ)
    texts: dict[Path, bytes | None] = {}
    for path in files_of(source.paths):
        found, text = 0, read_dump(path)
        texts[path] = None if path.is_file() else text
        for kind, record in dump.decode(text, str(path)):
            state.apply(kind, record)
            found += 1
        if not found:
            complain(f"{path} holds no object that is read here", severity="warning")

    def objects() -> Iterator[dict[str, Any]]:
        """What is read of one VM; files are read again, pipes cannot be."""
        for path, text in texts.items():
            yield from dump.plain(text or read_dump(path), str(path), TRACES)

    snapshot = state.snapshot(at or state.newest)
    return SnapshotBackend(snapshot, "files", objects, complete=source.complete)


def files_of(paths: tuple[str, ...]) -> list[Path]:
    """The files themselves, and the dumps in folders, sorted; a folder is not gone down."""
    files: list[Path] = []
    for path in map(Path, paths):
        if not path.is_dir():
            files.append(path)
            continue
        inside = sorted(item for item in path.iterdir() if item.suffix in SUFFIXES)
        if not inside:
            raise InvalidInput(
                f"{path}: the folder has no *.json, *.yaml or *.yml",
                hint="write dumps into it with kubectl get … -A -o json",
            )
        files.extend(inside)
    return files


def read_dump(path: Path) -> bytes:
    """A file or pipe, at most as large as a dump may be."""
    try:
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISFIFO(status.st_mode)):
            raise InvalidInput(f"{path}: not a file")
        if status.st_size > dump.MAX_BYTES:
            raise TooLarge(
                f"{path}: {status.st_size} bytes are more than a dump may have ({dump.MAX_BYTES})"
            )
        with path.open("rb") as file:
            return file.read(dump.MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path}: {reason(error)}") from None


def kind_named(word: str) -> Kind:
    """A kind by plural, singular, kind, short name or plural.group, in any case."""
    name = word.strip().lower()
    plural = _SHORT.get(name, name)
    for kind in kinds.ALL:
        if plural in {kind.plural, kind.kind.lower(), kind.resource}:
            return kind
    near = nearest(name, [*kinds.BY_PLURAL, *_SHORT])
    more = f"; did you mean {' or '.join(near)}?" if near else ""
    raise Usage(f'--read: there is no kind "{word.strip()[:60]}"{more}')


def moment(text: str) -> str:
    """An RFC 3339 time, in UTC."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        parsed = None
    if parsed is None or parsed.tzinfo is None:
        raise Usage(f"--at: {text[:40]!r} is not a time; write it as 2026-06-12T09:30:00Z")
    return parsed.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- manifests ------------------------------------------------------------------------------------


def read_manifest(name: str) -> tuple[bytes, str]:
    """The text of a manifest and what its positions name; reads little more than a manifest has."""
    from passway.manifest.text import MAX_BYTES

    try:
        if name == "-":
            return sys.stdin.buffer.read(MAX_BYTES + 1), STDIN
        path = Path(name)
        if path.is_dir():
            raise InvalidInput(f"{name}: a folder; name the files, each with -f")
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1), name
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{name}: {reason(error)}") from None


def namespaces_of(texts: Iterable[tuple[bytes, str]], namespace: str) -> list[str]:
    """Where the machines of manifests are; a faulty one is told when it is judged."""
    from passway.manifest.vm import parse_manifest

    found = {
        machine.namespace
        for text, file in texts
        for machine in parse_manifest(text, file, namespace).machines
    }
    return sorted(found | {namespace})


def reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


@contextmanager
def progress(text: str) -> Iterator[None]:
    """A line on stderr, if it is a terminal, once something takes longer than a second."""
    if not sys.stderr.isatty():
        yield
        return
    shown = threading.Event()

    def show() -> None:
        shown.set()
        click.echo(f"{visible(text)}…", err=True, nl=False)

    timer = threading.Timer(PATIENCE_S, show)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if shown.is_set():
            click.echo("\r\x1b[K", err=True, nl=False)
