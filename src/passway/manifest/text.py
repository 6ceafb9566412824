"""Text to trees: YAML and JSON that remember line and column.

Reads bytes or text of one input into a tree for each document, with every fault found on the way
as an issue. It never raises for what a text holds, and it ends early on hostile ones: size,
nesting, values and documents are limited. It knows nothing of Kubernetes but how kubectl reads
YAML. No input or output happens here.
"""

import codecs
import re
from dataclasses import dataclass
from typing import Any, Final

import yaml

from passway.manifest.build import (
    MAX_DEPTH,
    MAX_DOCUMENTS,
    MAX_FAULTS,
    MAX_VALUES,
    Builder,
    Stop,
    fault,
)
from passway.manifest.json_text import NotJson, looks_like_json, read_json
from passway.manifest.nodes import (
    Entry,
    MappingNode,
    Node,
    Scalar,
    ScalarNode,
    SequenceNode,
    child,
    shorten,
    steps,
)
from passway.manifest.scalars import mend, resolve
from passway.manifest.syntax import explain
from passway.model.verdict import Issue, Position

__all__ = [
    "MAX_BYTES", "MAX_DEPTH", "MAX_DOCUMENTS", "MAX_FAULTS", "MAX_VALUES", "Documents", "Entry",
    "MappingNode", "Node", "Scalar", "ScalarNode", "SequenceNode", "child", "fault", "read",
    "shorten", "steps",
]  # fmt: skip

MAX_BYTES: Final = 2 * 1024 * 1024

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_NO_TEXT: Final = re.compile(r"[\0\ud800-\udfff]")
_NO_YAML: Final = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAG: Final = "tag:yaml.org,2002:"
_TEXT_TAGS: Final = frozenset({"!", f"{_TAG}str", f"{_TAG}timestamp"})
_SCALAR_TAGS: Final[dict[str, tuple[type, ...]]] = {
    f"{_TAG}int": (int,), f"{_TAG}float": (int, float), f"{_TAG}bool": (bool,),
    f"{_TAG}null": (type(None),),
}  # fmt: skip
_COLLECTION_TAGS: Final = {
    True: (None, "!", f"{_TAG}map"), False: (None, "!", f"{_TAG}seq"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Documents:
    """The roots of all documents that could be read (empty ones left out), and the faults."""

    nodes: tuple[Node, ...] = ()
    faults: tuple[Issue, ...] = ()


class _NotText(Exception):
    """`before` is the text in front of the offence."""

    def __init__(self, problem: str, before: str) -> None:
        super().__init__(problem)
        self.before = before


def read(text: bytes | str, file: str) -> Documents:
    """All documents of a text; `file` is its name in positions."""
    # A character is at least one byte, so this also bounds a str.
    if len(text) > MAX_BYTES:
        too_large = fault("InputTooLarge", Position(file, 1, 1), limit=MAX_BYTES)
        return Documents(faults=(too_large,))
    try:
        builder = _build(_decode(text), file)
    except _NotText as error:
        lines = error.before.split("\n")
        place = Position(file, len(lines), len(lines[-1]) + 1)
        return Documents(faults=(fault("NotText", place, problem=str(error)),))
    return Documents(tuple(builder.nodes), tuple(builder.faults))


def _build(text: str, file: str) -> Builder:
    builder = Builder(file)
    try:
        if looks_like_json(text):
            try:
                read_json(text, file, builder)
            except NotJson:
                builder = Builder(file)
            else:
                return builder
        _read_yaml(text, file, builder)
    except Stop:
        pass  # the builder holds the fault, and what was read before it
    return builder


def _decode(text: bytes | str) -> str:
    if isinstance(text, bytes):
        encoding, data = "utf-8", text
        for bom, name in _BOMS:
            if text.startswith(bom):
                encoding, data = name, text[len(bom) :]
                break
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError as error:
            before = data[: error.start].decode(encoding, "replace")
            raise _NotText(f"byte 0x{data[error.start]:02x}", before) from None
    text = text.removeprefix("\ufeff")
    _refuse(_NO_TEXT, text)
    return text


def _refuse(pattern: re.Pattern[str], text: str) -> None:
    if match := pattern.search(text):
        raise _NotText(f"character U+{ord(match[0]):04X}", text[: match.start()])


def _read_yaml(text: str, file: str, builder: Builder) -> None:
    _refuse(_NO_YAML, text)
    reader = _YamlReader(file, builder)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # PyYAML's own scanner lets some errors of int() and chr() through.
        problem, position = explain(error, text, file)
        builder.faults.append(fault("InvalidSyntax", position, builder.path(), problem=problem))


class _YamlReader:
    """Turns PyYAML's events into calls of the builder."""

    def __init__(self, file: str, builder: Builder) -> None:
        self._file = file
        self._builder = builder

    def take(self, event: Any) -> None:
        """Takes the next event."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            mapping = kind is yaml.MappingStartEvent
            mark = event.start_mark
            if event.tag not in _COLLECTION_TAGS[mapping]:
                self._refuse_tag(event)
            self._builder.begin(mapping, mark.line + 1, mark.column + 1, event.anchor)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._builder.end()
        elif kind is yaml.AliasEvent:
            mark = event.start_mark
            self._builder.alias(event.anchor, mark.line + 1, mark.column + 1)
        elif kind is yaml.DocumentStartEvent:
            self._builder.begin_document(event.start_mark.line + 1, event.start_mark.column + 1)

    def _scalar(self, event: Any) -> None:
        text, mark = event.value, event.start_mark
        if not text.isascii():
            text = mend(text)
        value: Scalar = text
        merge = False
        if event.tag is None:
            if event.implicit[0]:
                value = resolve(text)
                merge = text == "<<"
        elif event.tag not in _TEXT_TAGS:
            value = resolve(text)
            if type(value) not in _SCALAR_TAGS.get(event.tag, ()):
                self._refuse_tag(event)
        node = ScalarNode(self._file, mark.line + 1, mark.column + 1, value, text)
        self._builder.scalar(node, event.anchor, merge)

    def _refuse_tag(self, event: Any) -> None:
        tag = shorten(event.tag.replace(_TAG, "!!"))
        self._builder.fault(
            "InvalidValue", event.start_mark.line + 1, event.start_mark.column + 1,
            self._builder.path(), problem=f"the tag {tag} cannot stand here; leave it out",
        )  # fmt: skip
