"""What stays of a pod and of a node."""

import pytest
from tests.builders import GPU, node, obj, pod

from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.fold import fold_node, fold_pod
from passway.cluster.kinds import BY_KIND, BY_PLURAL, kind_of
from passway.model.quantity import InvalidQuantity


def folded(item):
    kind, record = decode_object(item)
    return fold_pod(record) if kind is kinds.PODS else fold_node(record)


@pytest.mark.parametrize(
    ("phase", "counts"),
    [
        ("Running", True),
        ("Pending", True),
        ("Unknown", True),
        ("", True),
        ("Succeeded", False),
        ("Failed", False),
    ],
)
def test_only_finished_pods_hold_nothing(phase, counts):
    assert (folded(pod("p", "n", phase=phase)) is not None) is counts


def test_a_terminating_pod_still_holds():
    item = pod("p", "n", {GPU: "1"}, meta={"deletionTimestamp": "2026-06-12T09:00:00Z"})
    found = folded(item)
    assert found.requests == ((GPU, 1), ("pods", 1))
    assert found.deletion == "2026-06-12T09:00:00Z"


def test_a_bare_pod_gets_the_defaults_of_the_api():
    found = folded({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
    assert found.key == ("default", "p")
    assert (found.node, found.priority, found.machine) == (None, 0, None)
    assert found.requests == (("pods", 1),)
    assert found.label_map() == {}


def test_an_empty_node_name_is_none():
    assert folded(pod("p", "")).node is None


@pytest.mark.parametrize(
    ("owners", "machine"),
    [
        (None, None),
        ([], None),
        ([{"kind": "ReplicaSet", "name": "r"}], None),
        ([{"kind": "VirtualMachineInstance", "name": "vm"}], "vm"),
        ([{"kind": "Pod", "name": "x"}, {"kind": "VirtualMachineInstance", "name": "vm"}], "vm"),
    ],
)
def test_the_owner_says_whose_launcher_it_is(owners, machine):
    assert folded(pod("p", meta={"ownerReferences": owners})).machine == machine


def test_labels_are_sorted_and_come_back():
    found = folded(pod("p", meta={"labels": {"b": "2", "a": "1"}}))
    assert found.labels == ("a", "1", "b", "2")
    assert found.label_map() == {"a": "1", "b": "2"}


def test_what_else_the_stages_read_of_a_pod():
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    item = pod(
        "p",
        priority=7,
        containers=[
            {
                "ports": [
                    {"hostPort": 80},
                    {"containerPort": 1},
                    {"hostPort": 53, "protocol": "UDP"},
                ]
            },
            {},
        ],
        volumes=[{"persistentVolumeClaim": {"claimName": "data"}}, {"emptyDir": {}}],
        resourceClaims=[
            {"name": "a", "resourceClaimName": "given"},
            {"name": "b", "resourceClaimTemplateName": "template"},
        ],
        affinity={"podAffinity": required, "podAntiAffinity": required},
    )
    item["status"]["nominatedNodeName"] = "n"
    found = folded(item)
    assert found.priority == 7
    assert found.host_ports == ((80, "TCP"), (53, "UDP"))
    assert found.volume_claims == ("data",)
    assert found.resource_claims == ("given", "b")
    assert found.nominated_node == "n"
    assert [term.topology_key for term in found.affinity] == ["zone"]
    assert found.affinity == found.anti_affinity


@pytest.mark.parametrize("affinity", [{}, {"podAffinity": {}, "podAntiAffinity": {}}])
def test_affinity_without_a_required_term_is_none(affinity):
    found = folded(pod("p", affinity=affinity, containers=None))
    assert (found.affinity, found.anti_affinity, found.host_ports) == ((), (), ())


def test_capacity_and_allocatable_are_kept_apart():
    found = folded(node("n", {GPU: 1}, cpu="3920m", capacity={GPU: "2", "cpu": "4"}))
    assert (found.capacity[GPU], found.allocatable[GPU]) == (2, 1)
    assert (found.capacity["cpu"], found.allocatable["cpu"]) == (4000, 3920)


def test_what_else_the_stages_read_of_a_node():
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    found = folded(node("n", labels={"zone": "a"}, taints=[taint], unschedulable=True))
    assert found.labels["zone"] == "a"
    assert [taint.text() for taint in found.taints] == ["k=v:NoSchedule"]
    assert found.unschedulable is True
    assert found.ready is True


def test_a_bare_node_offers_nothing():
    found = folded({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})
    assert (found.labels, found.taints, found.capacity, found.allocatable) == ({}, (), {}, {})
    assert (found.unschedulable, found.ready, found.heartbeat) == (False, True, None)


@pytest.mark.parametrize(
    ("conditions", "ready"),
    [
        ([{"type": "Ready", "status": "True"}], True),
        ([{"type": "Ready", "status": "False"}], False),
        ([{"type": "Ready", "status": "Unknown"}], False),
        ([{"type": "DiskPressure", "status": "False"}], True),
        (None, True),
    ],
)
def test_ready_is_what_its_condition_says(conditions, ready):
    assert folded(obj("v1", "Node", "n", status={"conditions": conditions})).ready is ready


def test_the_heartbeat_is_the_newest_of_the_kubelet_and_virt_handler():
    def heartbeat(annotation, *times):
        conditions = [
            {"type": "Ready", "status": "True", "lastHeartbeatTime": time} for time in times
        ]
        annotations = {"kubevirt.io/heartbeat": annotation} if annotation else None
        return folded(
            obj("v1", "Node", "n", meta={"annotations": annotations},
                status={"conditions": conditions})
        ).heartbeat  # fmt: skip

    early, late = "2026-06-12T09:00:00Z", "2026-06-12T09:30:00Z"
    assert heartbeat(None) is None
    assert heartbeat(late, early) == late
    assert heartbeat(early, late, None) == late
    assert heartbeat(None, None, early) == early


@pytest.mark.parametrize(
    "item",
    [node("n", memory="lots"), node("n", capacity={"cpu": "x"}), pod("p", requests={"cpu": "x"})],
    ids=["allocatable", "capacity", "requests"],
)
def test_what_is_no_amount_is_refused(item):
    with pytest.raises(InvalidQuantity):
        folded(item)


def test_every_entry_of_the_table_is_found_by_kind_and_by_plural():
    assert len(BY_KIND) == len(BY_PLURAL) == len(kinds.ALL)
    for kind in kinds.ALL:
        assert kind_of(kind.api_version, kind.kind) is kind
        assert BY_PLURAL[kind.plural] is kind


@pytest.mark.parametrize(
    ("api_version", "kind", "plural"),
    [
        ("v1", "Node", "nodes"),
        ("kubevirt.io/v1alpha3", "KubeVirt", "kubevirts"),
        ("hco.kubevirt.io/v1", "HyperConverged", "hyperconvergeds"),
        ("apps/v1", "Node", None),
        ("v1", "KubeVirt", None),
        ("", "", None),
    ],
)
def test_the_version_of_a_kind_does_not_matter_its_group_does(api_version, kind, plural):
    found = kind_of(api_version, kind)
    assert (found and found.plural) == plural


def test_kinds_are_spelled_as_the_api_spells_them():
    assert (kinds.NODES.api_version, kinds.NODES.resource) == ("v1", "nodes")
    assert kinds.KUBEVIRTS.api_version == "kubevirt.io/v1"
    assert kinds.KUBEVIRTS.resource == "kubevirts.kubevirt.io"


def test_pods_with_the_same_labels_share_them_but_launchers_have_their_own():
    labels = {"app": "x", "pod-template-hash": "y"}
    first, second = (folded(pod(name, meta={"labels": labels})) for name in "pq")
    assert first.labels is second.labels
    mine = folded(pod("r", meta={"labels": labels}, machine="vm"))
    assert mine.labels == first.labels
    assert mine.labels is not first.labels


def test_what_is_remembered_of_labels_is_bounded(monkeypatch):
    monkeypatch.setattr("passway.cluster.fold._SHARED_MOST", 2)
    found = [folded(pod("p", meta={"labels": {"app": str(number)}})) for number in range(5)]
    assert [item.label_map()["app"] for item in found] == list("01234")


def test_what_a_resized_pod_has_counts():
    item = pod("p", "n", {"cpu": "1"})
    item["spec"]["containers"][0]["name"] = "c"
    given = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    item["status"]["containerStatuses"] = [given]
    assert dict(folded(item).requests)["cpu"] == 2000
