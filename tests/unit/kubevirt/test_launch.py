"""The rendered launcher, part by part: containers, rules, annotations, refusals."""

import msgspec
import pytest

from passway.cluster.records import Configuration, KubeVirt, KubeVirtSpec, KubeVirtStatus, Meta
from passway.kubevirt.doubles import share
from passway.kubevirt.launch import Refusal, render
from passway.kubevirt.surroundings import in_force, surroundings
from passway.model.quantity import parse_quantity

MI = 2**20
DEVICES = "devices.kubevirt.io/"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def kubevirt(*, gates=(), disabled=(), developer=None, **configuration):
    raw = {
        "developerConfiguration": {
            "featureGates": list(gates),
            "disabledFeatureGates": list(disabled),
            **(developer or {}),
        },
        **configuration,
    }
    return KubeVirt(
        metadata=Meta("kubevirt"),
        spec=KubeVirtSpec(configuration=msgspec.convert(raw, Configuration)),
        status=KubeVirtStatus("v1.9.0"),
    )


def around(*, labels=None, quota=(), attachments=None, **configuration):
    return surroundings(
        kubevirt(**configuration),
        namespace_labels=labels,
        quota_keys=frozenset(quota),
        attachments=attachments,
    )


def vmi(*, domain=None, devices=None, annotations=None, **spec):
    return {
        "metadata": {"name": "vm", "namespace": "ns", "annotations": annotations or {}},
        "spec": {
            "architecture": "amd64",
            "domain": {
                "cpu": {"sockets": 2, "model": "host-model"},
                "memory": {"guest": "1Gi"},
                "devices": {"interfaces": [{"name": "default", "bridge": {}}], **(devices or {})},
                **(domain or {}),
            },
            "networks": [{"name": "default", "pod": {}}],
            **spec,
        },
    }


def launch(made, **settings):
    return render(made, around(**settings))


def resources(requests=None, limits=None):
    return {"resources": {"requests": requests or {}, "limits": limits or {}}}


def amounts(given):
    return {name: str(amount) for name, amount in given.items()}


# -- whatever stands there ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        {},
        {"spec": None},
        {"metadata": {"annotations": {"a": 5}}, "spec": {"domain": [], "volumes": {"a": 1}}},
        vmi(domain={"cpu": {"sockets": True, "cores": "2", "threads": -1}}),
        vmi(domain={"memory": {"guest": True, "hugepages": "2Mi"}}),
        vmi(domain=resources({"cpu": "x", "memory": [1]}, "none")),
        vmi(devices={"gpus": "all", "interfaces": ["a", None], "filesystems": [5]}),
        vmi(nodeSelector={"a": 1}, affinity={"nodeAffinity": "x"}, networks=[None, {"multus": 1}]),
        vmi(annotations={"hooks.kubevirt.io/hookSidecars": "[["}),
        vmi(annotations={"hooks.kubevirt.io/hookSidecars": "[" * 99999}),
        vmi(annotations={"hooks.kubevirt.io/hookSidecars": "{}"}),
    ],
)
def test_a_malformed_vmi_still_has_a_launcher(made):
    found = launch(made)
    assert found.containers[0].name == "compute"
    assert found.overhead_bytes >= 220 * MI


def test_the_architecture_of_the_cluster_is_that_of_a_vmi_without():
    made = vmi(architecture="")
    assert "arm64" not in render(made, around()).overhead
    assert render(made, around(), "arm64").overhead["arm64"] == 128 * MI
    assert "kubernetes.io/arch" not in render(made, around()).node_selector


# -- overhead --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "part", "mib"),
    [
        (vmi(livenessProbe={"exec": {}}), "exec probes", 110),
        (vmi(livenessProbe={"exec": {}}, readinessProbe={"exec": {}}), "exec probes", 120),
        (vmi(readinessProbe={"httpGet": {}}), "exec probes", None),
        (vmi(volumes=[{"name": "m", "downwardMetrics": {}}]), "downward metrics", 1),
        (vmi(domain={"launchSecurity": {"sev": {}}}), "memory encryption", 256),
        (vmi(domain={"launchSecurity": {"snp": {}}}), "memory encryption", 256),
        (vmi(domain={"launchSecurity": {"tdx": {}}}), "memory encryption", None),
        (vmi(devices={"tpm": {"enabled": False}}), "TPM", None),
        (vmi(devices={"tpm": {"persistent": True}}), "TPM", 53),
        (vmi(devices={"interfaces": [{"name": "a", "passtBinding": {}}]}), "passt", 250),
        (vmi(devices={"interfaces": [{"name": "a", "passt": {}}]}), "passt", 250),
        (vmi(devices={"hostDevices": [{}]}), "passthrough devices", 1024),
        (vmi(domain={"cpu": None, **resources({"cpu": "3"})}), "vCPUs", 24),
        (vmi(domain={"cpu": None, **resources({"cpu": "3"}, {"cpu": "5"})}), "vCPUs", 40),
        (vmi(domain={"cpu": None}), "vCPUs", 8),
        (vmi(domain={"cpu": {}}), "vCPUs", 8),
    ],
)  # fmt: skip
def test_parts_of_the_overhead(made, part, mib):
    assert launch(made).overhead.get(part) == (None if mib is None else mib * MI)


def test_each_binding_plugin_in_use_counts_once_and_after_the_ratio():
    plug = {"computeResourceOverhead": {"requests": {"memory": "77Mi"}}}
    interfaces = [{"name": name, "binding": {"name": "plug"}} for name in "ab"]
    interfaces.append({"name": "c", "binding": {"name": "bare"}})
    made = vmi(devices={"interfaces": interfaces})
    network = {"binding": {"plug": plug, "bare": {}, "unused": plug}}
    once = launch(made, network=network).overhead
    twice = launch(made, network=network, additionalGuestMemoryOverheadRatio="2").overhead
    assert once["network bindings"] == twice["network bindings"] == 77 * MI


@pytest.mark.parametrize("ratio", ["1e400", "-inf", "0x10", " 2", "1_0", "two"])
def test_a_ratio_that_kubevirt_cannot_read_changes_nothing(ratio):
    found = launch(vmi(), additionalGuestMemoryOverheadRatio=ratio)
    assert "cluster ratio" not in found.overhead


def test_an_enormous_ratio_does_not_break_anything():
    assert launch(vmi(), additionalGuestMemoryOverheadRatio="1e308").overhead_bytes > 0


# -- the compute container -------------------------------------------------------------------


def compute(made, **settings):
    return launch(made, **settings).containers[0]


@pytest.mark.parametrize(
    ("ratio", "count", "cpu"),
    [
        (7, 1, "142857143n"),
        (7, 12, "1714285715n"),
        (1_000_000, 1, "1u"),
        (10_000_000, 1, "100n"),
        (3, 3, "1"),
        (None, 2, "200m"),
    ],
)
def test_a_share_of_the_cpus(ratio, count, cpu):
    made = vmi(domain={"cpu": {"sockets": count}})
    developer = {} if ratio is None else {"cpuAllocationRatio": ratio}
    assert str(compute(made, developer=developer).requests["cpu"]) == cpu


def test_a_share_too_small_to_write_is_a_refusal_and_still_an_amount():
    found = launch(
        vmi(domain={"cpu": {"sockets": 1}}), developer={"cpuAllocationRatio": 100_000_000}
    )
    assert found.refusal == Refusal("CpuRequestUnwritable")
    assert str(found.containers[0].requests["cpu"]) == "10n"


def test_without_a_topology_nothing_is_shared():
    assert "cpu" not in compute(vmi(domain={"cpu": {}})).requests


@pytest.mark.parametrize(
    ("given", "requests", "limits"),
    [
        (resources({"cpu": "3"}, {"cpu": "3"}), "5", "5"),
        (resources({"cpu": "3"}), "5", None),
        (resources(), None, None),
    ],
)
def test_pinned_cpus_without_a_topology_are_what_is_asked_for(given, requests, limits):
    pool = {"ioThreads": {"supplementalPoolThreadCount": 2}}
    found = compute(vmi(domain={"cpu": {"dedicatedCpuPlacement": True}, **pool, **given}))
    assert amounts(found.requests).get("cpu") == requests
    assert amounts(found.limits).get("cpu") == limits


def test_an_emulator_thread_without_any_cpu():
    cpu = {"dedicatedCpuPlacement": True, "isolateEmulatorThread": True}
    found = compute(vmi(domain={"cpu": cpu}))
    assert str(found.limits["cpu"]) == "1"
    assert "cpu" not in found.requests


@pytest.mark.parametrize(
    ("count", "pool", "policy", "total"),
    [
        (3, 0, None, 4),
        (4, 0, None, 6),
        (4, 1, None, 6),
        (2, 1, "supplementalPool", 5),
        (4, 1, "supplementalPool", 7),
        (4, 2, "supplementalPool", 8),
    ],
)
def test_even_parity_counts_the_pool_twice(count, pool, policy, total):
    cpu = {"cores": count, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}
    domain = {"cpu": cpu, "ioThreads": {"supplementalPoolThreadCount": pool}}
    if policy:
        domain["ioThreadsPolicy"] = policy
    parity = {"alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity": ""}
    found = compute(vmi(domain=domain, annotations=parity))
    assert str(found.requests["cpu"]) == str(found.limits["cpu"]) == str(total)


def test_no_memory_at_all_is_the_overhead():
    found = launch(vmi(domain={"memory": {}}))
    assert found.containers[0].requests["memory"].value == found.overhead_bytes
    pinned = {"sockets": 1, "dedicatedCpuPlacement": True}
    found = launch(vmi(domain={"memory": {}, "cpu": pinned}))
    assert "memory" not in found.containers[0].limits


def test_storage_is_added_to_requests_and_limits():
    found = compute(vmi(domain=resources({"ephemeral-storage": "1G"}, {"ephemeral-storage": "2G"})))
    assert str(found.requests["ephemeral-storage"]) == "1050M"
    assert str(found.limits["ephemeral-storage"]) == "2050M"


@pytest.mark.parametrize(
    ("ratio", "expected"), [("1.5", 3), ("1", 2), ("0.9", 4), ("many", 4), (None, 4)]
)
def test_a_quota_on_memory_limits_makes_one(ratio, expected):
    made = vmi(domain=resources({"memory": "1Gi"}))
    labels = {} if ratio is None else {"alpha.kubevirt.io/auto-memory-limits-ratio": ratio}
    found = compute(made, quota=["limits.memory"], labels=labels)
    assert found.limits["memory"].value == found.requests["memory"].value * expected // 2
    assert "memory" not in compute(made).limits


@pytest.mark.parametrize(
    ("labels", "quota", "given", "limited"),
    [
        ({"auto": "yes"}, [], {}, "2"),
        ({"auto": "no"}, [], {}, None),
        ({}, ["limits.cpu"], {}, "2"),
        ({"auto": "yes"}, ["limits.cpu"], {"cpu": "7"}, "7"),
    ],
)
def test_cpu_limits_by_themselves(labels, quota, given, limited):
    selector = {"matchExpressions": [{"key": "auto", "operator": "In", "values": ["yes"]}]}
    found = compute(
        vmi(domain=resources(None, given)),
        labels=labels,
        quota=quota,
        autoCPULimitNamespaceLabelSelector=selector,
    )
    assert amounts(found.limits).get("cpu") == limited


# -- devices ---------------------------------------------------------------------------------


def test_devices_of_features_and_gates():
    security = {"launchSecurity": {"sev": {}, "tdx": {}}}
    disks = [{"name": "d", "lun": {"reservation": True}}, {"name": "e", "disk": {}}]
    made = vmi(domain=security, devices={"disks": disks, "autoattachVSOCK": True})
    found = compute(made, gates=["IOMMUFD"])
    own = {name.removeprefix(DEVICES) for name in found.requests if name.startswith(DEVICES)}
    limited = {name.removeprefix(DEVICES) for name in found.limits if name.startswith(DEVICES)}
    assert own == {"sev", "tdx", "pr-helper", "iommufd"}
    assert limited == {"kvm", "tun", "vhost-net", "vhost-vsock"} | own


def test_a_device_named_like_a_native_resource_is_added_to_it():
    found = compute(vmi(devices={"gpus": [{"name": "g", "deviceName": "cpu"}]}))
    assert (str(found.requests["cpu"]), str(found.limits["cpu"])) == ("1200m", "1")


def test_a_resource_that_the_user_lists_too_replaces_the_count():
    gpus = [{"name": str(index), "deviceName": "a/b"} for index in range(3)]
    devices = {"gpus": gpus, "hostDevices": gpus[:1]}
    assert str(compute(vmi(devices=devices)).requests["a/b"]) == "4"
    found = compute(vmi(domain={**resources(None, {"a/b": "1"}), "devices": devices}))
    assert (str(found.requests["a/b"]), str(found.limits["a/b"])) == ("4", "1")


def claimed(**more):
    entry = {"name": "x", "claimName": "c", "requestName": "r"}
    network = {"name": "n", "resourceClaim": {"claimName": "c", "requestName": "n"}}
    return vmi(
        devices={"gpus": [entry], "hostDevices": [{**entry, "requestName": "h"}]},
        networks=[network],
        resourceClaims=[{"name": "c", "resourceClaimName": "a", "other": 1}],
        **more,
    )


@pytest.mark.parametrize(
    ("gates", "expected"),
    [
        ({}, [("c", "r"), ("c", "h")]),
        ({"disabled": ["GPUsWithDRA"]}, [("c", "h")]),
        ({"disabled": ["HostDevicesWithDRA"]}, [("c", "r")]),
        ({"gates": ["NetworkDevicesWithDRA"]}, [("c", "r"), ("c", "h"), ("c", "n")]),
    ],
)
def test_claims_follow_their_gates(gates, expected):
    found = launch(claimed(), **gates)
    assert found.containers[0].claims == tuple(expected)
    assert found.resource_claims == ({"name": "c", "resourceClaimName": "a"},)


def test_network_claims_are_those_of_networks_that_have_one():
    made = claimed()
    made["spec"]["networks"].insert(0, {"name": "p", "pod": {}})
    assert launch(made, gates=["NetworkDevicesWithDRA"]).containers[0].claims[-1] == ("c", "n")


def test_an_entry_with_both_asks_for_neither():
    entry = {"name": "x", "deviceName": "a/b", "claimName": "c", "requestName": "r"}
    found = launch(vmi(devices={"gpus": [entry]})).containers[0]
    assert found.claims == ()
    assert "a/b" not in found.requests


# -- refusals --------------------------------------------------------------------------------

LIST = {"pciHostDevices": [{"pciVendorSelector": "1:2", "resourceName": "a/b"}]}


@pytest.mark.parametrize(
    ("entry", "permitted", "gates", "refused"),
    [
        ({"deviceName": "a/b"}, LIST, {}, None),
        ({"deviceName": "a/c"}, LIST, {}, ("a/c",)),
        ({"deviceName": "a/c"}, None, {}, None),
        ({"deviceName": "a/b"}, {}, {}, ("a/b",)),
        ({}, LIST, {}, ("",)),
        ({"claimName": "c", "requestName": "r"}, LIST, {}, None),
        ({"claimName": "c", "requestName": "r"}, LIST, {"disabled": ["GPUsWithDRA"]}, ("",)),
    ],
)
def test_devices_that_are_not_permitted(entry, permitted, gates, refused):
    settings = {} if permitted is None else {"permittedHostDevices": permitted}
    found = launch(vmi(devices={"gpus": [{"name": "g", **entry}]}), **settings, **gates)
    assert found.refusal == (refused and Refusal("DeviceNotPermitted", refused))


def test_attachments_are_looked_up_only_where_no_injector_does_it():
    networks = [{"name": name, "multus": {"networkName": name}} for name in ("x/there", "gone")]
    made = vmi(networks=networks)
    off = {"disabled": ["ExternalNetResourceInjection"]}
    attachments = {"x/there": "a/vf"}
    assert launch(made, attachments=attachments).refusal is None
    found = launch(made, attachments=attachments, **off)
    assert found.refusal == Refusal("NetworkAttachmentMissing", ("ns/gone",))
    assert str(found.containers[0].requests["a/vf"]) == "1"
    found = launch(made, attachments={**attachments, "ns/gone": ""}, **off)
    assert found.refusal is None


def test_a_binding_plugin_that_the_cluster_does_not_have():
    made = vmi(devices={"interfaces": [{"name": "default", "binding": {"name": "plug"}}]})
    assert launch(made).refusal == Refusal("NetworkBindingUnknown", ("plug",))
    assert launch(made, network={"binding": {"plug": {}}}).refusal is None
    assert launch(made, network={}).refusal is not None


# -- the other containers --------------------------------------------------------------------

GUARANTEED = {
    "cpu": {"sockets": 1},
    "memory": {"guest": "1Gi"},
    **resources({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}),
}
DISK = [{"name": "root", "containerDisk": {"image": "x"}}, {"name": "pvc"}]


def names(containers):
    return [container.name for container in containers]


def test_containers_for_disks_and_kernels():
    firmware = {"firmware": {"kernelBoot": {"container": {"image": "x"}}}}
    found = launch(vmi(domain=firmware, volumes=DISK))
    images = ["volumeroot", "volumekernel-boot-volume"]
    assert names(found.containers) == ["compute"]
    assert names(found.init_containers) == ["guest-console-log", *images]
    found = launch(vmi(domain=firmware, volumes=DISK), disabled=["ImageVolume"])
    assert names(found.containers) == ["compute", *images]
    assert names(found.init_containers) == [
        "guest-console-log", "container-disk-binary", "volumeroot-init",
        "volumekernel-boot-volume-init",
    ]  # fmt: skip


def test_shared_file_systems():
    made = vmi(devices={"filesystems": [{"name": "root"}]}, volumes=DISK)
    (found,) = launch(made).containers[1:]
    assert found.name == "virtiofs-root"
    assert amounts(found.requests) == {"cpu": "10m", "memory": "1M"}
    assert amounts(found.limits) == {"cpu": "100m", "memory": "80M"}


def test_hooks_of_the_annotation_and_of_bindings():
    plugins = {"plug": {"sidecarImage": "x"}, "bare": {}}
    interfaces = [{"name": name, "binding": {"name": name}} for name in plugins]
    hooks = {"hooks.kubevirt.io/hookSidecars": '[{"image": "a"}, {"image": "b"}]'}
    made = vmi(devices={"interfaces": interfaces}, annotations=hooks)
    found = launch(made, network={"binding": plugins}).containers[1:]
    assert names(found) == ["hook-sidecar-0", "hook-sidecar-1", "hook-sidecar-2"]
    assert (found[0].requests, found[0].limits) == ({}, {})
    guaranteed = vmi(domain=GUARANTEED, annotations=hooks)
    (first, _) = launch(guaranteed).containers[1:]
    assert amounts(first.requests) == amounts(first.limits) == {"cpu": "200m", "memory": "64M"}


@pytest.mark.parametrize("guaranteed", [False, True])
def test_the_cluster_sets_amounts_of_helper_containers(guaranteed):
    given = {"requests": {"cpu": "3m", "memory": "x"}, "limits": {"memory": 5, "a/b": "1"}}
    settings = [{"type": "vmexport"}, {"type": "guest-console-log", "resources": given}]
    made = vmi(domain=GUARANTEED) if guaranteed else vmi()
    (found,) = launch(made, supportContainerResources=settings).init_containers
    assert amounts(found.limits) == {"cpu": "15m", "memory": "5"}
    requests = {"cpu": "15m", "memory": "5"} if guaranteed else {"cpu": "3m", "memory": "35M"}
    assert amounts(found.requests) == requests
    assert found.restart_policy == "Always"


def test_settings_without_amounts_change_nothing():
    settings = [{"type": "guest-console-log"}]
    (found,) = launch(vmi(), supportContainerResources=settings).init_containers
    assert amounts(found.requests) == {"cpu": "5m", "memory": "35M"}


@pytest.mark.parametrize(
    ("requests", "limits", "wants"),
    [
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, True),
        ({"cpu": "1"}, {"cpu": "1", "memory": "1Gi"}, True),
        ({"cpu": "1", "memory": "1Mi"}, {"cpu": "1", "memory": "1Gi"}, False),
        ({"memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, False),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "1"}, False),
    ],
)
def test_who_wants_guaranteed_resources(requests, limits, wants):
    found = launch(vmi(domain=resources(requests, limits))).overhead
    assert ("guaranteed resources" in found) is wants


# -- node rules ------------------------------------------------------------------------------


def added(made, **settings):
    base = {"kubevirt.io/schedulable", "kubernetes.io/arch"}
    return {name for name in launch(made, **settings).node_selector if name not in base}


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        ({"cpu": {"model": "Haswell"}}, {"cpu-model.node.kubevirt.io/Haswell"}),
        ({"cpu": {"model": "host-passthrough"}}, set()),
        (
            {"cpu": {"model": "host-model", "features": [
                {"name": "a"}, {"name": "b", "policy": "require"}, {"name": "c", "policy": "force"},
            ]}},
            {"cpu-feature.node.kubevirt.io/a", "cpu-feature.node.kubevirt.io/b"},
        ),
        ({"cpu": {"features": [{"name": "a"}]}}, set()),
        ({"cpu": {"realtime": {}}}, {"kubevirt.io/realtime"}),
        ({"machine": {"type": "pc"}}, {"machine-type.node.kubevirt.io/pc"}),
        ({"launchSecurity": {"sev": {"policy": {"encryptedState": True}}}},
         {"kubevirt.io/sev", "kubevirt.io/sev-es"}),
        ({"launchSecurity": {"snp": {}}}, {"kubevirt.io/sev", "kubevirt.io/sev-snp"}),
        ({"launchSecurity": {"tdx": {}}}, {"kubevirt.io/tdx"}),
    ],
)  # fmt: skip
def test_labels_for_features(domain, labels):
    assert added(vmi(domain=domain)) == labels


def test_secure_execution_is_launch_security_on_s390x():
    made = vmi(domain={"launchSecurity": {}}, architecture="s390x")
    assert added(made) == {"kubevirt.io/s390-pv"}


def test_hyperv_is_looked_at_only_strictly():
    hyperv = {
        "vpindex": {"enabled": True}, "synic": {"enabled": False}, "ipi": {}, "evmcs": {},
    }  # fmt: skip
    made = vmi(domain={"features": {"hyperv": hyperv}})
    assert added(made) == set()
    assert added(made, gates=["HypervStrictCheck"]) == {
        "hyperv.node.kubevirt.io/vpindex", "cpu-vendor.node.kubevirt.io/Intel",
    }  # fmt: skip
    hyperv["evmcs"] = {"enabled": False}
    assert added(made, gates=["HypervStrictCheck"]) == {"hyperv.node.kubevirt.io/vpindex"}


def test_a_guest_of_another_architecture():
    made = vmi(architecture="ARM64", nodeSelector={"kubernetes.io/arch": "amd64"})
    assert launch(made).node_selector["kubernetes.io/arch"] == "amd64"
    found = launch(made, gates=["CrossArchitectureVirtualization"])
    assert "kubernetes.io/arch" not in found.node_selector
    assert found.node_selector["kubevirt.io/vm-arch-ARM64"] == "true"
    (preferred,) = found.affinity["nodeAffinity"][PREFERRED]
    assert preferred["preference"]["matchExpressions"][0]["values"] == ["arm64"]


def test_what_kubevirt_avoids_is_added_to_every_term():
    expression = {"key": "zone", "operator": "Exists"}
    terms = [{"matchExpressions": [expression]}, {"matchFields": []}]
    own = {"podAffinity": {}, "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    obsolete = {"key": "node-labeller.kubevirt.io/obsolete-host-model", "operator": "DoesNotExist"}
    found = launch(vmi(affinity=own)).affinity
    assert found["podAffinity"] == {}
    assert found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {"matchExpressions": [expression, obsolete]},
        {"matchFields": [], "matchExpressions": [obsolete]},
    ]
    assert launch(vmi(domain={"cpu": {"model": "x"}}, affinity=own)).affinity == own
    assert launch(vmi(domain={"cpu": {"model": "x"}})).affinity == {}


def test_the_rest_is_copied():
    found = launch(
        vmi(
            tolerations=[{"key": "a"}],
            topologySpreadConstraints=[{"maxSkew": 1}],
            schedulerName="mine",
            priorityClassName="high",
            domain={"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}},
        ),
        defaultRuntimeClass="kata",
    )
    assert found.tolerations == ({"key": "a"},)
    assert found.topology_spread == ({"maxSkew": 1},)
    assert (found.scheduler, found.priority_class) == ("mine", "high")
    assert found.runtime_class == "kata"
    assert found.hugepages_volumes == ("hugepages", "hugetblfs-dir")


# -- annotations -----------------------------------------------------------------------------


def test_annotations_of_networks():
    interfaces = [
        {"name": "a", "sriov": {}, "macAddress": "02:00:00:00:00:01"},
        {"name": "b", "bridge": {}, "state": "absent"},
        {"name": "c", "binding": {"name": "plug"}},
        {"name": "d", "bridge": {}},
    ]
    networks = [
        {"name": "a", "multus": {"networkName": "<nad>"}},
        {"name": "b", "multus": {"networkName": "nad"}},
        {"name": "c", "pod": {}},
        {"name": "d", "multus": {"networkName": "x/first", "default": True}},
        {"name": "e", "multus": {"networkName": "unused", "default": True}},
    ]
    plugins = {"plug": {"networkAttachmentDefinition": "kubevirt/plug"}}
    kept = {
        "mine": "1",
        "kubectl.kubernetes.io/x": "2",
        "kubevirt.io/latest-observed-api-version": "",
    }
    made = vmi(devices={"interfaces": interfaces}, networks=networks, annotations=kept)
    found = launch(made, network={"binding": plugins}).annotations
    assert found.pop("kubevirt.io/memory-overhead-bytes") == str(
        launch(made, network={"binding": plugins}).overhead_bytes
    )
    assert found == {
        "mine": "1",
        "k8s.v1.cni.cncf.io/networks": (
            '[{"name":"\\u003cnad\\u003e","namespace":"ns","mac":"02:00:00:00:00:01",'
            '"interface":"podca978112ca1"},'
            '{"name":"plug","namespace":"kubevirt","cni-args":{"logicNetworkName":"c"}}]'
        ),
        "v1.multus-cni.io/default-network": "x/first",
    }


# -- the configuration in force ----------------------------------------------------------------


@pytest.mark.parametrize("field", ["cpuAllocationRatio", "memoryOvercommit"])
def test_a_configuration_that_kubevirt_refuses_counts_as_none(field):
    refused = kubevirt(gates=["IOMMUFD"], developer={field: -1}, cpuModel="x")
    assert in_force(refused).spec is None
    assert surroundings(refused).configuration == Configuration()
    assert not surroundings(refused).gates.on("IOMMUFD")
    zero = kubevirt(gates=["IOMMUFD"], developer={field: 0})
    assert in_force(zero) is zero
    assert in_force(None) is None


def test_numbers_of_zero_are_the_defaults():
    found = around(developer={"cpuAllocationRatio": 0, "memoryOvercommit": 0, "useEmulation": True})
    assert (found.cpu_ratio, found.overcommit, found.emulates) == (10, 100, True)
    bare = surroundings(None)
    assert (bare.cpu_ratio, bare.overcommit, bare.emulates) == (10, 100, False)
    assert (bare.node_selectors, bare.support("sidecar")) == ({}, ({}, {}))


def test_amounts_are_exact():
    found = launch(vmi(domain=resources({"memory": "1500m"})))
    memory = found.containers[0].requests["memory"]
    assert memory == parse_quantity("1500m") + parse_quantity(str(found.overhead_bytes))


def test_amounts_beyond_64_bits_are_counted_as_the_most():
    made = vmi(domain={"cpu": {"sockets": 2**80}, **resources({"memory": "1e40", "a/b": "1e40"})})
    record = launch(made).containers[0].record()
    assert record.resources.requests["a/b"] == str(2**63 - 1)
    assert "cpu" not in record.resources.requests


def test_shares_are_cut_to_64_bits():
    assert share(10, 1.25) == 12
    assert share(10**400, 2.0) == share(5, 1e308) == 2**63 - 1
    assert share(10**400, -2.0) == -(2**63 - 1)
