"""Kubernetes' protobuf on the wire: where the objects of a list and the events of a watch begin.

Owns the envelope (`k8s`, a zero, and a `runtime.Unknown`), lists item by item as they arrive, the
frames of watches, and the few small messages around objects. Objects stay bytes here: `protobuf`
makes records of them. Whatever is not as the API has it raises `Malformed`. It needs no library.
Source: k8s.io/apimachinery/pkg/runtime/serializer/protobuf and generated.proto beside it.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from passway.model.errors import TooLarge

PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
MAGIC: Final = b"k8s\0"
OBJECT_BYTES: Final = 8 * 2**20
"""Of one object, and of one event."""
HEAD_BYTES: Final = 2**16
"""Of what stands before the first item of a list."""
_LENGTHS: Final = {1: 8, 5: 4}
"""Wire types of a fixed size."""
_BYTES: Final = 2
_META: Final = 1 << 3 | _BYTES
_ITEM: Final = 2 << 3 | _BYTES
"""Field 2: an item of a list, and the list of an envelope."""


class Malformed(ValueError):
    """Not what the API sends."""


class Short(Malformed):
    """More of it has to come before it can be told."""


class ListHead(NamedTuple):
    """The metadata of a list."""

    resource_version: str = ""
    continue_: str = ""


class Event(NamedTuple):
    """An event of a watch; `body` is the object without its envelope."""

    type: str
    kind: str
    body: bytes


def fields(body: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message: number, and bytes or a number."""
    position, size = 0, len(body)
    while position < size:
        tag, position = _varint(body, position)
        wire = tag & 7
        if wire == 0:
            value, position = _varint(body, position)
            yield tag >> 3, value
            continue
        if wire == _BYTES:
            length, position = _varint(body, position)
        elif wire in _LENGTHS:
            length = _LENGTHS[wire]
        else:
            raise Malformed(f"a field has the wire type {wire}")
        if position + length > size:
            raise Malformed("a field is longer than its message")
        yield tag >> 3, body[position : position + length]
        position += length


def _varint(body: bytes, position: int) -> tuple[int, int]:
    """A number and where it ends."""
    number = shift = 0
    for byte in body[position : position + 10]:
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number, position + shift // 7
    raise Malformed("a number is too long") if shift == 70 else Short("a number does not end")


def _text(value: Any) -> str:
    try:
        return str(value, "utf-8")
    except (TypeError, UnicodeDecodeError):
        raise Malformed("a text is none") from None


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise Malformed("a message is none")
    return value


def unwrapped(body: bytes) -> tuple[str, bytes]:
    """The kind that an envelope names, and the object in it."""
    if not body.startswith(MAGIC):
        raise Malformed("there is no envelope")
    kind, raw = "", b""
    for number, value in fields(body[len(MAGIC) :]):
        if number == 1:
            kind = _kind(_bytes(value))
        elif number == 2:
            raw = _bytes(value)
    return kind, raw


def _kind(type_meta: bytes) -> str:
    return "".join(_text(value) for number, value in fields(type_meta) if number == 2)


def event_of(frame: bytes) -> Event:
    """A frame of a watch: `WatchEvent`, in which the object has an envelope of its own."""
    type_, wrapped = "", b""
    for number, value in fields(frame):
        if number == 1:
            type_ = _text(value)
        elif number == 2:
            wrapped = b"".join(_bytes(raw) for inner, raw in fields(_bytes(value)) if inner == 1)
    return Event(type_, *unwrapped(wrapped))


def status_of(body: bytes) -> dict[str, Any]:
    """A `Status` as its JSON is, as far as anybody reads it."""
    names = {2: "status", 3: "message", 4: "reason"}
    made: dict[str, Any] = {}
    for number, value in fields(body):
        if number in names:
            made[names[number]] = _text(value)
        elif number == 5:
            made["details"] = _details(_bytes(value))
        elif number == 6:
            made["code"] = int(value)
    return made


def _details(body: bytes) -> dict[str, Any]:
    names, causes = {1: "name", 2: "group", 3: "kind"}, []
    made: dict[str, Any] = {}
    for number, value in fields(body):
        if number in names:
            made[names[number]] = _text(value)
        elif number == 4:
            told = (_text(text) for inner, text in fields(_bytes(value)) if inner == 1)
            causes.append({"reason": "".join(told)})
    return {**made, "causes": causes}


class Items:
    """Cuts a list into its items, wherever the chunks end; it holds no more than one of them."""

    def __init__(self) -> None:
        self.head = ListHead()
        self._rest = b""
        self._left: int | None = None
        """Bytes of the list that are still to come; None before its envelope was read."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The items that end in the chunk. Raises Malformed or TooLarge."""
        data = self._rest + chunk if self._rest else chunk
        position = 0
        if self._left is None:
            try:
                self._left, position = _begin(data)
            except Short:
                if len(data) > HEAD_BYTES:
                    raise
                self._rest = data
                return []
        found, end = self._cut(data, position, min(len(data), position + self._left))
        self._left -= end - position
        self._rest = data[end:] if self._left else b""
        return found

    def end(self) -> None:
        """The stream is over; raises Malformed where the list is not."""
        if self._left is None:
            raise Malformed("the list has no envelope")
        if self._left:
            raise Malformed(f"{self._left} bytes of the list are missing")

    def _cut(self, data: bytes, position: int, size: int) -> tuple[list[bytes], int]:
        """Whole items, and where what is no whole one begins."""
        found: list[bytes] = []
        while position < size:
            tag = data[position]
            try:
                length, start = _varint(data, position + 1)
            except Short:
                break
            if length > OBJECT_BYTES:
                raise TooLarge(f"an object of a list has more than {OBJECT_BYTES} bytes")
            if start + length > size:
                break
            if tag == _ITEM:
                found.append(data[start : start + length])
            elif tag == _META:
                self.head = _head(data[start : start + length])
            else:
                raise Malformed(f"a list has a field with the tag {tag}")
            position = start + length
        return found, position


def _begin(data: bytes) -> tuple[int, int]:
    """The length of the list in its envelope, and where it begins."""
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise Malformed("there is no envelope")
    position = len(MAGIC)
    while True:
        tag, position = _varint(data, position)
        length, position = _varint(data, position)
        if tag == _ITEM:
            return length, position
        if tag & 7 != _BYTES:
            raise Malformed("the envelope has something else in it")
        position += length


def _head(body: bytes) -> ListHead:
    told = {number: value for number, value in fields(body) if number in {2, 3}}
    return ListHead(_text(told.get(2, b"")), _text(told.get(3, b"")))


class Frames:
    """Cuts a watch into its frames, wherever the chunks end: four bytes of length, and an event."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The frames that end in the chunk; raises TooLarge after them."""
        self._rest += chunk
        while (length := self._length()) is not None and len(self._rest) >= 4 + length:
            frame = bytes(self._rest[4 : 4 + length])
            del self._rest[: 4 + length]
            yield frame

    def _length(self) -> int | None:
        if len(self._rest) < 4:
            return None
        length = int.from_bytes(self._rest[:4], "big")
        if length > OBJECT_BYTES:
            raise TooLarge(f"an event of the watch has more than {OBJECT_BYTES} bytes")
        return length
