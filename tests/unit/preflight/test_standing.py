"""Where a VM stands, row by row of KubeVirt's own status, from traces as they were really seen."""

import pytest
from tests.builders import obj, pod, vm

from passway.cluster.traces import traces
from passway.model.verdict import Stage
from passway.preflight.said import State
from passway.preflight.standing import pinned, standing
from passway.preflight.utterances import speaker_of

KEY = ("default", "one")
LAUNCHER = "virt-launcher-one-abcde"


def condition(kind, status="False", reason="", message=""):
    return {"type": kind, "status": status, "reason": reason, "message": message}


def machine(printed="Starting", *conditions, run_strategy="Always", **status):
    made = vm("one", run_strategy=run_strategy)
    made["status"] = {"printableStatus": printed, "conditions": [*conditions], **status}
    return made


def instance(phase, *conditions, **status):
    return obj(
        "kubevirt.io/v1", "VirtualMachineInstance", "one", "default",
        status={"phase": phase, "conditions": [*conditions], **status},
    )  # fmt: skip


def launcher(node=None, *, name=LAUNCHER, waits=None, gates=(), phase="Pending", **status):
    made = pod(name, node, machine="one", phase=phase, schedulingGates=[{"name": g} for g in gates])
    made["status"] |= status
    if waits:
        made["status"]["containerStatuses"] = [
            {"name": "compute", "state": {"waiting": {"reason": waits, "message": "words"}}}
        ]
    return made


def event(reason, message="words", about=("Pod", LAUNCHER), component="kubelet", **rest):
    return obj(
        "v1", "Event", f"{reason}.{rest.pop('at', '1')}", "default",
        **{
            "involvedObject": {"kind": about[0], "name": about[1]}, "reason": reason,
            "message": message, "source": {"component": component}, **rest,
        },
    )  # fmt: skip


def stand(*objects):
    found = traces(objects, KEY)
    assert found is not None
    return standing(found)


def row(*objects):
    """State, stage, cause, and who says what."""
    found = stand(*objects)
    told = [(words.component, words.reason, words.message) for words in found.words]
    return found.state.value, found.stage and found.stage.value, found.cause, told


INSTANCE = ("VirtualMachineInstance", "one")
FAILED_CREATE = "failed to create virtual machine pod: "
RENDER = "failed to render launch manifest: "


def failed_create(message):
    return instance("Pending", condition("Synchronized", reason="FailedCreate", message=message))


def test_a_refused_vmi_is_told_by_the_webhook_that_refused_it():
    message = 'admission webhook "no.example.com" denied the request: no'
    found = row(machine("Starting", condition("Failure", "True", "FailedCreate", message)))
    assert found == (
        "waiting", "admission", "InstanceRefused", [("no.example.com", "FailedCreate", message)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "stage", "cause", "who"),
    [
        (f"{RENDER}GPU a/b is not permitted in permittedHostDevices configuration",
         "permission", "LauncherNotRendered", "virt-controller"),
        (f"{RENDER}failed to locate network attachment definition a/b",
         "networks", "LauncherNotRendered", "virt-controller"),
        (f"{RENDER}something else", "launcher", "LauncherNotRendered", "virt-controller"),
        (f"{FAILED_CREATE}pods is forbidden: exceeded quota: gpus",
         "quota", "LauncherRefused", "virt-controller"),
        ('it needs a privileged namespace to run: pods "x" is forbidden: violates PodSecurity "a"',
         "quota", "LauncherRefusedBySecurity", "virt-controller"),
        (f'{FAILED_CREATE}admission webhook "w.example.com" denied the request: no',
         "quota", "LauncherRefusedByWebhook", "w.example.com"),
        (f'{FAILED_CREATE}Pod "x" is invalid: spec.containers[0].resources.requests',
         "quota", "LauncherRefused", "virt-controller"),
    ],
)  # fmt: skip
def test_a_launcher_that_is_not_created(message, stage, cause, who):
    found = row(machine(), failed_create(message))
    assert found == ("waiting", stage, cause, [(who, "FailedCreate", message)])


def test_each_attempt_has_an_event_of_its_own_and_they_are_counted():
    about = {"about": INSTANCE, "component": "virtualmachine-controller"}
    found = stand(
        machine(), failed_create("exceeded quota: q"),
        event("FailedCreate", at="1", lastTimestamp="2026-01-01T00:00:01Z", **about),
        event("FailedCreate", at="2", count=3, lastTimestamp="2026-01-01T00:00:09Z", **about),
    )  # fmt: skip
    (words,) = found.words
    assert (words.times, words.time) == (4, "2026-01-01T00:00:09Z")


def test_a_claim_that_is_missing():
    message = "PVC default/disk does not exist, waiting for it to appear"
    missing = condition("Synchronized", reason="FailedPvcNotFound", message=message)
    found = row(machine("ErrorPvcNotFound"), instance("Pending", missing))
    assert found == (
        "waiting", "scheduling", "VolumesNotReady",
        [("virt-controller", "FailedPvcNotFound", message)],
    )  # fmt: skip


@pytest.mark.parametrize("printed", ["Provisioning", "DataVolumeError"])
def test_a_data_volume_that_is_imported(printed):
    waits = condition("DataVolumesReady", reason="NotAllDVsReady", message="Not all of the volumes")
    found = row(machine(printed), instance("Pending", waits))
    assert found[:3] == ("waiting", "scheduling", "VolumesNotReady")
    assert found[3] == [("virt-controller", "NotAllDVsReady", "Not all of the volumes")]
    assert row(machine(printed))[:3] == ("waiting", "scheduling", "VolumesNotReady")


def test_words_about_volumes_are_enough():
    waits = condition("Provisioning", reason="Importing", message="42%")
    assert row(machine(), instance("Pending", waits))[1:3] == ("scheduling", "VolumesNotReady")


def test_a_pod_that_the_scheduler_holds_until_its_volume_is_bound():
    found = row(machine("WaitingForVolumeBinding"), instance("Scheduling"), launcher())
    assert found == ("waiting", "scheduling", "VolumesNotReady", [])


def test_another_trouble_of_virt_controller():
    other = condition("Synchronized", reason="Other", message="words")
    assert row(machine(), instance("Pending", other)) == (
        "waiting", "launcher", "LauncherNotRendered", [("virt-controller", "Other", "words")],
    )  # fmt: skip


def test_nothing_is_told_of_a_vmi_that_waits():
    assert row(machine(), instance("Pending")) == ("waiting", "permission", "NothingTold", [])
    assert row(machine(), instance(None)) == ("waiting", "permission", "NothingTold", [])
    assert row(instance("Pending")) == ("waiting", "permission", "NothingTold", [])


UNSCHEDULABLE = "0/2 nodes are available: 2 Insufficient a/b."


@pytest.mark.parametrize(
    ("message", "stage"),
    [
        (UNSCHEDULABLE, "scheduling"),
        ("0/2 nodes are available: 2 cannot allocate all claims.", "claims"),
        ("0/2 nodes: 1 Insufficient a/b, 1 cannot allocate all claims.", "scheduling"),
        ("waiting for dynamic resource controller to create the resourceclaim \"c\"", "claims"),
    ],
)  # fmt: skip
def test_a_launcher_without_a_node(message, stage):
    waits = condition("PodScheduled", reason="Unschedulable", message=message)
    found = row(machine("ErrorUnschedulable"), instance("Scheduling"), launcher(conditions=[waits]))
    assert found == (
        "waiting", stage, "NotScheduled", [("kube-scheduler", "Unschedulable", message)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "told"), [("", "a/x, b/y"), ("Scheduling is blocked", "Scheduling is blocked")]
)
def test_a_launcher_that_is_held_back(message, told):
    waits = condition("PodScheduled", reason="SchedulingGated", message=message)
    gated = launcher(conditions=[waits], gates=("a/x", "b/y"))
    found = row(machine(), instance("Scheduling"), gated)
    assert found == (
        "waiting", "scheduling", "SchedulingGated",
        [("kube-scheduler", "SchedulingGated", told)],
    )  # fmt: skip


def test_a_claim_that_is_not_made():
    found = row(
        machine(), instance("Scheduling"), launcher(),
        event("FailedResourceClaimCreation", component="resource_claim"),
    )  # fmt: skip
    assert found == (
        "waiting", "claims", "ClaimNotMade",
        [("resource_claim", "FailedResourceClaimCreation", "words")],
    )  # fmt: skip


def test_a_launcher_that_the_scheduler_has_not_seen_yet():
    assert row(machine(), instance("Scheduling"), launcher()) == ("waiting", "scheduling", "", [])
    assert row(instance("Scheduling"), launcher()) == ("waiting", "scheduling", "", [])
    assert row(machine(), instance("Scheduling")) == ("waiting", "scheduling", "NothingTold", [])


REJECTED = [
    ("TopologyAffinityError", "KubeletRejectedTopology"),
    ("UnexpectedAdmissionError", "KubeletRejectedDevices"),
    ("OutOfnvidia.com/x", "KubeletOutOfResource"),
    ("OutOfcpu", "KubeletOutOfResource"),
    ("NodeAffinity", "KubeletRejectedNode"),
    ("Evicted", "PodEvicted"),
]


@pytest.mark.parametrize(("reason", "cause"), REJECTED)
def test_a_launcher_that_the_kubelet_rejects(reason, cause):
    ended = launcher("n", phase="Failed", reason=reason, message="words")
    expected = ("failing", "kubelet", cause, [("kubelet", reason, "words")])
    assert row(machine(), instance("Scheduling"), ended) == expected
    assert row(machine(), instance("Failed"), ended) == expected
    # Gone with its VMI: the VMI's events name it, its own events tell.
    failure = {"consecutiveFailCount": 3, "retryAfterTimestamp": "2026-01-01T00:00:00Z"}
    found = stand(
        machine("CrashLoopBackOff", startFailure=failure),
        event("SuccessfulDelete", f"Deleted virtual machine pod {LAUNCHER}", INSTANCE),
        event(reason),
    )  # fmt: skip
    assert (found.cause, found.fails, found.retry) == (cause, 3, failure["retryAfterTimestamp"])
    assert [words.reason for words in found.words] == [reason]


def test_an_ended_launcher_with_words_that_mean_nothing_here():
    ended = launcher("n", phase="Failed", reason="Strange")
    assert row(machine(), instance("Failed"), ended) == ("failing", "launcher", "NothingTold", [])
    assert row(machine(), instance("Failed")) == ("failing", "launcher", "NothingTold", [])


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("ErrImagePull", "ImageNotPulled"),
        ("ImagePullBackOff", "ImageNotPulled"),
        ("CreateContainerError", "ContainerNotCreated"),
    ],
)
def test_a_container_that_waits(reason, cause):
    found = row(machine(), instance("Scheduling"), launcher("n", waits=reason))
    assert found == ("failing", "kubelet", cause, [("kubelet", reason, "words")])


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        ("FailedCreatePodSandBox", "SandboxNotCreated"),
        ("FailedMount", "VolumeNotMounted"),
        ("Failed", "ContainerNotCreated"),
        ("FailedPrepareDynamicResources", "ClaimNotPrepared"),
    ],
)
def test_what_the_kubelet_says_of_a_bound_launcher(reason, cause):
    found = row(machine(), instance("Scheduling"), launcher("n"), event(reason))
    assert found == ("failing", "kubelet", cause, [("kubelet", reason, "words")])
    failed = row(machine(), instance("Failed"), launcher("n", phase="Failed"), event(reason))
    assert failed == found


def test_an_event_about_an_image():
    said = event("Failed", 'Failed to pull image "x"')
    assert row(machine(), instance("Scheduling"), launcher("n"), said)[2] == "ImageNotPulled"


def test_what_a_vm_that_cannot_be_migrated_says():
    found = traces([instance("Running")], KEY)
    assert pinned(found) is None
    stuck = instance("Running", condition("LiveMigratable", reason="r", message="m"))
    assert pinned(traces([stuck], KEY)).message == "m"


def test_a_bound_launcher_that_just_starts():
    waits = launcher("n", waits="ContainerCreating")
    assert row(machine(), instance("Scheduling"), waits) == ("waiting", "kubelet", "", [])
    others = event("FailedMount", about=("Pod", "virt-launcher-one-older"))
    told = event(
        "SuccessfulCreate", "Created virtual machine pod virt-launcher-one-older", INSTANCE
    )
    assert row(machine(), instance("Scheduling"), launcher("n"), others, told)[2] == ""


def test_a_launcher_that_is_not_guaranteed():
    failed = condition("Synchronized", reason="FailedGuaranteeResources", message="words")
    assert row(machine(), instance("Scheduling", failed), launcher("n")) == (
        "failing", "launcher", "NotGuaranteed",
        [("virt-controller", "FailedGuaranteeResources", "words")],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("message", "stage", "cause"),
    [
        ("vfio 0000:65:00.0: group 12 is not viable", "host", "IommuGroupNotViable"),
        ("VFIO_MAP_DMA failed: Cannot allocate memory", "host", "GuestMemoryNotMapped"),
        ("the number of GPU/s do not match the number of devices", "launcher",
         "DevicesNotHandedOver"),
        ("internal error", "launcher", "DomainNotStarted"),
    ],
)  # fmt: skip
def test_a_guest_that_does_not_start(message, stage, cause):
    reason = "Synchronizing with the Domain failed."
    failed = condition("Synchronized", reason=reason, message=message)
    said = event("SyncFailed", message, INSTANCE, "virt-handler")
    expected = [("virt-handler", reason, message), ("virt-handler", "SyncFailed", message)]
    found = row(machine(), instance("Scheduled", failed), launcher("n", phase="Running"), said)
    assert found == ("failing", stage, cause, expected)
    # While it runs, and once it is gone.
    found = row(machine("Running"), instance("Running", failed), said)
    assert found == ("running", stage, cause, expected)
    found = row(machine("CrashLoopBackOff", startFailure={"consecutiveFailCount": 1}), said)
    assert found == ("failing", stage, cause, expected[1:])


def test_a_launcher_that_was_handed_over():
    ready = condition("Ready", "False")
    assert row(machine(), instance("Scheduled", ready)) == ("waiting", "launcher", "", [])


def test_a_vm_that_runs_forgets_old_troubles():
    said = event("SyncFailed", "words", INSTANCE, "virt-handler")
    assert row(machine("Running"), instance("Running"), said) == ("running", None, "", [])


@pytest.mark.parametrize(
    ("message", "who"),
    [
        ('admission webhook "virtualmachine-validator.kubevirt.io" denied the request: x',
         "virt-api (virtualmachine-validator.kubevirt.io)"),
        ('admission webhook "w.example.com" denied the request: x', "webhook w.example.com"),
        ('pods "x" is forbidden: exceeded quota: gpus, requested: a', "ResourceQuota gpus"),
        ("pods is forbidden: failed quota: all: must specify cpu", "ResourceQuota all"),
        ('violates PodSecurity "restricted:latest"', "Pod Security"),
        ("ValidatingAdmissionPolicy 'p' with binding 'b' denied request",
         "ValidatingAdmissionPolicy p"),
        ("forbidden: [maximum memory usage per Container is 1Gi]", "LimitRange"),
        ("Pod is invalid", "kube-apiserver"),
    ],
)  # fmt: skip
def test_who_refuses_an_object(message, who):
    assert speaker_of(message) == who


@pytest.mark.parametrize(
    "objects",
    [
        [machine("Stopped", run_strategy="Halted")],
        [machine("Stopped", run_strategy="Manual")],
        [machine(None, run_strategy="Halted")],
        [machine("Stopped", run_strategy="Once"), instance("Succeeded")],
    ],
)
def test_a_vm_that_is_stopped(objects):
    # What was copied from a VMI that is gone says nothing.
    objects[0]["status"]["conditions"] = [condition("PodScheduled", reason="Unschedulable")]
    assert row(*objects) == ("stopped", None, "", [])


def test_the_old_field_for_running():
    made = machine("Stopped")
    del made["spec"]["runStrategy"]
    assert row(made)[0] == "stopped"
    made["spec"]["running"] = True
    assert row(made) == ("waiting", "admission", "NothingTold", [])
    del made["spec"]
    assert row(made)[0] == "stopped"


def test_a_vm_that_should_run_and_has_nothing():
    made = machine(
        "Stopped", condition("Failure", "False"), startFailure={"consecutiveFailCount": 0}
    )
    assert stand(made).stage is Stage.ADMISSION
    assert row(machine("Paused", run_strategy="Halted"))[0] == "waiting"


def test_a_vmi_without_a_status():
    found = traces([obj("kubevirt.io/v1", "VirtualMachineInstance", "one", "default")], KEY)
    assert standing(found).state is State.WAITING
