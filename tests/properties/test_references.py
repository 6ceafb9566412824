"""Laws of instance types and preferences: nothing crashes, what a VM writes stays, order holds."""

import copy
import json

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import GPU, cluster, instancetype, kubevirt, node, preference, referring, vm

from passway.kubevirt.instancetype import apply_instancetype
from passway.kubevirt.preference import apply_preference
from passway.manifest.vm import parse_manifest
from passway.preflight.references import expand
from passway.preflight.walk import check

TEXTS = st.sampled_from(["", "a", "virtio", "4Gi", "1", "-1", "spread", "any", "CoresThreads"])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
ENABLED = st.fixed_dictionaries({}, optional={"enabled": st.booleans()})


def tree(*names, **typed):
    """Some of the fields: the named ones hold anything, the others what they should (or junk)."""
    fields = {**dict.fromkeys(names, JUNK), **{key: kind | JUNK for key, kind in typed.items()}}
    return st.fixed_dictionaries({}, optional=fields)


DEVICES = st.lists(st.just({"name": "g", "deviceName": GPU}), max_size=2)
INSTANCETYPES = tree(
    "schedulerName", "ioThreadsPolicy", "ioThreads", "launchSecurity",
    nodeSelector=st.just({"pool": "gpu"}),
    annotations=st.just({"a": "b"}),
    gpus=DEVICES,
    hostDevices=DEVICES,
    cpu=tree("model", "dedicatedCPUPlacement", "isolateEmulatorThread", "numa", "realtime",
             "maxSockets", guest=st.integers(0, 9)),
    memory=tree("hugepages", "maxGuest", guest=st.sampled_from(["1Gi", "4Gi", 5]),
                overcommitPercent=st.integers(-1, 101)),
)  # fmt: skip
PREFERENCES = tree(
    "preferredSubdomain", "preferredTerminationGracePeriodSeconds", "preferredLaunchSecurity",
    "preferSpreadSocketToCoreRatio", "preferredArchitecture",
    annotations=st.just({"a": "c"}),
    clock=tree("preferredClockOffset", "preferredTimer"),
    cpu=tree(
        "preferredCPUFeatures", preferredCPUTopology=TEXTS,
        spreadOptions=tree(across=TEXTS, ratio=st.integers(0, 4)),
    ),
    devices=tree(
        "preferredRng", "preferredTPM", "preferredInputBus", "preferredInterfaceMasquerade",
        "preferredDiskBlockSize", "preferredPanicDeviceModel", "preferredVideoType",
        preferredDiskBus=TEXTS, preferredDisableHotplug=st.booleans(),
        preferredDiskDedicatedIoThread=st.booleans(), preferredInterfaceModel=TEXTS,
        preferredSoundModel=TEXTS,
    ),
    features=tree("preferredKvm", preferredAcpi=ENABLED, preferredSmm=ENABLED,
                  preferredHyperv=st.dictionaries(st.sampled_from(["vapic", "synic"]), ENABLED)),
    firmware=tree("preferredEfi", preferredUseBios=st.booleans(), preferredUseEfi=st.booleans(),
                  preferredUseBiosSerial=st.booleans(), preferredUseSecureBoot=st.booleans()),
    machine=tree(preferredMachineType=st.sampled_from(["q35", "pc", "virt"])),
    requirements=tree("architecture", cpu=tree(guest=st.integers(0, 9)),
                      memory=tree(guest=st.sampled_from(["1Gi", "9Gi"]))),
)  # fmt: skip
DOMAINS = st.fixed_dictionaries(
    {},
    optional={
        "cpu": st.sampled_from([{"cores": 2}, {"features": [{"name": "vmx"}]}, {"sockets": 0}]),
        "memory": st.sampled_from([{"guest": "2Gi"}, {}, {"hugepages": {"pageSize": "2Mi"}}]),
        "features": st.sampled_from([{"smm": {}}, {"hyperv": {"vapic": {"enabled": False}}}]),
        "firmware": st.sampled_from([{}, {"bootloader": {"bios": {}}}]),
        "clock": st.just({"utc": {}}),
        "machine": st.just({"type": "q35"}),
        "launchSecurity": st.just({"snp": {}}),
        "resources": st.just({"requests": {"cpu": "1"}}),
    },
)
OPTIONS = {"volumes": [{"name": "a", "containerDisk": {"image": "i"}}]}
MACHINES = st.builds(
    lambda domain, gpus: referring("it", "p", domain=domain, gpus=gpus, **OPTIONS),
    DOMAINS, st.lists(st.just(GPU), max_size=1),
)  # fmt: skip


def plain(written):
    spec = copy.deepcopy(written["spec"]["template"]["spec"])
    return {"metadata": {"annotations": {"a": "b"}}, "spec": spec}


def parsed(written):
    return parse_manifest(json.dumps(written)).require()[0]


@settings(max_examples=200)
@given(MACHINES, INSTANCETYPES, PREFERENCES)
def test_no_object_crashes_a_preflight(written, brought, wanted):
    objects = ({**instancetype("it"), "spec": brought}, {**preference("p"), "spec": wanted})
    held = cluster(kubevirt(), node("a", {GPU: 2}), *objects)
    spec = parsed(written)
    verdict = check(spec, held)
    assert verdict == check(spec, held)
    assert spec == parsed(written)
    paths = [item for item in verdict.issues if item.path]
    assert all(spec.position(item.path) == item.position for item in paths)
    expanded = expand(spec, held)
    if not expanded.findings:
        assert set(expanded.spec.inherited.values()) <= {"spec.instancetype", "spec.preference"}


@given(MACHINES)
def test_empty_objects_change_nothing(written):
    vmi = plain(written)
    before = copy.deepcopy(vmi)
    assert apply_instancetype(vmi, {}, {}) == ()
    apply_preference(vmi, {})
    assert vmi == before
    empty = {**instancetype("it"), "spec": {}}
    made = expand(parsed(written), cluster(empty, preference("p")))
    assert made.spec.vmi.plain() == before["spec"]
    assert (made.findings, made.spec.inherited) == ((), {})


def kept(before, after, path=()):
    """Whether everything that was written is still there as it was; what is empty may be filled."""
    if path[-2:] == ("features", "acpi") or path[-1:] in {("disableHotplug",), ("maxSockets",)}:
        return True
    if isinstance(before, dict) and isinstance(after, dict):
        return all(kept(value, after.get(key), (*path, key)) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(after) >= len(before) and all(map(kept, before, after))
    return not before or before == after


@settings(max_examples=200)
@given(MACHINES, INSTANCETYPES, PREFERENCES)
def test_what_is_there_first_stays(written, brought, wanted):
    """The VM before the instance type, and the instance type before the preference."""
    vmi = plain(written)
    before, given_objects = copy.deepcopy(vmi), copy.deepcopy((brought, wanted))
    if not apply_instancetype(vmi, brought, wanted):
        assert kept(before, vmi)
        between = copy.deepcopy(vmi)
        apply_preference(vmi, wanted)
        assert kept(between, vmi)
    assert (brought, wanted) == given_objects


@given(MACHINES, st.integers(1, 9))
def test_an_instance_type_applies_once(written, guest):
    """What it brought is in its own way the second time."""
    vmi, brought = plain(written), {"cpu": {"guest": guest}, "memory": {"guest": "4Gi"}}
    if not apply_instancetype(vmi, brought, {}):
        again = apply_instancetype(vmi, brought, {})
        assert [cause.params["field"] for cause in again] == [
            "domain.cpu.sockets", "domain.cpu.cores", "domain.cpu.threads", "domain.memory.guest",
        ]  # fmt: skip


@given(DOMAINS)
def test_a_vm_written_out_gets_the_same_verdict(domain):
    """An instance type of cluster-wide size is no different from the same size in the VM."""
    size = {"cpu": {"sockets": 3, "cores": 1, "threads": 1}, "memory": {"guest": "3Gi"}}
    rest = {key: domain[key] for key in domain.keys() - {"cpu", "memory", "resources"}}
    own = parsed(vm(gpus=[GPU], domain={**rest, **size}))
    other = parsed(referring("it", domain=rest))
    held = cluster(kubevirt(), node("a", {GPU: 1}),
                   instancetype("it", guest=3, memory="3Gi", gpus=[GPU]))  # fmt: skip
    left, right = check(own, held), check(other, held)
    assert (left.fits, left.places) == (right.fits, right.places)
    assert [item.reason for item in left.issues] == [item.reason for item in right.issues]
