"""Manifest text to machines, with all faults at once.

The only way to a MachineSpec. Takes every kind that holds a VM, from one or several documents or a
list; other objects beside a VM are left alone, because real manifests bring their secrets and data
volumes along. A fault never stops the reading where going on makes sense.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from passway.manifest.build import MAX_FAULTS, fault
from passway.manifest.cursor import Cursor
from passway.manifest.fields import A_MAPPING, found_words
from passway.manifest.machine import KINDS, read_machine
from passway.manifest.nodes import MappingNode, Node, SequenceNode, shorten
from passway.manifest.spec import MachineSpec
from passway.manifest.table import load
from passway.manifest.text import read
from passway.model.errors import InvalidManifest
from passway.model.verdict import Issue, Position

_KINDS_BY_FOLDED_NAME = {kind.lower(): kind for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an input holds; `faults` in the order of the text."""

    file: str
    machines: tuple[MachineSpec, ...] = ()
    faults: tuple[Issue, ...] = ()

    def require(self) -> tuple[MachineSpec, ...]:
        """The machines; InvalidManifest if there is any fault."""
        if not self.faults:
            return self.machines
        count = f"{len(self.faults)} fault{'s' if len(self.faults) > 1 else ''}"
        name = "the input" if self.file == "-" else self.file
        raise InvalidManifest(f"{count} in {name}", issues=self.faults)


def parse_manifest(text: bytes | str, file: str = "-", namespace: str = "default") -> Manifest:
    """All machines of a manifest; `namespace` is that of objects that name none."""
    documents = read(text, file)
    reader = _Reader(namespace)
    for document in documents.nodes:
        for item in _expand(document):
            reader.take(item)
    faults = [*documents.faults, *reader.faults]
    if not reader.machines and not faults:
        faults.append(reader.nothing_found(file))
    faults.sort(key=_place)
    return Manifest(file, tuple(reader.machines), tuple(faults[:MAX_FAULTS]))


def _place(issue: Issue) -> tuple[int, int, str, str]:
    position = issue.position
    line, column = (position.line, position.column) if position else (0, 0)
    return line, column, issue.path, issue.reason


@dataclass(frozen=True, slots=True)
class _Object:
    """An object; items of a typed list may leave kind and apiVersion to their list."""

    node: Node
    api_version: str | None = None
    kind: str | None = None


def _expand(document: Node) -> Iterator[_Object]:
    """The object itself, or the items of a list (and of lists in it), in their order."""
    pending = [_Object(document)]
    while pending:
        found = pending.pop()
        root = Cursor(found.node)
        kind = root.at("kind").text() or found.kind or ""
        items = root.at("items").node
        if not kind.endswith("List") or not isinstance(items, SequenceNode):
            yield found
            continue
        of_kind = kind.removesuffix("List") or None
        api_version = root.at("apiVersion").text() if of_kind else None
        pending.extend(_Object(item, api_version, of_kind) for item in reversed(items.items))


class _Reader:
    """Takes objects one by one."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._others: dict[str, Position] = {}
        self.machines: list[MachineSpec] = []
        self.faults: list[Issue] = []

    def take(self, found: _Object) -> None:
        """Reads the object if it holds a VM; notes its kind otherwise."""
        document = found.node
        if len(self.faults) >= MAX_FAULTS:
            return
        if not isinstance(document, MappingNode):
            self._fault(
                "WrongType", document, "",
                path="the document", wanted=A_MAPPING, found=found_words(document),
            )  # fmt: skip
            return
        root = Cursor(document)
        kind = root.at("kind").text() or found.kind
        if kind is None:
            self._fault("MissingField", document, "kind", field="kind")
            return
        known = _KINDS_BY_FOLDED_NAME.get(kind.lower())
        if known is None:
            self._others.setdefault(shorten(kind), document.locate("kind") or document.position)
            return
        if known != kind:
            problem = f'"{kind}" is not spelled as the kind is; write {known}'
            self._fault("InvalidValue", document, "kind", problem=problem)
        self._check_api_version(document, known, root.at("apiVersion").text() or found.api_version)
        machine, faults = read_machine(document, known, self._namespace)
        self.machines.append(machine)
        self.faults.extend(faults)

    def nothing_found(self, file: str) -> Issue:
        """The fault of an input without a VM."""
        if not self._others:
            return fault("NoMachine", Position(file, 1, 1), kinds=KINDS)
        first = next(iter(self._others.values()))
        return fault("UnsupportedKind", first, "kind", found=tuple(self._others), kinds=KINDS)

    def _check_api_version(self, document: Node, kind: str, api_version: str | None) -> None:
        served = load().kinds[kind].api_versions
        if api_version is None:
            self._fault("MissingField", document, "apiVersion", field="apiVersion")
        elif api_version not in served:
            problem = f'{kind} is served as {" or ".join(served)}, not as "{shorten(api_version)}"'
            self._fault("InvalidValue", document, "apiVersion", problem=problem)

    def _fault(self, reason: str, document: Node, at: str, /, **params: str) -> None:
        position = document.locate(at) or document.position
        self.faults.append(fault(reason, position, at, **params))
