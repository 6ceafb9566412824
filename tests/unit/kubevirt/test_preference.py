"""Preferences over a VMI: only what is open is filled in, except where KubeVirt cannot tell."""

import copy
import json

import pytest

from passway.kubevirt.preference import apply_preference

OFF, ON = {"enabled": False}, {"enabled": True}


def preferred(spec, **preference):
    spec = json.loads(json.dumps(spec))  # as in life: no word in it is one of the code's
    vmi = {"metadata": {"annotations": {"own": "1"}}, "spec": spec}
    before = copy.deepcopy(preference)
    apply_preference(vmi, preference)
    assert preference == before
    return vmi


def domain(given=None, **preference):
    return preferred({"domain": given or {}}, **preference)["spec"]["domain"]


def devices(given=None, **preference):
    return domain({"devices": given or {}}, devices=preference)["devices"]


def test_an_empty_preference_changes_nothing():
    spec = {"domain": {"cpu": {"cores": 2}}, "volumes": [{"name": "a"}]}
    assert preferred(spec) == {"metadata": {"annotations": {"own": "1"}}, "spec": spec}


def test_annotations_are_added_and_never_replaced():
    vmi = preferred({}, annotations={"own": "2", "more": "3"})
    assert vmi["metadata"]["annotations"] == {"own": "1", "more": "3"}


FIELDS = [
    ({"preferredSubdomain": "a"}, {"subdomain": "a"}, {"subdomain": "b"}),
    ({"preferredArchitecture": "arm64"}, {"architecture": "arm64"}, {"architecture": "amd64"}),
    ({"preferredTerminationGracePeriodSeconds": 5}, {"terminationGracePeriodSeconds": 5},
     {"terminationGracePeriodSeconds": 0}),
    ({"preferredLaunchSecurity": {"snp": {}}}, {"domain": {"launchSecurity": {"snp": {}}}},
     {"domain": {"launchSecurity": {"sev": {}}}}),
    ({"machine": {"preferredMachineType": "q35"}}, {"domain": {"machine": {"type": "q35"}}},
     {"domain": {"machine": {"type": "virt"}}}),
    ({"clock": {"preferredTimer": {"hpet": {}}}}, {"domain": {"clock": {"timer": {"hpet": {}}}}},
     {"domain": {"clock": {"timer": {}}}}),
    ({"features": {"preferredSmm": ON, "preferredApic": ON}},
     {"domain": {"features": {"smm": ON, "apic": ON}}},
     {"domain": {"features": {"smm": OFF, "apic": {}}}}),
    ({"features": {"preferredKvm": {"hidden": True}, "preferredPvspinlock": OFF}},
     {"domain": {"features": {"kvm": {"hidden": True}, "pvspinlock": OFF}}},
     {"domain": {"features": {"kvm": {}, "pvspinlock": ON}}}),
]  # fmt: skip


@pytest.mark.parametrize(("preference", "made", "own"), FIELDS)
def test_fields_are_filled_in_where_the_vm_has_none(preference, made, own):
    assert preferred({}, **preference)["spec"] == made
    assert preferred(own, **preference)["spec"] == own


def test_features_of_the_cpu_are_added_by_name():
    own = {"cpu": {"features": [{"name": "vmx", "policy": "disable"}]}}
    wanted = [{"name": "vmx", "policy": "require"}, {"name": "aes"}]
    made = domain(own, cpu={"preferredCPUFeatures": wanted})
    assert made["cpu"]["features"] == [{"name": "vmx", "policy": "disable"}, {"name": "aes"}]
    assert domain(own, cpu={"preferredCPUFeatures": wanted[:1]}) == own


def test_acpi_and_hotplug_are_overwritten():
    assert domain({"features": {"acpi": ON}}, features={"preferredAcpi": OFF}) == {
        "features": {"acpi": OFF}
    }
    assert devices({"disableHotplug": True}, preferredDisableHotplug=False) == {
        "disableHotplug": False
    }


def test_hyperv_is_merged_one_by_one():
    wanted = {"preferredHyperv": {"vapic": ON, "synic": ON}}
    made = domain({"features": {"hyperv": {"vapic": OFF}}}, features=wanted)
    assert made == {"features": {"hyperv": {"vapic": OFF, "synic": ON}}}
    passed = {"features": {"hypervPassthrough": ON}}
    assert domain(passed, features=wanted) == passed
    assert domain(features=wanted) == {"features": {"hyperv": {"vapic": ON, "synic": ON}}}


@pytest.mark.parametrize(
    ("own", "wanted", "loader"),
    [
        ({}, {}, {}),
        ({}, {"preferredUseBios": True}, {"bios": {}}),
        ({}, {"preferredUseBios": False}, {}),
        ({}, {"preferredUseBios": True, "preferredUseBiosSerial": True},
         {"bios": {"useSerial": True}}),
        ({"bios": {"useSerial": False}}, {"preferredUseBiosSerial": True},
         {"bios": {"useSerial": False}}),
        ({"bios": {}}, {"preferredEfi": {}, "preferredUseEfi": True}, {"bios": {}}),
        ({}, {"preferredUseBios": True, "preferredEfi": {}}, {"bios": {}}),
        ({}, {"preferredEfi": {"persistent": True}, "preferredUseSecureBoot": True},
         {"efi": {"persistent": True}}),
        ({}, {"preferredUseEfi": True}, {"efi": {}}),
        ({}, {"preferredUseEfi": True, "preferredUseSecureBoot": True},
         {"efi": {"secureBoot": True}}),
        ({"efi": {}}, {"preferredUseBios": True, "preferredUseSecureBoot": False},
         {"efi": {"secureBoot": False}}),
        ({"efi": {"secureBoot": True}}, {"preferredUseSecureBoot": False},
         {"efi": {"secureBoot": True}}),
    ],
)  # fmt: skip
def test_boot_loaders(own, wanted, loader):
    made = domain({"firmware": {"bootloader": own}}, firmware=wanted)
    assert made["firmware"]["bootloader"] == loader


def test_the_offset_of_the_clock_is_taken_as_a_whole():
    wanted = {"preferredClockOffset": {"utc": {"offsetSeconds": 1}}}
    assert domain(clock=wanted) == {"clock": {"utc": {"offsetSeconds": 1}}}
    own = {"clock": {"timezone": "Europe/Berlin"}}
    assert domain(own, clock=wanted) == own


# -- devices --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "target"),
    [
        ("preferredAutoattachGraphicsDevice", "autoattachGraphicsDevice"),
        ("preferredAutoattachInputDevice", "autoattachInputDevice"),
        ("preferredAutoattachMemBalloon", "autoattachMemBalloon"),
        ("preferredAutoattachPodInterface", "autoattachPodInterface"),
        ("preferredAutoattachSerialConsole", "autoattachSerialConsole"),
        ("preferredBlockMultiQueue", "blockMultiQueue"),
        ("preferredNetworkInterfaceMultiQueue", "networkInterfaceMultiqueue"),
        ("preferredUseVirtioTransitional", "useVirtioTransitional"),
    ],
)
def test_switches(field, target):
    assert devices(**{field: False}) == {target: False}
    assert devices({target: True}, **{field: False}) == {target: True}


def test_single_devices():
    assert devices(preferredRng={}, preferredTPM={"persistent": True}) == {
        "rng": {}, "tpm": {"persistent": True},
    }  # fmt: skip
    assert devices({"tpm": {}}, preferredTPM={"persistent": True}) == {"tpm": {}}
    assert devices(preferredSoundModel="ac97") == {}
    assert devices({"sound": {"name": "s"}}, preferredSoundModel="ac97") == {
        "sound": {"name": "s", "model": "ac97"}
    }
    assert devices(preferredVideoType="vga") == {"video": {"type": "vga"}}
    assert devices({"video": {"type": "bochs"}}, preferredVideoType="vga") == {
        "video": {"type": "bochs"}
    }


def test_disks_get_a_target_and_their_bus():
    own = [
        {"name": "a"},
        {"name": "b", "disk": {"bus": "sata"}},
        {"name": "c", "cdrom": {}},
        {"name": "d", "lun": {}},
        {"name": "e", "disk": {}, "cache": "none", "dedicatedIOThread": False},
    ]
    made = devices(
        {"disks": own}, preferredDiskBus="virtio", preferredCdromBus="scsi", preferredLunBus="sata",
        preferredDiskCache="writeback", preferredDiskIO="native",
        preferredDiskBlockSize={"matchVolume": {}}, preferredDiskDedicatedIoThread=True,
    )  # fmt: skip
    rest = {"io": "native", "blockSize": {"matchVolume": {}}}
    assert made["disks"] == [
        {"name": "a", "disk": {"bus": "virtio"}, "cache": "writeback", "dedicatedIOThread": True,
         **rest},
        {"name": "b", "disk": {"bus": "sata"}, "cache": "writeback", **rest},
        {"name": "c", "cdrom": {"bus": "scsi"}},
        {"name": "d", "lun": {"bus": "sata"}},
        {"name": "e", "disk": {"bus": "virtio"}, "cache": "none", "dedicatedIOThread": False,
         **rest},
    ]  # fmt: skip


def test_volumes_without_a_disk_get_one_with_the_preferred_bus():
    spec = {
        "domain": {
            "devices": {"disks": [{"name": "a", "lun": {}}], "filesystems": [{"name": "f"}]}
        },
        "volumes": [{"name": "a"}, {"name": "f"}, {"name": "b"}],
    }
    made = preferred(spec, devices={"preferredDiskBus": "virtio"})["spec"]
    assert made["domain"]["devices"]["disks"] == [
        {"name": "a", "lun": {}}, {"name": "b", "disk": {"bus": "virtio"}},
    ]  # fmt: skip


def test_interfaces_of_the_pod_network_get_masquerade():
    spec = {
        "domain": {"devices": {"interfaces": [
            {"name": "pod"}, {"name": "bound", "bridge": {}, "model": "e1000"}, {"name": "other"},
            {"name": "nowhere"},
        ]}},
        "networks": [{"name": "pod", "pod": {}}, {"name": "bound", "pod": {}},
                     {"name": "other", "multus": {}}],
    }  # fmt: skip
    wanted = {"preferredInterfaceModel": "virtio", "preferredInterfaceMasquerade": {}}
    made = preferred(spec, devices=wanted)["spec"]["domain"]["devices"]["interfaces"]
    assert made == [
        {"name": "pod", "model": "virtio", "masquerade": {}},
        {"name": "bound", "bridge": {}, "model": "e1000"},
        {"name": "other", "model": "virtio"},
        {"name": "nowhere", "model": "virtio"},
    ]


def test_inputs_and_panic_devices():
    made = devices(
        {"inputs": [{"name": "a", "type": "tablet"}]},
        preferredInputBus="virtio", preferredInputType="keyboard",
    )  # fmt: skip
    assert made["inputs"] == [{"name": "a", "type": "tablet", "bus": "virtio"}]
    wanted = {"preferredPanicDeviceModel": "isa"}
    assert devices(**wanted) == {"panicDevices": [{"model": "isa"}]}
    assert devices({"panicDevices": [{}, {"model": "hyperv"}]}, **wanted) == {
        "panicDevices": [{"model": "isa"}, {"model": "hyperv"}]
    }
