"""From a flat run of events to a tree, within limits.

Both readers (YAML and JSON) push into the same builder: no recursion, so hostile nesting ends at a
limit and not in a stack overflow. Every value counts, and an alias counts as all that it stands
for, so an alias bomb ends after MAX_VALUES without being expanded: aliases share one node.
Duplicate keys and keys that are not text are faults, and the rest of the tree is still built.
"""

from dataclasses import dataclass, field
from typing import Final, Literal, NoReturn

from passway.manifest.nodes import (
    Entry,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    child,
    shorten,
)
from passway.manifest.scalars import key_text
from passway.manifest.syntax import TEMPLATE
from passway.model.verdict import Issue, Param, Position, Severity, Stage

MAX_DEPTH: Final = 64
MAX_VALUES: Final = 100_000
MAX_DOCUMENTS: Final = 1000
MAX_FAULTS: Final = 1000

Role = Literal["key", "value", "merge", "drop"]
"""What a mapping does with the node that comes next."""


class Stop(Exception):
    """A limit is reached: what was built so far stays, and nothing more is read."""


def fault(reason: str, position: Position, path: str = "", /, **params: Param) -> Issue:
    """A finding about the text."""
    return Issue(
        reason, Stage.MANIFEST, Severity.ERROR, path=path, params=params, position=position
    )


@dataclass(slots=True)
class _Frame:
    """An open collection. `start`: how many values there were before it."""

    mapping: bool
    line: int
    column: int
    anchor: str | None
    start: int
    height: int = 1
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: list[MappingNode] = field(default_factory=list)
    role: Role = "key"
    key: str = ""
    key_line: int = 0
    key_column: int = 0


class Builder:
    """Collects the documents of one text."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._frames: list[_Frame] = []
        self._anchors: dict[str, tuple[Node, int, int]] = {}
        self._values = 0
        self._documents = 0
        self.nodes: list[Node] = []
        self.faults: list[Issue] = []

    def begin_document(self, line: int, column: int) -> None:
        """A new document begins: anchors do not reach across."""
        self._anchors.clear()
        self._documents += 1
        if self._documents > MAX_DOCUMENTS:
            self.stop("TooManyDocuments", line, column, limit=MAX_DOCUMENTS)

    def begin(self, mapping: bool, line: int, column: int, anchor: str | None = None) -> None:
        """A mapping or a sequence begins."""
        self._count(1, line, column)
        self._check_depth(1, line, column)
        self._frames.append(_Frame(mapping, line, column, anchor, self._values - 1))

    def end(self) -> None:
        """The innermost collection ends."""
        frame = self._frames.pop()
        node: Node
        if frame.mapping:
            for source in frame.merged:
                for key, entry in source.entries.items():
                    frame.entries.setdefault(key, entry)
            node = MappingNode(self._file, frame.line, frame.column, frame.entries)
        else:
            node = SequenceNode(self._file, frame.line, frame.column, tuple(frame.items))
        if frame.anchor is not None:
            self._anchors[frame.anchor] = (node, self._values - frame.start, frame.height)
        self._add(node, frame.height)

    def scalar(self, node: ScalarNode, anchor: str | None = None, merge: bool = False) -> None:
        """A scalar; `merge`: it is an unquoted `<<`, which merges when it is a key."""
        self._count(1, node.line, node.column)
        if anchor is not None:
            self._anchors[anchor] = (node, 1, 0)
        frame = self._frames[-1] if self._frames else None
        if merge and frame is not None and frame.mapping and frame.role == "key":
            self._place_key(frame, "merge", node.text, node)
        else:
            self._add(node, 0)

    def alias(self, name: str, line: int, column: int) -> None:
        """An alias: the node of its anchor once more."""
        found = self._anchors.get(name)
        if found is None:
            self.stop(
                "InvalidSyntax", line, column,
                problem=f"the alias *{shorten(name)} names no anchor that is complete above it",
            )  # fmt: skip
        node, size, height = found
        self._count(size, line, column)
        self._check_depth(height, line, column)
        self._add(node, height)

    def fault(self, reason: str, line: int, column: int, path: str, **params: Param) -> None:
        """Notes a fault; a text with very many of them is given up."""
        self.faults.append(fault(reason, Position(self._file, line, column), path, **params))
        if len(self.faults) >= MAX_FAULTS:
            raise Stop

    def stop(self, reason: str, line: int, column: int, **params: Param) -> NoReturn:
        """Notes a fault after which nothing can be read."""
        self.faults.append(fault(reason, Position(self._file, line, column), self.path(), **params))
        raise Stop

    def path(self) -> str:
        """The field path of the place that is being built."""
        path = ""
        for frame in self._frames:
            if not frame.mapping:
                path = child(path, len(frame.items))
            elif frame.role != "key":
                path = child(path, frame.key)
        return path

    def _count(self, values: int, line: int, column: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            self.stop("TooManyValues", line, column, limit=MAX_VALUES)

    def _check_depth(self, levels: int, line: int, column: int) -> None:
        if len(self._frames) + levels > MAX_DEPTH:
            self.stop("NestingTooDeep", line, column, limit=MAX_DEPTH)

    def _add(self, node: Node, height: int) -> None:
        if not self._frames:
            if not (isinstance(node, ScalarNode) and node.value is None):
                self.nodes.append(node)
            return
        frame = self._frames[-1]
        frame.height = max(frame.height, height + 1)
        if not frame.mapping:
            frame.items.append(node)
        elif frame.role == "key":
            self._add_key(frame, node)
        else:
            self._add_value(frame, node)

    def _add_key(self, frame: _Frame, node: Node) -> None:
        key = key_text(node.value, node.text) if isinstance(node, ScalarNode) else None
        if key is None:
            self.fault(
                "InvalidValue", node.line, node.column, self.path(),
                problem="a key must be text" + (TEMPLATE if isinstance(node, MappingNode) else ""),
            )  # fmt: skip
            self._place_key(frame, "drop", "", node)
            return
        first = frame.entries.get(key)
        if first is None:
            self._place_key(frame, "value", key, node)
            return
        self._place_key(frame, "drop", key, node)
        self.fault(
            "DuplicateKey", node.line, node.column, self.path(),
            field=shorten(key), first=first.line,
        )  # fmt: skip

    def _place_key(self, frame: _Frame, role: Role, key: str, node: Node) -> None:
        frame.role, frame.key = role, key
        frame.key_line, frame.key_column = node.line, node.column

    def _add_value(self, frame: _Frame, node: Node) -> None:
        role, frame.role = frame.role, "key"
        if role == "value":
            frame.entries[frame.key] = Entry(node, frame.key_line, frame.key_column)
        elif role == "merge":
            sources = node.items if isinstance(node, SequenceNode) else (node,)
            for source in sources:
                if isinstance(source, MappingNode):
                    frame.merged.append(source)
                else:
                    self.fault(
                        "InvalidValue", source.line, source.column, self.path(),
                        problem="only mappings can be merged with <<",
                    )  # fmt: skip
