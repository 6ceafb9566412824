"""JSON as KubeVirt's Go code reads it, for the files that the launcher is handed.

Owns the differences from Python's reader: keys match without regard to letter case (but not the
keys of maps, which are data), a later key wins, null means unset, and a stream may hold several
documents. It does not know what any document means; types are checked by msgspec, whose error says
where. Everything unreadable is `NotJson`, also what nests deeper than the interpreter follows.
Source: Go's encoding/json (decode.go, fold.go, stream.go).
"""

import json
import string
from typing import Final, NoReturn, TypeVar

import msgspec

T = TypeVar("T")

# What folds to an ASCII letter: the capitals, the long s and the Kelvin sign.
_FOLD: Final = str.maketrans(string.ascii_uppercase + "\u017f\u212a", string.ascii_lowercase + "sk")
_SPACE: Final = frozenset(" \t\r\n")


class NotJson(ValueError):
    """The text is no JSON, or not of the wanted types; the message says where."""


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


# Objects as tuples of pairs: they keep repeated keys in order and differ from arrays.
_DECODER: Final = json.JSONDecoder(object_pairs_hook=tuple, parse_constant=_refuse)


def read_document(text: str, kind: type[T], *, maps: frozenset[str] = frozenset()) -> T:
    """One document that is the whole text; `maps` are the folded names whose keys are data."""
    document, end = next_document(text, 0)
    if end != len(text):
        raise NotJson(f"there is more after the first document, at character {end}")
    return typed(document, kind, maps=maps)


def next_document(text: str, position: int) -> tuple[object, int]:
    """The document at a position, and where the next one starts."""
    start = skip_space(text, position)
    try:
        document, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    return document, skip_space(text, end)


def skip_space(text: str, position: int) -> int:
    """The first position from here on that is not JSON's white space."""
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def typed(document: object, kind: type[T], *, maps: frozenset[str] = frozenset()) -> T:
    """A decoded document as a struct whose fields are named in lower case; null is an empty one."""
    try:
        return msgspec.convert({} if document is None else _folded(document, maps), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise NotJson(str(error)) from None


def _folded(value: object, maps: frozenset[str], *, keys_are_data: bool = False) -> object:
    match value:
        case tuple():
            return {
                name: _folded(item, maps, keys_are_data=not keys_are_data and name in maps)
                for key, item in value
                for name in (key if keys_are_data else key.translate(_FOLD),)
            }
        case list():
            return [_folded(item, maps) for item in value]
        case _:
            return value
