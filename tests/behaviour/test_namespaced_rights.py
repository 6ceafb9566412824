"""Who may read one namespace only: what is known there decides, and the rest is unknown by name."""

import pytest
from tests.builders import (
    GPU,
    VF,
    attachment,
    instancetype,
    kubevirt,
    machine,
    namespace,
    node,
    pci,
    pod,
    quota,
    reasons,
    referring,
    vm,
)

from passway.cluster import kinds
from passway.kube.memory import MemoryCluster, Rule
from passway.preflight.walk import check
from passway.service.mirror import Mirror
from passway.service.report import read, verdict

EVERYTHING = ("list",), ("*",), ("*",)
NODES = Rule(("list",), ("", "kubevirt.io"), ("nodes", "kubevirts", "namespaces"))
OBJECTS = (
    namespace("lab"), namespace("other"), node("n1", {GPU: 2}), node("n2", {GPU: 2}),
    kubevirt({"pciHostDevices": [pci("10DE:2236", GPU)]}),
)  # fmt: skip


async def judged(spec, *objects, rules=(NODES,), spaces=("lab",)):
    own = Rule(*EVERYTHING, namespaces=("lab",))
    mirror = Mirror(MemoryCluster((*OBJECTS, *objects), rules=(own, *rules)), namespaces=spaces)
    await mirror.read()
    snapshot = mirror.snapshot()
    return check(machine(spec), snapshot), snapshot


async def test_what_decides_in_the_own_namespace_decides():
    full = quota("gpus", {f"requests.{GPU}": "0"}, namespace="lab")
    found, _ = await judged(vm(namespace="lab", gpus=[GPU]), full)
    assert found.fits == "no"
    assert "QuotaExceeded" in reasons(found)


async def test_units_in_use_elsewhere_are_unknown_and_the_right_is_named():
    found, snapshot = await judged(
        vm(namespace="lab", gpus=[GPU]), pod("far", "n1", {GPU: "2"}, namespace="other")
    )
    assert found.fits == "unknown"
    told = verdict(found, snapshot)
    (message,) = [issue.message for issue in told.issues if "units in use" in issue.message]
    assert message == (
        "pods may not be listed in all namespaces (only in lab), so the units in use could not be "
        "checked"
    )
    assert {one.kind: one.namespaces for one in read(snapshot)}["pods"] == ("lab",)


async def test_what_is_full_by_the_own_pods_alone_is_full():
    own = [pod(f"p{number}", name, {GPU: "2"}, namespace="lab")
           for number, name in enumerate(("n1", "n2"))]  # fmt: skip
    found, _ = await judged(vm(namespace="lab", gpus=[GPU]), *own)
    assert found.fits == "no"


async def test_quotas_of_the_own_namespace_are_no_question():
    found, _ = await judged(vm(namespace="lab", gpus=[GPU]))
    assert not any(issue.params.get("kind") == "resourcequotas" for issue in found.issues)
    found, _ = await judged(vm(namespace="lab", gpus=[GPU]), spaces=())
    assert any(issue.params.get("kind") == "resourcequotas" for issue in found.issues)


async def test_an_attachment_of_another_namespace_is_unknown():
    there = attachment("net", VF, "lab")
    for name, reason in (("lab/missing", "AttachmentMissing"), ("other/net", "KindUnread")):
        spec = vm(namespace="lab", sriov=[name])
        found, _ = await judged(spec, there)
        told = [issue for issue in found.issues if issue.stage.value == "networks"]
        assert reason in {issue.reason for issue in told}, told


async def test_an_instance_type_of_the_own_namespace():
    wanted = instancetype("big", namespace="lab")
    spec = referring({"name": "big", "kind": "VirtualMachineInstancetype"}, namespace="lab")
    found, _ = await judged(spec, wanted)
    assert not any(issue.path.startswith("instancetype") for issue in found.issues)
    found, _ = await judged(spec, wanted, spaces=())
    assert any(issue.reason == "KindUnread" for issue in found.issues)


@pytest.mark.parametrize("kind", sorted(kinds.OF_A_MACHINE, key=lambda kind: kind.plural))
def test_kinds_of_a_machine_are_in_namespaces(kind):
    assert kind.namespaced
