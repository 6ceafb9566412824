"""Rules on the machine as a whole, the schema before them, and the whole review."""

import pytest
from tests.unit.kubevirt.vmis import places, rules, settings, vmi

from passway.kubevirt.admission import review
from passway.kubevirt.admission.schema import check

DEVICES = "spec.domain.devices"
EFI = {"bootloader": {"efi": {}}}
SMM = {"smm": {}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hostname": "a", "subdomain": "a.b"}, []),
        ({"hostname": "a.b"}, ["HostNameMalformed"]),
        ({"subdomain": "A"}, ["HostNameMalformed"]),
        ({"startStrategy": "Paused"}, []),
        ({"startStrategy": "Running"}, ["StartStrategyUnknown"]),
        ({"startStrategy": "Paused", "livenessProbe": {"exec": {"command": ["x"]}}},
         ["PausedWithLivenessProbe"]),
        ({"readinessProbe": {"httpGet": {"port": 80}}}, []),
        ({"readinessProbe": {}}, ["ProbeHandlerCount"]),
        ({"readinessProbe": {"tcpSocket": {"port": 1}, "guestAgentPing": {}}},
         ["ProbeHandlerCount"]),
        ({"dnsPolicy": "Default"}, []),
        ({"dnsPolicy": "Mine"}, ["DnsPolicyUnknown"]),
        ({"dnsPolicy": "None"}, ["DnsConfigMissing"]),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}}, []),
        ({"evictionStrategy": "Never"}, ["EvictionStrategyUnknown"]),
    ],
)  # fmt: skip
def test_the_spec(spec, expected):
    assert rules(vmi(**spec)) == expected


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ({"machine": {"type": "pc"}}, ["MachineTypeUnsupported"]),
        ({"firmware": {"serial": "A-1"}}, []),
        ({"firmware": {"serial": "A 1"}}, ["SerialMalformed"]),
        ({"firmware": {"serial": "A" * 257}}, ["SerialTooLong"]),
        ({"firmware": EFI}, ["SecureBootNeedsSmm"]),
        ({"firmware": EFI, "features": SMM}, []),
        ({"firmware": {"bootloader": {"efi": {"secureBoot": False}}}}, []),
        ({"firmware": {"bootloader": {"efi": {"secureBoot": False}, "bios": {}}}},
         ["BootLoadersBoth"]),
        ({"ioThreadsPolicy": "auto"}, []),
        ({"ioThreadsPolicy": "many"}, ["IoThreadsPolicyUnknown"]),
        ({"ioThreadsPolicy": "supplementalPool"}, ["IoThreadsCountMissing"]),
        ({"ioThreadsPolicy": "supplementalPool",
          "ioThreads": {"supplementalPoolThreadCount": 2}}, []),
    ],
)  # fmt: skip
def test_the_domain(domain, expected):
    assert rules(vmi(domain)) == expected


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ({"inputs": [{"name": "i", "type": "tablet", "bus": "virtio"}]}, []),
        ({"inputs": [{"name": "i", "type": "mouse", "bus": "ps2"}]}, ["InputUnsupported"]),
        ({"sound": {"name": "s", "model": "ich9"}}, []),
        ({"sound": {"name": "", "model": "sb16"}}, ["SoundModelUnsupported", "SoundNameMissing"]),
        ({"autoattachVSOCK": True}, ["VsockGateOff"]),
        ({"downwardMetrics": {}}, ["DownwardMetricsGateOff"]),
        ({"watchdog": {"name": "w", "i6300esb": {}}}, []),
        ({"watchdog": {"name": "w", "diag288": {}}}, ["ArchitectureLacks"]),
        ({"video": {"type": "vga"}}, []),
        ({"video": {"type": "qxl"}}, ["ArchitectureLacks"]),
        ({"video": {}}, ["ArchitectureLacks"]),
    ],
)
def test_devices(devices, expected):
    assert rules(vmi(devices=devices)) == expected


@pytest.mark.parametrize(
    ("domain", "devices", "field"),
    [
        ({"firmware": {"bootloader": {"bios": {}}}}, {}, "spec.domain.firmware.bootloader.bios"),
        ({"firmware": {"bootloader": {"efi": {"secureBoot": True}}}, "features": SMM}, {},
         "spec.domain.firmware.bootloader.efi.secureboot"),
        ({"cpu": {"model": "host-model"}}, {}, "spec.domain.cpu.model"),
        ({}, {"disks": [{"name": "d", "cdrom": {"bus": "sata"}}]},
         f"{DEVICES}.disks[0].cdrom.bus"),
        ({}, {"watchdog": {"name": "w"}}, f"{DEVICES}.watchdog"),
        ({}, {"sound": {"name": "s"}}, f"{DEVICES}.sound"),
        ({}, {"video": {"type": "vga"}}, f"{DEVICES}.video.type"),
    ],
)  # fmt: skip
def test_arm64_lacks(domain, devices, field):
    assert places(vmi(domain, devices, architecture="arm64"))["ArchitectureLacks"][0] == field


def test_architectures():
    assert rules(vmi(architecture="riscv64")) == ["ArchitectureUnsupported"]
    watchdog = {"watchdog": {"name": "w"}}
    assert rules(vmi(devices=watchdog, architecture="s390x")) == []


def test_probes_over_the_network_need_the_pod_network():
    given = vmi(
        devices={"interfaces": [{"name": "n", "sriov": {}}]},
        networks=[{"name": "n", "multus": {"networkName": "x"}}],
        readinessProbe={"httpGet": {"port": 80}},
        livenessProbe={"exec": {"command": ["x"]}},
    )
    assert places(given) == {"ProbeNeedsPodNetwork": ("spec.readinessProbe.httpGet",) * 2}


def test_labels_and_annotations():
    metadata = {
        "labels": {"kubevirt.io/nodeName": "a", "mine": "x"},
        "annotations": {"hooks.kubevirt.io/hookSidecars": "[]", "kubevirt.io/ignitiondata": "x"},
    }
    assert places(vmi(metadata=metadata)) == {
        "LabelReserved": ("metadata.labels", 'metadata.labels["kubevirt.io/nodeName"]'),
        "IgnitionGateOff": (
            "metadata.annotations", 'metadata.annotations["kubevirt.io/ignitiondata"]',
        ),
        "SidecarGateOff": (
            "metadata.annotations", 'metadata.annotations["hooks.kubevirt.io/hookSidecars"]',
        ),
    }  # fmt: skip
    on = settings("Sidecar", "ExperimentalIgnitionSupport")
    assert rules(vmi(metadata=metadata), on) == ["LabelReserved"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"domain": {"devices": {}}}, []),
        (None, [("SchemaFieldMissing", "spec")]),
        ([], [("SchemaWrongType", "spec")]),
        ({}, [("SchemaFieldMissing", "spec.domain")]),
        ({"domain": {}}, [("SchemaFieldMissing", "spec.domain.devices")]),
        ({"domain": {"devices": {"gpus": [{}]}}}, []),
        ({"domain": {"devices": {"gpus": {}}}}, [("SchemaWrongType", "spec.domain.devices.gpus")]),
        ({"domain": {"devices": {"gpus": [{"bogus": 1}]}}},
         [("SchemaUnknownField", "spec.domain.devices.gpus[0].bogus")]),
        ({"domain": {"devices": {"rng": None}}}, []),
        ({"domain": {"devices": {}, "cpu": {"cores": "2"}}},
         [("SchemaWrongType", "spec.domain.cpu.cores")]),
        ({"domain": {"devices": {"autoattachVSOCK": 1}}},
         [("SchemaWrongType", "spec.domain.devices.autoattachVSOCK")]),
        ({"domain": {"devices": {}, "memory": {"guest": 1.5, "maxGuest": True}}},
         [("SchemaWrongType", "spec.domain.memory.maxGuest")]),
        ({"domain": {"devices": {}, "memory": {"reservedOverhead": {"memLock": 1}}}},
         [("SchemaWrongType", "spec.domain.memory.reservedOverhead.memLock")]),
        ({"domain": {"devices": {}}, "nodeSelector": {"a.b/c": 1, "d": None}},
         [("SchemaWrongType", 'spec.nodeSelector["a.b/c"]')]),
        ({"domain": {"devices": {}, "clock": {"whatever": 1}}}, []),
        ({"domain": {"devices": {}}, "readinessProbe": {"httpGet": {"port": []}}},
         [("SchemaWrongType", "spec.readinessProbe.httpGet.port")]),
    ],
)  # fmt: skip
def test_the_schema(spec, expected):
    found = check({"metadata": {}, "spec": spec})
    assert [(cause.rule, cause.sites[0].path) for cause in found] == expected
    assert all(cause.type == cause.field == "" for cause in found)


def test_fields_beside_the_spec():
    assert [cause.rule for cause in check({"spec": {"domain": {"devices": {}}}, "x": 1})] == [
        "SchemaUnknownField"
    ]


def test_a_review():
    good = review(vmi(), settings(), "u")
    assert (good.stage, good.allowed, good.code) == ("validation", True, None)
    assert good.vmi["spec"]["domain"]["firmware"] == {"uuid": "u"}
    schema = review({"spec": {}}, settings())
    assert (schema.stage, schema.allowed, schema.code, schema.vmi) == ("schema", False, 422, None)
    mutation = review(vmi({"memory": {"guest": "x"}}), settings())
    assert (mutation.stage, [c.rule for c in mutation.causes]) == (
        "mutation", ["QuantityUnparsable"],
    )  # fmt: skip
