"""The state: its indexes stay true event by event, its snapshots stay as they were."""

import pytest
from tests.builders import GPU, T4, cluster, kubevirt, namespace, node, obj, pod, quota, state

from passway.cluster import kinds, records
from passway.cluster.dump import decode_object
from passway.cluster.snapshot import Read, Snapshot
from passway.cluster.state import ClusterState
from passway.model.errors import InvalidInput

CAPS = "devices.kubevirt.io/"


def put(made, *items):
    for item in items:
        made.apply(*decode_object(item))
    return made


def record(item):
    return decode_object(item)[1]


def devices(snapshot):
    """The index without KubeVirt's own devices."""
    found = snapshot.advertisers.items()
    return {name: set(nodes) for name, nodes in found if not name.startswith(CAPS)}


# -- free ---------------------------------------------------------------------------------------


def test_free_is_allocatable_minus_what_pods_ask_for():
    snapshot = cluster(
        node("n", {GPU: 4}, cpu="8"), pod("a", "n", {GPU: "1", "cpu": "1500m"}),
        pod("b", "n", {GPU: "2", "cpu": "1"}), pod("other", "m", {GPU: "1"}),
    )  # fmt: skip
    assert snapshot.used("n", GPU) == 3
    assert snapshot.free("n", GPU) == 1
    assert snapshot.free("n", "cpu") == 5500
    assert snapshot.free("n", "pods") == 108
    assert snapshot.free("n", "not/there") == 0


def test_allocatable_counts_not_capacity():
    snapshot = cluster(node("n", {GPU: 1}, capacity={GPU: "4"}))
    assert snapshot.free("n", GPU) == 1


def test_free_is_negative_where_a_node_shrank():
    made = state([node("n", {GPU: 4}), pod("a", "n", {GPU: "3"})])
    put(made, node("n", {GPU: 1}))
    assert made.snapshot().free("n", GPU) == -2
    put(made, node("n"))
    assert made.snapshot().free("n", GPU) == -3


def test_terminating_pods_count_and_finished_ones_do_not():
    snapshot = cluster(
        node("n", {GPU: 4}),
        pod("leaving", "n", {GPU: "1"}, meta={"deletionTimestamp": "2026-06-12T09:00:00Z"}),
        pod("done", "n", {GPU: "1"}, phase="Succeeded"),
        pod("failed", "n", {GPU: "1"}, phase="Failed"),
        pod("starting", "n", {GPU: "1"}, phase="Pending"),
    )
    assert [found.name for found in snapshot.pods_on("n")] == ["leaving", "starting"]
    assert snapshot.free("n", GPU) == 2


def test_a_pod_that_finishes_gives_back_what_it_held():
    made = state([node("n", {GPU: 1}), pod("p", "n", {GPU: "1"})])
    put(made, pod("p", "n", {GPU: "1"}, phase="Succeeded"))
    assert made.snapshot().free("n", GPU) == 1
    assert made.snapshot().pods_on("n") == []
    assert made.snapshot().read(kinds.PODS) is Read.EMPTY


def test_pods_of_a_node_that_is_not_known_yet():
    made = state([pod("p", "late", {GPU: "1"})])
    assert [found.name for found in made.snapshot().pods_on("late")] == ["p"]
    assert made.snapshot().used("late", GPU) == 1
    put(made, node("late", {GPU: 2}))
    assert made.snapshot().free("late", GPU) == 1
    made.delete(kinds.NODES, None, "late")
    assert made.snapshot().nodes == {}
    assert made.snapshot().used("late", GPU) == 1


def test_pods_on_a_node_are_in_the_order_of_their_names():
    items = [
        pod("b", "n", namespace="x"),
        pod("a", "n", namespace="y"),
        pod("a", "n", namespace="x"),
    ]
    assert [found.key for found in cluster(*items).pods_on("n")] == [
        ("x", "a"), ("x", "b"), ("y", "a"),
    ]  # fmt: skip
    assert cluster().pods_on("n") == []


# -- pods that change -----------------------------------------------------------------------------


def test_a_pod_that_is_bound_moves_from_waiting_to_its_node():
    made = state([pod("p", requests={GPU: "1"}, phase="Pending")])
    assert list(made.snapshot().pending) == [("default", "p")]
    put(made, pod("p", "n", {GPU: "1"}, phase="Pending"))
    assert made.snapshot().pending == {}
    assert made.snapshot().used("n", GPU) == 1


def test_a_pod_that_asks_for_other_things_is_counted_once():
    made = state([pod("p", "n", {GPU: "1", "cpu": "1"}), pod("q", "n", {"cpu": "1"})])
    put(made, pod("p", "m", {T4: "1", "cpu": "2"}))
    snapshot = made.snapshot()
    assert snapshot.free_on("n") == {"cpu": -1000, "pods": -1}
    assert snapshot.free_on("m") == {"cpu": -2000, "pods": -1, T4: -1}


def test_a_pod_that_is_resized_where_it_is():
    made = state([pod("p", "n", {"cpu": "1"})])
    put(made, pod("p", "n", {"cpu": "2"}))
    assert made.snapshot().used("n", "cpu") == 2000


@pytest.mark.parametrize("on", ["n", None], ids=["bound", "waiting"])
def test_a_pod_that_still_holds_the_same_is_seen_as_it_is_now(on):
    made = state([pod("o", on), pod("p", on, {GPU: "1"}), pod("q", on)])
    before = made.snapshot()
    put(made, pod("p", on, {GPU: "1"}, meta={"labels": {"a": "b"}}))

    def seen(snapshot):
        pods = snapshot.pods_on("n") or snapshot.pending.values()
        return [(found.name, found.label_map()) for found in pods]

    old = [(name, {}) for name in "opq"]
    assert seen(before) == old
    assert seen(made.snapshot()) == [old[0], ("p", {"a": "b"}), old[2]]
    assert made.snapshot().used("n", GPU) == (1 if on else 0)


def test_an_amount_that_rounds_to_zero_can_come_and_go():
    made = put(ClusterState(), pod("p", "n", {"cpu": "-0.1m"}))
    made.delete(kinds.PODS, "default", "p")
    assert made.snapshot().usage == {}


def test_pods_with_a_required_anti_affinity_are_known():
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    made = state([pod("a", "n", affinity=rules), pod("b", affinity=rules), pod("c", "n")])
    assert sorted(made.snapshot().guarded) == [("default", "a"), ("default", "b")]
    put(made, pod("a", "n"))
    made.delete(kinds.PODS, "default", "b")
    assert made.snapshot().guarded == {}


@pytest.mark.parametrize("given", ["default", None, ""])
def test_a_pod_without_a_namespace_is_in_the_default_one(given):
    made = put(ClusterState(), pod("p", "n", namespace=None), pod("q", "n"))
    made.delete(kinds.PODS, given, "p")
    assert [found.name for found in made.snapshot().pods_on("n")] == ["q"]


# -- who advertises -------------------------------------------------------------------------------


def test_the_index_of_advertisers_follows_the_nodes():
    made = state([node("a", {GPU: 1}), node("b", {GPU: 1, T4: 2})])
    assert devices(made.snapshot()) == {GPU: {"a", "b"}, T4: {"b"}}
    put(made, node("b", {GPU: 1}))
    assert devices(made.snapshot()) == {GPU: {"a", "b"}}
    put(made, node("b"), node("c", {T4: 1}))
    assert devices(made.snapshot()) == {GPU: {"a"}, T4: {"c"}}
    made.delete(kinds.NODES, None, "a")
    made.delete(kinds.NODES, None, "a")
    assert devices(made.snapshot()) == {T4: {"c"}}


def test_a_node_advertises_what_capacity_or_allocatable_names_even_none():
    made = state([
        node("zero", {GPU: 0}), node("sick", {GPU: 0}, capacity={GPU: "2"}),
        node("capacity only", capacity={T4: "1"}),
    ])  # fmt: skip
    assert devices(made.snapshot()) == {GPU: {"zero", "sick"}, T4: {"capacity only"}}
    assert made.snapshot().devices() == (GPU, T4)


def test_hugepages_are_advertised_only_where_there_are_some():
    made = state([
        node("none", hugepages_1Gi="0", hugepages_2Mi="0"), node("some", hugepages_1Gi="4Gi"),
        node("reserved", hugepages_1Gi="0", capacity={"hugepages-1Gi": "1Gi"}),
    ])  # fmt: skip
    assert devices(made.snapshot()) == {"hugepages-1Gi": {"some", "reserved"}}
    assert made.snapshot().devices() == ()


def test_cpu_memory_and_the_like_are_not_indexed():
    assert not {"cpu", "memory", "pods", "ephemeral-storage"} & set(cluster(node("n")).advertisers)


def test_a_node_that_changes_otherwise_leaves_the_index_as_it_is():
    made = state([node("n", {GPU: 1})])
    before = made.snapshot().advertisers
    put(made, node("n", {GPU: 2}, labels={"a": "b"}))
    assert made.snapshot().advertisers is before


def test_holders_are_told_with_their_amounts():
    snapshot = cluster(
        node("b", {GPU: 2}), node("a", {GPU: 2}), node("c"),
        pod("one", "b", {GPU: "1"}), pod("same", "b", {GPU: "1"}), pod("no", "a"),
        pod("two", "a", {GPU: "2", "cpu": "1"}), pod("waits", requests={GPU: "1"}),
    )  # fmt: skip
    assert [(found.name, amount) for found, amount in snapshot.holders(GPU)] == [
        ("two", 2), ("one", 1), ("same", 1),
    ]  # fmt: skip
    assert list(snapshot.holders(T4)) == []


# -- what was read --------------------------------------------------------------------------------


def test_a_new_state_has_read_nothing():
    snapshot = ClusterState().snapshot()
    assert snapshot == Snapshot()
    assert {snapshot.read(kind) for kind in kinds.ALL} == {Read.UNREAD}


@pytest.mark.parametrize(
    ("kind", "item"),
    [
        (kinds.PODS, pod("p")),
        (kinds.NODES, node("n")),
        (kinds.QUOTAS, quota("q", {"pods": "1"})),
        (kinds.NAMESPACES, namespace("x")),
    ],
    ids=lambda value: getattr(value, "plural", None),
)
def test_a_kind_is_read_or_empty_by_what_there_is(kind, item):
    made = ClusterState()
    made.mark(kind, Read.READ)
    assert made.snapshot().read(kind) is Read.EMPTY
    put(made, item)
    assert made.snapshot().read(kind) is Read.READ
    made.delete(kind, item["metadata"].get("namespace"), item["metadata"]["name"])
    assert made.snapshot().read(kind) is Read.EMPTY
    assert kind.plural not in made.snapshot().objects


def test_what_could_not_be_read_stays_so():
    made = ClusterState()
    made.mark(kinds.QUOTAS, Read.FORBIDDEN)
    assert made.snapshot().read(kinds.QUOTAS) is Read.FORBIDDEN
    assert [read.known for read in Read] == [True, True, False, False]


def test_versions_are_those_of_the_last_event_or_list():
    made = put(ClusterState(), node("n") | {"metadata": {"name": "n", "resourceVersion": "7"}})
    assert made.snapshot().versions == {"nodes": "7"}
    put(made, node("n"))
    assert made.snapshot().versions == {"nodes": "7"}
    made.replace(kinds.NODES, [], "9")
    assert made.snapshot().versions == {"nodes": "9"}


def test_the_newest_time_is_that_of_all_objects():
    made = ClusterState()
    assert made.newest is None
    put(made, pod("p", meta={"creationTimestamp": "2026-01-02T00:00:00Z"}))
    put(made, pod("q", meta={"creationTimestamp": "2026-01-01T00:00:00Z"}))
    assert made.newest == "2026-01-02T00:00:00Z"
    put(made, pod("q", meta={"deletionTimestamp": "2026-01-03T00:00:00Z"}))
    assert made.newest == "2026-01-03T00:00:00Z"
    beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-04T00:00:00Z"}
    put(made, obj("v1", "Node", "n", status={"conditions": [beat]}))
    assert made.newest == "2026-01-04T00:00:00Z"


# -- other kinds ----------------------------------------------------------------------------------


def test_objects_are_kept_by_namespace_and_name():
    made = state([quota("q", {"pods": "1"}, namespace="a"), quota("q", {"pods": "2"})])
    found = made.snapshot().all(kinds.QUOTAS, records.ResourceQuota)
    assert {key: item.spec.hard for key, item in found.items()} == {
        ("a", "q"): {"pods": "1"}, ("default", "q"): {"pods": "2"},
    }  # fmt: skip
    assert made.snapshot().all(kinds.LIMIT_RANGES, records.LimitRange) == {}


def test_objects_of_the_cluster_have_no_namespace():
    made = put(ClusterState(), namespace("x"))
    assert list(made.snapshot().objects["namespaces"]) == [("", "x")]
    made.delete(kinds.NAMESPACES, "stray", "x")
    assert made.snapshot().objects == {}


def test_asking_for_a_kind_with_the_wrong_record_is_a_bug():
    with pytest.raises(AssertionError):
        cluster().all(kinds.QUOTAS, records.LimitRange)


def test_the_first_kubevirt_and_hyperconverged_by_name():
    assert cluster().kubevirt is None
    assert cluster().hyperconverged is None
    second = kubevirt()
    second["metadata"]["namespace"] = "a"
    hyper = obj("hco.kubevirt.io/v1", "HyperConverged", "h", "ns", spec={"x": 1})
    snapshot = cluster(kubevirt(), second, hyper)
    assert snapshot.kubevirt.metadata.namespace == "a"
    assert snapshot.hyperconverged.api_version == "hco.kubevirt.io/v1"
    assert snapshot.hyperconverged.spec == {"x": 1}


# -- events ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (pod("p", "n", {"cpu": "x"}), "Pod p: cpu: 'x' is not a quantity"),
        (node("n", memory="x"), "Node n: memory: 'x' is not a quantity"),
    ],
)
def test_an_object_that_cannot_be_read_changes_nothing(item, words):
    made = state([node("n", {GPU: 1}), pod("p", "n", {GPU: "1"})])
    before = made.snapshot()
    with pytest.raises(InvalidInput, match=words):
        put(made, item)
    assert made.snapshot() is before


def test_a_list_replaces_everything_of_its_kind_and_nothing_else():
    made = state([
        node("a", {GPU: 1}), node("b", {GPU: 1}), pod("p", "a"), pod("q", "b"),
        quota("old", {"pods": "1"}), quota("old", {"pods": "1"}, namespace="other"),
    ])  # fmt: skip
    made.replace(kinds.NODES, [record(node("b", {GPU: 2}))], "5")
    made.replace(kinds.PODS, (record(item) for item in [pod("q", "b"), pod("r", "b")]))
    made.replace(kinds.QUOTAS, [record(quota("new", {"pods": "1"}))])
    snapshot = made.snapshot()
    assert {name: node.allocatable[GPU] for name, node in snapshot.nodes.items()} == {"b": 2}
    assert devices(snapshot) == {GPU: {"b"}}
    assert [found.name for found in snapshot.pods_on("b")] == ["q", "r"]
    assert list(snapshot.usage) == ["b"]
    assert list(snapshot.objects["resourcequotas"]) == [("default", "new")]


def test_a_list_of_pods_drops_those_that_wait_too():
    made = state([pod("p"), pod("q", namespace="other")])
    made.replace(kinds.PODS, [])
    assert made.snapshot().pending == {}
    assert made.snapshot().read(kinds.PODS) is Read.EMPTY


@pytest.mark.parametrize("kind", [kinds.PODS, kinds.NODES, kinds.QUOTAS])
def test_deleting_what_was_never_seen_changes_nothing(kind):
    made = state([node("n"), pod("p", "n"), quota("q", {"pods": "1"})])
    before = made.snapshot()
    made.delete(kind, "default", "ghost")
    made.delete(kind, "nowhere", "ghost")
    assert made.snapshot() == before


# -- snapshots ------------------------------------------------------------------------------------


def test_a_snapshot_is_the_same_object_while_nothing_changes():
    made = state([node("n")])
    first = made.snapshot()
    assert made.snapshot() is first
    put(made, node("n"))
    assert made.snapshot() is not first
    assert made.snapshot() == first


def test_a_snapshot_carries_the_moment_it_was_asked_for():
    made = state([node("n")])
    now = made.snapshot("2026-06-12T09:30:00Z")
    assert now.at == "2026-06-12T09:30:00Z"
    assert made.snapshot("2026-06-12T09:30:00Z") is now
    assert made.snapshot().at is None


def test_a_snapshot_shares_the_maps_that_did_not_change():
    made = state([node("n", {GPU: 1}), pod("p", "n"), quota("q", {"pods": "1"})])
    before = made.snapshot()
    put(made, pod("q", "n"), pod("r", "n"))
    after = made.snapshot()
    assert [found.name for found in before.pods_on("n")] == ["p"]
    assert [found.name for found in after.pods_on("n")] == ["p", "q", "r"]
    assert after.nodes is before.nodes
    assert after.advertisers is before.advertisers
    assert after.objects["resourcequotas"] is before.objects["resourcequotas"]


def test_a_list_with_a_fault_replaces_nothing():
    made = ClusterState()
    made.apply(*decode_object(node("a")))
    good, bad = decode_object(node("b"))[1], decode_object(node("c", cpu="many"))[1]
    with pytest.raises(InvalidInput, match="Node c: cpu"):
        made.replace(kinds.NODES, [good, bad])
    assert set(made.snapshot().nodes) == {"a"}


def test_pods_are_known_by_their_namespace():
    made = state([pod("a", "n"), pod("b", namespace="other"), pod("c", phase="Succeeded")])
    before = made.snapshot()
    assert before.places == {"default": {"a": "n"}, "other": {"b": None}}
    made.delete(kinds.PODS, "other", "b")
    made.apply(*decode_object(pod("d")))
    assert made.snapshot().places == {"default": {"a": "n", "d": None}}
    assert set(before.places) == {"default", "other"}


@pytest.mark.parametrize("others", [0, 3], ids=["by all pods", "by name"])
def test_assigned_pods_of_a_namespace(others):
    made = state(
        [pod("a", "n"), pod("c", "m"), pod("waiting"),
         *(pod("b", "n", namespace=f"other-{number}") for number in range(others))]
    )  # fmt: skip
    found = made.snapshot().assigned_in(["default", "none"])
    assert sorted(pod.name for pod in found) == ["a", "c"]


def test_pods_with_a_nominated_node_are_known_until_they_are_assigned():
    waiting = pod("p", phase="Pending")
    waiting["status"]["nominatedNodeName"] = "n"
    made = state([waiting])
    assert list(made.snapshot().nominated) == [("default", "p")]
    waiting["spec"]["nodeName"] = "n"
    made.apply(*decode_object(waiting))
    assert made.snapshot().nominated == {}
