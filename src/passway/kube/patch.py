"""JSON as values: copies, equality, merge patches (RFC 7386), JSON patches (RFC 6902).

Pure: every function returns a new document that shares nothing with its arguments. It does not
know what a Kubernetes object is, and it has no strategic merge (custom resources have none). Two
kinds of failure stay apart: a patch that can never apply is `InvalidInput`; a `test` that does not
hold is `Conflict`, because the document is not what the patch assumes.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias

from passway.model.errors import Conflict, InvalidInput

Json: TypeAlias = Any
Token: TypeAlias = str

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")
_BAD_ESCAPE: Final = re.compile(r"~(?![01])")
_SCALARS: Final = (str, int, float, bool, type(None))


class _Missing(Exception):
    """Nothing stands at a path; each operation decides what that means."""


def copied(value: Json) -> Json:
    """A deep copy; refuses what JSON cannot hold."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidInput(f"the key {key!r} is not a string")
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    if isinstance(value, _SCALARS):
        return value
    raise InvalidInput(f"a {type(value).__name__} is not JSON")


def same(left: Json, right: Json) -> bool:
    """Equality as JSON has it: 1 equals 1.0, but never true."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def patched(document: Json, patch: Mapping[str, Json] | list[Json]) -> Json:
    """Applies a merge patch (a mapping) or a JSON patch (a list)."""
    return json_patch(document, patch) if isinstance(patch, list) else merge(document, patch)


def merge(target: Json, patch: Json) -> Json:
    """RFC 7386: null removes a key, a list is replaced whole."""
    return _merged(copied(target), copied(patch))


def _merged(target: Json, patch: Json) -> Json:
    if not isinstance(patch, dict):
        return patch
    result = target if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def json_patch(document: Json, operations: list[Json]) -> Json:
    """RFC 6902: the operations in order, all or none."""
    result = copied(document)
    for number, operation in enumerate(operations):
        try:
            result = _operation(result, operation)
        except _Missing as missing:
            raise InvalidInput(
                f"operation {number} of the JSON patch: nothing is at {missing}"
            ) from None
    return result


def _operation(document: Json, operation: Json) -> Json:
    name = operation.get("op") if isinstance(operation, Mapping) else None
    apply = _OPERATIONS.get(name) if isinstance(name, str) else None
    if apply is None:
        raise InvalidInput(
            "an operation of a JSON patch needs op: add, remove, replace, move, copy or test"
        )
    return apply(document, operation)


def _pointer(operation: Mapping[str, Json], field: Literal["path", "from"]) -> list[Token]:
    """The tokens of a JSON pointer (RFC 6901)."""
    text = operation.get(field)
    if not isinstance(text, str) or (text and text[0] != "/") or _BAD_ESCAPE.search(text):
        raise InvalidInput(
            f"{field} {text!r} is not a JSON pointer; write /a/b, '~1' for '/' and '~0' for '~'"
        )
    return [token.replace("~1", "/").replace("~0", "~") for token in text.split("/")[1:]]


def _value(operation: Mapping[str, Json]) -> Json:
    if "value" not in operation:
        raise InvalidInput(f"the operation {operation['op']} of a JSON patch needs a value")
    return copied(operation["value"])


def _at(document: Json, tokens: list[Token]) -> Json:
    for depth, token in enumerate(tokens):
        place = _place(document, token, tokens[: depth + 1], end=False)
        if isinstance(document, dict) and place not in document:
            raise _Missing(_path(tokens[: depth + 1]))
        document = document[place]
    return document


def _place(parent: Json, token: Token, tokens: list[Token], *, end: bool) -> Any:
    """The key or the index that `token` names in `parent`; `end` allows one past the last."""
    if isinstance(parent, dict):
        return token
    if isinstance(parent, list):
        if end and token == "-":
            return len(parent)
        if _INDEX.fullmatch(token) and int(token) < len(parent) + end:
            return int(token)
    raise _Missing(_path(tokens))


def _path(tokens: list[Token]) -> str:
    return repr("".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens))


def _added(document: Json, tokens: list[Token], value: Json) -> Json:
    if not tokens:
        return value
    parent = _at(document, tokens[:-1])
    place = _place(parent, tokens[-1], tokens, end=True)
    if isinstance(parent, list):
        parent.insert(place, value)
    else:
        parent[place] = value
    return document


def _removed(document: Json, tokens: list[Token]) -> Json:
    if not tokens:
        raise InvalidInput("a JSON patch cannot remove the whole document")
    _at(document, tokens)
    parent = _at(document, tokens[:-1])
    del parent[_place(parent, tokens[-1], tokens, end=False)]
    return document


def _add(document: Json, operation: Mapping[str, Json]) -> Json:
    return _added(document, _pointer(operation, "path"), _value(operation))


def _remove(document: Json, operation: Mapping[str, Json]) -> Json:
    return _removed(document, _pointer(operation, "path"))


def _replace(document: Json, operation: Mapping[str, Json]) -> Json:
    tokens, value = _pointer(operation, "path"), _value(operation)
    return _added(_removed(document, tokens), tokens, value) if tokens else value


def _move(document: Json, operation: Mapping[str, Json]) -> Json:
    source, target = _pointer(operation, "from"), _pointer(operation, "path")
    value = _at(document, source)
    if source == target:
        return document
    if target[: len(source)] == source:
        raise InvalidInput(f"a JSON patch cannot move {_path(source)} into itself")
    return _added(_removed(document, source), target, value)


def _copy(document: Json, operation: Mapping[str, Json]) -> Json:
    value = copied(_at(document, _pointer(operation, "from")))
    return _added(document, _pointer(operation, "path"), value)


def _test(document: Json, operation: Mapping[str, Json]) -> Json:
    tokens, wanted = _pointer(operation, "path"), _value(operation)
    try:
        holds = same(_at(document, tokens), wanted)
    except _Missing:
        holds = False
    if not holds:
        raise Conflict(
            f"{_path(tokens)} is not what the patch assumes",
            code="CONCURRENT_CHANGE",
            hint="Read the object again and decide anew.",
        )
    return document


_OPERATIONS: Final[Mapping[str, Callable[[Json, Mapping[str, Json]], Json]]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}
