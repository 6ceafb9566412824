"""The words of components beside the walk, asked again without the VM's own launcher."""

import msgspec
import pytest
from tests.builders import (
    GPU,
    T4,
    cluster,
    kubevirt,
    machine,
    node,
    obj,
    pci,
    pod,
    quota,
    vm,
)

from passway.cluster import kinds
from passway.cluster.traces import traces
from passway.model.reasons import render
from passway.model.verdict import Fits
from passway.preflight.absence import stopped
from passway.preflight.explain import explain
from passway.preflight.walk import ask

KEY = ("default", "one")
LISTED = {"pciHostDevices": [pci("10DE:2236", GPU)]}


def condition(kind, status="False", reason="", message="", **rest):
    return {"type": kind, "status": status, "reason": reason, "message": message, **rest}


def instance(phase, *conditions, **status):
    return obj(
        "kubevirt.io/v1", "VirtualMachineInstance", "one", "default",
        spec={"domain": {}}, status={"phase": phase, "conditions": [*conditions], **status},
    )  # fmt: skip


def failed_create(message):
    return instance("Pending", condition("Synchronized", reason="FailedCreate", message=message))


def explained(*objects, made=None, unread=(), **options):
    made = made or vm("one", **{"gpus": [GPU], **options})
    made["status"] = {"printableStatus": "Starting", **made.get("status", {})}
    objects = (made, *objects)
    found = traces(objects, KEY)
    kept = [item for item in objects if item["kind"] != "Event"]
    return explain(machine(made), found, cluster(*kept, unread=unread))


def told(issues):
    return [issue.reason for issue in issues]


def outcomes(found):
    return {result.stage.value: result.outcome.value for result in found.stages}


def test_both_say_the_same():
    refused = failed_create(f"GPU {T4} is not permitted in permittedHostDevices configuration")
    found = explained(kubevirt(LISTED), node("n", {T4: 1}), refused, gpus=[T4])
    assert (found.agreement, told(found.issues), found.also) == (
        "agrees", ["DeviceNotPermitted"], (),
    )  # fmt: skip
    assert outcomes(found) == {
        "admission": "pass", "permission": "fail",
        **dict.fromkeys(("quota", "networks", "claims", "scheduling", "kubelet", "host",
                         "launcher", "lifecycle"), "not_reached"),
    }  # fmt: skip
    assert (found.status, found.phase, found.node) == ("Starting", "Pending", None)


def test_what_comes_after_is_told_too():
    refused = failed_create("is not permitted in permittedHostDevices")
    found = explained(kubevirt(LISTED), node("n"), refused, gpus=[T4])
    assert told(found.also) == ["ResourceNotAdvertised"]


def test_the_cause_is_gone():
    found = explained(kubevirt(LISTED), node("n", {GPU: 1}), failed_create("exceeded quota: q"))
    assert (found.agreement, told(found.issues)) == ("cause_gone", ["LauncherRefused", "CauseGone"])
    assert found.verdict.fits is Fits.YES
    assert "virt-controller says does not hold any more" in render(found.issues[1]).message


def test_the_scheduler_and_the_walk_differ():
    waits = condition("PodScheduled", reason="Unschedulable", message="0/1 nodes")
    pending = pod("p", machine="one", phase="Pending")
    pending["status"]["conditions"] = [waits]
    found = explained(kubevirt(LISTED), node("n", {GPU: 1}), instance("Scheduling"), pending)
    assert (found.agreement, told(found.issues)) == ("differs", ["NotScheduled", "WordsDiffer"])


def test_the_walk_cannot_decide():
    refused = failed_create("is not permitted in permittedHostDevices")
    found = explained(node("n", {GPU: 1}), refused, unread=[kinds.KUBEVIRTS])
    assert (found.agreement, told(found.issues)) == (
        "undecided", ["LauncherNotRendered", "KubeVirtUnreadable"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("violates PodSecurity", "LauncherRefusedBySecurity"),
        ('admission webhook "w" denied the request', "LauncherRefusedByWebhook"),
    ],
)
def test_what_no_walk_can_see(message, cause):
    found = explained(kubevirt(LISTED), node("n", {GPU: 1}), failed_create(message))
    assert (found.agreement, told(found.issues)) == ("not_modelled", [cause])


def test_volumes_are_only_compared_with_volumes():
    waits = condition("Synchronized", reason="FailedPvcNotFound", message="PVC")
    found = explained(kubevirt(LISTED), instance("Pending", waits))  # no GPU anywhere either
    assert (found.agreement, told(found.issues)) == ("not_modelled", ["VolumesNotReady"])
    disks = {
        "volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "missing"}}],
        "devices": {"disks": [{"name": "d", "disk": {}}]},
    }
    found = explained(
        kubevirt(LISTED), node("n", {GPU: 1}), instance("Pending", waits), gpus=[], **disks
    )
    assert (found.agreement, told(found.issues)) == ("agrees", ["VolumeMissing"])


def test_nobody_says_anything():
    found = explained(kubevirt(LISTED), instance("Pending"), gpus=[T4])
    assert (found.agreement, told(found.issues)) == (
        "nothing_said", ["NothingTold", "DeviceNotPermitted"],
    )  # fmt: skip
    assert outcomes(found)["permission"] == "unknown"
    pending = pod("p", machine="one", phase="Pending")
    found = explained(kubevirt(LISTED), node("n"), instance("Scheduling"), pending)
    assert told(found.issues) == ["ResourceNotAdvertised"]
    # Bound, and on its way.
    bound = pod("p", "n", machine="one", phase="Pending")
    found = explained(kubevirt(LISTED), node("n", {GPU: 1}), instance("Scheduling"), bound)
    assert (found.issues, found.node) == ((), "n")
    assert outcomes(found)["kubelet"] == "unknown"


def test_a_start_that_failed_again_and_again():
    made = vm("one", gpus=[GPU])
    made["status"] = {
        "startFailure": {"consecutiveFailCount": 2, "retryAfterTimestamp": "2026-01-01T00:00:00Z"}
    }
    found = explained(kubevirt(LISTED), node("n", {GPU: 1}), made=made)
    assert told(found.issues) == ["NothingTold", "StartFailed"]
    assert render(found.issues[1]).message == (
        "the start failed 2 times one after the other; KubeVirt tries again after "
        "2026-01-01T00:00:00Z"
    )


def running(*conditions, strategy=None, cordoned=True, **options):
    status = {"nodeName": "n"}
    return explained(
        kubevirt(LISTED, **options), node("n", {GPU: 1}, unschedulable=cordoned),
        instance("Running", *conditions, **status),
        pod("p", "n", {GPU: "1"}, machine="one"),
        **({"evictionStrategy": strategy} if strategy else {}),
    )  # fmt: skip


PINNED = condition("LiveMigratable", reason="HostDeviceNotLiveMigratable", message="m")


def test_a_drain_that_waits_for_it():
    found = running(PINNED, strategy="LiveMigrate")
    assert (told(found.issues), outcomes(found)["lifecycle"]) == (["EvictionRefused"], "warn")
    assert [words.component for words in found.standing.words] == ["virt-handler"]
    assert "node n is cordoned" in render(found.issues[0]).message
    assert told(running(PINNED, evictionStrategy="LiveMigrate").issues) == ["EvictionRefused"]


@pytest.mark.parametrize(
    "found",
    [
        running(PINNED),
        running(PINNED, strategy="None"),
        running(strategy="LiveMigrate"),
        running(PINNED, strategy="LiveMigrate", cordoned=False),
    ],
)
def test_a_vm_that_just_runs(found):
    assert (found.agreement, found.issues, found.standing.stage) == ("nothing_said", (), None)


def test_its_own_launcher_is_not_in_its_way():
    hard = {f"requests.{GPU}": "1", "count/pods": "1", "count/virtualmachines.kubevirt.io": "1",
            "count/virtualmachineinstances.kubevirt.io": "1", "requests.storage": "9"}  # fmt: skip
    found = explained(
        kubevirt(LISTED), node("n", {GPU: 1}),
        instance("Running", condition("Ready", "True"), nodeName="n"),
        pod("p", "n", {GPU: "1"}, machine="one"),
        quota("mine", hard, hard), quota("other", hard, hard, namespace="elsewhere"),
        quota("unscoped", hard, hard, scopes=["BestEffort"]), quota("new", hard, status=False),
    )  # fmt: skip
    assert (found.also, found.verdict.fits) == ((), Fits.YES)


def test_only_what_exists_of_it_is_given_back():
    full = {"count/virtualmachines.kubevirt.io": "1", f"requests.{GPU}": "1"}
    found = explained(
        kubevirt(LISTED), node("n", {GPU: 1}), failed_create("exceeded quota"),
        quota("mine", full, full),
    )  # fmt: skip
    assert [issue.params["key"] for issue in found.issues] == [f"requests.{GPU}"]


def test_a_vm_that_stops_still_exists():
    full = {"count/virtualmachines.kubevirt.io": "1", "count/pods": "1"}
    made = vm("one", gpus=[GPU])
    before = cluster(
        made, instance("Running"), pod("p", "n", {GPU: "1"}, machine="one"), quota("q", full, full)
    )
    events = stopped(ask(machine(made), before, 1), KEY)
    assert [(event.kind.kind, event.key[1]) for event in events] == [
        ("Pod", "p"), ("VirtualMachineInstance", "one"), ("ResourceQuota", "q"),
    ]  # fmt: skip
    used = msgspec.to_builtins(events[2].kept)["status"]["used"]
    assert used == {"count/virtualmachines.kubevirt.io": "1000000000n", "count/pods": "0n"}
    assert stopped(ask(machine(made), cluster(made), 1), KEY) == ()
