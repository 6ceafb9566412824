"""What the bodies of a Kubernetes API hold: objects, lists, the lines of a watch.

Owns the decoding, and the limits of what is taken: whatever does not look as the API has it ends
in `Unavailable`, since it comes from something else in between, and never in a bug. It asks for
nothing. A watch's line is decoded in two steps, so that an error never meets the object's decoder.
"""

from collections.abc import Iterator
from typing import Any, Final, Literal, TypeVar

import msgspec

from passway.cluster.kinds import Kind
from passway.kube.status import Status, refusal
from passway.model.errors import TooLarge, Unavailable
from passway.service.ports import Object, WatchEvent

LINE_BYTES: Final = 8 * 2**20
UNREADABLE: Final = (msgspec.DecodeError, RecursionError)
T = TypeVar("T")


class Meta(msgspec.Struct, rename="camel"):
    """The metadata of a list."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")


class _Head(msgspec.Struct):
    metadata: Meta


class _Listed(msgspec.Struct):
    items: list[dict[str, Any]] | None = None


class _Line(msgspec.Struct):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class _ObjectMeta(msgspec.Struct, rename="camel"):
    name: str = ""
    resource_version: str = ""


class _Named(msgspec.Struct):
    metadata: _ObjectMeta


def decoded(body: bytes | msgspec.Raw, shape: type[T], what: str) -> T:
    """The body as a `shape`; raises Unavailable."""
    try:
        return msgspec.json.decode(body, type=shape)
    except UNREADABLE as error:
        raise _unreadable(what, error) from None


def object_of(body: bytes, what: str) -> Object:
    """One object."""
    return decoded(body, dict[str, Any], what)


def head_of(body: bytes, kind: Kind) -> Meta:
    """The metadata of a list."""
    return decoded(body, _Head, f"the list of {kind.resource}").metadata


def objects_of(body: bytes, kind: Kind) -> list[Object]:
    """The objects of a list, each with its kind, which lists leave out."""
    what = f"the list of {kind.resource}"
    items = decoded(body, _Listed, what).items or []
    for item in items:
        try:
            msgspec.convert(item, _Named)
        except msgspec.ValidationError as error:
            raise _unreadable(what, error) from None
        item.setdefault("apiVersion", kind.api_version)
        item.setdefault("kind", kind.kind)
    return items


def records_decoder(kind: Kind) -> msgspec.json.Decoder[Any]:
    """Of a list of the kind's records."""
    items: Any = list[kind.record]  # type: ignore[name-defined] # a type made at run time
    return msgspec.json.Decoder(
        msgspec.defstruct(f"{kind.kind}List", [("items", items | None, None)])
    )


def records_of(body: bytes, kind: Kind, decoder: msgspec.json.Decoder[Any]) -> list[Any]:
    """The objects of a list as records."""
    try:
        return decoder.decode(body).items or []
    except UNREADABLE as error:
        raise _unreadable(f"the list of {kind.resource}", error) from None


def event_of(line: bytes, kind: Kind) -> WatchEvent:
    """One line of a watch; raises what an ERROR in it says."""
    what = f"the watch of {kind.resource}"
    read = decoded(line, _Line, what)
    if read.type == "ERROR":
        code = decoded(read.object, Status, what).code
        raise refusal(code, bytes(read.object), "watch", kind, None, None)
    meta = decoded(read.object, _Named, what).metadata
    if not meta.resource_version or not (meta.name or read.type == "BOOKMARK"):
        raise Unavailable(f"{what} cannot be read: an object has no name or no resourceVersion")
    return WatchEvent(read.type, object_of(bytes(read.object), what))


class Lines:
    """Cuts a stream into lines, wherever its chunks end. A line that does not end is left out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The lines that end in the chunk; raises TooLarge after them."""
        self._rest += chunk
        if b"\n" in chunk:
            *whole, last = bytes(self._rest).split(b"\n")
            self._rest = bytearray(last)
            for line in whole:
                _expect_short(len(line))
                if line:
                    yield line
        _expect_short(len(self._rest))


def _expect_short(size: int) -> None:
    if size > LINE_BYTES:
        raise TooLarge(f"a line of the watch has more than {LINE_BYTES} bytes")


def _unreadable(what: str, error: Exception) -> Unavailable:
    return Unavailable(
        f"{what} cannot be read: {error}",
        hint="look whether the server is a Kubernetes API, and what stands before it",
    )
