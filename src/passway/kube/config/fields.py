"""Values out of a kubeconfig's tree, each checked for its type and told with its place.

Serves the answer of an exec plugin too, which is a small document of the same kind. As in client-go
null is the same as absent, an unknown field is no fault, and text must be text: a number or a word
such as `yes` needs quotes. No message ever shows a value, because a value may be a secret.
"""

import base64
import binascii
import json
import re
from dataclasses import dataclass
from typing import Any, Final

from passway.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode, child
from passway.manifest.text import read
from passway.model.errors import InvalidInput, PasswayError, TooLarge
from passway.model.verdict import Issue, Position

CODE: Final = "INVALID_KUBECONFIG"

_QUOTE: Final = "write it in quotes"
_QUOTED: Final = re.compile(r"(['\"]).{5,}\1|[*!&]\S{2,}", re.DOTALL)
_LIMITS: Final = {
    "NestingTooDeep": "it is nested too deeply",
    "TooManyValues": "it has too many values",
    "TooManyDocuments": "it has too many documents",
}


def invalid(where: str, problem: str, hint: str = "") -> InvalidInput:
    """An error about a place in a file."""
    return InvalidInput(f"{where}: {problem}", hint=hint, code=CODE)


def root(text: bytes, file: str) -> "Fields | None":
    """The first document of a text, as kubectl reads it; None if it is empty."""
    documents = read(text, file)
    if documents.faults:
        raise _refusal(documents.faults[0], file)
    if not documents.nodes:
        return None
    node = documents.nodes[0]
    if not isinstance(node, MappingNode):
        raise invalid(_at(node.position), f"a mapping must stand here, not {_kind(node)}")
    return Fields(node, "")


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping; `path` is the field that holds it. An absent value is empty, never an error."""

    node: MappingNode
    path: str

    @property
    def where(self) -> str:
        """The place for messages: file, line, column and field."""
        place = _at(self.node.position)
        return f"{place}: {self.path}" if self.path else place

    def wrong(self, key: str, problem: str, hint: str = "") -> InvalidInput:
        """An error about one field, at the line of its key."""
        entry = self.node.entries.get(key)
        line, column = (entry or self.node).line, (entry or self.node).column
        place = _at(Position(self.node.file, line, column))
        return invalid(f"{place}: {child(self.path, key)}", problem, hint)

    def text(self, key: str) -> str:
        """Text."""
        node = self._get(key)
        if node is None:
            return ""
        if isinstance(node, ScalarNode) and isinstance(node.value, str):
            return node.value
        raise self._wrong_kind(key, "text", node)

    def flag(self, key: str) -> bool:
        """A boolean."""
        node = self._get(key)
        if node is None:
            return False
        if isinstance(node, ScalarNode) and isinstance(node.value, bool):
            return node.value
        raise self._wrong_kind(key, "true or false", node)

    def data(self, key: str) -> bytes:
        """What a text holds in base64."""
        text = re.sub(r"[\r\n]", "", self.text(key))
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            hint = f"encode the content with: base64 -w0; or name a file in {key[:-5]}"
            raise self.wrong(key, "not base64", hint) from None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts."""
        path = child(self.path, key)
        return tuple(
            _text_of(item, child(path, index)) for index, item in enumerate(self._items(key))
        )

    def mapping(self, key: str) -> "Fields | None":
        """A mapping, or None."""
        node = self._get(key)
        if node is None:
            return None
        if isinstance(node, MappingNode):
            return Fields(node, child(self.path, key))
        raise self._wrong_kind(key, "a mapping", node)

    def mappings(self, key: str) -> "tuple[Fields, ...]":
        """A list of mappings."""
        found = []
        for index, item in enumerate(self._items(key)):
            if not isinstance(item, MappingNode):
                place = f"{_at(item.position)}: {child(child(self.path, key), index)}"
                raise invalid(place, f"a mapping must stand here, not {_kind(item)}")
            found.append(Fields(item, child(child(self.path, key), index)))
        return tuple(found)

    def json(self, key: str) -> str:
        """Any value, as JSON; empty if there is none."""
        node = self._get(key)
        if node is None:
            return ""
        plain: Any = node.plain()
        try:
            return json.dumps(plain, allow_nan=False)
        except ValueError:
            raise self.wrong(key, "holds a number that JSON cannot write") from None

    def keys(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(self.node.entries)

    def _get(self, key: str) -> Node | None:
        node = self.node.get(key)
        return None if isinstance(node, ScalarNode) and node.value is None else node

    def _items(self, key: str) -> tuple[Node, ...]:
        node = self._get(key)
        if node is None:
            return ()
        if isinstance(node, SequenceNode):
            return node.items
        raise self._wrong_kind(key, "a list", node)

    def _wrong_kind(self, key: str, wanted: str, node: Node) -> InvalidInput:
        hint = _QUOTE if wanted == "text" and isinstance(node, ScalarNode) else ""
        return self.wrong(key, f"must be {wanted}, not {_kind(node)}", hint)


def _text_of(node: Node, path: str) -> str:
    if isinstance(node, ScalarNode) and isinstance(node.value, str):
        return node.value
    place = f"{_at(node.position)}: {path}"
    raise invalid(place, f"text must stand here, not {_kind(node)}", _QUOTE)


def _kind(node: Node) -> str:
    match node:
        case MappingNode():
            return "a mapping"
        case SequenceNode():
            return "a list"
        case ScalarNode(value=str()):
            return "text"
        case ScalarNode(value=bool()):
            return "true or false"
        case ScalarNode(value=None):
            return "nothing"
        case _:
            return "a number"


def _at(position: Position) -> str:
    return f"{position.file}:{position.line}:{position.column}"


def _refusal(fault: Issue, file: str) -> PasswayError:
    """What the text itself is refused for, without a word of it."""
    where = _at(fault.position) if fault.position else file
    problem = _QUOTED.sub("…", str(fault.params.get("problem", "")))
    match fault.reason:
        case "InputTooLarge":
            return TooLarge(
                f"{file}: more than {fault.params['limit']} bytes",
                hint="a kubeconfig is far smaller: name the right file",
            )
        case "DuplicateKey":
            first = fault.params["first"]
            return invalid(where, f"a key stands twice here, first in line {first}", "keep one")
        case "NotText":
            return invalid(where, f"not UTF-8 text ({problem})", "name a kubeconfig, or convert it")
        case reason if reason in _LIMITS:
            return invalid(where, f"{_LIMITS[reason]} for a kubeconfig", "name the right file")
        case _:
            return invalid(where, problem, "correct the YAML at this place")
