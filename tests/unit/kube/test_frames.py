"""Kubernetes' protobuf on the wire: wherever it is cut, and whatever else arrives."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import protobufs
from tests.faulty import status_of as told

from passway.cluster.records import Port
from passway.kube import frames
from passway.kube.frames import Frames, Items, ListHead, Malformed
from passway.model.errors import TooLarge

ITEMS = [b"", b"a", b"x" * 127, b"y" * 128, b"z" * 20_000]
BODY = protobufs.listed("Pod", ITEMS, "77", "more")


def cut(body, places):
    ends = sorted({min(place, len(body)) for place in places} | {0, len(body)})
    return [body[start:end] for start, end in pairwise(ends)]


@given(st.lists(st.integers(0, len(BODY))))
def test_a_list_is_the_same_wherever_it_is_cut(places):
    items, found = Items(), []
    for chunk in cut(BODY, places):
        found += items.feed(chunk)
    items.end()
    assert (found, items.head) == (ITEMS, ListHead("77", "more"))


def test_a_list_byte_by_byte():
    items, found = Items(), []
    for chunk in cut(BODY, range(len(BODY))):
        found += items.feed(chunk)
    items.end()
    assert found == ITEMS


def _read(*chunks):
    items = Items()
    found = [item for chunk in chunks for item in items.feed(chunk)]
    items.end()
    return found


@given(st.integers(0, len(BODY) - 5))
def test_a_list_that_ends_early_is_no_list(end):
    with pytest.raises(Malformed):
        _read(BODY[:end])


def test_what_follows_a_list_is_not_kept():
    items = Items()
    items.feed(BODY)
    for _ in range(3):
        assert items.feed(b"x" * 1000) == []
    assert items._rest == b""
    items.end()


@pytest.mark.parametrize(
    "body",
    [
        b"<html>log in</html>",
        b"k8s",
        b"k8s\0" + protobufs.field(1, 5),
        b"k8s\0" + b"\xff" * 11,
        protobufs.envelope("PodList", protobufs.field(7, b"")),
        protobufs.envelope("PodList", protobufs.field(1, 5)),
        protobufs.envelope("PodList", protobufs.field(1, protobufs.field(2, b"\xff"))),
        protobufs.envelope("PodList", protobufs.field(1, protobufs.field(2, 5))),
        protobufs.envelope("PodList", protobufs.field(1, b"\x13")),
        protobufs.envelope("PodList", b"\x12" + b"\xff" * 11),
    ],
)
def test_what_is_no_list(body):
    with pytest.raises(Malformed):
        _read(body)


def test_what_is_too_large():
    items = Items()
    large = protobufs.field(2, b"")[:1] + protobufs.varint(frames.OBJECT_BYTES + 1)
    with pytest.raises(TooLarge, match="an object of a list has more than"):
        items.feed(protobufs.envelope("PodList", large + b"x" * 20))
    with pytest.raises(TooLarge, match="an event of the watch has more than"):
        list(Frames().feed(b"\xff\xff\xff\xff"))


EVENTS = [
    protobufs.frame(type_, "Pod", body)
    for type_ in ("ADDED", "DELETED")
    for body in (b"", b"x" * 300, b"y" * 70_000)
]


@given(st.lists(st.integers(0, sum(map(len, EVENTS)))))
def test_a_watch_is_the_same_wherever_it_is_cut(places):
    stream, cutter = b"".join(EVENTS), Frames()
    found = [frame for chunk in cut(stream, places) for frame in cutter.feed(chunk)]
    assert found == [event[4:] for event in EVENTS]


def test_an_event():
    event = frames.event_of(protobufs.frame("ADDED", "Pod", b"body")[4:])
    assert (event.type, event.kind, event.body) == ("ADDED", "Pod", b"body")


@given(st.integers(0, 200), st.binary(max_size=6))
def test_an_event_that_is_none(kept, added):
    whole = protobufs.frame("ADDED", "Pod", b"body")[4:]
    try:
        frames.event_of(whole[:kept] + added)
    except Malformed:
        return


def test_a_status():
    details = {"name": "n", "group": "g", "kind": "k", "causes": [{"reason": "Odd"}]}
    made = told(410, "too old", "Expired", details)
    found = frames.status_of(protobufs.status(made))
    assert found == {name: made[name] for name in ("status", "message", "reason", "code")} | {
        "details": made["details"]
    }


def test_fields_of_a_fixed_size_are_passed_over():
    body = protobufs.message(Port, {}, True)
    assert [number for number, _ in frames.fields(body)] == [2, 4, 900, 901, 902, 903]
    with pytest.raises(Malformed, match="wire type 3"):
        list(frames.fields(b"\x0b"))
