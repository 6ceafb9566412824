"""Tolerant reading of a tree: a wrong type reads as absent.

`fields.check` has already reported every wrong type, so the typed views only take what is there.
A cursor carries the field path from the document's root along with the node.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from passway.manifest.fields import is_whole
from passway.manifest.nodes import MappingNode, Node, ScalarNode, SequenceNode, child
from passway.model.quantity import InvalidQuantity, Quantity, parse_quantity


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a document that may hold nothing."""

    node: Node | None
    path: str = ""

    def at(self, *keys: str) -> "Cursor":
        """The place below this one."""
        node, path = self.node, self.path
        for key in keys:
            node = node.get(key) if isinstance(node, MappingNode) else None
            path = child(path, key)
        return Cursor(node, path)

    @property
    def present(self) -> bool:
        """Whether something else than null stands here."""
        node = self.node
        return node is not None and not (isinstance(node, ScalarNode) and node.value is None)

    @property
    def misread(self) -> bool:
        """Whether what stands here is not text, though text is wanted."""
        return self.present and not (
            isinstance(self.node, ScalarNode) and isinstance(self.node.value, str)
        )

    def items(self) -> Iterator["Cursor"]:
        """The entries of a list that are mappings."""
        if isinstance(self.node, SequenceNode):
            for index, item in enumerate(self.node.items):
                if isinstance(item, MappingNode):
                    yield Cursor(item, child(self.path, index))

    def keys(self) -> list[str]:
        """The keys of a mapping whose values are not null."""
        keys = list(self.node.entries) if isinstance(self.node, MappingNode) else []
        return [key for key in keys if self.at(key).present]

    def text(self) -> str | None:
        """The text here; an empty one counts as absent, as in Kubernetes."""
        value = self.node.value if isinstance(self.node, ScalarNode) else None
        return value if isinstance(value, str) and value else None

    def flag(self) -> bool | None:
        """True, false or unset."""
        value = self.node.value if isinstance(self.node, ScalarNode) else None
        return value if isinstance(value, bool) else None

    def whole(self) -> int | None:
        """A whole number."""
        value = self.node.value if isinstance(self.node, ScalarNode) else None
        return int(value) if isinstance(value, int | float) and is_whole(value) else None

    def quantity(self) -> Quantity | None:
        """A quantity, written as text or as a whole number."""
        number = self.whole()
        text = self.text() if number is None else str(number)
        if text is None:
            return None
        try:
            return parse_quantity(text)
        except InvalidQuantity:
            return None

    def texts(self) -> dict[str, str]:
        """A mapping of texts, such as labels."""
        if not isinstance(self.node, MappingNode):
            return {}
        return {
            key: value.value
            for key, value in self.node.items()
            if isinstance(value, ScalarNode) and isinstance(value.value, str)
        }

    def quantities(self) -> dict[str, Quantity]:
        """A mapping of quantities, such as requests."""
        found = ((key, self.at(key).quantity()) for key in self.keys())
        return {key: amount for key, amount in found if amount is not None}
