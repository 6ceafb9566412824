"""What is read of the KubeVirt object's configuration, and when it counts as absent."""

import pytest
from tests.builders import cluster, kubevirt

from passway.kubevirt.settings import EVEN_PARITY, Settings, is_valid, settings_of
from passway.kubevirt.vmi import cluster_settings
from passway.model.quantity import parse_quantity


def test_an_empty_configuration_has_kubevirts_defaults():
    found = settings_of({})
    assert isinstance(found, Settings)
    assert (found.architecture, found.eviction_strategy, found.live_update) == (
        "amd64", "None", True,
    )  # fmt: skip
    assert (found.cpu_request.milli_value, found.max_hotplug_ratio, found.max_guest) == (
        100, 4, None,
    )  # fmt: skip
    assert (found.default_interface, found.bridge_permitted, found.parity) == ("bridge", True, None)


def test_what_is_set_is_taken():
    found = settings_of(
        {
            "cpuModel": "Skylake", "cpuRequest": "250m", "evictionStrategy": "LiveMigrate",
            "vmRolloutStrategy": "Stage", "machineType": "pc-q35-8.0",
            "emulatedMachines": ["pc-*"], "liveUpdateConfiguration": {
                "maxHotplugRatio": 2, "maxCpuSockets": 6, "maxGuest": "8Gi"},
            "network": {"defaultNetworkInterface": "masquerade",
                        "permitBridgeInterfaceOnPodNetwork": False},
            "architectureConfiguration": {"defaultArchitecture": "arm64", "arm64": {
                "machineType": "virt-9", "emulatedMachines": ["virt-9"]}},
        },
        "s390x",
        annotations={EVEN_PARITY: ""},
    )  # fmt: skip
    assert (found.architecture, found.cpu_model, found.live_update) == ("s390x", "Skylake", False)
    assert found.cpu_request == parse_quantity("250m")
    assert (found.max_hotplug_ratio, found.max_cpu_sockets) == (2, 6)
    assert found.max_guest == parse_quantity("8Gi")
    assert (found.default_interface, found.bridge_permitted) == ("masquerade", False)
    assert found.parity == ""
    assert found.machine_of("amd64") == "pc-q35-8.0"
    assert found.machine_of("arm64") == "virt-9"
    assert found.machine_of("s390x") == "s390-ccw-virtio"
    assert found.machine_of("riscv64") == "q35"
    assert found.allows_machine("amd64", "pc-i440fx")
    assert not found.allows_machine("arm64", "virt")
    assert found.allows_machine("s390x", "s390-ccw-virtio-9")


@pytest.mark.parametrize(
    "configuration",
    [
        {"developerConfiguration": {"cpuAllocationRatio": -1}},
        {"developerConfiguration": {"cpuAllocationRatio": "ten"}},
        {"developerConfiguration": {"memoryOvercommit": 0}},
        {"network": {"defaultNetworkInterface": "ipvlan"}},
        {"cpuRequest": "much"},
        {"liveUpdateConfiguration": {"maxGuest": "much"}},
        {"liveUpdateConfiguration": {"maxHotplugRatio": "4"}},
        {"liveUpdateConfiguration": {"maxCpuSockets": True}},
    ],
)
def test_an_invalid_configuration_is_dropped_as_a_whole(configuration):
    assert not is_valid(configuration)
    assert settings_of({"cpuModel": "Skylake", **configuration}) == settings_of({})


def test_levels_that_are_no_objects_are_empty():
    assert settings_of({"developerConfiguration": None, "network": []}) == settings_of({})


@pytest.mark.parametrize(
    ("status", "configured", "expected"),
    [(None, None, "amd64"), (None, "arm64", "arm64"), ("s390x", "arm64", "s390x")],
)
def test_the_architecture_that_the_operator_found_counts_most(status, configured, expected):
    architectures = {"defaultArchitecture": configured} if configured else {}
    made = kubevirt(architectureConfiguration=architectures)
    if status:
        made["status"]["defaultArchitecture"] = status
    assert cluster_settings(cluster(made).kubevirt).architecture == expected


def test_the_old_field_of_the_machine_type_is_for_amd64_alone():
    found = settings_of({"machineType": "pc", "emulatedMachines": ["pc*"]})
    assert (found.machine_of("amd64"), found.machine_of("aarch64")) == ("pc", "q35")
    assert found.allows_machine("amd64", "pc-1")
    assert not found.allows_machine("aarch64", "pc-1")
