"""The tree of a document: mappings, sequences and scalars that know where they stand.

Owns field paths (`spec.domain.devices.gpus[0].name`, `labels["kubevirt.io/x"]`) and the three node
classes, a closed union. Lines and columns count from 1; a mapping also keeps the place of each
key, because that is where a reader looks for a field. Aliases share their node, so a node can be
reached by several paths and has only the position of its anchor.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias, cast

from passway.model.override import override
from passway.model.verdict import Position

Step: TypeAlias = str | int
Scalar: TypeAlias = str | int | float | bool | None

MAX_NAME: Final = 400
"""Longer keys are cut in paths and messages; the longest that Kubernetes knows has 317."""

_STEP: Final = re.compile(r'(?:(?P<dot>\.|^)(?P<name>[^.\[\]"]+))|\[(?P<index>[0-9]{1,9})\]'
                          r'|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]')  # fmt: skip
_BARE: Final = re.compile(r'[^.\[\]"\\]+')
_CACHED: Final = 256


def shorten(name: str) -> str:
    """A name for messages: cut when it is longer than any real one."""
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…"


def child(path: str, step: Step) -> str:
    """The field path of an entry: a key of a mapping or an index of a sequence."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    step = shorten(step)
    if not _BARE.fullmatch(step):
        escaped = step.replace("\\", "\\\\").replace('"', '\\"')
        return f'{path}["{escaped}"]'
    return f"{path}.{step}" if path else step


def steps(path: str) -> tuple[Step, ...]:
    """The steps of a field path; ValueError if it is none."""
    return _cached_steps(path) if len(path) <= _CACHED else _steps(path)


def _steps(path: str) -> tuple[Step, ...]:
    found: list[Step] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            raise ValueError(f"not a field path: {path[:80]!r}")
        if match["index"] is not None:
            found.append(int(match["index"]))
        elif match["name"] is not None:
            found.append(match["name"])
        else:
            found.append(re.sub(r"\\(.)", r"\1", match["quoted"], flags=re.DOTALL))
        at = match.end()
    return tuple(found)


_cached_steps = lru_cache(maxsize=4096)(_steps)


@dataclass(frozen=True, slots=True)
class _Located:
    file: str
    line: int
    column: int

    @property
    def position(self) -> Position:
        return Position(self.file, self.line, self.column)

    def entry(self, step: Step) -> "Entry | None":  # noqa: ARG002  (a scalar has no entries)
        """The entry that a step leads to."""
        return None

    def find(self, path: str) -> "Node | None":
        """The node at a field path below this one, or None."""
        node = cast("Node", self)
        for step in steps(path):
            entry = node.entry(step)
            if entry is None:
                return None
            node = entry.value
        return node

    def locate(self, path: str) -> Position | None:
        """Where the field's key (or the list's item) stands; else its nearest parent."""
        node, line, column = cast("Node", self), self.line, self.column
        for step in steps(path):
            entry = node.entry(step)
            if entry is None:
                break
            node, line, column = entry.value, entry.line, entry.column
        return Position(self.file, line, column)


@dataclass(frozen=True, slots=True)
class Entry:
    """A value and where its key stands (in a sequence: where the value itself stands)."""

    value: "Node"
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class ScalarNode(_Located):
    """A scalar: `value` as Kubernetes reads it, `text` as written (without quotes)."""

    value: Scalar = None
    text: str = ""

    def plain(self) -> Scalar:
        """The plain value."""
        return self.value


@dataclass(frozen=True, slots=True)
class SequenceNode(_Located):
    """A list."""

    items: tuple["Node", ...] = ()

    @override
    def entry(self, step: Step) -> Entry | None:
        if not isinstance(step, int) or step >= len(self.items):
            return None
        value = self.items[step]
        return Entry(value, value.line, value.column)

    def plain(self) -> list[Any]:
        """The plain values, as a new list."""
        return [item.plain() for item in self.items]


@dataclass(frozen=True, slots=True)
class MappingNode(_Located):
    """A mapping; `entries` keeps the order of the text."""

    entries: dict[str, Entry] = field(default_factory=dict)

    @override
    def entry(self, step: Step) -> Entry | None:
        return self.entries.get(step) if isinstance(step, str) else None

    def get(self, key: str) -> "Node | None":
        """The value of a key, or None."""
        entry = self.entries.get(key)
        return None if entry is None else entry.value

    def items(self) -> Iterator[tuple[str, "Node"]]:
        """Keys and values."""
        for key, entry in self.entries.items():
            yield key, entry.value

    def plain(self) -> dict[str, Any]:
        """The plain keys and values, as a new dictionary."""
        return {key: entry.value.plain() for key, entry in self.entries.items()}


Node: TypeAlias = MappingNode | SequenceNode | ScalarNode
