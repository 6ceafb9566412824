"""Dumps: what `kubectl get … -o json|yaml` prints, as events of a state.

Owns the decoding of files into records: one `List`, one object, or several documents. Objects of
kinds that the table does not name are skipped. It reads no files; the text comes in.
Bad input names the file, the item and the field. Objects come one by one: whoever feeds a state
that is in use collects them first, so that nothing of a faulty file is applied.
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
MAX_YAML_BYTES: Final = 32 * 2**20
HINT: Final = "write the dump with kubectl get … -o json"


class _TypeMeta(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""


class _List(_TypeMeta, frozen=True):
    items: list[msgspec.Raw] | None = None


_TAG: Final = "tag:yaml.org,2002:"
_PLAIN: Final = frozenset(f"{_TAG}{name}" for name in ("null", "bool", "int", "float"))
_BUILT: Final = _PLAIN | {f"{_TAG}{name}" for name in ("str", "seq", "map")} | {None}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # C where it is
    """YAML as kubectl writes it: times and `=` stay text, 10:12 is no number, nothing is shared.

    Aliases and merge keys are refused: kubectl writes none, and few of them stand for very much.
    """

    yaml_implicit_resolvers: Any = {  # noqa: RUF012 - the base class's own attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _PLAIN]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors: Any = {  # noqa: RUF012 - as above
        tag: make for tag, make in yaml.SafeLoader.yaml_constructors.items() if tag in _BUILT
    }

    @override
    def construct_object(self, node: Any, deep: bool = False) -> Any:
        if node in self.constructed_objects:
            problem = "an alias (*) stands here; write it out, as kubectl does"
            raise yaml.constructor.ConstructorError(problem=problem, problem_mark=node.start_mark)
        if ":" in node.value and node.tag in _PLAIN:  # sexagesimal, which only PyYAML reads
            return node.value
        return super().construct_object(node, deep)

    def flatten_mapping(self, node: Any) -> None:
        """Merges nothing: a merge key is a name like any other."""


_type_meta = msgspec.json.Decoder(_List)


def decode(text: bytes, file: str) -> Iterator[tuple[Kind, Record]]:
    """The objects of one file that are read, in its order; raises InvalidInput or TooLarge."""
    if len(text) > MAX_BYTES:
        raise TooLarge(f"{file}: {len(text)} bytes are more than a dump may have ({MAX_BYTES})")
    start = text.lstrip()[:1]
    if not start:
        raise InvalidInput(f"{file}: the file is empty", hint=HINT)
    if start == b"{":
        yield from _decode_json(text, file)
    else:
        yield from _decode_yaml(text, file)


def plain(text: bytes, file: str, wanted: frozenset[str]) -> Iterator[dict[str, Any]]:
    """The objects of these kinds (`Pod`) as plain values; of a file that `decode` has taken."""
    if text.lstrip()[:1] == b"{":
        try:
            head = _type_meta.decode(text)
        except (msgspec.DecodeError, RecursionError):
            head = None
        if head is not None:
            for raw in [msgspec.Raw(text)] if head.items is None else head.items:
                if _type_meta.decode(raw).kind in wanted:
                    yield msgspec.json.decode(raw)
            return
    for item in _items(list(yaml.load_all(text, _Loader)), file):
        if item.get("kind") in wanted:
            yield item


def _decode_json(text: bytes, file: str) -> Iterator[tuple[Kind, Record]]:
    try:
        head = _type_meta.decode(text)
    except (msgspec.ValidationError, RecursionError) as error:
        raise InvalidInput(f"{file}: {error}", hint=HINT) from None
    except msgspec.DecodeError as error:
        yield from _decode_yaml(text, file, f"not JSON: {error}; ")
        return
    items = [msgspec.Raw(text)] if head.items is None else head.items
    for index, raw in enumerate(items):
        try:
            meta = _type_meta.decode(raw)
        except msgspec.DecodeError as error:
            raise _fault(file, index, "", error) from None
        kind = kind_of(meta.api_version, meta.kind)
        if kind is None:
            continue
        try:
            yield kind, _decoder(kind).decode(raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise _fault(file, index, kind.kind, error) from None


def _decode_yaml(text: bytes, file: str, not_json: str = "") -> Iterator[tuple[Kind, Record]]:
    """`not_json` says why a text that looks like JSON is none."""
    if len(text) > MAX_YAML_BYTES:
        if not_json:
            raise InvalidInput(f"{file}: {not_json}and too large to be read as YAML", hint=HINT)
        raise TooLarge(
            f"{file}: {len(text)} bytes are more than YAML may have here ({MAX_YAML_BYTES})",
            hint=HINT,
        )
    try:
        documents = list(yaml.load_all(text, _Loader))
    except (yaml.YAMLError, ValueError, LookupError, RecursionError) as error:
        # PyYAML's own constructors let errors of int() and of look-ups through.
        raise InvalidInput(f"{file}: {not_json}not YAML: {_problem(error)}", hint=HINT) from None
    for index, item in enumerate(_items(documents, file)):
        try:
            meta = msgspec.convert(item, _TypeMeta)
        except msgspec.ValidationError as error:
            raise _fault(file, index, "", error) from None
        kind = kind_of(meta.api_version, meta.kind)
        if kind is None:
            continue
        try:
            yield kind, msgspec.convert(item, kind.record, strict=True)
        except (msgspec.ValidationError, RecursionError) as error:
            raise _fault(file, index, kind.kind, error) from None


def _items(documents: list[Any], file: str) -> Iterator[Any]:
    for document in documents:
        if document is None:
            continue
        listed = document.get("items") if isinstance(document, dict) else None
        if listed is None:
            yield document
        elif isinstance(listed, list):
            yield from listed
        else:
            found = type(listed).__name__
            raise InvalidInput(f"{file}: `items` is no list but {found}", hint=HINT)


def _problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    # ReaderError has a reason; errors that are not PyYAML's have neither.
    words = getattr(error, "problem", None) or getattr(error, "reason", None)
    return f"{place}{words or 'a value does not fit its type'}"


def _fault(file: str, index: int, kind: str, error: Exception) -> InvalidInput:
    return InvalidInput(f"{file}: item {index + 1}{kind and f' ({kind})'}: {error}", hint=HINT)


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
