"""The lines of a watch, however they arrive, and what stands in them."""

import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.faulty import line, status_of

from passway.cluster import kinds
from passway.cluster.records import Node
from passway.kube import wire
from passway.kube.wire import Decoder, Lines
from passway.model.errors import Forbidden, PasswayError, TooLarge, Unavailable
from passway.service.ports import Expired, WatchEvent

READ = Decoder(kinds.NODES).event
NODE = {"kind": "Node", "apiVersion": "v1", "metadata": {"name": "n", "resourceVersion": "5"}}


def cut(text, places):
    """The text in pieces that end at these places."""
    ends = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(ends)]


def fed(chunks):
    """The lines, and whether one was too long."""
    lines, found = Lines(), []
    try:
        for chunk in chunks:
            for one in lines.feed(chunk):
                found.append(one)  # noqa: PERF402 - those before a line that is too long count
    except TooLarge:
        return found, True
    return found, False


TEXT = st.lists(st.sampled_from([b"\n", b"ab", b"c\n", b"\r\n", "é".encode(), b"x" * 9])).map(
    b"".join
)


@given(TEXT, st.lists(st.integers(0, 60)), st.integers(1, 12))
@example(b"x" * 9 + b"\n", [], 8)
@example(b"a\n" + b"x" * 9, [4], 8)
def test_it_does_not_matter_where_a_stream_is_cut(text, places, limit):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "LINE_BYTES", limit)
        whole = fed([text])
        assert fed(cut(text, places)) == whole
        assert fed(cut(text, range(len(text)))) == whole
    lines, too_long = whole
    expected = text.split(b"\n")
    if not too_long:
        assert lines == [one for one in expected[:-1] if one]
    else:
        first = next(number for number, one in enumerate(expected) if len(one) > limit)
        assert lines == [one for one in expected[:first] if one]


@given(st.lists(st.integers(0, 400)))
def test_events_do_not_change_with_the_chunks(places):
    sent = [NODE | {"metadata": {"name": f"é{n}", "resourceVersion": str(n)}} for n in range(1, 4)]
    text = b"".join(
        json.dumps({"type": "ADDED", "object": one}, ensure_ascii=False).encode() + b"\n"
        for one in sent
    )
    found, _ = fed(cut(text, places))
    assert [READ(one).record for one in found] == [msgspec.convert(one, Node) for one in sent]


def test_a_line_of_two_megabytes_in_small_pieces():
    big = NODE | {"data": "x" * 2 * 2**20}
    text = line("MODIFIED", big) * 2
    found, _ = fed(cut(text, range(0, len(text), 4096)))
    assert [READ(one).record.metadata.name for one in found] == ["n", "n"]


@pytest.mark.parametrize("type_", ["ADDED", "MODIFIED", "DELETED"])
def test_events(type_):
    event = READ(line(type_, NODE))
    assert (event.type, event.version, event.record) == (type_, "5", msgspec.convert(NODE, Node))


def test_a_bookmark_has_no_name():
    bookmark = {"kind": "Node", "metadata": {"resourceVersion": "9", "creationTimestamp": None}}
    assert READ(line("BOOKMARK", bookmark)) == WatchEvent("BOOKMARK", "9")


@pytest.mark.parametrize(
    "text",
    [
        b"garbage",
        b"{}",
        b"[]",
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": []}',
        b'{"type": "ADDED", "object": null}',
        b'{"type": "ADDED", "object": {"metadata": {"name": "n", "resourceVersion": "1"}}',
        b'{"type": "ADDED", "object": {"metadata": {"name": "\xff", "resourceVersion": "1"}}}',
        b'{"type": "ADDED", "object": ' + b'{"a":' * 50_000,
        line("SURPRISE", NODE),
        line("ADDED", NODE | {"kind": "Pod"}),
        line("ADDED", NODE | {"spec": {"taints": 5}}),
        line("ADDED", {"metadata": {"name": "n"}}),
        line("ADDED", {"metadata": {"name": "n", "resourceVersion": 5}}),
        line("ADDED", {"metadata": {"resourceVersion": "5"}}),
        line("BOOKMARK", {"metadata": {}}),
        line("ERROR", []),
        line("ERROR", {"code": "410"}),
    ],
)
def test_what_cannot_be_read(text):
    with pytest.raises(Unavailable, match="the watch of nodes cannot be read"):
        READ(text)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (status_of(410, "too old resource version: 1 (5)", "Expired"), Expired),
        (status_of(504, "Timeout", "Timeout",
                   {"causes": [{"reason": "ResourceVersionTooLarge"}]}), Expired),
        (status_of(403, 'nodes is forbidden: User "b" cannot watch resource "nodes"'), Forbidden),
        (status_of(500, "etcd went away"), Unavailable),
        ({}, Unavailable),
    ],
)  # fmt: skip
def test_an_error_in_the_stream(status, error):
    with pytest.raises(PasswayError) as told:
        READ(line("ERROR", status))
    assert type(told.value) is error
