"""The files that stand for what a launcher finds around it: variables, claim metadata, networks.

Owns how they are read: each with a limit, a folder never beyond itself. Links are followed only to
files inside the folder; what else is met there (links out of it, devices, pipes) is left out and
said. What the texts mean is `kubevirt`'s.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from passway.cli.options import Usage
from passway.cli.sources import read_manifest, reason
from passway.cli.words import complain
from passway.manifest.nodes import MappingNode, ScalarNode
from passway.manifest.text import MAX_BYTES, read
from passway.model.errors import InvalidInput, InvalidManifest, TooLarge

MAX_FILES: Final = 1000
MAX_FILE_BYTES: Final = 256 * 1024
MAX_TOTAL_BYTES: Final = 16 * 1024 * 1024
MAX_DEPTH: Final = 4
"""resourceclaims/NAME/REQUEST/FILE."""
CLAIMS: Final = ("resourceclaims/", "resourceclaimtemplates/")
_ASSIGNMENT: Final = re.compile(r"(?:export[ \t]+)?(?P<name>[^\s=:\"'{}\[\]]+)=(?P<value>.*)")


# -- variables ------------------------------------------------------------------------------------


def read_env(name: str) -> dict[str, str]:
    """Variables from a file: lines NAME=VALUE, or a JSON or YAML mapping; `-` is stdin."""
    data = _bounded(name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{name}: not UTF-8 (byte {error.start + 1})") from None
    first = next(_meaning(text), None)
    if first is None:
        return {}
    return _lines(text, name) if _ASSIGNMENT.match(first[1]) else _mapping(data, name)


def _meaning(text: str) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines that are neither empty nor a comment."""
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            yield number, stripped


def _lines(text: str, name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in _meaning(text):
        match = _ASSIGNMENT.fullmatch(line)
        if match is None:
            raise InvalidInput(f"{name}:{number}: {line[:60]!r} is not NAME=VALUE")
        if match["name"] in found:
            raise InvalidInput(f"{name}:{number}: {match['name'][:80]} stands twice")
        found[match["name"]] = _unquoted(match["value"].strip())
    return found


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _mapping(data: bytes, name: str) -> dict[str, str]:
    documents = read(data, name)
    if documents.faults:
        raise InvalidManifest(f"{name} cannot be read", issues=documents.faults)
    root = documents.nodes[0] if len(documents.nodes) == 1 else None
    if not isinstance(root, MappingNode):
        raise InvalidInput(
            f"{name}: neither lines NAME=VALUE nor one mapping",
            hint="kubectl exec POD -c compute -- env prints the variables",
        )
    found = {}
    for key, node in root.items():
        if not isinstance(node, ScalarNode):
            raise InvalidInput(f"{name}:{node.line}:{node.column}: {key[:80]} is not text")
        found[key] = "" if node.value is None else node.text  # 1:4 is no number here
    return found


# -- networks -------------------------------------------------------------------------------------


def read_network_info(name: str) -> str:
    """The text of a network-info file."""
    return _bounded(name).decode("utf-8", "replace")


def _bounded(name: str) -> bytes:
    data, _ = read_manifest(name)
    if len(data) > MAX_BYTES:
        raise TooLarge(f"{name}: more than {MAX_BYTES} bytes")
    return data


def only_one_stdin(*names: str | None) -> None:
    if names.count("-") > 1:
        raise Usage("only one of the files can come from stdin")


# -- claim metadata -------------------------------------------------------------------------------


def read_metadata(name: str) -> Mapping[str, str]:
    """The files below a claim metadata folder: path below it -> text."""
    try:
        root = Path(name).resolve(strict=True)
        if not root.is_dir():
            raise InvalidInput(f"{name}: not a folder")
        found = _Folder(name, root).read()
    except (OSError, ValueError) as error:
        place = getattr(error, "filename", None) or name
        raise InvalidInput(f"{place}: {reason(error)}") from None
    if not any(path.startswith(CLAIMS) for path in found):
        complain(
            f"{name} has no metadata of a claim",
            "it must be the folder that holds resourceclaims or resourceclaimtemplates",
            severity="warning",
        )
    return found


class _Folder:
    """One folder being read. `name` is how the user calls it, `root` its real path."""

    def __init__(self, name: str, root: Path) -> None:
        self._name = name
        self._root = root
        self._seen = 0
        self._bytes = 0

    def read(self) -> dict[str, str]:
        return dict(self._texts(self._root, ""))

    def _texts(self, folder: Path, prefix: str) -> Iterator[tuple[str, str]]:
        for entry in self._entries(folder, prefix):
            path = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if path.count("/") + 1 >= MAX_DEPTH:
                    self._left_out(path, f"folders are read {MAX_DEPTH} levels deep")
                else:
                    yield from self._texts(Path(entry.path), f"{path}/")
                continue
            text = self._text(entry, path)
            if text is not None:
                yield path, text

    def _entries(self, folder: Path, prefix: str) -> list[os.DirEntry[str]]:
        found = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._seen += 1
                if self._seen > MAX_FILES:
                    raise TooLarge(
                        f"{self._name}: more than {MAX_FILES} files and folders",
                        hint="name the claim metadata folder, with the files of one pod",
                    )
                found.append(entry)
        return sorted(found, key=lambda entry: f"{prefix}{entry.name}")

    def _text(self, entry: os.DirEntry[str], path: str) -> str | None:
        """The text of a file; None for what is no file of this folder."""
        try:
            real = Path(entry.path).resolve(strict=True)
        except (OSError, RuntimeError):
            self._left_out(path, "a link that leads nowhere")
            return None
        if not real.is_relative_to(self._root):
            self._left_out(path, "a link out of the folder")
            return None
        if not real.is_file():
            self._left_out(path, "not a file")
            return None
        # Neither a link nor a pipe that came meanwhile may catch the reader.
        file = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(file, "rb") as opened:
            return self._bounded(opened.read(MAX_FILE_BYTES + 1), path)

    def _bounded(self, data: bytes, path: str) -> str:
        self._bytes += len(data)
        if len(data) > MAX_FILE_BYTES or self._bytes > MAX_TOTAL_BYTES:
            raise TooLarge(
                f"{self._name}/{path}: at most {MAX_FILE_BYTES} bytes a file and "
                f"{MAX_TOTAL_BYTES} in all are read"
            )
        return data.decode("utf-8", "replace")

    def _left_out(self, path: str, why: str) -> None:
        complain(f"{self._name}/{path}: left out: {why}", severity="warning")
