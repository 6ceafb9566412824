"""Checks every field of an object against the table: names, types, required fields, enums.

What the API server would drop silently or refuse is found here, with its place in the text. Fields
below an open structure and the status are not looked at, and a null counts as an absent field, as
in Kubernetes. Rules between fields belong to the views and to later stages.
"""

import math
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from passway.manifest import hints
from passway.manifest.build import MAX_FAULTS, Stop, fault
from passway.manifest.nodes import (
    MappingNode,
    Node,
    Scalar,
    ScalarNode,
    SequenceNode,
    Step,
    child,
    shorten,
)
from passway.manifest.scalars import resolve
from passway.manifest.table import Shape, Structure, load
from passway.model.quantity import InvalidQuantity, parse_quantity
from passway.model.verdict import Issue, Param, Position

MAX_HINTS: Final = 100
"""Looking for what was meant is slow; only the first unknown fields get it."""

A_MAPPING: Final = "a mapping"
A_LIST: Final = "a list"
_WANTED: Final = {
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
    "int-or-string": "a whole number or text",
    "quantity": "a quantity (500m, 16Gi)",
}
_SHOWN: Final = 40


def check(document: Node, kind: str) -> Iterator[Issue]:
    """All faults of an object of one of the table's kinds, in the order of the text's tree."""
    checker = _Checker(kind)
    with suppress(Stop):  # so many faults that nobody reads on
        checker.walk(document, load().kinds[kind].shape, document.position)
    yield from checker.faults


def found_words(node: Node) -> str:
    """What stands there, in words."""
    if isinstance(node, MappingNode):
        return A_MAPPING
    if isinstance(node, SequenceNode):
        return A_LIST
    value = node.value
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "text" if value else "an empty text"
    return f"the number {node.text[:_SHOWN]}"


def is_whole(value: Scalar) -> bool:
    """Whether a value passes as an integer: JSON does not tell 2.0 from 2."""
    if isinstance(value, float):
        return math.isfinite(value) and value.is_integer()
    return isinstance(value, int) and not isinstance(value, bool)


def _is_of_type(value: Scalar, name: str) -> bool:
    match name:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return is_whole(value)
        case _:
            return isinstance(value, str) or is_whole(value)


class _Checker:
    """One walk; `_at` holds the steps from the root to where it stands."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._table = load()
        self._at: list[Step] = []
        self._hints = 0
        self.faults: list[Issue] = []

    def walk(self, node: Node, shape: Shape, place: Position) -> None:
        """Checks a node that is not null; `place` is where its key stands."""
        shape = self._table.resolve(shape)
        if isinstance(shape, str):
            self._simple(node, shape, place)
        elif shape.fields is not None:
            self._fields(node, shape, shape.fields, place)
        elif shape.map is not None:
            self._map(node, shape.map, place)
        elif shape.list is not None:
            self._list(node, shape.list, place)
        else:
            self._enum(node, shape, place)

    def _fields(
        self, node: Node, shape: Structure, known: dict[str, Shape], place: Position
    ) -> None:
        if not isinstance(node, MappingNode):
            self._wrong_type(node, A_MAPPING, place)
            return
        for key, entry in node.entries.items():
            if key in known:
                self._descend(key, entry.value, known[key], entry.line, entry.column)
            elif not shape.open and not _is_null(entry.value):
                key_place = Position(node.file, entry.line, entry.column)
                self._unknown(key, entry.value, list(known), key_place)
        for key in shape.required:
            if _is_null(node.get(key)):
                self._fault("MissingField", place, key, field=key)

    def _map(self, node: Node, shape: Shape, place: Position) -> None:
        if not isinstance(node, MappingNode):
            self._wrong_type(node, A_MAPPING, place)
            return
        for key, entry in node.entries.items():
            self._descend(key, entry.value, shape, entry.line, entry.column)

    def _list(self, node: Node, shape: Shape, place: Position) -> None:
        if not isinstance(node, SequenceNode):
            hint = 'begin each entry with "- "' if isinstance(node, MappingNode) else ""
            self._wrong_type(node, A_LIST, place, hint)
            return
        for index, item in enumerate(node.items):
            self._at.append(index)
            self.walk(item, shape, item.position)
            self._at.pop()

    def _descend(self, key: str, node: Node, shape: Shape, line: int, column: int) -> None:
        if _is_null(node):
            return
        self._at.append(key)
        self.walk(node, shape, Position(node.file, line, column))
        self._at.pop()

    def _enum(self, node: Node, shape: Structure, place: Position) -> None:
        if not isinstance(node, ScalarNode) or not isinstance(node.value, str):
            self._wrong_type(node, _WANTED["string"], place)
        elif node.value not in shape.enum:
            problem = f'"{node.value[:_SHOWN]}" is none of {", ".join(shape.enum)}'
            self._fault("InvalidValue", place, problem=problem)

    def _simple(self, node: Node, name: str, place: Position) -> None:
        if name == "any":
            return
        if not isinstance(node, ScalarNode) or not _is_of_type(node.value, name):
            self._wrong_type(node, _WANTED[name], place, _type_hint(node, name))
        elif name == "quantity" and isinstance(node.value, str):
            try:
                parse_quantity(node.value)
            except InvalidQuantity as error:
                self._fault("InvalidValue", place, problem=str(error))

    def _unknown(self, key: str, value: Node, known: list[str], place: Position) -> None:
        name = shorten(key)
        near: tuple[str, ...] = ()
        if self._hints < MAX_HINTS:
            self._hints += 1
            near = hints.near_names(key, known)
            right = hints.right_place(self._kind, self._at, key, value)
            if right is not None and not hints.is_typing_error(key, near):
                self._fault("MisplacedField", place, key, field=name, right=right)
                return
        if near:
            self._fault("UnknownField", place, key, field=name, near=near)
        else:
            self._fault("UnknownField", place, key, field=name)

    def _wrong_type(self, node: Node, wanted: str, place: Position, hint: str = "") -> None:
        params: dict[str, Param] = {"wanted": wanted, "found": found_words(node)}
        if hint:
            params["hint"] = hint
        if not self._at:
            params["path"] = "the document"
        self._fault("WrongType", place, **params)

    def _fault(self, reason: str, place: Position, key: str = "", /, **params: Param) -> None:
        path = ""
        for step in (*self._at, key) if key else self._at:
            path = child(path, step)
        self.faults.append(fault(reason, place, path, **params))
        if len(self.faults) >= MAX_FAULTS:
            raise Stop


def _is_null(node: Node | None) -> bool:
    return node is None or (isinstance(node, ScalarNode) and node.value is None)


def _type_hint(node: Node, wanted: str) -> str:
    if not isinstance(node, ScalarNode):
        return ""
    value = node.value
    if wanted in {"string", "int-or-string", "quantity"}:
        return "quote it" if isinstance(value, bool | float | int) else ""
    if isinstance(value, str) and _is_of_type(resolve(value), wanted):
        return "remove the quotes"
    return ""
