"""How many fit, what a drain stops, and drift."""

import pytest
from tests.builders import (
    GPU,
    T4,
    VF,
    attachment,
    cluster,
    instancetype,
    kubevirt,
    machine,
    node,
    obj,
    pci,
    pod,
    quota,
    referring,
    vm,
    vmi,
)

from passway.cluster import kinds
from passway.model.errors import NotFound
from passway.model.reasons import render
from passway.preflight.drift import drift
from passway.preflight.questions import drain, fit
from passway.service.machines import machines

GPU_VM = machine(vm(gpus=[GPU]))
DEVICES = {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": GPU}]}}}


# -- fit ------------------------------------------------------------------------------------------


def test_fit_counts_places_and_says_what_runs_out_first():
    found = fit(GPU_VM, cluster(kubevirt(), node("a", {GPU: 3}), node("b", {GPU: 1})))
    assert (found.places, found.by_nodes, found.by_quota) == (4, 4, None)
    assert found.limits == {GPU: 2}


def test_fit_is_bounded_by_the_quota():
    objects = (kubevirt(), node("a", {GPU: 8}))
    hard = quota("gpus", {f"requests.{GPU}": "3", "services": "1"}, {f"requests.{GPU}": "1"})
    other = quota("other", {"pods": "0"}, namespace="other")
    scoped = quota("scoped", {"pods": "0"}, scopes=["BestEffort"])
    empty = quota("empty", {"pods": "9"}, status=False)
    del empty["status"]
    found = fit(GPU_VM, cluster(*objects, hard, other, scoped, empty))
    assert (found.places, found.by_nodes, found.by_quota) == (2, 8, 2)
    assert found.limits == {f"gpus: requests.{GPU}": 0}
    roomy = fit(GPU_VM, cluster(*objects, quota("gpus", {f"requests.{GPU}": "30"})))
    assert (roomy.places, roomy.limits) == (8, {GPU: 1})


def test_an_exceeded_quota_leaves_none_and_never_less():
    over = quota("gpus", {f"requests.{GPU}": "1"}, {f"requests.{GPU}": "4"})
    found = fit(GPU_VM, cluster(kubevirt(), node("a", {GPU: 8}), over))
    assert (found.places, found.by_quota) == (0, 0)


def test_a_machine_that_is_refused_fits_nowhere():
    found = fit(GPU_VM, cluster(kubevirt({}), node("a", {GPU: 8})))
    assert (found.places, found.by_nodes) == (0, 8)


def test_a_machine_that_asks_for_no_cpu_divides_nothing_by_zero():
    free = machine(
        vm(domain={"resources": {"requests": {"cpu": "0", "memory": "-1"}}},
           devices={"logSerialConsole": False})
    )  # fmt: skip
    found = fit(free, cluster(kubevirt(), node("a"), quota("q", {"requests.cpu": "1"})))
    assert (found.places, found.by_nodes) == (0, 110)  # KubeVirt refuses the amount


# -- drain ----------------------------------------------------------------------------------------


def launcher(name, node_name="a", **requests):
    return pod(f"virt-launcher-{name}", node_name, {GPU: "1", **requests}, machine=name)


@pytest.mark.parametrize(
    ("strategy", "devices", "effect"),
    [
        ("None", True, "stops"),
        ("LiveMigrateIfPossible", True, "stops"),
        ("LiveMigrate", True, "blocks"),
        ("External", True, "external"),
        ("None", False, "stops"),
        ("LiveMigrate", False, "migrates"),
        ("LiveMigrateIfPossible", False, "migrates"),
        (None, True, "stops"),
    ],
)
def test_what_a_drain_does_to_a_vm(strategy, devices, effect):
    spec = {**(DEVICES if devices else {}), **({"evictionStrategy": strategy} if strategy else {})}
    snapshot = cluster(
        kubevirt(), node("a", {GPU: 2}), node("b", {GPU: 1}), vmi("x", **spec), launcher("x")
    )
    (found,) = drain(snapshot, "a")
    assert (found.effect, found.strategy) == (effect, strategy or "None")
    assert found.devices == ((GPU,) if devices else ())
    assert found.room == ("b",)


def test_the_clusters_eviction_strategy_is_the_default():
    snapshot = cluster(
        kubevirt(evictionStrategy="LiveMigrate"), node("a", {GPU: 1}), vmi("x", **DEVICES),
        launcher("x"),
    )  # fmt: skip
    (found,) = drain(snapshot, "a")
    assert (found.effect, found.room) == ("blocks", ())


def test_without_the_instance_the_template_tells_the_devices():
    (found,) = drain(cluster(node("a", {GPU: 1}), vm("x", gpus=[GPU]), launcher("x")), "a")
    assert (found.devices, found.effect) == ((GPU,), "stops")
    (bare,) = drain(cluster(node("a", {GPU: 1}), launcher("x")), "a")
    assert bare.devices == ()
    headless = obj("kubevirt.io/v1", "VirtualMachine", "x", "default")
    (none,) = drain(cluster(node("a", {GPU: 1}), headless, launcher("x")), "a")
    assert none.devices == ()


def test_room_is_on_other_nodes_that_take_pods():
    plain = pod("virt-launcher-x", "a", {"cpu": "1"}, machine="x")
    many = [node(f"n{index:02}") for index in range(12)]
    snapshot = cluster(node("a"), node("closed", unschedulable=True), *many, plain, pod("y", "a"))
    (found,) = drain(snapshot, "a")
    assert found.room == tuple(f"n{index:02}" for index in range(10))


def test_a_drain_of_an_unknown_node():
    with pytest.raises(NotFound, match="no node"):
        drain(cluster(), "nope")


# -- drift ----------------------------------------------------------------------------------------


def findings(*objects, **options):
    return drift(cluster(*objects, **options))


def test_no_drift():
    permitted = {"pciHostDevices": [pci("10DE:2236", GPU)]}
    assert findings(kubevirt(permitted), node("a", {GPU: 1}), vm(gpus=[GPU])) == ()


def test_every_kind_of_drift():
    permitted = {
        "pciHostDevices": [
            pci("10DE:1EB8", T4.lower(), externalResourceProvider=True),
            pci("10DE:9999", "vendor.example/one"),
            pci("10de:9999", "vendor.example/two"),
        ],
        "usb": [
            {"resourceName": "vendor.example/one", "selectors": [{"vendor": "1", "product": "2"}]},
        ],
    }
    found = findings(
        kubevirt(permitted),
        node("a", {T4: 0, VF: 2, "vendor.example/one": 1}, capacity={T4: "5"}),
        node("b", {"vendor.example/two": 1}),
        attachment("fast"),
        attachment("plain", None),
        vm("stopped", gpus=["vendor.example/gone"], run_strategy="Halted"),
        vm("running", gpus=["vendor.example/gone"]),
        vmi("running"),
        obj("kubevirt.io/v1", "VirtualMachine", "odd", "default"),
    )
    assert [(item.reason, item.nodes) for item in found] == [
        ("UnhealthyUnits", ("a",)),
        ("DeviceGone", ()),
        ("PermittedNotAdvertised", ()),
        ("AdvertisedNotPermitted", ("a",)),
        ("DuplicateSelector", ()),
    ]
    texts = [render(item).message for item in found]
    assert texts[0] == f'"{T4}" on a: 5 units of 5 not allocatable'
    assert texts[1].startswith("default/stopped is stopped and asks for vendor.example/gone")
    assert texts[2].endswith(f"nodes advertise {T4}; the entry leaves it to an external plugin")
    assert texts[3].startswith(f'"{T4}" is advertised by a')
    assert "vendor.example/one and vendor.example/two" in texts[4]


def test_an_absent_list_is_no_drift():
    assert findings(kubevirt(), node("a", {GPU: 1})) == ()


def test_disabled_entries_are_no_drift():
    permitted = {"pciHostDevices": [pci("10DE:2236", GPU, disabled=True)]}
    assert findings(kubevirt(permitted), node("a")) == ()


@pytest.mark.parametrize(
    ("brought", "devices"),
    [
        pytest.param([instancetype("big", gpus=[T4])], (T4, GPU), id="of the cluster"),
        pytest.param([instancetype("small", gpus=[T4])], (GPU,), id="another name"),
        pytest.param([], (GPU,), id="none at all"),
    ],
)
def test_what_an_instance_type_brings_counts_for_a_vm_that_does_not_run(brought, devices):
    machine = referring("big", gpus=[GPU])
    snapshot = cluster(kubevirt({}), machine, *brought)
    gone = [item.params["resource"] for item in drift(snapshot) if item.reason == "DeviceGone"]
    assert sorted(gone) == sorted(devices)
    assert [item.devices for item in machines(snapshot).items] == [tuple(sorted(devices))]


def test_drift_says_what_was_not_read():
    found = findings(kubevirt({}), vm(gpus=[GPU]), unread=[kinds.NODES], forbidden=[kinds.MACHINES])
    assert [(item.reason, item.params["kind"]) for item in found] == [
        ("KindUnread", "nodes"), ("KindUnread", "virtualmachines"),
    ]  # fmt: skip
