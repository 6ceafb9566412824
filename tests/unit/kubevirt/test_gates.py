"""Which gates are on, by release and by what the KubeVirt object lists."""

import pytest
from tests.builders import kubevirt, obj

from passway.cluster.dump import decode_object
from passway.cluster.records import Configuration, DeveloperConfiguration
from passway.kubevirt.configuration import configuration_of, developer_of
from passway.kubevirt.gates import LISTABLE, MODELLED, STATES, gates_of, observed, version_of


def record(item):
    return decode_object(item)[1]


def gates(version="v1.9.0", listed=(), disabled=()):
    return gates_of(record(kubevirt(gates=listed, disabled=disabled, version=version)))


@pytest.mark.parametrize(
    ("gate", "version", "by_default", "listed", "disabled", "both"),
    [
        # GA: always on, whatever is listed.
        ("GPU", "v1.9.0", True, True, True, True),
        ("GPU", "v1.7.0", True, True, True, True),
        ("NUMA", "v1.9.0", True, True, True, True),
        # Alpha: on where it is listed.
        ("HostDevices", "v1.9.0", False, True, False, True),
        ("HostDevices", "v1.7.3", False, True, False, True),
        ("CPUManager", "v1.9.0", False, True, False, True),
        ("VGPULiveMigration", "v1.8.0", False, True, False, True),
        ("NetworkDevicesWithDRA", "v1.9.0", False, True, False, True),
        ("GPUsWithDRA", "v1.7.0", False, True, False, True),
        ("GPUsWithDRA", "v1.8.0", False, True, False, True),
        # Beta: on unless it is listed as disabled; being listed as enabled wins.
        ("GPUsWithDRA", "v1.9.0", True, True, False, True),
        ("HostDevicesWithDRA", "v1.9.0-rc.1", True, True, False, True),
        ("HostDevicesWithDRA", "v1.10.2", True, True, False, True),
        ("ExternalNetResourceInjection", "v1.8.0", True, True, False, True),
        ("ImageVolume", "v1.9.0", True, True, False, True),
        # Not known to that release: off, silently.
        ("NetworkDevicesWithDRA", "v1.8.1", False, False, False, False),
        ("ExternalNetResourceInjection", "v1.7.0", False, False, False, False),
        ("VGPULiveMigration", "v1.7.0", False, False, False, False),
        ("GPUsWithDRA", "v1.5.0", False, False, False, False),
        # Deprecated: like Alpha. Discontinued: off, whatever is listed.
        ("DisableMDEVConfiguration", "v1.7.0", False, True, False, True),
        ("DisableMDEVConfiguration", "v1.8.0", False, True, False, True),
        ("ExperimentalVirtiofsSupport", "v1.6.0", False, True, False, True),
        ("ExperimentalVirtiofsSupport", "v1.7.0", False, False, False, False),
        ("NoSuchGate", "v1.9.0", False, False, False, False),
        ("gpu", "v1.9.0", False, False, False, False),
    ],
)
def test_the_state_machine(gate, version, by_default, listed, disabled, both):
    assert gates(version).on(gate) is by_default
    assert gates(version, listed=[gate]).on(gate) is listed
    assert gates(version, disabled=[gate]).on(gate) is disabled
    assert gates(version, listed=[gate], disabled=[gate]).on(gate) is both


@pytest.mark.parametrize(
    ("gate", "states"),
    [
        ("GPUsWithDRA", [None, "Alpha", "Alpha", "Beta"]),
        ("NetworkDevicesWithDRA", [None, None, None, "Alpha"]),
        ("ExternalNetResourceInjection", [None, None, "Beta", "Beta"]),
        ("HostDevices", ["Alpha"] * 4),
        ("GPU", ["GA"] * 4),
        ("NoSuchGate", [None] * 4),
    ],
)
def test_the_state_of_a_gate_in_the_releases(gate, states):
    versions = ("v1.5.0", "v1.7.0", "v1.8.0", "v1.9.0")
    assert [gates(version).state(gate) for version in versions] == states


def test_before_the_disabled_list_a_beta_gate_needs_to_be_listed(monkeypatch):
    monkeypatch.setitem(STATES, "Early", (((1, 7), "Beta"),))
    assert not gates("v1.7.0").on("Early")
    assert gates("v1.7.0", listed=["Early"], disabled=["Early"]).on("Early")
    assert gates("v1.8.0").on("Early")


def test_all_gates_that_matter_are_listed_by_name():
    found = gates(listed=["HostDevices"], disabled=["GPUsWithDRA"]).listing()
    assert list(found) == sorted(STATES)
    assert {gate for gate, on in found.items() if on} == {
        "HostDevices", "HostDevicesWithDRA", "ExternalNetResourceInjection", "ImageVolume",
        "KubevirtSeccompProfile", "Snapshot", "VmiMemoryOverheadReport",
        *(gate for gate in STATES if gates().state(gate) == "GA"),
    }  # fmt: skip


# Of main of 2026-08-22; the word in front is what the gate is without being listed anywhere.
OF_MAIN = {
    "on": {
        "GA": """GPU NUMA LiveMigration SRIOVLiveMigration NonRoot PSA AutoResourceLimitsGate
            VMExport HotplugNICs VMLiveUpdateFeatures VmiMemoryOverheadReport
            PersistentReservation""",
        "Beta": """GPUsWithDRA HostDevicesWithDRA ExternalNetResourceInjection ImageVolume Snapshot
            KubevirtSeccompProfile""",
    },
    "off": {
        "Alpha": """HostDevices NetworkDevicesWithDRA CPUManager AlignCPUs PCINUMAAwareTopology
            IOMMUFD GraceIOVirtualization VGPULiveMigration ReservedOverheadMemlock Root Sidecar
            HypervStrictCheck VSOCK HostDisk CrossArchitectureVirtualization DownwardMetrics
            ExperimentalIgnitionSupport""",
        "Deprecated": """DisableMDEVConfiguration DockerSELinuxMCSWorkaround MultiArchitecture
            HotplugVolumes""",
        "Discontinued": "Passt Macvtap PasstIPStackMigration ExperimentalVirtiofsSupport",
    },
}


@pytest.mark.parametrize(
    ("gate", "state", "by_default"),
    [
        (gate, state, word == "on")
        for word, states in OF_MAIN.items()
        for state, listed in states.items()
        for gate in listed.split()
    ],
)
def test_the_gates_of_main(gate, state, by_default):
    assert gates("v1.10.0-alpha.0").state(gate) == state
    assert gates("v1.10.0-alpha.0").on(gate) is by_default
    listed = gates("v1.10.0-alpha.0", listed=[gate]).on(gate)
    assert listed is (state != "Discontinued")
    disabled = gates("v1.10.0-alpha.0", disabled=[gate]).on(gate)
    assert disabled is (state == "GA")


def test_the_gates_of_main_are_all_there_are():
    listed = [gate for states in OF_MAIN.values() for text in states.values()
              for gate in text.split()]  # fmt: skip
    assert sorted(listed) == sorted(STATES)
    assert sorted(LISTABLE) == sorted(
        gate for gate in STATES if gates("v1.10.0").state(gate) not in {"GA", "Discontinued"}
    )


def test_what_hyperconverged_renders():
    """It lists four gates always, and disables every Beta gate that it does not enable."""
    forced = ["CPUManager", "Snapshot", "HostDevices", "KubevirtSeccompProfile"]
    beta = [gate for gate in STATES if gates().state(gate) == "Beta" and gate not in forced]
    rendered = gates(listed=[*forced, "HypervStrictCheck"], disabled=beta)
    assert all(map(rendered.on, [*forced, "HypervStrictCheck"]))
    assert not any(map(rendered.on, ["GPUsWithDRA", "HostDevicesWithDRA", "ImageVolume"]))
    assert rendered.on("GPU")


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.9.0", (1, 9)),
        ("1.8.2", (1, 8)),
        ("v1.10.0-alpha.1+dirty", (1, 10)),
        ("v0.59.0", (0, 59)),
        ("{version}", None),
        ("devel", None),
        ("20260822_d923fdb81", None),
        ("1.4.0-150600.5.15.1", (1, 4)),
        ("sha256:0123", None),
        ("", None),
        (None, None),
    ],
)
def test_the_release_that_is_running(text, version):
    found = record(kubevirt(version=text))
    assert version_of(found) == version
    assert gates_of(found).version == (version or MODELLED)
    assert observed(found) == (text or "")


def test_without_an_object_the_gates_are_those_of_the_model():
    assert version_of(None) is None
    assert gates_of(None).version == (1, 9)
    assert not gates_of(None).on("HostDevices")
    assert gates_of(None).on("GPUsWithDRA")


@pytest.mark.parametrize(
    "spec", [None, {}, {"configuration": None}, {"configuration": {"developerConfiguration": None}}]
)
def test_every_absent_level_of_the_configuration_is_empty(spec):
    found = record(obj("kubevirt.io/v1", "KubeVirt", "kubevirt", "kubevirt", spec=spec))
    assert configuration_of(found) == Configuration()
    assert developer_of(found) == DeveloperConfiguration()
    assert version_of(found) is None


def test_the_configuration_of_no_object_is_empty():
    assert configuration_of(None) == Configuration()
    assert developer_of(None) == DeveloperConfiguration()


def test_the_configuration_is_that_of_the_object():
    found = record(kubevirt(evictionStrategy="LiveMigrate", developer={"cpuAllocationRatio": 4}))
    assert configuration_of(found).eviction_strategy == "LiveMigrate"
    assert developer_of(found).cpu_allocation_ratio == 4
    assert developer_of(found).feature_gates == ("HostDevices", "CPUManager")
