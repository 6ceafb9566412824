"""`explain`, `what_if` and the dry run as use cases: what is read of a VM, and what is told."""

import json

import pytest
from tests.builders import (
    GPU,
    T4,
    cluster,
    kubevirt,
    namespace,
    node,
    obj,
    pci,
    pod,
    quota,
    vm,
    vmi,
)
from tests.gates import Within

from passway.cluster import kinds
from passway.cluster.snapshot import Read
from passway.kube.memory import MemoryCluster, Rule
from passway.model.errors import Forbidden, InvalidInput, NotFound
from passway.plan.permit import permit_of
from passway.plan.what_if import Allow, Drain, Stop
from passway.service.audit import Actor
from passway.service.backend import SnapshotBackend
from passway.service.changes import Unrecorded
from passway.service.cluster_backend import ClusterBackend
from passway.service.gate import OPEN
from passway.service.manifests import stored_machine
from passway.service.mirror import Mirror
from passway.service.ports import Cause, OtherVersion, Trial
from passway.service.stored import AtHand, InCluster
from passway.service.trial import launcher_object, machine_object

KEY = ("default", "one")
LISTED = {"pciHostDevices": [pci("10DE:2236", GPU)]}
LAUNCHER = "virt-launcher-one-aaaaa"
OWN = {"kubevirt.io/created-by": "u1", "vm.kubevirt.io/name": "one"}


def event(name, kind, about, message="", reason="r"):
    return obj(
        "v1", "Event", name, "default", message=message, reason=reason,
        involvedObject={"kind": kind, "name": about},
    )  # fmt: skip


def waiting():
    instance = vmi("one", phase="Pending")
    instance["metadata"]["uid"] = "u1"
    instance["status"]["conditions"] = [
        {"type": "Synchronized", "status": "False", "reason": "FailedCreate",
         "message": f"GPU {T4} is not permitted in permittedHostDevices configuration"}
    ]  # fmt: skip
    return [
        namespace("default"), kubevirt(LISTED), node("n", {T4: 1}), vm("one", gpus=[T4]), instance,
        pod(LAUNCHER, machine="one", meta={"labels": OWN}),
        pod("virt-launcher-two-bbbbb", machine="two", meta={"labels": {**OWN, "x": "y"}}),
        event("e1", "VirtualMachineInstance", "one", "Deleted pod virt-launcher-one-ccccc"),
        event("e2", "Pod", LAUNCHER), event("e3", "Pod", "virt-launcher-one-ccccc"),
        event("e4", "Pod", "virt-launcher-two-bbbbb"), event("e5", "VirtualMachine", "one"),
    ]  # fmt: skip


def names(items):
    return sorted(item.metadata.name for item in items)


def at_hand(objects):
    return AtHand(lambda: objects)


@pytest.fixture(params=["at hand", "in a cluster"])
def stored(request):
    if request.param == "at hand":
        return at_hand
    return lambda objects: InCluster(MemoryCluster(objects, kinds=kinds.ALL))


async def test_everything_of_one_vm_is_read(stored):
    found = await stored(waiting()).traces(KEY)
    assert (found.machine.metadata.name, found.instance.status.phase) == ("one", "Pending")
    assert names(found.pods) == [LAUNCHER]
    assert names(found.events) == ["e1", "e2", "e3", "e5"]
    assert found.unread == {}


async def test_launchers_of_a_vmi_that_is_gone_are_found_by_the_vm(stored):
    objects = [item for item in waiting() if item["kind"] != "VirtualMachineInstance"]
    found = await stored(objects).traces(KEY)
    assert (names(found.pods), found.instance) == ([LAUNCHER], None)


async def test_a_vm_that_is_not_there(stored):
    with pytest.raises(NotFound, match='no VM "none" in namespace "default"'):
        await stored(waiting()).traces(("default", "none"))
    assert await stored(waiting()).machines([("default", "none")]) == {}


async def test_vms_and_vmis_without_one_are_read_whole(stored):
    objects = [vmi("one"), vm("one"), vmi("two"), vm("three"), pod("p")]
    keys = [("default", name) for name in ("one", "two")]
    found = await stored(objects).machines(keys)
    assert {key[1]: item["kind"] for key, item in found.items()} == {
        "one": "VirtualMachine", "two": "VirtualMachineInstance",
    }  # fmt: skip


async def test_what_may_not_be_read_is_named():
    rules = (Rule(("get",), ("*",), ("virtualmachines", "virtualmachineinstances")),)
    poor = InCluster(MemoryCluster(waiting(), kinds=kinds.ALL, rules=rules))
    found = await poor.traces(KEY)
    assert found.unread == {"pods": Read.FORBIDDEN, "events": Read.FORBIDDEN}
    with pytest.raises(Forbidden):
        await InCluster(MemoryCluster(waiting(), kinds=kinds.ALL, rules=())).traces(KEY)


async def test_without_any_event_nobody_read_them():
    objects = [item for item in waiting() if item["kind"] != "Event"]
    assert (await AtHand(lambda: objects).traces(KEY)).unread == {"events": Read.UNREAD}
    assert (await AtHand(lambda: objects, complete=True).traces(KEY)).unread == {}
    assert (await AtHand(waiting).traces(KEY)).unread == {}


async def test_another_version_is_no_absence():
    class Older(MemoryCluster):
        async def get(self, kind, name, namespace=None):
            raise OtherVersion("v9 only")

    with pytest.raises(OtherVersion):
        await InCluster(Older()).traces(KEY)


def backend(objects, may_see=None):
    made = SnapshotBackend(
        cluster(*(item for item in objects if item["kind"] != "Event")), "files", lambda: objects
    )
    made.gate = OPEN if may_see is None else Within(may_see)
    return made


async def test_the_explanation_as_a_document():
    found = await backend(waiting()).explain(*KEY)
    assert (found.state, found.stage, found.agreement) == ("waiting", "permission", "agrees")
    (words,) = found.said
    assert (words.component, words.about.kind, words.count) == (
        "virt-controller", "VirtualMachineInstance", 1,
    )  # fmt: skip
    (issue,) = found.issues
    assert (issue.reason, issue.file, issue.line) == ("DeviceNotPermitted", None, None)
    assert issue.path == "spec.template.spec.domain.devices.gpus[0].deviceName"
    assert all(item.line is None for item in found.verdict.issues)
    assert [item.outcome for item in found.stages][1:3] == ["fail", "not_reached"]


async def test_a_tenant_reads_nothing_of_others():
    objects = [
        *waiting(), namespace("theirs"),
        pod("secret", "n", {T4: "1"}, namespace="theirs", machine="secret"),
    ]  # fmt: skip
    found = await backend(objects, frozenset({"default"})).explain(*KEY)
    assert [issue.reason for issue in found.also] == ["ResourceExhausted"]
    assert "secret" not in str(found)
    assert "secret" in str(await backend(objects).explain(*KEY))
    with pytest.raises(Forbidden):
        await backend(objects, frozenset({"theirs"})).explain(*KEY)


def test_a_stored_vm_may_have_fields_that_are_not_known_here():
    made = vm("one", gpus=[GPU])
    made["spec"]["template"]["spec"]["fromTheFuture"] = {"a": 1}
    made["metadata"]["managedFields"] = [{"manager": "x"}]
    assert [item.resource_name for item in stored_machine(made).plugin_devices] == [GPU]


# -- what-if --------------------------------------------------------------------------------------

BUSY = (
    namespace("default"), kubevirt(LISTED), node("n", {GPU: 1}), vm("one", gpus=[GPU]),
    pod(LAUNCHER, "n", {GPU: "1"}, machine="one"), pod("other", "n"),
)  # fmt: skip


async def test_the_same_question_before_and_after():
    text = json.dumps(vm("two", gpus=[GPU]))
    found = await backend(BUSY).what_if([Stop(KEY)], text, "vm.yaml")
    (item,) = found.asked
    assert (item.before.fits, item.after.fits) == ("no", "yes")
    assert [issue.reason for issue in item.resolved] == ["ResourceExhausted"]
    assert (item.added, item.resolved[0].file) == ((), "vm.yaml")
    (change,) = found.changes
    assert (change.change, change.target, change.changed) == ("stop", "default/one", True)
    assert (found.moved, found.together) == ((), None)


async def test_a_drain_answers_for_every_vm():
    found = await backend(BUSY).what_if([Drain("n")])
    (change,) = found.changes
    assert (change.change, change.target, change.other_pods) == ("drain", "n", 1)
    assert [item.effect for item in change.impacts] == ["stops"]
    (move,) = found.moved
    assert (move.verdict.fits, move.node, found.together) == ("no", None, "no")
    assert found.asked == ()


async def test_other_changes_are_told():
    permit = permit_of("usb", "a.b/c", vendor="046d", product="c52b")
    found = await backend(BUSY).what_if([Allow(permit)], json.dumps(vm("two")), "-")
    assert [(item.change, item.target) for item in found.changes] == [("permit", "a.b/c")]


async def test_a_vm_that_is_to_stop_must_be_there():
    with pytest.raises(NotFound, match='no VM "none"'):
        await backend(BUSY).what_if([Stop(("default", "none"))])


async def test_a_launcher_of_nobody_is_moved_without_an_answer():
    objects = [item for item in BUSY if item["kind"] != "VirtualMachine"]
    found = await backend(objects).what_if([Drain("n")])
    assert (found.moved, found.together) == ((), None)


# -- the dry run ----------------------------------------------------------------------------------


class Answering(MemoryCluster):
    """Says what it is told to."""

    answers = None
    asked = ()

    async def trial(self, kind, obj):
        self.asked = (*self.asked, obj)
        answer = (self.answers or {}).get(kind.plural, Trial(accepted=True))
        if isinstance(answer, Exception):
            raise answer
        return answer


async def tried(answers, *objects, made=None, replicas=None, **options):
    """(of the VM, of the launcher)."""
    made = made or vm("two", **{"gpus": [GPU], **options})
    server = Answering([*BUSY[:3], *objects], kinds=kinds.ALL)
    server.answers = answers
    async with Mirror(server) as mirror:
        await mirror.ready(10)
        live = ClusterBackend(server, mirror, Unrecorded(), Actor("me"))
        (found,) = await live.check(json.dumps(made), "-", replicas=replicas, server_dry_run=True)
    assert len(server.asked) == 2
    return found.server


def refused(message, **rest):
    return Trial(accepted=False, message=message, **rest)


async def test_both_accepted():
    machine, launcher = await tried({})
    assert (machine.outcome, machine.agreement, machine.by) == ("accepted", "agrees", None)
    assert (launcher.outcome, launcher.object.kind) == ("accepted", "Pod")
    assert launcher.object.name == "virt-launcher-two-…"


async def test_who_refused_and_why():
    machine, launcher = await tried({
        "virtualmachines": refused(
            'admission webhook "virtualmachine-validator.kubevirt.io" denied the request: no',
            reason="Invalid", causes=(Cause("spec.x", "Bad", "no"),), warnings=("old",),
        ),
        "pods": refused("exceeded quota: gpus, requested: a=1"),
    })  # fmt: skip
    assert (machine.by, machine.agreement) == (
        "virt-api (virtualmachine-validator.kubevirt.io)", "differs",
    )  # fmt: skip
    assert [(cause.field, cause.message) for cause in machine.causes] == [("spec.x", "no")]
    assert (machine.warnings, machine.reason) == (("old",), "Invalid")
    assert (launcher.by, launcher.agreement) == ("ResourceQuota gpus", "differs")


CAP = quota("gpus", {f"requests.{GPU}": "0"})


async def test_ours_refuses_too():
    _, launcher = await tried({"pods": refused("exceeded quota: gpus")}, CAP)
    assert launcher.agreement == "agrees"
    _, launcher = await tried({}, CAP)
    assert launcher.agreement == "differs"
    machine, launcher = await tried({}, quota("n", {"count/virtualmachines.kubevirt.io": "0"}))
    assert (machine.agreement, launcher.agreement) == ("differs", "agrees")


async def test_what_cannot_be_compared_is_no_disagreement():
    _, launcher = await tried({"pods": refused('violates PodSecurity "restricted"')})
    assert launcher.agreement == "not_modelled"
    # Ours counts all replicas, the server one.
    half = quota("gpus", {f"requests.{GPU}": "1"})
    _, launcher = await tried({}, half, replicas=2)
    assert launcher.agreement == "not_modelled"
    # A scope that was not decided.
    vague = quota("q", {"pods": "9"}, scopeSelector={
        "matchExpressions": [{"scopeName": "New", "operator": "Exists"}]})  # fmt: skip
    _, launcher = await tried({"pods": refused("exceeded quota: q")}, vague)
    assert launcher.agreement == "not_modelled"
    # KubeVirt takes a VM whose instance type does not exist.
    made = vm("two", gpus=[GPU])
    made["spec"]["instancetype"] = {"name": "missing"}
    machine, _ = await tried({}, made=made)
    assert machine.agreement == "agrees"


async def test_a_missing_right_is_named():
    denied = Forbidden("not allowed: create pods", code="RBAC_DENIED")
    _, launcher = await tried({"pods": denied})
    assert (launcher.outcome, launcher.agreement, launcher.message) == (
        "not_tried", "not_tried", "not allowed: create pods",
    )  # fmt: skip


async def test_files_cannot_be_asked():
    with pytest.raises(InvalidInput, match="files cannot be asked for a dry run"):
        await backend(BUSY).check(json.dumps(vm("two")), "-", server_dry_run=True)


async def question_of(made, *objects):
    from passway.preflight.walk import ask

    return ask(stored_machine(made), cluster(*BUSY[:3], *objects))


async def test_the_vm_is_sent_as_somebody_would_create_it():
    made = vm("two", namespace=None)
    made["metadata"] |= {"resourceVersion": "7", "uid": "u", "labels": {"a": "b"}}
    made["status"] = {"printableStatus": "Running"}
    kind, sent = machine_object(stored_machine(made))
    assert (kind.resource, kind.version) == ("virtualmachines.kubevirt.io", "v1")
    assert sent["metadata"] == {"name": "two", "namespace": "default", "labels": {"a": "b"}}
    assert sent.get("status", {}) == {}
    template = {"spec": {"template": {"spec": {"domain": {}}}}}
    pool = obj(
        "pool.kubevirt.io/v1beta1", "VirtualMachinePool", "p", "default",
        spec={"replicas": 2, "virtualMachineTemplate": template},
    )  # fmt: skip
    kind, _ = machine_object(stored_machine(pool))
    assert kind.resource == "virtualmachinepools.pool.kubevirt.io"


async def test_the_launcher_has_what_everybody_looks_at():
    made = vm("two", memory={"guest": "4Gi", "hugepages": {"pageSize": "1Gi"}}, volumes=[
        {"name": "d", "hostDisk": {"path": "/data/disk.img", "type": "Disk"}},
        {"name": "top", "hostDisk": {"path": "disk.img", "type": "Disk"}},
        {"name": "c", "containerDisk": {"image": "i"}},
    ])  # fmt: skip
    limits = obj("v1", "LimitRange", "caps", "default", spec={
        "limits": [{"type": "Container", "default": {"cpu": "9"}}]})  # fmt: skip
    sent = launcher_object(await question_of(made, limits))
    compute = sent["spec"]["containers"][0]
    assert compute["securityContext"]["capabilities"] == {
        "drop": ["ALL"], "add": ["NET_BIND_SERVICE"],
    }  # fmt: skip
    assert all(item["image"] for item in sent["spec"]["containers"])
    assert "cpu" not in compute["resources"].get("limits", {})  # the LimitRange is the server's
    volumes = {item["name"]: item for item in sent["spec"]["volumes"]}
    assert volumes["d"] == {"name": "d", "hostPath": {"path": "/data"}}
    assert volumes["top"]["hostPath"] == {"path": "/"}
    assert "c" not in volumes
    assert "emptyDir" in volumes["hugepages"]
