"""Collects the faults of one object while its views are built.

A fault is noted by the field path it is about; the place in the text follows from the path, and is
that of the nearest parent where the field itself is missing.
"""

from collections.abc import Iterable

from passway.manifest.build import fault
from passway.manifest.cursor import Cursor
from passway.manifest.nodes import Node, shorten
from passway.model.verdict import Issue, Param


class Findings:
    """The faults of one document."""

    def __init__(self, document: Node) -> None:
        self._document = document
        self.faults: list[Issue] = []

    def add(self, reason: str, path: str, /, **params: Param) -> None:
        """Notes a fault at a field path."""
        position = self._document.locate(path) or self._document.position
        self.faults.append(fault(reason, position, path, **params))

    def require_unique_names(self, entries: Iterable[Cursor], list_name: str) -> None:
        """Notes every name that an earlier entry has already."""
        seen: set[str] = set()
        for entry in entries:
            place = entry.at("name")
            name = place.text()
            if name is not None and name in seen:
                self.add("DuplicateName", place.path, name=shorten(name), list=list_name)
            seen.add(name or "")
