"""Rules on volumes and disks, and on boot order."""

import base64

import pytest
from tests.unit.kubevirt.vmis import causes, places, rules, settings, vmi

from passway.kubevirt.admission import judge
from passway.kubevirt.admission.volumes import is_file_path
from passway.kubevirt.defaults import default
from passway.kubevirt.settings import settings_of

DISKS = "spec.domain.devices.disks"
EMPTY = {"emptyDisk": {"capacity": "1Gi"}}


def with_disk(volume=None, **disk):
    entry = {"name": "d", **(volume or EMPTY)}
    return vmi(devices={"disks": [{"name": "d", **disk}]}, volumes=[entry])


def with_volume(source, **rest):
    return vmi(volumes=[{"name": "v", **source}], **rest)


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        ({"disk": {"bus": "virtio"}}, []),
        ({"disk": {}, "cdrom": {}}, ["DiskTargetsMany"]),
        ({"disk": {"bus": "ide"}}, ["DiskBusUnsupported"]),
        ({"cdrom": {"bus": "virtio"}}, ["CdromOnVirtio"]),
        ({"disk": {"bus": "sata", "readonly": True}}, ["SataDiskReadOnly"]),
        ({"disk": {"bus": "virtio", "readonly": True}}, []),
        ({"disk": {"bus": "scsi"}, "dedicatedIOThread": True}, ["IoThreadNeedsVirtio"]),
        ({"disk": {"bus": "virtio"}, "dedicatedIOThread": True}, []),
        ({"disk": {"bus": "virtio", "pciAddress": "0000:01:00.0"}}, []),
        ({"disk": {"bus": "sata", "pciAddress": "0000:01:00.0"}}, ["DiskAddressNeedsVirtio"]),
        ({"disk": {"bus": "virtio", "pciAddress": "01:00.0"}}, ["DiskPciAddressMalformed"]),
        ({"serial": "A b"}, ["SerialMalformed"]),
        ({"serial": "a" * 257}, ["SerialTooLong"]),
        ({"cache": "none", "io": "native", "errorPolicy": "stop"}, []),
        ({"cache": "fast"}, ["DiskModeUnsupported"]),
        ({"io": "io_uring"}, ["DiskModeUnsupported"]),
        ({"errorPolicy": ""}, ["DiskModeUnsupported"]),
        ({"bootOrder": 1}, []),
        ({"bootOrder": 2}, []),
        ({"bootOrder": 0}, ["BootOrderZero"]),
        ({"lun": {}}, ["LunNeedsClaim"]),
        ({"blockSize": {"custom": {"logical": 512, "physical": 4096}}}, []),
        ({"blockSize": {"matchVolume": {}}}, []),
        ({"blockSize": {"matchVolume": {}, "custom": {"logical": 512, "physical": 512}}},
         ["BlockSizeTwice"]),
        ({"blockSize": {"custom": {"logical": 4096, "physical": 512}}},
         ["BlockSizeLogicalLarger"]),
        ({"blockSize": {"custom": {"logical": 256, "physical": 513}}}, ["BlockSizeUnsupported"]),
        ({"blockSize": {"custom": {"logical": 4096, "physical": 4096}}}, []),
        ({"blockSize": {"custom": {"logical": 512, "physical": 2**21}}}, []),
        ({"blockSize": {"custom": {"logical": 512, "physical": 1536}}}, ["BlockSizeUnsupported"]),
        ({"blockSize": {"custom": {"logical": 512, "physical": 2**22}}},
         ["BlockSizeUnsupported"]),
    ],
)  # fmt: skip
def test_disks(disk, expected):
    assert rules(with_disk(**disk)) == expected


def test_kubevirts_odd_fields_of_disks_have_real_places():
    assert places(with_disk(disk={"bus": "sata", "pciAddress": "x"})) == {
        "DiskAddressNeedsVirtio": (f"{DISKS}.domain.devices.disks.disk[0].pciAddress",
                                   f"{DISKS}[0].disk.pciAddress"),
        "DiskPciAddressMalformed": (f"{DISKS}.domain.devices.disks.disk[0].pciAddress",
                                    f"{DISKS}[0].disk.pciAddress"),
    }  # fmt: skip
    assert places(with_disk(io="x"))["DiskModeUnsupported"] == (
        f"{DISKS}.domain.devices.disks[0].io", f"{DISKS}[0].io",
    )  # fmt: skip


def test_names_of_disks_and_volumes():
    devices = {"disks": [{"name": "d"}, {"name": "d"}, {"name": "E.f"}, {"name": "g", "cdrom": {}}]}
    volumes = [{"name": "d", **EMPTY}, {"name": "d", **EMPTY}]
    assert rules(vmi(devices=devices, volumes=volumes)) == [
        "DiskWithoutVolume", "DiskNameDuplicate", "DiskNameMalformed", "VolumeNameDuplicate",
    ]  # fmt: skip


def test_boot_order_is_shared_with_interfaces():
    given = vmi(
        devices={
            "disks": [{"name": "a", "bootOrder": 1}, {"name": "b", "bootOrder": 1}],
            "interfaces": [
                {"name": name, "sriov": {}, "bootOrder": order}
                for name, order in (("n", 1), ("o", 2), ("p", 0))
            ],
        },
        volumes=[{"name": "a", **EMPTY}, {"name": "b", **EMPTY}],
        networks=[{"name": name, "multus": {"networkName": "x"}} for name in "nop"],
    )
    interfaces = "spec.domain.devices.interfaces"
    assert [(cause.rule, cause.field, cause.sites[0].path) for cause in causes(given)] == [
        ("BootOrderDuplicate", f"{DISKS}[1].bootOrder", f"{DISKS}[1].bootOrder"),
        ("BootOrderDuplicate", f"{interfaces}[0].bootOrder", f"{interfaces}[0].bootOrder"),
        ("BootOrderZero", "spec[2].bootOrder", f"{interfaces}[2].bootOrder"),
    ]


def test_luns_and_reservations():
    claim = {"persistentVolumeClaim": {"claimName": "c"}}
    given = with_disk(claim, lun={"reservation": True})
    assert rules(given) == []
    before = settings_of({}, version=(1, 8))
    assert rules(given, before) == ["PersistentReservationGateOff"]
    listed = {"developerConfiguration": {"featureGates": ["PersistentReservation"]}}
    assert rules(given, settings_of(listed, version=(1, 8))) == []


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        ({"disk": {"bus": "virtio"}}, []),
        ({"disk": {"bus": "sata"}}, ["DownwardMetricsNeedsVirtio"]),
        ({"cdrom": {}}, ["DownwardMetricsNeedsVirtio"]),
    ],
)
def test_downward_metrics(disk, expected):
    given = with_disk({"downwardMetrics": {}}, **disk)
    assert rules(given, settings("DownwardMetrics")) == expected
    assert rules(given) == [*expected, "DownwardMetricsGateOff"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (EMPTY, []),
        ({}, ["VolumeSourceCount"]),
        ({**EMPTY, "dataVolume": {"name": "x"}}, ["VolumeSourceCount"]),
        ({"dataVolume": {"name": ""}}, ["VolumeFieldMissing"]),
        ({"configMap": {}}, ["VolumeFieldMissing"]),
        ({"secret": {}}, ["VolumeFieldMissing"]),
        ({"serviceAccount": {"serviceAccountName": "x"}}, []),
        ({"containerDisk": {"image": "x", "path": "/disk/a.img"}}, []),
        ({"containerDisk": {"image": "x", "path": "a.img"}}, ["FilePathMalformed"]),
        ({"cloudInitNoCloud": {"userData": "x"}}, []),
        ({"cloudInitNoCloud": {"secretRef": {"name": "x"}}}, []),
        ({"cloudInitNoCloud": {"userData": "x", "secretRef": {"name": "x"}}},
         ["CloudInitSourcesMany"]),
        ({"cloudInitNoCloud": {}}, ["CloudInitEmpty"]),
        ({"cloudInitConfigDrive": {"networkData": "x" * 2049}}, ["CloudInitTooLong"]),
        ({"cloudInitNoCloud": {"userDataBase64": base64.b64encode(b"x" * 2049).decode()}},
         ["CloudInitTooLong"]),
        ({"cloudInitNoCloud": {"userDataBase64": "?"}}, ["CloudInitNotBase64"]),
        ({"hostDisk": {"path": "/x", "type": "Disk"}}, ["HostDiskGateOff"]),
    ],
)  # fmt: skip
def test_volumes(source, expected):
    assert rules(with_volume(source)) == expected


@pytest.mark.parametrize(
    ("disk", "expected"),
    [
        ({"path": "/x", "type": "DiskOrCreate", "capacity": "1Gi"}, []),
        ({"path": "", "type": "Disk"}, ["VolumeFieldMissing"]),
        ({"path": "/x", "type": "Block"}, ["HostDiskTypeUnknown"]),
        ({"path": "/x", "type": "Disk", "capacity": "1Gi"}, ["HostDiskCapacityIdle"]),
    ],
)
def test_host_disks(disk, expected):
    assert rules(with_volume({"hostDisk": disk}), settings("HostDisk")) == expected


def test_some_volumes_may_be_there_once():
    account = {"serviceAccount": {"serviceAccountName": "x"}}
    assert rules(vmi(volumes=[{"name": "a", **account}, {"name": "b", **account}])) == [
        "VolumeSourceTwice"
    ]


def test_a_volume_without_a_disk_is_refused_where_defaults_did_not_add_one():
    made = default(with_volume(EMPTY), settings())
    del made["spec"]["domain"]["devices"]["disks"]
    (cause,) = judge(made, settings())
    assert (cause.rule, cause.field, cause.sites[0].path) == (
        "VolumeWithoutDisk", "spec.domain.volumes[0].name", "spec.volumes[0].name",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "right"),
    [("/a", True), ("/a/", True), ("/a/b.img", True), ("/", False), ("a", False),
     ("/a/../b", False), ("/a//b", False), ("//a", False)],
)  # fmt: skip
def test_paths_of_files(path, right):
    assert is_file_path(path) is right
