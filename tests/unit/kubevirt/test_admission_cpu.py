"""Rules on CPUs and memory."""

import pytest
from tests.unit.kubevirt.vmis import causes, places, rules, settings, vmi

NUMA = {"guestMappingPassthrough": {}}


def resources(resource, request=None, limit=None):
    held = {"requests": request, "limits": limit}
    return {name: {resource: amount} for name, amount in held.items() if amount is not None}


@pytest.mark.parametrize(
    ("request_", "limit", "expected"),
    [
        ("1", "2", []),
        ("2", "1", ["CpuRequestAboveLimit"]),
        ("1", "0", []),
        ("2m", "1m", ["CpuRequestAboveLimit"]),
        ("-1", None, ["CpuRequestNegative"]),
        (None, "-1", ["CpuRequestNegative", "CpuLimitNegative"]),
    ],
)
def test_cpu_amounts(request_, limit, expected):
    assert rules(vmi({"resources": resources("cpu", request_, limit)})) == expected


@pytest.mark.parametrize(
    ("cpu", "request_", "limit", "expected"),
    [
        ({"cores": 2}, None, None, []),
        ({}, "2", None, []),
        ({"cores": 2}, "2", None, []),
        ({"cores": 2}, "4", "2", ["CpuRequestAboveLimit", "DedicatedCpuRequestNotLimit"]),
        ({"cores": 2}, "4", None, ["DedicatedCpuTopologyConflict"]),
        ({"cores": 2}, None, "4", ["DedicatedCpuTopologyConflict"]),
        ({"cores": 2}, "1500m", None, ["DedicatedCpuRequestFractional"]),
        ({"cores": 2}, "2", "1500m", ["CpuRequestAboveLimit", "DedicatedCpuLimitFractional"]),
        ({"cores": 2, "threads": 3}, None, None, ["DedicatedCpuTooManyThreads"]),
    ],
)
def test_dedicated_cpus(cpu, request_, limit, expected):
    given = vmi(
        {
            "cpu": {"dedicatedCpuPlacement": True, **cpu},
            "resources": resources("cpu", request_, limit),
        }
    )
    assert rules(given) == expected


def test_arm64_has_one_thread_a_core():
    cpu = {"dedicatedCpuPlacement": True, "cores": 1, "threads": 2}
    assert places(vmi({"cpu": cpu}, architecture="arm64")) == {
        "Arm64Threads": ("spec.architecture", "spec.domain.cpu.threads")
    }
    (cause,) = causes(vmi({"cpu": cpu}, architecture="arm64"))
    assert cause.sites[0].params == {"threads": 2, "most": 1}


def test_dedicated_cpus_and_memory():
    cpu = {"dedicatedCpuPlacement": True, "cores": 2}
    assert rules(vmi({"cpu": cpu, "memory": None})) == ["DedicatedCpuNeedsMemory", "MemoryMissing"]
    unequal = resources("memory", "1Gi", "2Gi")
    assert rules(vmi({"cpu": cpu, "resources": unequal})) == ["DedicatedMemoryRequestNotLimit"]
    pages = {"hugepages": {"pageSize": "2Mi"}}
    assert rules(vmi({"cpu": cpu, "memory": pages})) == []


@pytest.mark.parametrize(
    ("cpu", "memory", "expected"),
    [
        ({"numa": NUMA}, {"guest": "1Gi"}, ["NumaWithoutDedicatedCpus", "NumaWithoutHugepages"]),
        ({"numa": NUMA, "dedicatedCpuPlacement": True, "cores": 1},
         {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}, []),
        ({"numa": {}}, {"guest": "1Gi"}, []),
        ({"isolateEmulatorThread": True}, {"guest": "1Gi"}, ["EmulatorThreadNeedsDedicatedCpus"]),
        ({"realtime": {}}, {"guest": "1Gi"}, ["RealtimeNeedsDedicatedCpus", "RealtimeNeedsNuma"]),
        ({"sockets": 3, "maxSockets": 2}, {"guest": "1Gi"}, ["SocketsAboveMaximum"]),
        ({"features": [{"name": "vmx"}, {"name": "aes", "policy": "often"}]}, {"guest": "1Gi"},
         ["CpuFeaturePolicyUnsupported"]),
    ],
)  # fmt: skip
def test_placement(cpu, memory, expected):
    assert rules(vmi({"cpu": cpu, "memory": memory})) == expected


def test_real_time_that_is_complete():
    cpu = {"realtime": {}, "numa": NUMA, "dedicatedCpuPlacement": True, "cores": 1}
    memory = {"guest": "1Gi", "hugepages": {"pageSize": "1Gi"}}
    assert rules(vmi({"cpu": cpu, "memory": memory})) == []


@pytest.mark.parametrize(
    ("request_", "limit", "expected"),
    [
        ("1M", None, []),
        ("999k", None, ["MemoryRequestTooSmall"]),
        ("-1Gi", None, ["MemoryRequestTooSmall"]),
        ("0", None, []),
        (None, "-1Gi", ["MemoryLimitNegative"]),
        ("2Gi", "1Gi", ["MemoryRequestAboveLimit"]),
    ],
)
def test_memory_amounts(request_, limit, expected):
    assert rules(vmi({"resources": resources("memory", request_, limit)})) == expected


@pytest.mark.parametrize(
    ("page", "guest", "held", "expected"),
    [
        ("2Mi", "1Gi", {}, []),
        ("3Mi", "3Gi", {}, []),
        ("-2Mi", "1Gi", {}, []),
        ("2Mb", "1Gi", {}, ["PageSizeUnparsable"]),
        ("", "1Gi", {}, ["PageSizeUnparsable"]),
        ("0", "1Gi", {}, ["PageSizeZero"]),
        ("0", None, {}, ["PageSizeZero"]),
        ("16Gi", "1Gi", {}, ["MemoryBelowPageSize"]),
        ("1Gi", "1536Mi", {}, ["MemoryNotPageMultiple"]),
        ("2Mi", "1Gi", {"requests": {"memory": "65Mi"}}, ["MemoryNotPageMultiple"]),
        ("big", None, {}, ["PageSizeUnparsable"]),
    ],
)
def test_huge_pages(page, guest, held, expected):
    memory = {"hugepages": {"pageSize": page}, **({"guest": guest} if guest else {})}
    found = causes(vmi({"memory": memory, "resources": held}))
    assert [cause.rule for cause in found] == expected
    assert all(c.sites[0].path == "spec.domain.memory.hugepages.pageSize" for c in found)


def test_pages_are_held_against_the_limit_where_no_guest_is_known():
    memory = {"hugepages": {"pageSize": "0"}}
    held = {"limits": {"memory": "0"}}
    assert rules(vmi({"memory": memory, "resources": held})) == ["PageSizeZero"]


def test_the_guest_and_the_limit():
    given = vmi({"memory": {"guest": "2Gi"}, "resources": {"limits": {"memory": "1Gi"}}})
    assert rules(given) == []
    assert rules(given, settings(vmRolloutStrategy="Stage")) == ["GuestMemoryAboveLimit"]
    staged = settings(vmRolloutStrategy="Stage")
    assert rules(vmi({"memory": {"guest": "2Gi"}}), staged) == []
    assert rules(vmi({"memory": None}), staged) == ["MemoryMissing"]


def test_reserved_overhead_needs_its_gate():
    memory = {"guest": "1Gi", "reservedOverhead": {"addedOverhead": "1Mi"}}
    assert rules(vmi({"memory": memory})) == ["ReservedOverheadGateOff"]
    assert rules(vmi({"memory": memory}), settings("ReservedOverheadMemlock")) == []


def test_no_memory_has_no_field():
    assert places(vmi({"memory": None})) == {"MemoryMissing": ("", "spec.domain")}
    held = {"requests": {"memory": "1Gi"}}
    assert rules(vmi({"memory": None, "resources": held})) == []
