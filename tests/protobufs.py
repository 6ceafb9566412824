"""Objects in Kubernetes' protobuf, written as an API server writes them, for tests and servers.

Owns an encoder of its own, byte by byte, that shares with Passway only the table of field numbers;
that those are right is judged by the real API server. Like Go it writes what is no pointer always.
"""

import struct
from datetime import datetime
from functools import cache
from typing import Any, get_args, get_origin

import msgspec

from passway.cluster import records as r
from passway.kube.numbers import NUMBERS, OPTIONAL, TIMES

UNREAD = 1000
"""A field that nobody reads, to be skipped."""


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes(made) + bytes([number])


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def message(record: type[r.Record], obj: dict[str, Any], noise: bool = False) -> bytes:
    """An object of the record's kind; with `noise`, beside fields that nobody reads."""
    parts = []
    inner: dict[int, bytes] = {}
    for info in fields_of(record):
        number, value = NUMBERS[record][info.name], obj.get(info.encode_name)
        outer, position = number if isinstance(number, tuple) else (None, number)
        made = _values(record, info, position, value, noise)
        if outer is None:
            parts.append((position, made))
        else:
            inner[outer] = inner.get(outer, b"") + made
    parts += [(outer, field(outer, made)) for outer, made in inner.items()]
    if noise:
        parts += [
            (900, field(900, b"not read")), (901, field(901, 7)),
            (902, varint(902 << 3 | 1) + struct.pack("<d", 1.5)),
            (903, varint(903 << 3 | 5) + struct.pack("<f", 1.5)),
        ]  # fmt: skip
    return b"".join(made for _, made in sorted(parts))


@cache
def fields_of(record: type[r.Record]) -> tuple[Any, ...]:
    return msgspec.structs.fields(record)


@cache
def bare(kind: Any) -> Any:
    """A type without its None."""
    kinds = [one for one in get_args(kind) or (kind,) if one is not type(None)]
    return kinds[0] if get_origin(kind) not in {tuple, dict} else kind


def _values(record: Any, info: Any, number: int, value: Any, noise: bool) -> bytes:
    kind = bare(info.type)
    if info.name in TIMES:
        return field(number, _time(value))
    if get_origin(kind) is dict:
        entries = sorted((value or {}).items())
        quantity = kind == r.Amounts
        return b"".join(
            field(
                number,
                field(1, key.encode())
                + field(2, field(1, str(text).encode()) if quantity else text.encode()),
            )
            for key, text in entries
        )
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        return b"".join(field(number, _one(item, one, noise)) for one in value or ())
    if isinstance(kind, type) and issubclass(kind, r.Record):
        always = info.name in {"metadata", "spec", "status"} or record is r.Container
        if value is None and not always:
            return b""
        return field(number, message(kind, value or {}, noise))
    if value is None and info.name in OPTIONAL.get(record, ()):
        return b""
    if kind is str:
        return field(number, (value or "").encode())
    return field(number, int(value or 0))


def _one(item: Any, value: Any, noise: bool) -> bytes:
    return value.encode() if item is str else message(item, value, noise)


def _time(text: str | None) -> bytes:
    if text is None:
        return b""
    return field(1, int(datetime.fromisoformat(text).timestamp())) + field(2, 0)


def envelope(kind: str, body: bytes, api_version: str = "v1") -> bytes:
    meta = field(1, api_version.encode()) + field(2, kind.encode())
    return b"k8s\0" + field(1, meta) + field(2, body) + field(3, b"") + field(4, b"")


def listed(kind: str, items: list[bytes], version: str = "5", more: str = "") -> bytes:
    """A list of messages."""
    meta = field(1, b"") + field(2, version.encode()) + field(3, more.encode())
    return envelope(f"{kind}List", field(1, meta) + b"".join(field(2, item) for item in items))


def frame(type_: str, kind: str, body: bytes) -> bytes:
    """An event of a watch."""
    event = field(1, type_.encode()) + field(2, field(1, envelope(kind, body)))
    return len(event).to_bytes(4, "big") + event


def status(obj: dict[str, Any]) -> bytes:
    """A Status."""
    details = obj.get("details") or {}
    causes = [field(4, field(1, one["reason"].encode())) for one in details.get("causes", ())]
    told = b"".join(
        field(number, str(details[name]).encode())
        for number, name in ((1, "name"), (2, "group"), (3, "kind"))
        if name in details
    )
    return (
        field(1, b"")
        + field(2, obj.get("status", "").encode())
        + field(3, obj.get("message", "").encode())
        + field(4, obj.get("reason", "").encode())
        + field(5, told + b"".join(causes))
        + field(6, obj.get("code", 0))
    )
