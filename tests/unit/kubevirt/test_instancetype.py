"""Instance types over a VMI: what they set, what is a conflict, and how vCPUs are shaped."""

import copy
import json

import pytest

from passway.kubevirt.instancetype import apply_instancetype
from passway.kubevirt.topology import preferred, spread_options, spreadable, topology

CPU = {"guest": 4}
MEMORY = {"guest": "8Gi"}
BASE = "spec.template.spec"


def applied(domain=None, preference=None, *, spec=None, annotations=None, **instancetype):
    """(the VMI, the fields of the conflicts)"""
    vmi = {
        "metadata": {"annotations": dict(annotations or {})},
        "spec": {"domain": domain or {}, **(spec or {})},
    }
    causes = apply_instancetype(vmi, instancetype, preference or {})
    assert all(cause.type == "FieldValueInvalid" and cause.sites for cause in causes)
    return vmi, [cause.field for cause in causes]


def shape(cpu):
    return cpu["sockets"], cpu["cores"], cpu["threads"]


def test_size_comes_from_the_instance_type():
    vmi, conflicts = applied(cpu=CPU, memory=MEMORY)
    assert conflicts == []
    assert vmi["spec"] == {
        "domain": {
            "cpu": {"sockets": 4, "cores": 1, "threads": 1},
            "memory": {"guest": "8Gi"},
        }
    }


def test_everything_that_an_instance_type_brings():
    gpus, devices = [{"name": "g", "deviceName": "a/b"}], [{"name": "h", "deviceName": "c/d"}]
    vmi, conflicts = applied(
        {"memory": None, "cpu": {"features": [{"name": "x"}], "maxSockets": 2}},
        cpu={**CPU, "model": "host-passthrough", "dedicatedCPUPlacement": True, "realtime": {},
             "isolateEmulatorThread": True, "numa": {"guestMappingPassthrough": {}},
             "maxSockets": 8},
        memory={**MEMORY, "hugepages": {"pageSize": "1Gi"}, "maxGuest": "16Gi"},
        gpus=gpus, hostDevices=devices, nodeSelector={"a": "b"}, schedulerName="mine",
        ioThreadsPolicy="supplementalPool", ioThreads={"supplementalPoolThreadCount": 2},
        launchSecurity={"snp": {}},
    )  # fmt: skip
    assert conflicts == []
    assert vmi == {
        "metadata": {"annotations": {}},
        "spec": {
            "nodeSelector": {"a": "b"}, "schedulerName": "mine",
            "domain": {
                "cpu": {
                    "features": [{"name": "x"}], "model": "host-passthrough", "realtime": {},
                    "dedicatedCpuPlacement": True, "isolateEmulatorThread": True, "maxSockets": 8,
                    "numa": {"guestMappingPassthrough": {}},
                    "sockets": 4, "cores": 1, "threads": 1,
                },
                "memory": {"guest": "8Gi", "hugepages": {"pageSize": "1Gi"}, "maxGuest": "16Gi"},
                "ioThreadsPolicy": "supplementalPool",
                "ioThreads": {"supplementalPoolThreadCount": 2},
                "launchSecurity": {"snp": {}},
                "devices": {"gpus": gpus, "hostDevices": devices},
            },
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("domain", "instancetype", "field"),
    [
        ({"resources": {"requests": {"cpu": 1}}}, {"cpu": CPU}, "domain.resources.requests.cpu"),
        ({"resources": {"limits": {"cpu": 1}}}, {"cpu": CPU}, "domain.resources.limits.cpu"),
        ({"cpu": {"sockets": 1}}, {"cpu": CPU}, "domain.cpu.sockets"),
        ({"cpu": {"cores": 1}}, {"cpu": CPU}, "domain.cpu.cores"),
        ({"cpu": {"threads": 1}}, {"cpu": CPU}, "domain.cpu.threads"),
        ({"cpu": {"model": "a"}}, {"cpu": {**CPU, "model": "a"}}, "domain.cpu.model"),
        ({"cpu": {"dedicatedCpuPlacement": True}}, {"cpu": {**CPU, "dedicatedCPUPlacement": False}},
         "domain.cpu.dedicatedCPUPlacement"),
        ({"cpu": {"isolateEmulatorThread": True}}, {"cpu": {**CPU, "isolateEmulatorThread": True}},
         "domain.cpu.isolateEmulatorThread"),
        ({"cpu": {"numa": {}}}, {"cpu": {**CPU, "numa": {}}}, "domain.cpu.numa"),
        ({"cpu": {"realtime": {}}}, {"cpu": {**CPU, "realtime": {}}}, "domain.cpu.realtime"),
        ({"memory": {"guest": "1Gi"}}, {"memory": MEMORY}, "domain.memory.guest"),
        ({"memory": {"hugepages": {}}}, {"memory": {**MEMORY, "hugepages": {}}},
         "domain.memory.hugepages"),
        ({"memory": {"maxGuest": "9Gi"}}, {"memory": {**MEMORY, "maxGuest": "9Gi"}},
         "domain.memory.maxGuest"),
        ({"resources": {"requests": {"memory": "1Gi"}}}, {"memory": MEMORY},
         "domain.resources.requests.memory"),
        ({"resources": {"limits": {"memory": "1Gi"}}}, {"memory": MEMORY},
         "domain.resources.limits.memory"),
        ({"ioThreadsPolicy": ""}, {"ioThreadsPolicy": "auto"}, "domain.ioThreadsPolicy"),
        ({"ioThreads": {"supplementalPoolThreadCount": 0}},
         {"ioThreads": {"supplementalPoolThreadCount": 1}},
         "domain.ioThreads.supplementalPoolThreadCount"),
        ({"launchSecurity": {}}, {"launchSecurity": {"sev": {}}}, "domain.launchSecurity"),
        ({"devices": {"gpus": [{}]}}, {"gpus": [{"name": "g"}]}, "domain.devices.gpus"),
        ({"devices": {"hostDevices": [{}]}}, {"hostDevices": [{"name": "g"}]},
         "domain.devices.hostDevices"),
    ],
)  # fmt: skip
def test_what_both_set_is_a_conflict(domain, instancetype, field):
    before = copy.deepcopy(domain)
    _, conflicts = applied(domain, **instancetype)
    assert conflicts == [f"{BASE}.{field}"]
    _, without = applied(before)
    assert without == []


def test_conflicts_outside_the_domain_come_in_their_order():
    _, conflicts = applied(
        {"cpu": {"cores": 2}}, spec={"nodeSelector": {"a": "b"}, "schedulerName": "x"},
        annotations={"k": "1"}, nodeSelector={"c": "d"}, schedulerName="y", cpu=CPU,
    )  # fmt: skip
    assert conflicts == [
        f"{BASE}.nodeSelector", f"{BASE}.schedulerName", f"{BASE}.domain.cpu.cores",
    ]  # fmt: skip


def test_an_annotation_conflicts_only_with_another_value():
    vmi = {"metadata": {"annotations": {"a.b/k": "1", "same": "1"}}, "spec": {}}
    given = {"annotations": {"a.b/k": "2", "same": "1", "new": "3"}}
    (cause,) = apply_instancetype(vmi, given, {})
    assert (cause.field, cause.params["field"]) == ("annotations.a.b/k", "annotation a.b/k")
    assert cause.sites[0].path == 'template.metadata.annotations["a.b/k"]'


def test_the_place_of_a_conflict_is_spelled_as_the_vm_spells_it():
    vmi = {"spec": {"domain": {"cpu": {"dedicatedCpuPlacement": True}}}}
    given = {"cpu": {**CPU, "dedicatedCPUPlacement": True}}
    (cause,) = apply_instancetype(vmi, given, {})
    assert cause.sites[0].path == "template.spec.domain.cpu.dedicatedCpuPlacement"


def test_what_is_empty_is_no_conflict():
    _, conflicts = applied(
        {"cpu": {"sockets": 0, "model": "", "dedicatedCpuPlacement": False},
         "devices": {"gpus": [], "hostDevices": None}},
        spec={"nodeSelector": {}, "schedulerName": ""},
        cpu={**CPU, "model": "a", "dedicatedCPUPlacement": True}, memory=MEMORY,
        gpus=[{"name": "g"}], hostDevices=[{"name": "h"}], nodeSelector={"a": "b"},
        schedulerName="s",
    )  # fmt: skip
    assert conflicts == []


@pytest.mark.parametrize(
    ("guest", "percent", "requested"),
    [
        ("8Gi", 50, "4Gi"), ("8Gi", 0, None), ("8Gi", 100, "0"),
        # in single precision, not exact
        ("8Gi", 10, "7549747Ki"), ("1Gi", 15, "912680576"), ("2G", 33, "1339999872"),
        ("16E", 50, "4611686018427387904"),
    ],
)  # fmt: skip
def test_overcommit_lowers_the_request(guest, percent, requested):
    vmi, _ = applied(memory={"guest": guest, "overcommitPercent": percent})
    resources = vmi["spec"]["domain"].get("resources")
    assert resources == (requested and {"requests": {"memory": requested}})


# -- topology -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "vcpus", "expected"),
    [
        ({}, 4, (4, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "sockets"}}, 4, (4, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "preferSockets"}}, 4, (4, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "any"}}, 4, (4, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "preferCores"}}, 4, (1, 4, 1)),
        ({"cpu": {"preferredCPUTopology": "threads"}}, 4, (1, 1, 4)),
        ({"cpu": {"preferredCPUTopology": "odd"}}, 4, (1, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "cores"}}, 1, (1, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "spread"}}, 8, (4, 2, 1)),
        ({"cpu": {"preferredCPUTopology": "spread"}, "preferSpreadSocketToCoreRatio": 4}, 8,
         (2, 4, 1)),
        ({"cpu": {"preferredCPUTopology": "preferSpread",
                  "spreadOptions": {"across": "CoresThreads"}}}, 8, (1, 4, 2)),
        ({"cpu": {"preferredCPUTopology": "spread",
                  "spreadOptions": {"across": "SocketsCoresThreads", "ratio": 2}}}, 8, (2, 2, 2)),
        ({"cpu": {"preferredCPUTopology": "spread",
                  "spreadOptions": {"across": "Odd"}}}, 8, (1, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "spread"}}, 6, (3, 2, 1)),
        (json.loads('{"cpu": {"preferredCPUTopology": "any"}}'), 4, (4, 1, 1)),
    ],
)  # fmt: skip
def test_the_preference_shapes_the_vcpus(wanted, vcpus, expected):
    vmi, conflicts = applied(preference=wanted, cpu={"guest": vcpus})
    assert (shape(vmi["spec"]["domain"]["cpu"]), conflicts) == (expected, [])


@pytest.mark.parametrize(
    ("options", "vcpus"),
    [
        ({}, 3), ({}, 1), ({"ratio": 0}, 4), ({"across": "CoresThreads", "ratio": 3}, 4),
        ({"across": "SocketsCoresThreads"}, 6),
    ],
)  # fmt: skip
def test_vcpus_that_do_not_divide_are_refused_alone(options, vcpus):
    wanted = {"cpu": {"preferredCPUTopology": "spread", "spreadOptions": options}}
    _, conflicts = applied({"cpu": {"cores": 1}}, wanted, cpu={"guest": vcpus})
    assert conflicts == ["instancetype.spec.cpu.guest"]


def test_options_of_a_spread():
    assert (preferred({}), spread_options({})) == ("sockets", (2, "SocketsCores"))
    assert spreadable(3, {"cpu": {"preferredCPUTopology": "cores"}})
    assert topology(0, {}) == {"sockets": 0, "cores": 1, "threads": 1}
