"""Instance types and preferences, through the whole walk: applied, in conflict, missing, unread."""

import json

import pytest
from tests.builders import (
    GPU,
    T4,
    ask,
    cluster,
    instancetype,
    kubevirt,
    machine,
    node,
    obj,
    pci,
    preference,
    quota,
    reasons,
    referring,
    vm,
)

from passway.cluster import kinds
from passway.manifest.vm import parse_manifest
from passway.model.reasons import render
from passway.model.verdict import Fits, Severity
from passway.preflight.questions import fit
from passway.preflight.references import expand
from passway.preflight.walk import check

NODE = node("a", {GPU: 2}, labels={"kubevirt.io/cpumanager": "true"})
SMALL = instancetype("small")
LARGE = instancetype("large", guest=8, gpus=[GPU])
TEXT = """apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: vm, namespace: default}
spec:
  runStrategy: Always
  instancetype:
    name: large
  template:
    spec:
      domain:
        devices: {}
"""


def issue(verdict, reason):
    return next(item for item in verdict.issues if item.reason == reason)


def words(verdict, reason):
    return render(issue(verdict, reason)).message


def of(spec, *objects, **options):
    return expand(machine(spec), cluster(*objects, **options)).spec


# -- applied --------------------------------------------------------------------------------------


def test_the_size_of_an_instance_type_is_what_is_scheduled():
    assert ask(referring("small"), kubevirt(), NODE, SMALL).fits is Fits.YES
    verdict = ask(referring("small"), kubevirt(), node("a", memory="6Gi"), SMALL)
    assert (verdict.fits, reasons(verdict)) == (Fits.NO, ["InsufficientResource"])
    assert issue(verdict, "InsufficientResource").path == "spec.instancetype"


def test_devices_of_an_instance_type_are_devices_of_the_vm():
    permitted = {"pciHostDevices": [pci("10DE:2236", GPU)]}
    assert ask(referring("large"), kubevirt(permitted), NODE, LARGE).fits is Fits.YES
    with_t4 = instancetype("large", gpus=[T4])
    verdict = ask(referring("large"), kubevirt(permitted), NODE, with_t4)
    assert verdict.fits is Fits.NO
    assert {"DeviceNotPermitted", "ResourceNotAdvertised"} <= {*reasons(verdict)}


def test_what_an_instance_type_brings_is_told_at_the_reference():
    spec = parse_manifest(TEXT, "vm.yaml").require()[0]
    verdict = check(spec, cluster(kubevirt({}), NODE, LARGE))
    found = issue(verdict, "DeviceNotPermitted")
    assert (found.path, found.position.line, found.position.column) == ("spec.instancetype", 6, 3)
    assert issue(verdict, "PinnedToNode").path == "spec.instancetype"


def test_quota_counts_the_devices_and_the_size():
    capped = quota("q", {f"requests.{GPU}": "0", "requests.cpu": "1"})
    verdict = ask(referring("large"), kubevirt(), NODE, LARGE, capped)
    assert reasons(verdict) == ["QuotaExceeded"]
    found = fit(machine(referring("large")), cluster(kubevirt(), NODE, LARGE))
    assert (found.places, found.by_nodes) == (2, 2)


def test_gates_and_rules_see_what_the_instance_type_brings():
    host = instancetype("host", host_devices=[GPU])
    verdict = ask(referring("host"), kubevirt(gates=[]), NODE, host)
    assert issue(verdict, "FeatureGateOff").path == "spec.instancetype"
    real = instancetype("real", cpu={"isolateEmulatorThread": True})
    verdict = ask(referring("real"), kubevirt(), NODE, real)
    assert issue(verdict, "EmulatorThreadNeedsDedicatedCpus").path == "spec.instancetype"


def test_node_rules_of_an_instance_type_hold():
    picky = instancetype("picky", nodeSelector={"pool": "gpu"})
    assert ask(referring("picky"), kubevirt(), NODE, picky).fits is Fits.NO
    labelled = node("b", labels={"pool": "gpu"})
    assert ask(referring("picky"), kubevirt(), labelled, picky).fits is Fits.YES
    pinned = instancetype("pinned", cpu={"dedicatedCPUPlacement": True})
    verdict = ask(referring("pinned"), kubevirt(), node("a"), pinned)
    assert issue(verdict, "NoCpuManager").path == "spec.instancetype"


def test_what_the_vm_writes_itself_keeps_its_place():
    spec = referring("small", domain={"cpu": {"features": [{"name": "x", "policy": "odd"}]}})
    verdict = ask(spec, kubevirt(), NODE, SMALL)
    found = issue(verdict, "CpuFeaturePolicyUnsupported")
    assert found.path == "spec.template.spec.domain.cpu.features[0].policy"
    narrow = ask(spec, kubevirt(), node("a", cpu="100m"), SMALL)
    assert issue(narrow, "InsufficientResource").path == "spec.instancetype"


def test_the_preference_comes_after_the_instance_type():
    locked = instancetype("locked", launchSecurity={"snp": {}})
    wanted = preference("p", preferredLaunchSecurity={"sev": {}}, machine={
        "preferredMachineType": "q35"})  # fmt: skip
    made = of(referring("locked", "p"), kubevirt(), locked, wanted)
    assert made.plain("domain.launchSecurity") == {"snp": {}}
    assert made.plain("domain.machine.type") == "q35"
    assert made.inherited["spec.template.spec.domain.machine"] == "spec.preference"
    assert made.annotations == {
        "kubevirt.io/cluster-instancetype-name": "locked",
        "kubevirt.io/cluster-preference-name": "p",
    }


def test_the_preference_shapes_the_vcpus_of_the_instance_type():
    cores = preference("cores", cpu={"preferredCPUTopology": "cores"})
    made = of(referring("small", "cores"), SMALL, cores)
    assert (made.cpu.sockets, made.cpu.cores, made.cpu.threads) == (1, 4, 1)
    spread = preference("spread", cpu={"preferredCPUTopology": "spread"})
    odd = instancetype("odd", guest=3)
    verdict = ask(referring("odd", "spread"), kubevirt(), NODE, odd, spread)
    found = issue(verdict, "TopologyNotDivisible")
    assert (found.severity, found.path) == (Severity.ERROR, "spec.instancetype")
    assert "gives 3 vCPUs; the preference spreads them" in words(verdict, "TopologyNotDivisible")


def test_a_preference_alone_is_applied_and_its_faults_told():
    odd = preference("odd", machine={"preferredMachineType": "pc"}, devices={
        "preferredDiskBus": "odd"})  # fmt: skip
    spec = vm()
    spec["spec"]["preference"] = {"name": "odd"}
    verdict = ask(spec, kubevirt(), NODE, odd)
    assert issue(verdict, "MachineTypeUnsupported").path == "spec.preference"


def test_an_entry_that_joins_a_list_of_the_vm_is_told_at_its_reference():
    own = [{"name": "x", "policy": "require"}]
    odd = preference("odd", cpu={"preferredCPUFeatures": [{"name": "y", "policy": "odd"}]})
    spec = referring("small", "odd", domain={"cpu": {"features": own}})
    verdict = ask(spec, kubevirt(), NODE, SMALL, odd)
    assert issue(verdict, "CpuFeaturePolicyUnsupported").path == "spec.preference"


def test_a_preference_may_bring_what_a_rule_asks_for():
    boot = {"firmware": {"bootloader": {"efi": {"secureBoot": True}}}}
    spec = referring("small", "p", domain=boot)
    plain, smm = preference("p"), preference("p", features={"preferredSmm": {"enabled": True}})
    assert "SecureBootNeedsSmm" in reasons(ask(spec, kubevirt(), NODE, SMALL, plain))
    assert ask(spec, kubevirt(), NODE, SMALL, smm).fits is Fits.YES


def test_objects_of_the_namespace_are_those_of_the_vm():
    matcher = {"name": "own", "kind": "VirtualMachineInstancetype"}
    wanted = {"name": "own", "kind": "virtualmachinepreferences"}
    spec = referring(matcher, wanted)
    here = (instancetype("own", namespace="default"), preference("own", namespace="default"))
    there = (instancetype("own", namespace="web"), preference("own", namespace="web"))
    assert ask(spec, kubevirt(), NODE, *here).fits is Fits.YES
    assert of(spec, *here).annotations == {
        "kubevirt.io/instancetype-name": "own", "kubevirt.io/preference-name": "own",
    }  # fmt: skip
    assert reasons(ask(spec, kubevirt(), NODE, *there)) == [
        "InstancetypeMissing", "PreferenceMissing",
    ]  # fmt: skip


def test_pools_refer_in_the_template_of_their_vms():
    inner = referring("large")["spec"]
    pool = obj(
        "pool.kubevirt.io/v1beta1", "VirtualMachinePool", "pool", "default",
        spec={"replicas": 3, "selector": {}, "virtualMachineTemplate": {"spec": inner}},
    )  # fmt: skip
    spec = parse_manifest(json.dumps(pool)).require()[0]
    verdict = check(spec, cluster(kubevirt({}), NODE, LARGE))
    path = "spec.virtualMachineTemplate.spec.instancetype"
    assert issue(verdict, "DeviceNotPermitted").path == path
    assert verdict.replicas == 3


def test_machines_that_refer_to_nothing_are_left_alone():
    plain = machine(vm())
    assert expand(plain, cluster()).spec is plain
    instance = obj(
        "kubevirt.io/v1", "VirtualMachineInstance", "a", "default", spec={"domain": {"devices": {}}}
    )
    other = machine(instance)
    assert expand(other, cluster()).spec is other


def test_expanding_reads_and_never_writes():
    spec, held = machine(referring("large")), cluster(LARGE)
    before = spec.document.plain()
    expand(spec, held)
    assert (spec.document.plain(), spec.devices) == (before, ())


# -- in the way -----------------------------------------------------------------------------------


def test_every_conflict_is_told_with_its_place():
    text = TEXT.replace("devices: {}", "cpu: {cores: 1}\n        devices:\n          gpus:\n"
                        f"          - {{name: g, deviceName: {GPU}}}")  # fmt: skip
    spec = parse_manifest(text, "vm.yaml").require()[0]
    verdict = check(spec, cluster(kubevirt(), NODE, LARGE))
    told = [item for item in verdict.issues if item.reason == "InstancetypeConflict"]
    assert [(item.path, item.position.line, item.severity) for item in told] == [
        ("spec.template.spec.domain.cpu.cores", 11, Severity.ERROR),
        ("spec.template.spec.domain.devices.gpus", 13, Severity.ERROR),
    ]
    assert verdict.fits is Fits.NO
    assert render(told[1]).message == (
        'the VM sets domain.devices.gpus, which VirtualMachineClusterInstancetype "large" decides'
    )
    # the VM as it is written, without the instance type
    assert issue(verdict, "PinnedToNode").path == "spec.template.spec.domain.devices.gpus[0]"
    assert "MemoryMissing" not in reasons(verdict)


@pytest.mark.parametrize("field", ["instancetype", "preference"])
def test_a_missing_object_keeps_the_vm_from_starting(field):
    spec = referring("small", "p")
    spec["spec"][field]["name"] = "smal"
    verdict = ask(spec, kubevirt(), NODE, SMALL, preference("p"), preference("small"))
    reason = f"{field.title()}Missing"
    assert (verdict.fits, reasons(verdict)) == (Fits.NO, [reason])
    assert issue(verdict, reason).path == f"spec.{field}"
    assert words(verdict, reason).endswith("never starts it; there is small")


@pytest.mark.parametrize("how", ["unread", "forbidden"])
@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        (referring("small"), kinds.CLUSTER_INSTANCETYPES),
        (referring({"name": "small", "kind": "VirtualMachineInstancetype"}), kinds.INSTANCETYPES),
        (referring("small", "p"), kinds.CLUSTER_PREFERENCES),
        (referring("small", {"name": "p", "kind": "VirtualMachinePreference"}), kinds.PREFERENCES),
    ],
)
def test_a_kind_that_was_not_read_is_unknown(spec, kind, how):
    verdict = ask(spec, kubevirt(), NODE, SMALL, **{how: [kind]})
    assert verdict.fits is Fits.UNKNOWN
    assert reasons(verdict) == ["KindUnread"]
    assert issue(verdict, "KindUnread").params["kind"] == kind.plural


def test_a_revision_is_unknown():
    spec = referring({"name": "small", "revisionName": "small-1"})
    verdict = ask(spec, kubevirt(), NODE, SMALL)
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["RevisionNotRead"])
    assert issue(verdict, "RevisionNotRead").path == "spec.instancetype.revisionName"


@pytest.mark.parametrize(
    ("matcher", "path"),
    [
        ({}, ""), ({"kind": "VirtualMachineInstancetype"}, ""),
        ({"name": "a", "inferFromVolume": "b"}, ".name"),
        ({"kind": "VirtualMachineInstancetype", "inferFromVolume": "b"}, ".kind"),
        ({"inferFromVolume": "b", "inferFromVolumeFailurePolicy": "Odd"},
         ".inferFromVolumeFailurePolicy"),
    ],
)  # fmt: skip
def test_a_malformed_matcher_is_refused(matcher, path):
    verdict = ask(referring(matcher), kubevirt(), NODE)
    assert (verdict.fits, reasons(verdict)) == (Fits.NO, ["MatcherInvalid"])
    assert issue(verdict, "MatcherInvalid").path == f"spec.instancetype{path}"


@pytest.mark.parametrize(
    "spec",
    [
        {"cpu": {"guest": 1}, "memory": {"guest": "a lot"}},
        {"gpus": [{"name": "g", "odd": 1}]},
        {"launchSecurity": {1: 2}},
        {"launchSecurity": json.loads('{"sev":' * 70 + "1" + "}" * 70)},
    ],
)
def test_an_object_that_is_not_understood_is_unknown(spec):
    odd = {**instancetype("odd"), "spec": spec}
    verdict = ask(referring("odd", "p"), kubevirt(), NODE, odd,
                  preference("p", requirements={"cpu": {"guest": 9}}))  # fmt: skip
    assert verdict.fits is Fits.UNKNOWN
    assert reasons(verdict) == ["InstancetypeUnreadable"]


# -- requirements ---------------------------------------------------------------------------------


def test_requirements_that_are_not_met_refuse_the_vm():
    wanted = preference("big", requirements={"cpu": {"guest": 8}})
    verdict = ask(referring("small", "big"), kubevirt(), NODE, SMALL, wanted)
    assert (verdict.fits, reasons(verdict)) == (Fits.NO, ["PreferenceUnmet"])
    assert issue(verdict, "PreferenceUnmet").path == "spec.instancetype"
    assert words(verdict, "PreferenceUnmet") == (
        'VirtualMachineClusterPreference "big" requires cpu 8; this VM has 4'
    )
    assert ask(referring("large", "big"), kubevirt(), NODE, LARGE, wanted).fits is Fits.YES


def test_requirements_look_at_the_vm_after_its_defaults():
    spec = vm(cpu={"cores": 4, "sockets": 2, "threads": 1}, memory={"guest": "4Gi"})
    spec["spec"]["preference"] = {"name": "p"}
    few = preference("p", requirements={"cpu": {"guest": 3}})
    verdict = ask(spec, kubevirt(), NODE, few)
    assert issue(verdict, "PreferenceUnmet").path == "spec.template.spec.domain.cpu"
    assert words(verdict, "PreferenceUnmet").endswith("this VM has 2, counted by sockets")
    enough = preference("p", requirements={"cpu": {"guest": 2}, "memory": {"guest": "4Gi"},
                                           "architecture": "amd64"})  # fmt: skip
    assert ask(spec, kubevirt(), NODE, enough).fits is Fits.YES


def test_a_required_architecture_may_hang_on_the_configuration():
    arm = preference("arm", requirements={"architecture": "arm64"})
    spec = vm()
    spec["spec"]["preference"] = {"name": "arm"}
    assert issue(ask(spec, kubevirt(), NODE, arm), "PreferenceUnmet").severity is Severity.ERROR
    unread = ask(spec, NODE, arm, unread=[kinds.KUBEVIRTS])
    assert issue(unread, "PreferenceUnmet").severity is Severity.UNKNOWN
    written = vm(architecture="amd64")
    written["spec"]["preference"] = {"name": "arm"}
    told = issue(ask(written, NODE, arm, unread=[kinds.KUBEVIRTS]), "PreferenceUnmet")
    assert (told.severity, told.path) == (Severity.ERROR, "spec.template.spec.architecture")


def test_requirements_are_not_checked_on_a_vm_whose_size_is_unknown():
    wanted = preference("big", requirements={"cpu": {"guest": 8}})
    verdict = ask(referring("gone", "big"), kubevirt(), NODE, wanted)
    assert reasons(verdict) == ["InstancetypeMissing"]


# -- inference ------------------------------------------------------------------------------------

LABEL = "instancetype.kubevirt.io/default-instancetype"


def claim(name, namespace="default", **labels):
    return obj(
        "v1", "PersistentVolumeClaim", name, namespace,
        meta={"labels": {f"{LABEL}{key}": value for key, value in labels.items()}},
    )  # fmt: skip


def inferring(source, *, policy=None, templates=None, field="instancetype", **domain):
    matcher = {"inferFromVolume": "boot"}
    if policy:
        matcher["inferFromVolumeFailurePolicy"] = policy
    spec = referring(**{field: matcher}, domain=domain, volumes=[{"name": "boot", **source}])
    if templates:
        spec["spec"]["dataVolumeTemplates"] = templates
    return spec


def admission(spec, *objects, **options):
    stages = ask(spec, kubevirt(), NODE, *objects, **options).stages
    return [item.reason for stage in stages if stage.stage == "admission" for item in stage.issues]


CLAIM = {"persistentVolumeClaim": {"claimName": "boot"}}
VOLUME = {"dataVolume": {"name": "boot"}}


def cloning(**spec):
    return [{"metadata": {"name": "boot"}, "spec": spec}]


def test_the_labels_of_a_claim_name_the_instance_type():
    found = claim("boot", **{"": "small"})
    assert admission(inferring(CLAIM), found, SMALL) == []
    assert of(inferring(CLAIM), found, SMALL).cpu.sockets == 4
    size = {"guest": "3Gi"}
    assert admission(inferring(CLAIM, memory=size), found, SMALL) == ["InstancetypeConflict"]
    strict = inferring(CLAIM, policy="Reject", memory=size)
    assert admission(strict, found, SMALL) == ["InstancetypeConflict"]
    assert admission(inferring(CLAIM, policy="Ignore", memory=size), found, SMALL) == []
    kind = {"": "own", "-kind": "virtualmachineinstancetype"}
    own = instancetype("own", namespace="default", guest=2)
    assert of(inferring(CLAIM), claim("boot", **kind), own).cpu.sockets == 2
    odd = claim("boot", **{"": "own", "-kind": "Odd"})
    assert admission(inferring(CLAIM), odd, own) == ["MatcherInvalid"]


def test_a_template_that_clones_a_claim_is_followed():
    found = claim("golden", "images", **{"": "small"})
    source = {"pvc": {"name": "golden", "namespace": "images"}}
    spec = inferring(VOLUME, templates=cloning(source=source))
    assert admission(spec, found, SMALL) == []
    found = claim("golden", "other", **{"": "small"})
    assert admission(spec, found, SMALL) == ["InferenceFailed"]


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        (inferring(VOLUME), {}),
        (inferring(VOLUME, templates=[{"metadata": {"name": "other"}, "spec": {}}]), {}),
        (inferring(VOLUME, templates=cloning(sourceRef={"kind": "DataSource", "name": "f"})), {}),
        (inferring(CLAIM), {"unread": [kinds.VOLUME_CLAIMS]}),
    ],
)
def test_what_is_not_read_might_say(spec, options):
    assert admission(spec, SMALL, **options) == ["InferenceUndecided"]


@pytest.mark.parametrize(
    ("spec", "objects", "problem", "pardoned"),
    [
        (inferring(CLAIM), [], 'there is no PersistentVolumeClaim "default/boot"', False),
        (inferring(CLAIM), [claim("boot")], f"has no label {LABEL}", True),
        (inferring({"containerDisk": {"image": "a"}}), [], "neither", True),
        (
            inferring(VOLUME, templates=cloning(source={"http": {"url": "a"}})),
            [],
            "copies no",
            True,
        ),
    ],
)
def test_what_cannot_be_inferred_is_refused_unless_it_is_pardoned(spec, objects, problem, pardoned):
    verdict = ask(spec, kubevirt(), NODE, *objects)
    assert problem in words(verdict, "InferenceFailed")
    spec["spec"]["instancetype"]["inferFromVolumeFailurePolicy"] = "Ignore"
    dropped = admission(spec, *objects)
    assert ("InferenceFailed" in dropped) != pardoned
    spec["spec"]["template"]["spec"]["volumes"][0]["name"] = "other"
    assert admission(spec, *objects) == ["InferenceFailed"]


def test_an_ignored_matcher_that_is_found_clears_the_memory():
    found = claim("boot", **{"": "small"})
    spec = inferring(CLAIM, memory={"guest": "1Gi"})
    assert admission(spec, found, SMALL) == ["InstancetypeConflict"]
    lenient = inferring(CLAIM, policy="Ignore", memory={"guest": "1Gi"})
    assert str(of(lenient, found, SMALL).memory.guest) == "8Gi"
    label = {"instancetype.kubevirt.io/default-preference": "p"}
    named = obj("v1", "PersistentVolumeClaim", "boot", "default", meta={"labels": label})
    other = inferring(CLAIM, policy="Ignore", field="preference", memory={"guest": "1Gi"})
    assert str(of(other, named, preference("p")).memory.guest) == "1Gi"
