"""A VMI with KubeVirt's defaults: amounts, devices, features, architecture."""

import copy

import pytest
from tests.unit.kubevirt.vmis import settings, vmi

from passway.kubevirt.defaults import Refused, default
from passway.kubevirt.settings import EVEN_PARITY, settings_of


def defaulted(given, on=None):
    before = copy.deepcopy(given)
    made = default(given, on or settings(), "some-uuid")
    assert given == before
    return made


def domain(given, on=None):
    return defaulted(given, on)["spec"]["domain"]


def test_the_smallest_vmi():
    assert defaulted({"spec": {"domain": {"devices": {}}}}) == {
        "metadata": {"annotations": {"kubevirt.io/pci-topology-version": "v3"}},
        "spec": {
            "architecture": "amd64",
            "domain": {
                "cpu": {"sockets": 1, "cores": 1, "threads": 1, "maxSockets": 4,
                        "model": "host-model"},
                "devices": {"interfaces": [{"name": "default", "bridge": {}}]},
                "features": {"acpi": {"enabled": True}},
                "firmware": {"uuid": "some-uuid"},
                "machine": {"type": "q35"},
                "memory": {},
                "resources": {},
            },
            "evictionStrategy": "None",
            "networks": [{"name": "default", "pod": {}}],
        },
    }  # fmt: skip


def test_what_is_set_stays():
    given = vmi(
        {"machine": {"type": "pc-q35-9"}, "firmware": {"uuid": "own"},
         "cpu": {"model": "Haswell", "maxSockets": 9, "sockets": 2},
         "memory": {"guest": "1Gi", "maxGuest": "2Gi"}, "features": {"acpi": {"enabled": False}}},
        {"interfaces": [{"name": "n", "masquerade": {}}]},
        metadata={"annotations": {"mine": "x"}}, evictionStrategy="External",
        architecture="amd64", networks=[{"name": "n", "pod": {}}],
    )  # fmt: skip
    made = defaulted(given)
    for key, value in given["spec"]["domain"].items():
        assert made["spec"]["domain"][key] == value
    assert made["spec"]["evictionStrategy"] == "External"
    assert made["metadata"]["annotations"]["mine"] == "x"


@pytest.mark.parametrize(
    ("resources", "sockets", "requests"),
    [
        ({"limits": {"cpu": "2500m"}}, 3, {"cpu": "2500m"}),
        ({"requests": {"cpu": "1500m"}}, 2, {"cpu": "1500m"}),
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "4"}}, 4, {"cpu": "2"}),
        ({"requests": {"cpu": "0"}, "limits": {"cpu": "4"}}, 4, {"cpu": "4"}),
        ({"limits": {"cpu": "-1"}}, 2**32 - 1, {"cpu": "-1"}),
        ({}, 1, None),
    ],
)
def test_sockets_come_from_the_cpu_amounts(resources, sockets, requests):
    made = domain(vmi({"resources": resources}))
    assert (made["cpu"]["sockets"], made["resources"].get("requests")) == (sockets, requests)


def test_a_topology_stays_and_zeros_go():
    assert domain(vmi({"cpu": {"cores": 2, "sockets": 0, "dedicatedCpuPlacement": False}}))[
        "cpu"
    ] == {"cores": 2, "model": "host-model"}


def test_no_cpu_amount_at_all_means_no_sockets():
    made = domain(vmi({"resources": {"requests": {"cpu": "0"}}}))
    assert made["cpu"] == {"cores": 1, "threads": 1, "model": "host-model"}


@pytest.mark.parametrize(
    ("cpu", "configuration", "most"),
    [
        ({"sockets": 2}, {}, 8),
        ({"sockets": 2}, {"maxHotplugRatio": 2}, 4),
        ({"sockets": 2}, {"maxCpuSockets": 6}, 6),
        ({"sockets": 8}, {"maxCpuSockets": 6}, 8),
        ({"sockets": 2, "maxSockets": 3}, {"maxCpuSockets": 6}, 3),
        ({"sockets": 64, "cores": 4, "threads": 1}, {}, 128),
        ({"sockets": 200, "cores": 4, "threads": 1}, {}, 200),
    ],
)
def test_the_most_sockets(cpu, configuration, most):
    on = settings(liveUpdateConfiguration=configuration)
    assert domain(vmi({"cpu": cpu}), on)["cpu"]["maxSockets"] == most


def test_staged_rollout_and_arm64_have_no_hotplug():
    staged = domain(vmi(), settings(vmRolloutStrategy="Stage"))
    arm = domain(vmi(architecture="arm64"))
    for made in (staged, arm):
        assert "maxSockets" not in made["cpu"]
        assert "maxGuest" not in made["memory"]


@pytest.mark.parametrize(
    ("memory", "resources", "guest", "most"),
    [
        ({"guest": "1.5Gi"}, {}, "1536Mi", "6Gi"),
        ({}, {"requests": {"memory": "2Gi"}, "limits": {"memory": "4Gi"}}, "2Gi", "8Gi"),
        ({}, {"requests": {"memory": "0"}, "limits": {"memory": "4Gi"}}, "4Gi", "16Gi"),
        ({"hugepages": {"pageSize": "1Gi"}}, {}, "1Gi", "4Gi"),
        ({"hugepages": {"pageSize": "big"}}, {}, None, None),
        ({"hugepages": {}}, {}, None, None),
        ({"guest": "1536Mi", "hugepages": {"pageSize": "1Gi"}}, {}, "1536Mi", None),
        ({"guest": "512Mi"}, {}, "512Mi", None),
        ({"guest": "1Gi"}, {}, "1Gi", "4Gi"),
        ({"guest": "1025Mi"}, {}, "1025Mi", None),
        ({"guest": 1073741824}, {}, "1073741824", "4Gi"),
        ({"guest": "-4Gi"}, {}, "-4Gi", None),
    ],
)
def test_guest_memory_and_how_far_it_may_grow(memory, resources, guest, most):
    made = domain(vmi({"memory": memory, "resources": resources}))["memory"]
    assert (made.get("guest"), made.get("maxGuest")) == (guest, most)


@pytest.mark.parametrize(("maximum", "most"), [("8Gi", "8Gi"), ("1025Mi", None), ("512Mi", None)])
def test_the_cluster_may_set_the_most(maximum, most):
    on = settings(liveUpdateConfiguration={"maxGuest": maximum})
    assert domain(vmi(), on)["memory"].get("maxGuest") == most


@pytest.mark.parametrize(
    "extra",
    [
        {"cpu": {"realtime": {}}},
        {"cpu": {"numa": {"guestMappingPassthrough": {}}}},
        {"launchSecurity": {"sev": {}}},
    ],
)
def test_what_keeps_memory_from_growing(extra):
    assert "maxGuest" not in domain(vmi(extra))["memory"]


def test_the_clusters_cpu_request_and_model():
    on = settings(cpuRequest="250m", cpuModel="Haswell")
    made = domain(vmi(), on)
    assert (made["resources"], made["cpu"]["model"]) == ({"requests": {"cpu": "250m"}}, "Haswell")
    dedicated = domain(vmi({"cpu": {"dedicatedCpuPlacement": True, "cores": 1}}), on)
    assert dedicated["resources"] == {}
    own = domain(vmi({"resources": {"requests": {"cpu": "1"}}}), on)
    assert own["resources"] == {"requests": {"cpu": "1"}}
    small = domain(vmi(), settings(cpuRequest="50m"))
    assert small["resources"] == {"requests": {"cpu": "50m"}}


def test_networks_are_left_alone_where_any_is_named():
    assert "networks" not in defaulted(vmi(devices={"autoattachPodInterface": False}))["spec"]
    only = defaulted(vmi(networks=[{"name": "n", "pod": {}}]))["spec"]
    assert "interfaces" not in only["domain"]["devices"]


@pytest.mark.parametrize(
    ("network", "rule"),
    [
        ({"defaultNetworkInterface": "slirp"}, "SlirpDiscontinued"),
        ({"permitBridgeInterfaceOnPodNetwork": False}, "BridgeNotPermitted"),
    ],
)
def test_the_mutating_webhook_may_refuse(network, rule):
    with pytest.raises(Refused, match=rule):
        default(vmi(), settings(network=network))


def test_an_unreadable_quantity_is_refused():
    with pytest.raises(Refused, match="QuantityUnparsable"):
        default(vmi({"memory": {"guest": "much"}}), settings())


def test_masquerade_as_default():
    on = settings(network={"defaultNetworkInterface": "masquerade"})
    assert domain(vmi(), on)["devices"]["interfaces"] == [{"name": "default", "masquerade": {}}]


def test_arm64_has_a_model_and_a_loader():
    made = domain(vmi(devices={"disks": [{"name": "d", "lun": {}}]}, architecture="arm64",
                      volumes=[{"name": "d", "dataVolume": {"name": "d"}}]))  # fmt: skip
    assert made["cpu"]["model"] == "host-passthrough"
    assert made["firmware"]["bootloader"] == {"efi": {"secureBoot": False}}
    assert made["devices"]["disks"] == [{"name": "d", "lun": {"bus": "virtio"}}]
    bios = domain(vmi({"firmware": {"bootloader": {"bios": {}}}}, architecture="arm64"))
    assert bios["firmware"]["bootloader"] == {"bios": {}}


@pytest.mark.parametrize(
    ("architecture", "action"), [("amd64", "i6300esb"), ("s390x", "diag288"), ("arm64", None)]
)
def test_watchdogs(architecture, action):
    made = domain(vmi(devices={"watchdog": {"name": "w"}}, architecture=architecture))
    expected = {"name": "w", **({action: {"action": "reset"}} if action else {})}
    assert made["devices"]["watchdog"] == expected


def test_s390x_has_no_acpi_and_no_pci_topology():
    made = defaulted(vmi(architecture="s390x"))
    assert made["spec"]["domain"]["features"] == {"acpi": {"enabled": False}}
    assert "annotations" not in made["metadata"]


def test_even_parity_is_copied_from_the_kubevirt_object():
    given = vmi({"cpu": {"isolateEmulatorThread": True}})
    on = settings_of(
        {"developerConfiguration": {"featureGates": ["AlignCPUs"]}}, annotations={EVEN_PARITY: ""}
    )
    assert EVEN_PARITY in defaulted(given, on)["metadata"]["annotations"]
    off = settings_of({}, annotations={EVEN_PARITY: ""})
    assert EVEN_PARITY not in defaulted(given, off)["metadata"]["annotations"]
    assert EVEN_PARITY not in defaulted(given, settings("AlignCPUs"))["metadata"]["annotations"]


def test_disks_get_volumes_targets_and_buses():
    made = domain(
        vmi(
            devices={
                "disks": [
                    {"name": "a"},
                    {"name": "b", "cdrom": {}},
                    {"name": "c", "disk": {"bus": "scsi"}, "blockSize": {"matchVolume": {}}},
                ],
                "filesystems": [{"name": "f", "virtiofs": {}}],
            },
            volumes=[
                {"name": name, "containerDisk": {"image": image}}
                for name, image in (
                    ("a", "x"), ("b", "x:latest"), ("c", "x:1"), ("d", "x@sha256:1"), ("f", "x"),
                )
            ],
        )
    )  # fmt: skip
    assert made["devices"]["disks"] == [
        {"name": "a", "disk": {"bus": "sata"}},
        {"name": "b", "cdrom": {"bus": "sata", "readonly": True, "tray": "closed"}},
        {"name": "c", "disk": {"bus": "scsi"}, "blockSize": {"matchVolume": {"enabled": True}}},
        {"name": "d", "disk": {"bus": "sata"}},
    ]


def test_pull_policies():
    volumes = [
        {"name": "a", "containerDisk": {"image": "x"}},
        {"name": "b", "containerDisk": {"image": "x:1"}},
        {"name": "c", "containerDisk": {"image": "x:latest", "imagePullPolicy": "Never"}},
        {"name": "d", "emptyDisk": {"capacity": "1Gi"}},
    ]
    made = defaulted(vmi(volumes=volumes))["spec"]["volumes"]
    policies = [volume.get("containerDisk", {}).get("imagePullPolicy") for volume in made]
    assert policies == ["Always", "IfNotPresent", "Never", None]


def test_features_that_are_named_are_on():
    given = vmi(
        {
            "features": {"smm": {}, "apic": {"enabled": False}, "hyperv": {
                "spinlocks": {}, "vapic": {}, "synictimer": {"direct": {}},
                "tlbflush": {"extended": {}}, "evmcs": {}}},
            "clock": {"timer": {"hpet": {"present": False}, "rtc": {}}},
        }
    )  # fmt: skip
    made = domain(given)
    features = made["features"]
    assert (features["smm"], features["apic"]) == ({"enabled": True}, {"enabled": False})
    assert made["clock"]["timer"] == {"hpet": {"present": False}, "rtc": {"present": True}}
    hyperv = features["hyperv"]
    assert hyperv["spinlocks"] == {"enabled": True, "spinlocks": 4096}
    assert hyperv["synictimer"] == {"enabled": True, "direct": {"enabled": True}}
    assert hyperv["tlbflush"]["extended"] == {"enabled": True}
    assert hyperv["synic"] == hyperv["vpindex"] == {"enabled": True}
    assert made["cpu"]["features"] == [{"name": "vmx", "policy": "require"}]


def test_hyperv_requirements_stop_where_one_is_off():
    hyperv = {"ipi": {}, "vpindex": {"enabled": False}, "evmcs": {},
              "spinlocks": {"enabled": False}}  # fmt: skip
    made = domain(vmi({"features": {"hyperv": hyperv}}))
    assert "features" not in made["cpu"]
    assert made["features"]["hyperv"]["spinlocks"] == {"enabled": False}


def test_vmx_is_required_where_evmcs_is_on():
    cpu = {"features": [{"name": "aes"}, {"name": "vmx", "policy": "disable"}]}
    made = domain(vmi({"cpu": cpu, "features": {"hyperv": {"evmcs": {}}}}))
    assert made["cpu"]["features"] == [{"name": "aes"}, {"name": "vmx", "policy": "require"}]
    without = domain(vmi({"features": {"hyperv": {"relaxed": {}}}}))
    assert "features" not in without["cpu"]


def test_inputs_displays_and_probes():
    made = defaulted(
        vmi(
            devices={
                "inputs": [{"name": "i", "type": ""}],
                "gpus": [
                    {"name": "g", "deviceName": "a/b", "virtualGPUOptions": {
                        "display": {"ramFB": {}}}},
                    {"name": "h", "deviceName": "a/b"},
                ],
            },
            readinessProbe={"exec": {"command": ["true"]}, "timeoutSeconds": 5},
        )
    )["spec"]  # fmt: skip
    devices = made["domain"]["devices"]
    assert devices["inputs"] == [{"name": "i", "type": "tablet", "bus": "usb"}]
    assert devices["gpus"][0]["virtualGPUOptions"]["display"] == {"ramFB": {"enabled": True}}
    assert made["readinessProbe"] == {
        "exec": {"command": ["true"]}, "timeoutSeconds": 5, "periodSeconds": 10,
        "successThreshold": 1, "failureThreshold": 3,
    }  # fmt: skip
