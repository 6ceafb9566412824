"""Dumps: what `kubectl get … -o json|yaml` prints, as events of a state.

Owns the decoding of files into records: one `List`, one object, or several documents. Objects of
kinds that the table does not name are counted and skipped. It reads no files; the text comes in.
Bad input names the file, the item and the field. Nothing is applied from a file that has a fault.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import yaml

from passway.cluster.kinds import Kind, kind_of
from passway.cluster.records import Record
from passway.model.errors import InvalidInput, TooLarge
from passway.model.override import override

MAX_BYTES: Final = 4 * 2**30
MAX_YAML_BYTES: Final = 256 * 2**20


class _TypeMeta(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""


class _List(_TypeMeta):
    items: list[msgspec.Raw] | None = None


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # C where it is
    """YAML as kubectl reads it: times stay text, and 10:1234 is no number."""

    yaml_implicit_resolvers: Any = {  # noqa: RUF012 - the base class's own attribute
        first: [
            (tag, pattern)
            for tag, pattern in resolvers
            if tag != "tag:yaml.org,2002:timestamp"
            and not (tag == "tag:yaml.org,2002:int" and first == ":")
        ]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    @override
    def construct_object(self, node: Any, deep: bool = False) -> Any:
        if node.tag == "tag:yaml.org,2002:int" and ":" in node.value:
            return node.value
        return super().construct_object(node, deep)


_type_meta = msgspec.json.Decoder(_List)


def decode(text: bytes, file: str) -> Iterator[tuple[Kind, Record]]:
    """The objects of one file that are read, in its order; raises InvalidInput or TooLarge."""
    if len(text) > MAX_BYTES:
        raise TooLarge(f"{file}: {len(text)} bytes are more than a dump may have ({MAX_BYTES})")
    start = text.lstrip()[:1]
    if not start:
        raise InvalidInput(f"{file}: the file is empty", hint="write one with kubectl get -o json")
    if start == b"{":
        yield from _decode_json(text, file)
    else:
        yield from _decode_yaml(text, file)


def _decode_json(text: bytes, file: str) -> Iterator[tuple[Kind, Record]]:
    try:
        head = _type_meta.decode(text)
    except msgspec.DecodeError as error:
        yield from _decode_yaml(text, file, error)
        return
    items = [msgspec.Raw(text)] if head.items is None else head.items
    for index, raw in enumerate(items):
        head = _typed(raw, file, index)
        kind = kind_of(head.api_version, head.kind)
        if kind is None:
            continue
        try:
            yield kind, _decoder(kind).decode(raw)
        except msgspec.ValidationError as error:
            raise _fault(file, index, kind, error) from None


def _typed(raw: msgspec.Raw, file: str, index: int) -> _List:
    try:
        return _type_meta.decode(raw)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{file}: item {index + 1}: {error}") from None


def _decode_yaml(
    text: bytes, file: str, json_error: Exception | None = None
) -> Iterator[tuple[Kind, Record]]:
    if len(text) > MAX_YAML_BYTES:
        raise TooLarge(
            f"{file}: {len(text)} bytes are more than YAML may have here ({MAX_YAML_BYTES})",
            hint="dump it as JSON: kubectl get … -o json",
        )
    try:
        documents = list(yaml.load_all(text, _Loader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{file}: neither JSON nor YAML: {_place(error)}{json_error or ''}",
            hint="write the dump with kubectl get … -o json",
        ) from None
    for index, item in enumerate(_items(documents, file)):
        kind = kind_of(str(item.get("apiVersion") or ""), str(item.get("kind") or ""))
        if kind is None:
            continue
        try:
            yield kind, msgspec.convert(item, kind.record, strict=True)
        except msgspec.ValidationError as error:
            raise _fault(file, index, kind, error) from None


def _items(documents: list[Any], file: str) -> Iterator[dict[str, Any]]:
    for document in documents:
        if document is None:
            continue
        listed = document.get("items") if isinstance(document, dict) else None
        for item in [document] if listed is None else listed:
            if not isinstance(item, dict):
                raise InvalidInput(
                    f"{file}: found {type(item).__name__} where an object should be",
                    hint="write the dump with kubectl get … -o json",
                )
            yield item


def _place(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}, column {mark.column + 1} " if mark else ""


def _fault(file: str, index: int, kind: Kind, error: msgspec.ValidationError) -> InvalidInput:
    return InvalidInput(f"{file}: item {index + 1} ({kind.kind}): {error}")


_decoders: dict[type[Record], msgspec.json.Decoder[Any]] = {}


def _decoder(kind: Kind) -> msgspec.json.Decoder[Any]:
    decoder = _decoders.get(kind.record)
    if decoder is None:
        decoder = _decoders[kind.record] = msgspec.json.Decoder(kind.record)
    return decoder


def decode_object(item: dict[str, Any]) -> tuple[Kind, Record] | None:
    """One object as plain values, as the API gives it; None for a kind that is not read."""
    kind = kind_of(str(item.get("apiVersion") or ""), str(item.get("kind") or ""))
    if kind is None:
        return None
    try:
        return kind, msgspec.convert(item, kind.record, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{kind.kind}: {error}") from None
