"""Claims in every state: what is told, and what is left unknown."""

import pytest
from tests.builders import GPU, ask, kubevirt, node, obj, pod, reasons, vm
from tests.controlplane.scenes import DRIVEN, STATIC, WORLD, ZONE, claim, on, volume, zoned

from passway.cluster import kinds
from passway.model.reasons import render
from passway.model.verdict import Fits

BOUND = {"pv.kubernetes.io/bind-completed": "yes"}


def data(storage_class="", size="1Gi", *, annotations=None, phase=None, **spec):
    made = claim("data", storage_class, size, **spec)
    made["metadata"] |= {"namespace": "default", "annotations": annotations or {}}
    return made | ({"status": {"phase": phase}} if phase else {})


def pv(name="pv", zone="", storage_class="", *, phase="Available", annotations=None, **spec):
    made = volume(name, zone, storage_class, **spec)
    made["metadata"] |= {"name": name, "annotations": annotations or {}}
    return made | {"status": {"phase": phase}}


NODES = zoned("x", "y")


def judged(*objects, nodes=NODES, volumes=None, **options):
    made = vm(volumes=on("data") if volumes is None else volumes)
    return ask(made, kubevirt(), *nodes, *WORLD, *objects, **options)


def issue(verdict, reason):
    (found,) = [item for item in verdict.issues if item.reason == reason]
    return found


@pytest.mark.parametrize(
    ("item", "more", "expected"),
    [
        pytest.param(data(phase="Lost", volumeName="pv"), [], ["VolumeLost"], id="lost"),
        pytest.param(data(annotations=BOUND, volumeName="pv"), [], ["VolumeLost"], id="no volume"),
        pytest.param(data(annotations=BOUND, volumeName="pv"), [pv()], [], id="bound"),
        pytest.param(data(phase="Bound", volumeName="pv"), [pv()], [], id="bound by its phase"),
        pytest.param(data(volumeName="pv"), [pv()], ["VolumeNotBound"], id="not yet bound"),
        pytest.param(data("in-x"), [], [], id="made where it is"),
        pytest.param(
            data("at-once", annotations={"volume.beta.kubernetes.io/storage-class": "in-x"}), [],
            [], id="a class by its old annotation",
        ),
        pytest.param(data(STATIC), [pv(storage_class=STATIC)], [], id="a volume that waits"),
        pytest.param(
            data(STATIC), [pv(annotations={"volume.beta.kubernetes.io/storage-class": STATIC})],
            [], id="a volume by its old annotation",
        ),
        pytest.param(
            data(STATIC), [pv(storage_class=STATIC, phase="Pending")], ["VolumeNotAvailable"],
            id="not available yet",
        ),
        pytest.param(
            data(STATIC),
            [pv(storage_class=STATIC, claimRef={"namespace": "default", "name": "data"})],
            [], id="reserved",
        ),
        pytest.param(
            data(STATIC),
            [pv(storage_class=STATIC,
                claimRef={"namespace": "default", "name": "data", "uid": "another"})],
            ["VolumeNotAvailable"], id="reserved for an earlier claim of that name",
        ),
        pytest.param(
            data(STATIC, volumeAttributesClassName="fast"), [pv(storage_class=STATIC)],
            ["VolumeNotAvailable"], id="of another class of attributes",
        ),
    ],
)  # fmt: skip
def test_a_claim_and_its_volume(item, more, expected):
    assert reasons(judged(item, *more)) == expected


def test_a_reserved_volume_elsewhere_leaves_no_other():
    reserved = pv("a", "x", STATIC, claimRef={"namespace": "default", "name": "data"})
    verdict = judged(data(STATIC), reserved, pv("b", "y", STATIC))
    assert [item.name for item in verdict.nodes if not item.fails] == ["a"]


def test_a_volume_that_is_going_is_none():
    going = pv(storage_class=STATIC)
    going["metadata"]["deletionTimestamp"] = "2026-06-12T09:00:00Z"
    assert reasons(judged(data(STATIC), going)) == ["VolumeNotAvailable"]


def test_the_node_that_is_chosen_for_a_claim():
    chosen = {"volume.kubernetes.io/selected-node": "b"}
    verdict = judged(data("in-x", annotations=chosen))
    text = render(issue(verdict, "VolumeNotAvailable")).message
    assert text.endswith("; the node b is chosen for it already")
    verdict = judged(data("delayed", annotations=chosen))
    assert [item.name for item in verdict.nodes if not item.fails] == ["b"]


def test_what_is_told_where_no_volume_can_be_had():
    verdict = ask(
        vm(gpus=[GPU], volumes=on("data")), kubevirt(), *zoned("y", devices={GPU: 1}), *WORLD,
        data("in-x"),
    )  # fmt: skip
    assert render(issue(verdict, "VolumeNotAvailable")).message == (
        "a has all else that the VM asks for, but there no volume of 1Gi can be bound or made for "
        'PersistentVolumeClaim "default/data" of storage class in-x; there 1 free of 1 on a'
    )


def test_the_labels_of_a_volume_are_told_as_its_place():
    item = data(annotations=BOUND, volumeName="pv")
    verdict = judged(item, pv(labels={ZONE: "z"}))
    assert issue(verdict, "VolumeBoundElsewhere").params["where"] == f"{ZONE} in [z]"
    both = judged(item, pv(zone="z", labels={ZONE: "z__w", "topology.kubernetes.io/region": " __"}))
    where = issue(both, "VolumeBoundElsewhere").params["where"]
    assert where == f"{ZONE} in [z] and {ZONE} in [w, z]"


@pytest.mark.parametrize(
    ("size", "pools", "fits"),
    [
        ("5Gi", [{"capacity": "10Gi"}], True),
        ("5Gi", [{"capacity": "4Gi"}], False),
        ("5Gi", [{"capacity": "10Gi", "maximumVolumeSize": "4Gi"}], False),
        ("5Gi", [{}], False),
        ("5Gi", [], False),
        ("5Gi", [{"capacity": "10Gi", "storageClassName": "other"}], False),
        ("5Gi", [{"capacity": "10Gi", "nodeTopology": None}], False),
        ("0", [], True),
    ],
)
def test_storage_that_a_driver_tells(size, pools, fits):
    made = [
        obj("storage.k8s.io/v1", "CSIStorageCapacity", f"p{index}", "kube-system",
            **{"storageClassName": DRIVEN, "nodeTopology": {}, **pool})
        for index, pool in enumerate(pools)
    ]  # fmt: skip
    assert (judged(data(DRIVEN, size), *made).fits is Fits.YES) is fits


@pytest.mark.parametrize(
    ("item", "unread", "told"),
    [
        (data("in-x"), kinds.STORAGE_CLASSES, ["storageclasses"]),
        (data("in-x"), kinds.CSI_DRIVERS, ["csidrivers"]),
        (data("in-x"), kinds.STORAGE_CAPACITIES, ["csistoragecapacities"]),
        (data("in-x"), kinds.VOLUMES, ["persistentvolumes"]),
        (data(annotations=BOUND, volumeName="pv"), kinds.VOLUMES, ["persistentvolumes"]),
        (data(annotations=BOUND, volumeName="pv"), kinds.STORAGE_CLASSES, []),
    ],
)
def test_what_was_not_read_is_unknown_where_it_decides(item, unread, told):
    verdict = judged(item, pv(), unread=[unread])
    assert [found.params["kind"] for found in verdict.issues] == told
    assert verdict.fits is (Fits.UNKNOWN if told else Fits.YES)


def test_a_hotplugged_volume_is_not_the_launchers():
    disk = [{"name": "data", "persistentVolumeClaim": {"claimName": "no", "hotpluggable": True}}]
    assert reasons(judged(volumes=disk)) == []
    disk[0]["persistentVolumeClaim"]["hotpluggable"] = False
    assert reasons(judged(volumes=disk)) == ["VolumeMissing"]


def test_a_claim_for_one_pod_that_only_waiting_pods_name():
    item = data(annotations=BOUND, volumeName="pv", accessModes=["ReadWriteOncePod"])
    waiting = pod("p", None, {}, volumes=on("data"))
    assert reasons(judged(item, pv(), waiting)) == []
    elsewhere = pod("p", "gone", {}, volumes=on("data"))
    assert reasons(judged(item, pv(), elsewhere)) == []
    used = pod("p", "a", {}, volumes=on("data"), machine="one")
    found = issue(judged(item, pv(), used), "VolumeInUse")
    assert [ref.name for ref in found.params["holders"]] == ["one"]


def test_a_claim_that_refuses_leaves_the_rest_judged():
    taint = {"key": "k", "effect": "NoSchedule"}
    verdict = judged(nodes=[node("a", taints=[taint])])
    assert reasons(verdict) == ["VolumeMissing", "UntoleratedTaint"]
