"""Laws of the launcher pod on generated VMs: it is always there, and more never asks for less."""

from functools import lru_cache

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import cluster, kubevirt, launcher, machine, quota, vm

from passway.kubevirt.container import LARGEST
from passway.kubevirt.launch import render
from passway.kubevirt.surroundings import surroundings
from passway.model.quantity import ZERO

DEVICES = ("nvidia.com/A10", "intel.com/qat", "example.com/fpga")
GATES = ("HostDevices", "IOMMUFD", "AlignCPUs", "HypervStrictCheck", "NetworkDevicesWithDRA",
         "CrossArchitectureVirtualization")  # fmt: skip
DISABLED = ("ExternalNetResourceInjection", "ImageVolume", "GPUsWithDRA", "HostDevicesWithDRA")
WORDS = st.sampled_from(["", "a", "2Mi", "1", "-1", "1e3", "x/y", "ns/nad", "virtio", "absent"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**40) | st.floats(allow_nan=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "domain", "cpu", "memory", "resources", "devices", "sockets", "cores", "threads", "limits",
    "requests", "guest", "hugepages", "pageSize", "gpus", "hostDevices", "interfaces", "networks",
    "name", "deviceName", "claimName", "requestName", "multus", "networkName", "binding",
    "volumes", "containerDisk", "filesystems", "launchSecurity", "sev", "features", "hyperv",
    "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms", "matchExpressions", "tolerations", "nodeSelector", "ioThreads",
    "supplementalPoolThreadCount", "dedicatedCpuPlacement", "isolateEmulatorThread", "tpm",
    "readinessProbe", "exec", "reservedOverhead", "addedOverhead", "architecture", "spec",
)  # fmt: skip
TREES = st.recursive(
    JUNK,
    lambda inner: (
        st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5) | st.lists(inner, max_size=3)
    ),
    max_leaves=40,
)
SETTINGS = st.builds(
    lambda gates, disabled, ratio, overhead, permitted: kubevirt(
        {"pciHostDevices": []} if permitted else None,
        gates=gates,
        disabled=disabled,
        developer={"cpuAllocationRatio": ratio},
        additionalGuestMemoryOverheadRatio=overhead,
    ),
    st.lists(st.sampled_from(GATES), max_size=4),
    st.lists(st.sampled_from(DISABLED), max_size=3),
    st.sampled_from([-1, 0, 1, 7, 10, 10**9]),
    st.sampled_from(["", "1.5", "0.1", "1e300", "nan"]),
    st.booleans(),
)


@lru_cache(maxsize=1)
def quotas():
    return (quota("q", {"limits.cpu": "9", "limits.memory": "9Gi"}),)


@given(TREES, SETTINGS)
@settings(max_examples=300, deadline=None)
def test_a_generated_spec_never_crashes(spec, configuration):
    around = surroundings(
        cluster(configuration).kubevirt, quota_keys=frozenset({"limits.cpu", "limits.memory"})
    )
    found = render({"metadata": {"namespace": "ns"}, "spec": spec}, around)
    assert found.containers[0].name == "compute"
    assert all(isinstance(amount, int) for amount in found.overhead.values())
    for container in (*found.containers, *found.init_containers):
        assert all(str(amount) for amount in (*container.requests.values(),
                                              *container.limits.values()))  # fmt: skip


MACHINES = st.fixed_dictionaries(
    {
        "gpus": st.lists(st.sampled_from(DEVICES), max_size=4),
        "host_devices": st.lists(st.sampled_from(DEVICES), max_size=3),
        "cpu": st.fixed_dictionaries(
            {"cores": st.integers(1, 64), "dedicatedCpuPlacement": st.booleans()}
        ),
        "memory": st.fixed_dictionaries(
            {"guest": st.sampled_from(["1Gi", "3Gi", "512Gi"])},
            optional={"hugepages": st.just({"pageSize": "1Gi"})},
        ),
    }
)


@given(MACHINES, SETTINGS, st.sampled_from(DEVICES))
@settings(max_examples=100, deadline=None)
def test_more_devices_never_ask_for_less(made, configuration, device):
    snapshot = cluster(configuration, *quotas())
    fewer = launcher(machine(vm(**made)), snapshot, {})
    more = launcher(machine(vm(**{**made, "gpus": [*made["gpus"], device]})), snapshot, {})
    assert more.requests[device] == fewer.requests.get(device, 0) + 1
    assert all(more.requests[name] >= amount for name, amount in fewer.requests.items())
    assert all(more.limits[name] >= amount for name, amount in fewer.limits.items())


@given(MACHINES, SETTINGS)
@settings(max_examples=100, deadline=None)
def test_no_container_requests_more_than_its_limit(made, configuration):
    snapshot = cluster(configuration, *quotas())
    launch = launcher(machine(vm(**made)), snapshot, {}).launch
    for container in (*launch.containers, *launch.init_containers):
        for resource, limit in container.limits.items():
            assert min(container.requests.get(resource, ZERO), LARGEST) <= limit


@given(MACHINES, SETTINGS)
@settings(max_examples=50, deadline=None)
def test_the_order_of_devices_changes_nothing(made, configuration):
    turned = {**made, "gpus": made["gpus"][::-1], "host_devices": made["host_devices"][::-1]}
    snapshot = cluster(configuration)
    one = launcher(machine(vm(**made)), snapshot, {})
    other = launcher(machine(vm(**turned)), snapshot, {})
    assert (one.requests, one.overhead, one.limits) == (
        other.requests, other.overhead, other.limits,
    )  # fmt: skip
