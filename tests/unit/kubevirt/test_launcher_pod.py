"""The launcher pod: sums worked out by hand from KubeVirt's rules."""

import pytest
from tests.builders import GPU, T4, VF, attachment, cluster, kubevirt, machine, obj, quota, vm
from tests.builders import launcher as rendered

from passway.cluster.records import Configuration, Toleration
from passway.kubevirt.launch import Refusal
from passway.kubevirt.overhead import WHY, _feature_parts, _guest_parts, _network_parts
from passway.kubevirt.traits import vcpus
from passway.kubevirt.vmi import cluster_settings, mutated

MI = 2**20
GI = 2**30
BASE = 220 + 8 + 32
"""MiB of overhead without vCPUs: launcher, libvirt and QEMU; the I/O thread; graphics."""
QUIET = {"logSerialConsole": False}
"""Devices of a VM without the console log, whose container has requests of its own."""


LIMITED = quota("limits", {"limits.cpu": "1k", "limits.memory": "1Ti"})
"""A quota that makes KubeVirt set limits."""


def launcher(made, functions=None, *, objects=(LIMITED,), **configuration):
    config = kubevirt(**configuration) if configuration else None
    snapshot = cluster(*([config] if config else []), *objects)
    return rendered(machine(made), snapshot, functions or {})


def quiet(*, devices=None, **options):
    return vm(devices={**QUIET, **(devices or {})}, **options)


def cpu_of(made, **configuration):
    return launcher(made, **configuration).requests["cpu"]


def overhead(made, **configuration):
    return sum(launcher(made, **configuration).overhead.values())


def resources(requests=None, limits=None, **rest):
    found = {"requests": requests, "limits": limits, **rest}
    return {"resources": {key: value for key, value in found.items() if value is not None}}


# -- the worked example of the facts --------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "overhead_mib"),
    [
        pytest.param({}, 1316, id="guest memory"),
        pytest.param({"domain": resources({"memory": "16Gi"})}, 1316 + 32, id="requested memory"),
        pytest.param({"cpu": {"cores": 4, "dedicatedCpuPlacement": True}}, 1416, id="dedicated"),
        pytest.param(
            {
                "domain": resources({"memory": "16Gi"}),
                "cpu": {"cores": 4, "dedicatedCpuPlacement": True},
            },
            1448, id="both",
        ),
    ],
)  # fmt: skip
def test_four_cpus_sixteen_gib_and_one_gpu(options, overhead_mib):
    given = {"cpu": {"cores": 4}, "memory": {"guest": "16Gi"}, "gpus": [GPU], **options}
    pod = launcher(quiet(**given))
    # 16Gi / 512 is 32Mi only almost: KubeVirt divides thousands of bytes.
    assert sum(pod.overhead.values()) // MI == overhead_mib
    assert sum(pod.overhead.values()) - overhead_mib * MI in {0, 1}
    assert pod.requests["memory"] == 16 * GI + sum(pod.overhead.values())
    assert pod.requests[GPU] == 1


def test_the_parts_of_the_overhead_are_told():
    given = {"cpu": {"cores": 4}, "memory": {"guest": "16Gi"}, "gpus": [GPU]}
    assert launcher(vm(**given)).overhead == {
        "launcher, libvirt and QEMU": 220 * MI,
        "vCPUs": 32 * MI,
        "I/O thread": 8 * MI,
        "graphics": 32 * MI,
        "passthrough devices": 1024 * MI,
    }


def test_every_part_says_why():
    parts = {
        **_guest_parts({}, "amd64", 0), **_feature_parts({}), "cluster ratio": 0,
        **_network_parts({}, Configuration()),
    }  # fmt: skip
    assert [*parts] == [*WHY]


# -- overhead -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "mib"),
    [
        pytest.param({}, BASE + 16, id="two cores"),
        pytest.param({"cpu": {"sockets": 2, "cores": 3, "threads": 2}}, BASE + 96, id="12 vCPUs"),
        pytest.param({"devices": {"autoattachGraphicsDevice": False}}, BASE - 16, id="no graphics"),
        pytest.param({"devices": {"autoattachGraphicsDevice": True}}, BASE + 16, id="graphics"),
        pytest.param({"architecture": "arm64"}, BASE + 144, id="arm64"),
        pytest.param({"architecture": "amd64"}, BASE + 16, id="amd64"),
        pytest.param({"gpus": [GPU, GPU, T4]}, BASE + 1040, id="once, not for each device"),
        pytest.param({"host_devices": ["a/usb"]}, BASE + 1040, id="a host device"),
        pytest.param({"sriov": ["net"]}, BASE + 1040, id="an SR-IOV interface"),
        pytest.param({"devices": {"tpm": {}}}, BASE + 69, id="TPM"),
        pytest.param(
            {"memory": {"guest": "4Gi", "reservedOverhead": {"addedOverhead": "100Mi"}}},
            BASE + 116, id="reserved",
        ),
    ],
)  # fmt: skip
def test_what_adds_to_the_overhead(options, mib):
    assert overhead(vm(**options)) == mib * MI


def test_a_device_of_a_claim_counts_as_well():
    claim = {"name": "g", "claimName": "c", "requestName": "r"}
    made = vm(
        devices={"gpus": [claim]},
        resourceClaims=[{"name": "c", "resourceClaimTemplateName": "t"}],
    )
    pod = launcher(made)
    assert pod.overhead["passthrough devices"] == 1024 * MI
    assert not [resource for resource in pod.requests if "nvidia" in resource]


@pytest.mark.parametrize(
    ("requests", "limits", "adds"),
    [
        ({"cpu": "2", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}, True),
        ({"cpu": "2", "memory": "1024Mi"}, {"cpu": "2", "memory": "1Gi"}, True),
        ({}, {"cpu": "2", "memory": "1Gi"}, True),
        ({"cpu": "2"}, {"cpu": "2000m", "memory": "1024Mi"}, True),
        ({"cpu": "1", "memory": "1Gi"}, {"cpu": "2", "memory": "1Gi"}, False),
        ({"memory": "1Gi"}, {"memory": "1Gi"}, False),
        ({"cpu": "0", "memory": "1Gi"}, {"cpu": "0", "memory": "1Gi"}, False),
        ({"cpu": "2", "memory": "1Gi"}, {}, False),
    ],
)
def test_requests_that_equal_their_limits_cost_like_dedicated_cpus(requests, limits, adds):
    pod = launcher(vm(domain=resources(requests, limits)))
    assert pod.overhead.get("guaranteed resources", 0) == (100 * MI if adds else 0)


@pytest.mark.parametrize(
    ("ratio", "total"),
    [
        # 276Mi are 289406.976 thousand bytes, rounded up before they are multiplied.
        ("1", 289_406_976),
        ("1.0", 289_406_976),
        ("2", 289_406_976 + 289_407_000),
        ("1.5", 289_406_976 + 144_703_000),
        ("0.5", 289_406_976 - 144_703_000),
        ("", 289_406_976),
        ("many", 289_406_976),
        ("nan", 289_406_976),
        ("inf", 289_406_976),
    ],
)
def test_the_cluster_may_multiply_the_overhead(ratio, total):
    assert overhead(vm(), additionalGuestMemoryOverheadRatio=ratio) == total


def test_page_tables_are_counted_in_thousands_of_bytes():
    pod = launcher(vm(domain=resources({"memory": "1Gi"})))
    assert pod.overhead["page tables"] == 1_073_742_000 // 512 == 2_097_152
    pod = launcher(vm(domain=resources({"memory": "16Gi"}), memory={"guest": "16Gi"}))
    assert pod.overhead["page tables"] == 17_179_870_000 // 512 == 32 * MI + 1


# -- CPU ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "configuration", "thousandths"),
    [
        pytest.param({"cpu": {"cores": 4}}, {}, 400, id="a tenth by default"),
        pytest.param({"cpu": {"cores": 1}}, {"developer": {"cpuAllocationRatio": 3}}, 334,
                     id="rounded up"),
        pytest.param({"cpu": {"cores": 4}}, {"developer": {"cpuAllocationRatio": 1}}, 4000,
                     id="one to one"),
        pytest.param({"cpu": {"cores": 4}}, {"developer": {"cpuAllocationRatio": 0}}, 400,
                     id="zero is the default"),
        pytest.param({"cpu": {"cores": 4}}, {"developer": {"cpuAllocationRatio": -1}}, 400,
                     id="so is a negative one"),
        pytest.param({"cpu": {"sockets": 2, "cores": 2, "threads": 2}}, {}, 800, id="topology"),
        pytest.param({"cpu": {"cores": 0, "threads": 2}}, {}, 200, id="zero parts are left out"),
        pytest.param({"cpu": {"cores": 4}, "domain": resources({"cpu": "1500m"})}, {}, 1500,
                     id="requested"),
        pytest.param({"cpu": {"cores": 4}, "domain": resources(None, {"cpu": "3"})}, {}, 3000,
                     id="a limit is the request"),
        pytest.param({"cpu": {"cores": 4}, "domain": resources({"cpu": "1"}, {"cpu": "3"})}, {},
                     1000, id="the request, not the limit"),
        pytest.param({"cpu": {"cores": 4}}, {"cpuRequest": "250m"}, 250, id="of the cluster"),
        pytest.param({"cpu": {"cores": 4}}, {"cpuRequest": 1}, 1000, id="of the cluster, a number"),
        pytest.param({"cpu": {"cores": 4}}, {"cpuRequest": "100m"}, 400, id="100m is the default"),
        pytest.param({"cpu": {"cores": 4}}, {"cpuRequest": "0.1"}, 400, id="however written"),
        pytest.param({"cpu": {"cores": 4}}, {"cpuRequest": "lots"}, 400, id="no quantity"),
        pytest.param({"cpu": {"cores": 4}, "domain": resources({"cpu": "1"})},
                     {"cpuRequest": "250m"}, 1000, id="its own before the cluster's"),
        pytest.param({"cpu": {"cores": 4, "dedicatedCpuPlacement": True}}, {"cpuRequest": "250m"},
                     4000, id="dedicated"),
        pytest.param(
            {"cpu": {"cores": 4, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}},
            {}, 5000, id="dedicated, and one for the emulator",
        ),
        pytest.param({"cpu": {"cores": 4, "isolateEmulatorThread": True}}, {}, 400,
                     id="no emulator thread without dedicated CPUs"),
        pytest.param({"domain": {"ioThreads": {"supplementalPoolThreadCount": 4}}}, {}, 600,
                     id="threads of the I/O pool count"),
        pytest.param(
            {
                "cpu": {"cores": 2, "dedicatedCpuPlacement": True},
                "domain": {"ioThreads": {"supplementalPoolThreadCount": 4}},
            },
            {}, 6000, id="and are dedicated too",
        ),
    ],
)  # fmt: skip
def test_the_cpu_request(options, configuration, thousandths):
    assert cpu_of(quiet(**options), **configuration) == thousandths


@pytest.mark.parametrize(
    ("cpu", "given", "expected"),
    [
        ({"cores": 4}, {}, 4),
        ({"sockets": 2, "cores": 3, "threads": 2}, {}, 12),
        ({"sockets": 2}, {"limits": {"cpu": "8"}}, 2),
        ({"model": "host-model"}, {}, 1),
        ({"model": "x"}, {"limits": {"cpu": "8"}, "requests": {"cpu": "4"}}, 8),
        ({"model": "x"}, {"requests": {"cpu": "1500m"}}, 2),
        ({"model": "x"}, {"requests": {"cpu": "0"}}, 1),
        ({"cores": 0}, {}, 1),
    ],
)
def test_the_number_of_vcpus(cpu, given, expected):
    spec = machine(vm(cpu=cpu, domain={"resources": given}))
    assert vcpus(mutated(spec, cluster_settings(None)).vmi) == expected


# -- memory ---------------------------------------------------------------------------------------

TWO_CORES = (BASE + 16) * MI


@pytest.mark.parametrize(
    ("options", "configuration", "expected"),
    [
        pytest.param({}, {}, 4 * GI + TWO_CORES, id="guest"),
        pytest.param({}, {"developer": {"memoryOvercommit": 200}}, 2 * GI + TWO_CORES,
                     id="overcommitted"),
        pytest.param({}, {"developer": {"memoryOvercommit": 0}}, 4 * GI + TWO_CORES,
                     id="zero is the default"),
        pytest.param({"memory": {"guest": "100"}}, {"developer": {"memoryOvercommit": 150}},
                     66 + TWO_CORES, id="rounded down"),
        pytest.param({"domain": resources({"memory": "1Gi"})}, {},
                     GI + TWO_CORES + 2 * MI, id="requested, with page tables"),
        pytest.param({"domain": resources({"memory": "1Gi"}, {"memory": "2Gi"})}, {},
                     GI + TWO_CORES + 2 * MI, id="the request, not the limit"),
        pytest.param({"domain": resources({"memory": "1Gi"})},
                     {"developer": {"memoryOvercommit": 200}}, GI + TWO_CORES + 2 * MI,
                     id="a request is not overcommitted"),
        pytest.param({"domain": resources(None, {"memory": "2Gi"})}, {}, 2 * GI + TWO_CORES,
                     id="a limit alone, without page tables"),
        pytest.param({"domain": resources({"memory": "0"}, {"memory": "2Gi"})}, {},
                     2 * GI + TWO_CORES, id="a request of zero is none beside a limit"),
        pytest.param({"domain": resources({"memory": "0"})}, {}, TWO_CORES,
                     id="a request of zero alone is taken as it is"),
        pytest.param({"domain": resources({"memory": "1Gi"}, overcommitGuestOverhead=True)}, {},
                     GI, id="without the overhead"),
        pytest.param({"memory": {"maxGuest": "1Gi"}}, {}, TWO_CORES, id="no memory at all"),
    ],
)  # fmt: skip
def test_the_memory_request(options, configuration, expected):
    pod = launcher(quiet(**options), **configuration)
    assert pod.requests["memory"] == expected


@pytest.mark.parametrize(
    ("memory", "given", "pages", "ordinary"),
    [
        pytest.param({"guest": "4Gi"}, {}, 4 * GI, 0, id="guest"),
        pytest.param({}, {}, GI, 0, id="one page"),
        pytest.param({}, {"requests": {"memory": "2Gi"}}, 2 * GI, 4 * MI, id="requested"),
        pytest.param({}, {"limits": {"memory": "2Gi"}}, 2 * GI, 0, id="limited"),
        pytest.param({"guest": "4Gi"}, {"requests": {"memory": "6Gi"}}, 4 * GI, 2 * GI + 12 * MI,
                     id="more than the guest is ordinary memory"),
        pytest.param({"guest": "4Gi"}, {"requests": {"memory": "2Gi"}}, 2 * GI, 4 * MI,
                     id="less than the guest is less pages"),
        pytest.param({"guest": "4Gi"}, {"overcommitGuestOverhead": True}, 4 * GI, 0,
                     id="the overhead stays"),
    ],
)  # fmt: skip
def test_hugepages(memory, given, pages, ordinary):
    made = quiet(memory={"hugepages": {"pageSize": "1Gi"}, **memory}, domain={"resources": given})
    pod = launcher(made)
    assert pod.requests["hugepages-1Gi"] == pages
    # Page tables of 6Gi: 6442451000 // 512 is one byte more than 12Mi.
    assert pod.requests["memory"] - TWO_CORES - ordinary in {0, 1}


def test_overcommitted_memory_takes_fewer_hugepages_than_the_guest_needs():
    made = vm(memory={"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}})
    pod = launcher(made, developer={"memoryOvercommit": 200})
    assert pod.requests["hugepages-2Mi"] == 2 * GI


def test_the_page_size_is_taken_as_it_is_written():
    pod = launcher(vm(memory={"guest": "4Gi", "hugepages": {"pageSize": "1024Mi"}}))
    assert pod.requests["hugepages-1024Mi"] == 4 * GI


def test_a_page_size_that_is_none_does_not_stop_the_rest():
    pod = launcher(vm(memory={"hugepages": {"pageSize": "huge"}}, gpus=[GPU]))
    assert pod.requests[GPU] == 1


def test_ephemeral_storage():
    assert launcher(vm()).requests["ephemeral-storage"] == 50_000_000
    pod = launcher(vm(domain=resources({"ephemeral-storage": "1G"})))
    assert pod.requests["ephemeral-storage"] == 1_050_000_000


# -- the console log ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "configuration", "logs"),
    [
        ({}, {}, True),
        ({"logSerialConsole": True}, {}, True),
        ({"logSerialConsole": False}, {}, False),
        ({"autoattachSerialConsole": False}, {}, False),
        ({"autoattachSerialConsole": False, "logSerialConsole": True}, {}, False),
        ({"autoattachSerialConsole": True}, {}, True),
        ({}, {"virtualMachineOptions": {}}, True),
        ({}, {"virtualMachineOptions": {"disableSerialConsoleLog": {}}}, False),
        (
            {"logSerialConsole": True},
            {"virtualMachineOptions": {"disableSerialConsoleLog": {}}},
            True,
        ),
    ],
)
def test_the_console_log_is_a_container_of_its_own(devices, configuration, logs):
    pod = launcher(vm(devices=devices), **configuration)
    assert pod.requests["cpu"] == 200 + (5 if logs else 0)
    assert pod.requests["memory"] == 4 * GI + TWO_CORES + (35_000_000 if logs else 0)
    assert pod.limits["cpu"] == 2000 + (15 if logs else 0)
    assert pod.limits["memory"] == 2 * (4 * GI + TWO_CORES) + (60_000_000 if logs else 0)


def test_the_console_log_of_dedicated_cpus_requests_its_limits():
    pod = launcher(vm(cpu={"cores": 2, "dedicatedCpuPlacement": True}))
    assert pod.requests["cpu"] == 2015
    assert pod.requests["memory"] == 4 * GI + TWO_CORES + 100 * MI + 60_000_000


# -- limits that a quota counts ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "cpu", "memory"),
    [
        pytest.param({}, 2000, 2 * (4 * GI + TWO_CORES), id="vCPUs, and twice the request"),
        pytest.param(
            {"domain": resources({"cpu": "1", "memory": "1Gi"}, {"cpu": "3", "memory": "2Gi"})},
            3000, 2 * GI + TWO_CORES + 2 * MI, id="its own, with the overhead",
        ),
        pytest.param(
            {"cpu": {"cores": 2, "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}},
            3000, 4 * GI + TWO_CORES + 100 * MI, id="dedicated: the requests",
        ),
        pytest.param(
            {"memory": {"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}}},
            2000, 2 * TWO_CORES, id="hugepages are not memory",
        ),
        pytest.param(
            {
                "memory": {"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}},
                "domain": resources({"memory": "4Gi"}, {"memory": "5Gi"}),
            },
            2000, GI + TWO_CORES + 8 * MI + 1, id="hugepages with a limit above the guest",
        ),
        pytest.param(
            {
                "memory": {"hugepages": {"pageSize": "2Mi"}},
                "domain": resources(None, {"memory": "5Gi"}),
            },
            2000, TWO_CORES, id="hugepages with a limit, which is the guest then",
        ),
    ],
)  # fmt: skip
def test_limits(options, cpu, memory):
    assert launcher(quiet(**options)).limits == {"cpu": cpu, "memory": memory}


# -- devices --------------------------------------------------------------------------------------


def test_devices_of_one_name_add_up_whatever_list_they_stand_in():
    made = vm(gpus=[GPU, GPU, T4], host_devices=[GPU], sriov=["net"])
    pod = launcher(made, functions={VF: 2, T4: 1})
    assert {name: pod.requests[name] for name in (GPU, T4, VF)} == {GPU: 3, T4: 2, VF: 2}
    assert pod.requests["pods"] == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"requests": {GPU: "1"}}, 1),
        ({"requests": {GPU: "1"}, "limits": {GPU: "1"}}, 1),
        ({"limits": {GPU: "1"}}, 2),
        ({}, 2),
    ],
)
def test_a_request_of_the_user_replaces_the_count(given, expected):
    pod = launcher(vm(gpus=[GPU, GPU], domain={"resources": given}))
    assert pod.requests[GPU] == expected


def test_other_resources_of_the_user_are_asked_for_too():
    given = {"requests": {"a/b": "2", "a/zero": "0"}, "limits": {"a/b": "3", "a/c": "4"}}
    requests = launcher(vm(domain={"resources": given})).requests
    assert (requests["a/b"], requests["a/c"]) == (2, 4)
    assert "a/zero" not in requests


@pytest.mark.parametrize(
    ("devices", "emulates", "expected"),
    [
        pytest.param({}, False, "kvm tun vhost-net", id="the usual"),
        pytest.param({}, True, "tun", id="emulation"),
        pytest.param({"interfaces": []}, False, "kvm tun vhost-net", id="a default interface"),
        pytest.param(
            {"interfaces": [], "autoattachPodInterface": False}, False, "kvm", id="no interface"
        ),
        pytest.param(
            {"interfaces": [], "autoattachPodInterface": False}, True, "", id="nothing at all"
        ),
        pytest.param(
            {"autoattachPodInterface": False}, False, "kvm tun vhost-net", id="an interface anyway"
        ),
        pytest.param(
            {"interfaces": [{"name": "default", "masquerade": {}, "model": "e1000"}]}, False,
            "kvm tun", id="not virtio",
        ),
        pytest.param(
            {"interfaces": [{"name": "default", "masquerade": {}, "model": "virtio"}]}, False,
            "kvm tun vhost-net", id="virtio",
        ),
    ],
)  # fmt: skip
def test_devices_of_kubevirt_itself(devices, emulates, expected):
    made = vm(devices=devices)
    if not devices.get("interfaces", True):
        made["spec"]["template"]["spec"]["networks"] = []
    pod = launcher(made, developer={"useEmulation": emulates})
    prefix = "devices.kubevirt.io/"
    found = {name.removeprefix(prefix): amount for name, amount in pod.requests.items()
             if name.startswith(prefix)}  # fmt: skip
    assert found == dict.fromkeys(expected.split(), 1)


# -- where it may go ------------------------------------------------------------------------------


def test_labels_that_every_node_needs():
    assert launcher(vm()).node_labels == {
        "kubevirt.io/schedulable": "true",
        "kubernetes.io/arch": "amd64",
        "machine-type.node.kubevirt.io/q35": "true",
    }
    made = vm(architecture="arm64", cpu={"cores": 2, "dedicatedCpuPlacement": True})
    assert launcher(made).node_labels == {
        "kubevirt.io/schedulable": "true",
        "kubernetes.io/arch": "arm64",
        "kubevirt.io/cpumanager": "true",
        "machine-type.node.kubevirt.io/virt": "true",
    }


def test_the_node_selector_of_the_cluster_gives_way_to_the_vms():
    made = vm(nodeSelector={"zone": "a", "own": "1"})
    pod = launcher(made, developer={"nodeSelectors": {"zone": "b", "all": "2"}})
    assert pod.node_selector == {"zone": "a", "own": "1", "all": "2"}
    assert launcher(vm()).node_selector == {}


def test_the_rules_of_the_vm_are_the_pods():
    terms = [{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}]
    made = vm(
        namespace="team",
        affinity={
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
            }
        },
        tolerations=[{"key": "k", "operator": "Exists"}],
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
        ],
        priorityClassName="high",
    )
    made["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
    pod = launcher(made)
    assert pod.namespace == "team"
    assert pod.labels == {
        "app": "x", "kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": "vm",
        "vmi.kubevirt.io/id": "vm",
    }  # fmt: skip
    assert pod.node_affinity.node_selector_terms[0].match_expressions[0].key == "zone"
    assert pod.tolerations == (Toleration(key="k", operator="Exists"),)
    assert [item.topology_key for item in pod.spread] == ["zone"]
    assert pod.priority_class == "high"


def test_without_rules_there_are_none():
    pod = launcher(vm())
    assert (pod.node_affinity, pod.tolerations, pod.spread) == (None, (), ())
    assert launcher(vm(affinity={"nodeAffinity": {}})).node_affinity is None


def test_a_selector_replaces_first_labels_but_not_those_of_features():
    own = {"kubevirt.io/schedulable": "false", "machine-type.node.kubevirt.io/q35": "false"}
    pod = launcher(vm(nodeSelector=own))
    assert pod.node_labels == {
        "kubernetes.io/arch": "amd64",
        "machine-type.node.kubevirt.io/q35": "true",
    }
    assert pod.node_selector == {"kubevirt.io/schedulable": "false"}


def test_labels_that_kubevirt_avoids_are_not_mixed_into_the_vms_affinity():
    cpu = {"cores": 2, "features": [{"name": "mpx", "policy": "forbid"}]}
    pod = launcher(vm(cpu=cpu))
    assert pod.avoided_labels == (
        "node-labeller.kubevirt.io/obsolete-host-model",
        "cpu-feature.node.kubevirt.io/mpx",
    )
    assert pod.node_affinity is None
    assert launcher(vm(cpu={"cores": 2, "model": "Haswell"})).avoided_labels == ()


# -- what the cluster adds --------------------------------------------------------------------


def test_without_a_quota_on_limits_there_are_none():
    pod = launcher(quiet(), objects=(quota("q", {"requests.memory": "1Ti"}),))
    assert pod.limits == {}
    elsewhere = quota("q", {"limits.memory": "1Ti"}, namespace="other")
    assert launcher(quiet(), objects=(elsewhere,)).limits == {}
    without = obj("v1", "ResourceQuota", "q", "default")
    assert launcher(quiet(), objects=(without,)).limits == {}


def test_a_namespace_may_have_a_ratio_of_its_own():
    labels = {"alpha.kubevirt.io/auto-memory-limits-ratio": "1.5"}
    named = obj("v1", "Namespace", "default", meta={"labels": labels})
    pod = launcher(quiet(), objects=(LIMITED, named))
    assert pod.limits["memory"] == (4 * GI + TWO_CORES) * 3 // 2


def test_kubevirt_counts_virtual_functions_itself_where_the_gate_is_off():
    objects = (attachment("net"), attachment("plain", None))
    off = {"disabled": ["ExternalNetResourceInjection"]}
    made = quiet(sriov=["net", "default/net", "plain", "gone"])
    pod = launcher(made, {VF: 9}, objects=objects, **off)
    assert pod.requests[VF] == 2
    assert pod.launch.refusal == Refusal("NetworkAttachmentMissing", ("default/gone",))
    assert launcher(made, {VF: 2}, objects=objects).requests[VF] == 2
    assert launcher(made, {VF: 2}, objects=objects).launch.refusal is None


@pytest.mark.parametrize(
    ("given", "extra"),
    [
        ({"overhead": {"podFixed": {"cpu": "250m", "memory": "160Mi"}}}, (250, 160 * MI)),
        ({}, (0, 0)),
        (None, (0, 0)),
    ],
)
def test_the_overhead_of_the_runtime_class(given, extra):
    made = [] if given is None else [obj("node.k8s.io/v1", "RuntimeClass", "kata", **given)]
    pod = launcher(quiet(), objects=made, defaultRuntimeClass="kata")
    plain = launcher(quiet())
    assert pod.requests["cpu"] - plain.requests["cpu"] == extra[0]
    assert pod.requests["memory"] - plain.requests["memory"] == extra[1]


def limit_range(name, *limits):
    return obj("v1", "LimitRange", name, "default", spec={"limits": list(limits)})


def test_limit_ranges_fill_in_what_containers_lack():
    item = {"type": "Container", "default": {"memory": "8Gi"}, "defaultRequest": {"a/b": "1"}}
    pod = launcher(quiet(), objects=(limit_range("r", item, {"type": "Pod", "max": {"cpu": "1"}}),))
    assert pod.limits["memory"] == 8 * GI
    assert pod.requests["memory"] == 4 * GI + TWO_CORES
    assert pod.requests["a/b"] == 1


def test_a_maximum_is_a_default_limit_and_a_minimum_a_default_request():
    item = {"type": "Container", "max": {"memory": "9Gi"}, "min": {"a/b": "2"}}
    elsewhere = obj("v1", "LimitRange", "r", "other", spec={"limits": [{"type": "Container"}]})
    empty = obj("v1", "LimitRange", "s", "default")
    pod = launcher(quiet(), objects=(limit_range("r", item), elsewhere, empty))
    assert pod.limits["memory"] == 9 * GI
    assert pod.requests["a/b"] == 2


def test_init_containers_count_when_they_need_more():
    volumes = [{"name": "root", "containerDisk": {"image": "x"}}]
    plain, with_disk = launcher(quiet()), launcher(quiet(volumes=volumes))
    assert with_disk.requests == plain.requests
    off = {"disabled": ["ImageVolume"]}
    sidecars = launcher(quiet(volumes=volumes), **off)
    assert sidecars.requests["cpu"] == plain.requests["cpu"] + 1
    assert sidecars.requests["ephemeral-storage"] == 100_000_000


def test_the_order_in_which_requests_are_told():
    made = vm(gpus=[GPU], memory={"guest": "4Gi", "hugepages": {"pageSize": "2Mi"}})
    assert list(launcher(made, {VF: 1}).requests) == [
        "cpu", "memory", "hugepages-2Mi", "ephemeral-storage", GPU, VF,
        "devices.kubevirt.io/kvm", "devices.kubevirt.io/tun", "devices.kubevirt.io/vhost-net",
        "pods",
    ]  # fmt: skip


# -- a VMI that is refused for its networks -------------------------------------------------------


@pytest.mark.parametrize(
    "network",
    [{"permitBridgeInterfaceOnPodNetwork": False}, {"defaultNetworkInterface": "slirp"}],
)
def test_a_vmi_that_is_refused_for_its_networks_still_has_a_launcher(network):
    bare = vm(gpus=[GPU], devices={"interfaces": []}, networks=[])
    found = launcher(bare, network=network)
    assert found.requests[GPU] == 1
    assert "devices.kubevirt.io/tun" not in found.requests
    assert "devices.kubevirt.io/tun" in launcher(bare).requests


def test_the_manifest_is_not_touched():
    spec = machine(vm())
    before = spec.vmi.plain()
    mutated(spec, cluster_settings(None))
    assert spec.vmi.plain() == before
