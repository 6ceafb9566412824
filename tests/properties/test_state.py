"""Laws of the state: the order of events, copies on write, lists, and giving back."""

import copy
from collections import Counter

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import GPU, T4, kubevirt, node, pod, quota

from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.snapshot import Read
from passway.cluster.state import ClusterState

GUARD = {
    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}
}
few = st.integers(0, 4)
node_names = st.sampled_from(["a", "b", "c"])
devices = st.dictionaries(st.sampled_from([GPU, T4]), few)
nodes = st.builds(
    node, node_names, devices, hugepages_1Gi=few.map(str), memory=few.map("{}Gi".format)
)
requests = st.dictionaries(
    st.sampled_from([GPU, T4, "cpu", "hugepages-1Gi"]), st.sampled_from(["0", "1", "2", "0.5"])
)
pods = st.builds(
    pod,
    st.sampled_from(["p", "q", "r", "s"]),
    st.none() | node_names | st.just("unknown"),
    requests,
    namespace=st.sampled_from(["default", "other"]),
    phase=st.sampled_from(["Pending", "Running", "Running", "Succeeded"]),
    affinity=st.sampled_from([None, None, GUARD]),
)
quotas = st.builds(quota, st.sampled_from(["x", "y"]), st.just({"pods": "1"}))
objects = st.lists(nodes | pods | quotas | st.just(kubevirt({})), max_size=12)
"""Several of them may be one object at different times."""


def identity(item):
    meta = item["metadata"]
    return (item["kind"], meta.get("namespace"), meta["name"])


def latest(items):
    """One object for each name: the last."""
    return list({identity(item): item for item in items}.values())


def put(made, items):
    for item in items:
        made.apply(*decode_object(item))
    return made


def drop(made, items):
    for item in items:
        kind, _ = decode_object(item)
        made.delete(kind, item["metadata"].get("namespace"), item["metadata"]["name"])
    return made


def empty():
    """A state that knows there is nothing."""
    made = ClusterState()
    for kind in kinds.ALL:
        made.mark(kind, Read.READ)
    return made


def deep(snapshot):
    """All of a snapshot, as a value of its own."""
    return copy.deepcopy(
        msgspec.to_builtins(
            {name: getattr(snapshot, name) for name in snapshot.__slots__},
            str_keys=False,
            builtin_types=(frozenset, tuple),
            enc_hook=lambda value: value,
        )
    )


@settings(deadline=None)
@given(st.data())
def test_the_order_of_events_of_different_objects_does_not_matter(data):
    items = latest(data.draw(objects))
    gone = data.draw(st.lists(st.sampled_from(items), max_size=3)) if items else []
    shuffled = data.draw(st.permutations(items))
    assert (
        drop(put(empty(), items), gone).snapshot()
        == drop(put(empty(), shuffled), reversed(gone)).snapshot()
    )


@settings(deadline=None)
@given(objects)
def test_only_the_last_event_of_an_object_counts(items):
    assert put(empty(), items).snapshot() == put(empty(), latest(items)).snapshot()


@settings(deadline=None)
@given(objects, objects, objects)
def test_a_snapshot_never_changes_again(before, after, gone):
    made = put(empty(), before)
    taken = made.snapshot()
    kept = deep(taken)
    put(made, after)
    made.snapshot()
    drop(made, gone)
    made.replace(kinds.PODS, [decode_object(item)[1] for item in after if item["kind"] == "Pod"])
    assert deep(taken) == kept


@settings(deadline=None)
@given(objects, objects)
def test_a_list_equals_its_events_and_the_deletions(before, after):
    by_list, by_events = put(empty(), before), put(empty(), before)
    for kind in (kinds.PODS, kinds.NODES, kinds.QUOTAS, kinds.KUBEVIRTS):
        items = [item for item in latest(after) if item["kind"] == kind.kind]
        by_list.replace(kind, [decode_object(item)[1] for item in items], "9")
        kept = {identity(item) for item in items}
        drop(by_events, [
            item for item in before if item["kind"] == kind.kind and identity(item) not in kept
        ])  # fmt: skip
        put(by_events, items)
        by_events.mark(kind, Read.READ, "9")
    assert by_list.snapshot() == by_events.snapshot()


@settings(deadline=None)
@given(objects)
def test_free_is_never_more_than_allocatable(items):
    snapshot = put(empty(), items).snapshot()
    for name, found in snapshot.nodes.items():
        for resource in {*found.allocatable, *snapshot.advertisers, "cpu"}:
            assert snapshot.free(name, resource) <= found.allocatable.get(resource, 0)


@settings(deadline=None)
@given(objects)
def test_what_is_free_is_what_the_pods_leave(items):
    snapshot = put(empty(), items).snapshot()
    for name, usage in snapshot.usage.items():
        known = snapshot.nodes.get(name)
        left = Counter(known.allocatable if known else {})
        for found in usage.pods:
            left.subtract(dict(found.requests))
        assert usage.free == {resource: amount for resource, amount in left.items() if amount}
        assert usage.pods == sorted(usage.pods, key=lambda found: found.key)
        assert usage.pods or usage.free
    assert {node.name for node in snapshot.nodes.values() if any(node.allocatable.values())} <= set(
        snapshot.usage
    )


@settings(deadline=None)
@given(objects)
def test_the_index_of_advertisers_is_what_the_nodes_say(items):
    snapshot = put(empty(), items).snapshot()
    for resource in (GPU, T4):
        names = {name for name, found in snapshot.nodes.items() if resource in found.allocatable}
        assert snapshot.advertisers.get(resource, frozenset()) == names
    pages = {name for name, found in snapshot.nodes.items() if found.allocatable["hugepages-1Gi"]}
    assert snapshot.advertisers.get("hugepages-1Gi", frozenset()) == pages
    assert all(snapshot.advertisers.values())


@settings(deadline=None)
@given(objects, st.data())
def test_what_comes_and_goes_leaves_nothing_behind(items, data):
    made = put(empty(), [node("a", {GPU: 2}), pod("stays", "a", {GPU: "1"})])
    start = deep(made.snapshot())
    guests = [item for item in items if identity(item) != ("Node", None, "a")]
    put(made, guests)
    drop(made, data.draw(st.permutations(guests)))
    assert deep(made.snapshot()) | {"versions": {}} == start


@settings(deadline=None)
@given(objects)
def test_a_snapshot_is_the_same_object_while_nothing_changes(items):
    made = put(empty(), items)
    first = made.snapshot()
    assert made.snapshot() is first
    made.mark(kinds.NODES, Read.READ)
    assert made.snapshot() == first
