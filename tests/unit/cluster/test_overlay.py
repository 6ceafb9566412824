"""An overlay is what the same events would have made of the state."""

import msgspec
from tests.builders import GPU, cluster, node, pod, quota, state

from passway.cluster import kinds
from passway.cluster.overlay import ObjectEvent, overlaid
from passway.cluster.snapshot import Read

OBJECTS = (
    node("a", {GPU: 4}), node("b", {GPU: 2}),
    pod("one", "a", {GPU: "1"}), pod("two", "a", {GPU: "2"}), pod("three", None, {GPU: "1"}),
    pod("four", "b", {GPU: "1"}, namespace="other"),
    quota("q", {"pods": "3"}),
)  # fmt: skip


def test_without_events_it_is_the_same_snapshot():
    before = cluster(*OBJECTS)
    assert overlaid(before, ()) is before


def test_it_is_what_a_state_without_the_object_would_be():
    before = cluster(*OBJECTS)
    for gone in ("one", "three"):
        after = overlaid(before, [ObjectEvent(kinds.PODS, ("default", gone))])
        left = [item for item in OBJECTS if item["metadata"]["name"] != gone]
        assert after == cluster(*left)
    assert before == cluster(*OBJECTS)  # which stays as it was


def test_objects_change_come_and_go():
    before = cluster(*OBJECTS)
    cordoned = msgspec.structs.replace(before.nodes["a"], unschedulable=True)
    after = overlaid(
        before,
        [
            ObjectEvent(kinds.NODES, ("", "a"), cordoned),
            ObjectEvent(kinds.NODES, ("", "b")),
            ObjectEvent(kinds.QUOTAS, ("default", "q")),
            ObjectEvent(kinds.PODS, ("default", "two")),
        ],
    )
    assert (after.nodes["a"].unschedulable, after.free("a", GPU)) == (True, 3)
    assert after.advertisers[GPU] == {"a"}
    assert after.read(kinds.QUOTAS) is Read.EMPTY
    assert [held.name for held in after.pods_on("b")] == ["four"]  # its node went first


def test_what_was_read_stays_as_it_was():
    fed = state(OBJECTS, unread=[kinds.NODES])
    fed.mark(kinds.VOLUME_CLAIMS, Read.FORBIDDEN, within=frozenset({"default"}))
    fed.confirm(kinds.PODS, "2026-11-30T00:00:00Z")
    before = fed.snapshot()
    info = before.nodes["a"]
    new = msgspec.structs.replace(info, name="c")
    after = overlaid(before, [ObjectEvent(kinds.NODES, ("", "c"), new)])
    assert (after.read(kinds.NODES), sorted(after.nodes)) == (Read.UNREAD, ["a", "b", "c"])
    assert (after.at, after.versions) == (before.at, before.versions)
    assert after.confirmed == {"pods": "2026-11-30T00:00:00Z"}
    assert after.read(kinds.VOLUME_CLAIMS, "default").known
    assert not after.read(kinds.VOLUME_CLAIMS, "other").known


def test_overlays_lie_on_each_other_and_leave_what_is_below():
    before = cluster(*OBJECTS)
    pods = [
        msgspec.structs.replace(before.pods_on("a")[0], name=f"new-{index}") for index in range(2)
    ]
    one = overlaid(before, [ObjectEvent(kinds.PODS, pods[0].key, pods[0])])
    two = overlaid(one, [ObjectEvent(kinds.PODS, pods[1].key, pods[1])])
    held = before.free("a", GPU)
    assert [view.free("a", GPU) for view in (before, one, two)] == [held, held - 1, held - 2]
    assert before == cluster(*OBJECTS)
