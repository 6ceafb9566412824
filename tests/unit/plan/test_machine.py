"""The short form of a VM becomes a VirtualMachine that any parser reads."""

import json

import pytest
from tests.builders import GPU, T4

from passway.manifest.vm import parse_manifest
from passway.model.errors import InvalidInput
from passway.plan.machine import DeviceRequest, InterfaceRequest, MachineRequest, plan_machine


def spec_of(request):
    return parse_manifest(json.dumps(plan_machine(request)), "r").require()[0]


def test_everything_that_is_asked_for_is_in_the_machine():
    request = MachineRequest(
        name="vm", namespace="ml", image="registry.example.com/disk:1", cpus=4, memory_mib=2048,
        devices=(DeviceRequest("g0", GPU), DeviceRequest("h0", T4, "host-device")),
        interfaces=(InterfaceRequest("fast", "net/fast", "virtio"), InterfaceRequest("b", "b")),
        dedicated_cpus=True, hugepages="2Mi", numa_passthrough=True, labels={"a": "b"},
    )  # fmt: skip
    machine = plan_machine(request)
    assert machine["metadata"]["labels"] == {"a": "b"}
    spec = spec_of(request)
    assert spec.ref.namespace == "ml"
    assert [(item.name, item.kind, item.resource_name) for item in spec.plugin_devices] == [
        ("g0", "gpu", GPU), ("h0", "host-device", T4),
    ]  # fmt: skip
    assert [(item.name, item.attachment, item.sriov) for item in spec.interfaces] == [
        ("default", None, False), ("fast", "net/fast", True), ("b", "b", True),
    ]  # fmt: skip
    assert (spec.cpu.cores, spec.cpu.dedicated, spec.cpu.numa_passthrough) == (4, True, True)
    assert (str(spec.memory.guest), spec.memory.hugepages) == ("2Gi", "2Mi")
    assert spec.run_strategy == "Always"
    instance = machine["spec"]["template"]["spec"]
    assert instance["volumes"][0]["containerDisk"]["image"] == "registry.example.com/disk:1"
    assert instance["domain"]["devices"]["interfaces"][1]["model"] == "virtio"


def test_devices_choose_an_eviction_strategy_that_does_not_block_drains():
    assert spec_of(MachineRequest("vm", devices=(DeviceRequest("g", GPU),))).eviction_strategy == (
        "None"
    )
    assert spec_of(MachineRequest("vm")).eviction_strategy is None


def test_a_small_machine_has_no_more_than_it_needs():
    machine = plan_machine(MachineRequest("vm"))
    assert set(machine["spec"]["template"]["spec"]) == {"domain", "networks"}
    assert "labels" not in machine["metadata"]


@pytest.mark.parametrize(
    ("fields", "path", "problem"),
    [
        ({"name": "VM"}, "name", "DNS label"),
        ({"namespace": "a_b"}, "namespace", "DNS label"),
        ({"cpus": 0}, "cpus", "between 1 and 512"),
        ({"cpus": 513}, "cpus", "between 1 and 512"),
        ({"memory_mib": 0}, "memory", "between 1 and"),
        ({"memory_mib": 2**40}, "memory", "between 1 and"),
        ({"hugepages": "4Mi"}, "memory_hugepages_page_size", "2Mi or 1Gi"),
        ({"run_strategy": "Sometimes"}, "run_strategy", "Always"),
        ({"image": "a b"}, "image", "no spaces"),
        ({"devices": (DeviceRequest("G", GPU),)}, "devices[0].name", "DNS label"),
        ({"devices": (DeviceRequest("g", "A10"),)}, "devices[0].device_name", "resource name"),
        ({"devices": (DeviceRequest("g", GPU),) * 2}, "devices", "more than once"),
        ({"interfaces": (InterfaceRequest("default", "x"),)}, "interfaces", "more than once"),
        ({"interfaces": (InterfaceRequest("A", "x"),)}, "interfaces[0].name", "DNS label"),
        ({"interfaces": (InterfaceRequest("a", "X"),)},
         "interfaces[0].network_type.sriov.name", "DNS subdomain"),
        ({"numa_passthrough": True, "hugepages": "2Mi"}, "cpu_numa_passthrough", "dedicated CPUs"),
        ({"numa_passthrough": True, "dedicated_cpus": True}, "cpu_numa_passthrough", "hugepages"),
    ],
)  # fmt: skip
def test_faults_name_the_field(fields, path, problem):
    with pytest.raises(InvalidInput, match=problem) as caught:
        plan_machine(MachineRequest(**{"name": "vm", **fields}))
    assert [issue.path for issue in caught.value.issues] == [path]


def test_sixteen_devices_are_allowed_and_no_more():
    def devices(count):
        return tuple(DeviceRequest(f"g{index}", GPU) for index in range(count))

    assert len(spec_of(MachineRequest("vm", devices=devices(16))).devices) == 16
    with pytest.raises(InvalidInput, match="at most 16"):
        plan_machine(MachineRequest("vm", devices=devices(17)))


def test_all_faults_are_told_at_once():
    with pytest.raises(InvalidInput, match=r"\(and 2 more\)") as caught:
        plan_machine(MachineRequest("VM", cpus=0, namespace="A"))
    assert len(caught.value.issues) == 3
