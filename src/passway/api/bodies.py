"""Reading request bodies: bounded, in time, of the right type, and strict.

Owns what counts as JSON here (UTF-8, no NaN, no duplicate keys, no numbers beyond 64 bits, limited
depth) and the types a manifest may come in. A body is read only after the asker was let in, so
nobody unknown makes the service wait or count bytes.
"""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from email.message import Message
from typing import Annotated, Any, Final, NoReturn, TypeVar

from fastapi import Depends, Request
from pydantic import TypeAdapter, ValidationError

from passway.api.problems import TooSlow, UnsupportedMediaType
from passway.api.schemas import PERMIT_KINDS
from passway.api.validation import invalid, refused
from passway.manifest.build import Builder, Stop
from passway.manifest.json_text import NotJson, read_json
from passway.manifest.nodes import Node
from passway.model.errors import InvalidInput, TooLarge
from passway.service.reading import SHORT

FILE: Final = "request"
"""What positions of issues name."""
MAX_BYTES: Final = 2 * 1024 * 1024
TIMEOUT_S: Final = 20.0
JSON: Final = "application/json"
MANIFEST_TYPES: Final = ("application/yaml", JSON, "text/yaml", "text/plain")
_MOST: Final = 2**63 - 1
_MOST_DIGITS: Final = 19

M = TypeVar("M")


async def read_body(request: Request, types: tuple[str, ...]) -> bytes:
    """The whole body, if it is of one of these media types; raises before it is too much."""
    _check_type(request, types)
    length = request.headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit() or int(length[:20]) > MAX_BYTES:
        _too_large()
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(TIMEOUT_S):
            async for part in request.stream():
                size += len(part)
                if size > MAX_BYTES:
                    _too_large()
                parts.append(part)
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {TIMEOUT_S:.0f} seconds") from None
    return b"".join(parts)


def json_body(model: Any) -> Callable[[Request], Awaitable[Any]]:
    """A dependency that reads a body of this shape."""
    adapter: TypeAdapter[Any] = TypeAdapter(model)

    async def read(request: Request) -> Any:
        data = await read_body(request, (JSON,))
        if len(data) <= SHORT:
            return validated(adapter, data)
        return await asyncio.to_thread(validated, adapter, data)

    return read


async def _manifest(request: Request) -> bytes:
    return await read_body(request, MANIFEST_TYPES)


ManifestText = Annotated[bytes, Depends(_manifest)]


def validated(adapter: TypeAdapter[M], data: bytes) -> M:
    """The model of a JSON text; raises InvalidInput with every fault."""
    node = strict_json(data)
    try:
        return adapter.validate_python(node.plain())
    except ValidationError as error:
        faults = [
            {**fault, "loc": _without_tag(fault["loc"])}
            for fault in error.errors(include_url=False, include_input=False)
        ]
        raise invalid(faults, node) from None


def strict_json(data: bytes) -> Node:
    """The tree of a JSON text; raises InvalidInput where it is not strictly JSON."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the body is not UTF-8 (byte {error.start + 1})") from None
    builder = Builder(FILE)
    try:
        read_json(text, FILE, builder)
    except Stop:
        pass  # the builder holds the fault
    except NotJson:
        _explain(text)
    if builder.faults:
        raise refused(tuple(builder.faults))
    if len(builder.nodes) != 1:
        raise InvalidInput("the body must be one JSON object")
    _check_numbers(text)
    return builder.nodes[0]


def _check_type(request: Request, types: tuple[str, ...]) -> None:
    given = request.headers.get("content-type", "")
    parsed = Message()
    parsed["content-type"] = given
    charset = str(parsed.get_param("charset", "utf-8")).lower()
    encoding = request.headers.get("content-encoding", "identity").lower()
    media_type = given.partition(";")[0].strip().lower()
    if media_type not in types or charset not in {"utf-8", "utf8"} or encoding != "identity":
        raise UnsupportedMediaType(
            f"the body is {given[:80] or 'of no type'!r}",
            hint=f"send it as {' or '.join(types)}, in UTF-8 and not compressed",
        )


def _too_large() -> NoReturn:
    raise TooLarge(f"the body has more than {MAX_BYTES} bytes")


def _without_tag(loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """pydantic puts the kind of a permit before its fields."""
    return loc[1:] if len(loc) > 1 and loc[0] in PERMIT_KINDS else loc


def _explain(text: str) -> NoReturn:
    """Says why a text is not JSON, in Python's words for it."""
    problem = "the body must be one JSON object"
    try:
        _check_numbers(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        problem = f"the body is not JSON: {error.msg} ({place})"
    raise InvalidInput(problem)


def _check_numbers(text: str) -> None:
    """Refuses numbers that no API field can hold; they would be rounded or become text."""
    json.loads(text, parse_int=_whole, parse_float=_real, parse_constant=_refuse_number)


def _whole(text: str) -> int:
    if len(text.lstrip("-")) > _MOST_DIGITS or abs(int(text)) > _MOST:
        _refuse_number(text)
    return int(text)


def _real(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        _refuse_number(text)
    return number


def _refuse_number(text: str) -> NoReturn:
    raise InvalidInput(f"the number {text[:40]} is out of range")
