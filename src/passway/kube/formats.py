"""In which form a kind is asked for, and how lists and watches of that form are read.

Owns the choice: nodes and pods, of which there are many, in protobuf; kinds of which only the
metadata is read, as metadata; everything else in JSON. A server that knows a form does not have to
use it, so what came is told by its content type, and a server that refuses one is asked for JSON.
The protobuf library is loaded here, when something arrives that needs it.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol

from passway.cluster import kinds
from passway.cluster.kinds import Kind
from passway.cluster.records import Named
from passway.kube.frames import PROTOBUF, Frames, Malformed, event_of, status_of
from passway.kube.status import refusal_of
from passway.kube.transport import JSON
from passway.kube.wire import Decoder, Lines, expect_event, unreadable
from passway.service.ports import Change, WatchEvent

REFUSED: Final = frozenset({406, 415})
"""Of an Accept header that the server cannot meet."""
_IN_PROTOBUF: Final = frozenset({kinds.NODES, kinds.PODS})
_METADATA: Final = f"{JSON};as=PartialObjectMetadata{{}};g=meta.k8s.io;v=v1, {JSON}"
_CHANGES: Final[dict[str, Change]] = {
    "ADDED": "ADDED", "MODIFIED": "MODIFIED", "DELETED": "DELETED", "BOOKMARK": "BOOKMARK",
}  # fmt: skip


class OtherForm(Exception):
    """The server does not answer in the form that was asked for first."""


class Events(Protocol):
    """Cuts and reads a watch."""

    def feed(self, chunk: bytes) -> Iterator[WatchEvent]:
        """The events that end in the chunk; raises PasswayError after them."""
        ...


def in_protobuf(kind: Kind) -> bool:
    """Whether lists of the kind are asked for in protobuf, and as a whole."""
    return kind in _IN_PROTOBUF


def accepts(kind: Kind, *, listed: bool) -> str:
    """The Accept header for a list or a watch."""
    if kind in _IN_PROTOBUF:
        return f"{PROTOBUF}, {JSON}"
    if kind.record is Named:
        return _METADATA.format("List" if listed else "")
    return JSON


def events(kind: Kind, content_type: str) -> Events:
    """What reads a watch that has come in this form."""
    if content_type == PROTOBUF:
        return _InFrames(kind)
    return _InLines(kind)


class _InLines:
    def __init__(self, kind: Kind) -> None:
        self._lines, self._decoder = Lines(), Decoder(kind)

    def feed(self, chunk: bytes) -> Iterator[WatchEvent]:
        for line in self._lines.feed(chunk):
            yield self._decoder.event(line)


class _InFrames:
    def __init__(self, kind: Kind) -> None:
        self._frames, self._kind = Frames(), kind
        self._read = Reader(kind)

    def feed(self, chunk: bytes) -> Iterator[WatchEvent]:
        for frame in self._frames.feed(chunk):
            yield self._event(frame)

    def _event(self, frame: bytes) -> WatchEvent:
        kind, what = self._kind, f"the watch of {self._kind.resource}"
        try:
            event = event_of(frame)
            told = status_of(event.body) if event.type == "ERROR" else None
        except Malformed as error:
            raise unreadable(what, error) from None
        if told is not None:
            raise refusal_of(told, "watch", kind)
        change = _CHANGES.get(event.type)
        if change is None:
            raise unreadable(what, ValueError(f"an event is of the type {event.type[:80]!r}"))
        bookmark = change == "BOOKMARK"
        record = self._read(event.body, what, named=not bookmark)
        version: str = record.metadata.resource_version
        expect_event(kind, event.kind, version)
        return WatchEvent(change, version, None if bookmark else record)


class Reader:
    """Of the records of one kind, in protobuf."""

    def __init__(self, kind: Kind) -> None:
        from passway.kube.protobuf import UNREADABLE, reader

        self._make: Callable[[bytes], Any] = reader(kind.record)
        self._unreadable = UNREADABLE

    def __call__(self, body: bytes, what: str, *, named: bool = True) -> Any:
        """Bytes of one object and what they are part of -> its record; raises Unavailable."""
        try:
            record = self._make(body)
        except self._unreadable as error:
            raise unreadable(what, error) from None
        if named and not record.metadata.name:
            raise unreadable(what, ValueError("an object has no name"))
        return record
