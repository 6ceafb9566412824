"""The part of kubectl's JSONPath that people use, on plain values.

Owns templates (`{.items[*].name}{"\\n"}`), single paths (`.free`), and sorting by one. Fields, `*`,
indexes, slices are enough; `range` and filters are refused by name, never half understood. A field
that is missing gives nothing, as in kubectl.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from passway.cli.options import Usage
from passway.model.quantity import InvalidQuantity, parse_quantity

Path = Callable[[Any], list[Any]]
Step = str | int | slice | None
"""A field, an index, a slice, or every value (None)."""

_STEP: Final = re.compile(
    r"""\.?\[\*\] | \.\*                                         (?#every)
      | \.?\[(?P<index>-?\d{1,9})\]
      | \.?\[(?P<first>-?\d{0,9}):(?P<end>-?\d{0,9})\]
      | \.?\[(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\]
      | \.(?P<field>(?:\\.|[^.\[\]{}\\\s])+)
    """,
    re.VERBOSE,
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}
_SUPPORTED: Final = "fields (.a.b, ['a/b']), [*], [0] and [0:2] are understood"


def plain_of(document: Any) -> Any:
    """A document as its JSON has it: objects, lists and scalars."""
    return msgspec.json.decode(msgspec.json.encode(document))


def render(template: str, value: Any) -> str:
    """A template on a value: text stays, `{path}` becomes what it finds, joined by spaces."""
    return "".join(
        part if isinstance(part, str) else " ".join(map(text, part(value)))
        for part in _parts(template)
    )


def _parts(template: str) -> Iterable[str | Path]:
    at = 0
    while at < len(template):
        start = template.find("{", at)
        if start < 0:
            start = len(template)
        yield _unescaped(template[at:start])
        if start == len(template):
            return
        end = _closing(template, start)
        inside = template[start + 1 : end].strip()
        quoted = len(inside) > 1 and inside[0] in "\"'" and inside[0] == inside[-1]
        yield _unescaped(inside[1:-1]) if quoted else path(inside)
        at = end + 1


def _closing(template: str, start: int) -> int:
    quote = ""
    for at in range(start + 1, len(template)):
        character = template[at]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "}":
            return at
    raise Usage(f"jsonpath: the brace at character {start + 1} is never closed")


def _unescaped(literal: str) -> str:
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), literal)


def path(written: str) -> Path:
    """A path as a function from a value to all that it finds."""
    body = written.strip()
    if body.startswith("{") and body.endswith("}"):
        body = body[1:-1].strip()
    body = body.removeprefix("$").removeprefix("@")
    if body and body[0] not in ".[":
        body = f".{body}"
    steps = list(_steps("" if body == "." else body, written))

    def found(value: Any) -> list[Any]:
        values = [value]
        for step in steps:
            values = [inner for outer in values for inner in _taken(outer, step)]
        return values

    return found


def _steps(body: str, written: str) -> Iterable[Step]:
    at = 0
    while at < len(body):
        match = _STEP.match(body, at)
        if match is None:
            raise Usage(f"not a path that is understood: {written[:80]!r}", _SUPPORTED)
        at = match.end()
        if match["index"] is not None:
            yield int(match["index"])
        elif match["first"] is not None:
            yield slice(*(int(n) if n else None for n in (match["first"], match["end"])))
        elif match["quoted"] is not None:
            yield match["quoted"]
        elif match["field"] is not None:
            yield re.sub(r"\\(.)", r"\1", match["field"])
        else:
            yield None


def _taken(value: Any, step: Step) -> list[Any]:
    match value, step:
        case dict(), str() if step in value:
            return [value[step]]
        case dict(), None:
            return list(value.values())
        case list(), None:
            return value
        case list(), int() if -len(value) <= step < len(value):
            return [value[step]]
        case list(), slice():
            return value[step]
        case _:
            return []


def text(value: Any) -> str:
    """A found value as text: what has parts as JSON, nothing for null."""
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def sort(items: Sequence[Any], written: str) -> list[Any]:
    """Items (documents) by a path: numbers and quantities by amount, then text, then nothing."""
    found = path(written)
    plain = [plain_of(item) for item in items]
    keys = [found(item) for item in plain]
    if items and not any(keys):
        fields = ", ".join(plain[0])
        raise Usage(f"--sort-by: no item has {written[:60]!r}", f"the fields are {fields}")
    order = sorted(range(len(items)), key=lambda index: _rank(keys[index]))
    return [items[index] for index in order]


def _rank(found: list[Any]) -> tuple[int, int, str]:
    value = found[0] if found else None
    if value is None:
        return (2, 0, "")
    try:
        return (0, parse_quantity(text(value)).nanos, "")
    except InvalidQuantity:
        return (1, 0, text(value))
