"""What the JSON of a Kubernetes API holds: objects, lists, the lines of a watch.

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
PARTIAL: Final = "PartialObjectMetadata"
"""The kind of an object of which only the metadata was asked for."""
COMPLETE: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark after what there is."""
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


class _MarkMeta(msgspec.Struct):
    annotations: dict[str, str] | None = None


class _Mark(msgspec.Struct):
    metadata: _MarkMeta


class _Named(msgspec.Struct):
    metadata: _ObjectMeta
    kind: str = ""


def decoded(body: bytes | msgspec.Raw, shape: type[T], what: str) -> T:
    """The body as a `shape`; raises Unavailable."""
    try:
        return msgspec.json.decode(body, type=shape)
    except UNREADABLE as error:
        raise unreadable(what, error) from None


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
            raise unreadable(what, error) from None
        item.setdefault("apiVersion", kind.api_version)
        item.setdefault("kind", kind.kind)
    return items


class Decoder:
    """Of a kind's records; made once, since making it costs as much as a page."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        items: Any = list[kind.record]  # type: ignore[name-defined] # a type made at run time
        listed: Any = msgspec.defstruct(f"{kind.kind}List", [("items", items | None, None)])
        self._list: msgspec.json.Decoder[Any] = msgspec.json.Decoder(listed)
        self._one = msgspec.json.Decoder(kind.record)

    def records(self, body: bytes) -> list[Any]:
        """The objects of a list."""
        try:
            return self._list.decode(body).items or []
        except UNREADABLE as error:
            raise unreadable(f"the list of {self._kind.resource}", error) from None

    def event(self, line: bytes) -> WatchEvent:
        """One line of a watch; raises what an ERROR in it says."""
        kind, what = self._kind, f"the watch of {self._kind.resource}"
        read = decoded(line, _Line, what)
        if read.type == "ERROR":
            code = decoded(read.object, Status, what).code
            raise refusal(code, bytes(read.object), "watch", kind, None, None)
        named = decoded(read.object, _Named, what)
        meta = named.metadata
        expect_event(kind, named.kind, meta.resource_version)
        if read.type == "BOOKMARK":
            noted = decoded(read.object, _Mark, what).metadata.annotations or {}
            complete = noted.get(COMPLETE) == "true"
            return WatchEvent(read.type, meta.resource_version, complete=complete)
        if not meta.name:
            raise unreadable(what, ValueError("an object has no name"))
        try:
            return WatchEvent(read.type, meta.resource_version, self._one.decode(read.object))
        except UNREADABLE as error:
            raise unreadable(what, error) from None


def expect_event(kind: Kind, found: str, version: str) -> None:
    """Raises Unavailable for an object of another kind, or one without a version."""
    what = f"the watch of {kind.resource}"
    if found not in {"", kind.kind, PARTIAL}:
        raise unreadable(what, ValueError(f"there is a {found[:80]} in it"))
    if not version:
        raise unreadable(what, ValueError("an object has no resourceVersion"))


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


def unreadable(what: str, error: Exception) -> Unavailable:
    """The error for what is not as the API has it."""
    return Unavailable(
        f"{what} cannot be read: {error}",
        hint="look whether the server is a Kubernetes API, and what stands before it",
    )
