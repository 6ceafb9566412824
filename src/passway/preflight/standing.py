"""Where a VM stands: the stage that its traces show, and who says so in which words.

Reads statuses and events only, and knows nothing of our own verdict. Each step of a VM's start
leaves its mark in another place: the VM where its VMI is refused, the VMI while virt-controller
renders and creates the launcher, the pod while it waits for a node, the kubelet's and
virt-handler's words after that. A VM keeps conditions of a VMI that is gone, so those say nothing.
Source: kubevirt pkg/virt-controller/watch/{vm,vmi}, v1.9, and what the real components were seen
to write.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster.traces import (
    InstanceStatus,
    MachineStatus,
    StatusCondition,
    StoredPod,
    StoredPodSpec,
    StoredPodStatus,
    Traces,
)
from passway.model.verdict import Stage
from passway.preflight.said import (
    Standing,
    State,
    Words,
    condition_of,
    counted,
    from_condition,
    from_event,
    instance_condition,
    pod_ref,
    runs,
)
from passway.preflight.utterances import (
    EVENTS,
    Meaning,
    of_container,
    of_domain,
    of_event,
    of_launcher,
    of_rejection,
    webhook_of,
)

CONTROLLER: Final = "virt-controller"
HANDLER: Final = "virt-handler"
SCHEDULER: Final = "kube-scheduler"
KUBELET: Final = "kubelet"
WORDS_SHOWN: Final = 3
VOLUMES_WAITED_FOR: Final = frozenset(
    {"Provisioning", "DataVolumeError", "WaitingForVolumeBinding", "ErrorPvcNotFound"}
)
"""What `printableStatus` says while a VM waits for its volumes."""
_ASLEEP: Final = frozenset({"Halted", "Manual", "Once", "RerunOnFailure"})


def standing(traces: Traces) -> Standing:
    """Where the VM stands."""
    if traces.instance is None:
        return _without_instance(traces)
    status = traces.instance.status or InstanceStatus()
    match status.phase:
        case "Running":
            return _stopped_at(traces, _domain_words(traces)) or Standing(State.RUNNING)
        case "Succeeded":
            return Standing(State.STOPPED)
        case "Failed":
            return _failed(traces)
        case "Scheduled":
            found = _stopped_at(traces, _domain_words(traces))
            return found or Standing(State.WAITING, Stage.LAUNCHER)
        case "Scheduling":
            return _launched(traces)
        case _:
            return _before_launcher(traces)


# -- before there is a launcher -------------------------------------------------------------------


def _without_instance(traces: Traces) -> Standing:
    """A VM whose VMI does not exist: not wanted, refused, or failed and to be tried again."""
    machine = traces.machine
    status = (machine.status if machine else None) or MachineStatus()
    refused = condition_of(status.conditions, "Failure", "True")
    if refused is not None:
        component = webhook_of(refused.message) or CONTROLLER
        words = from_condition(traces, refused, component, owner=True)
        return Standing(State.WAITING, Stage.ADMISSION, "InstanceRefused", (words,))
    failure = status.start_failure
    if failure is not None and failure.consecutive_fail_count:
        return _failed(traces)
    spec = machine.spec if machine else None
    strategy = (spec.run_strategy if spec else None) or ("" if spec and spec.running else "Halted")
    if strategy in _ASLEEP and status.printable_status in {None, "Stopped"}:
        return Standing(State.STOPPED)
    if status.printable_status in VOLUMES_WAITED_FOR:
        return _volumes(traces)
    return Standing(State.WAITING, Stage.ADMISSION, "NothingTold")


def _before_launcher(traces: Traces) -> Standing:
    """virt-controller has not created a launcher yet."""
    synchronized = instance_condition(traces, "Synchronized", "False")
    if synchronized is not None and synchronized.reason == "FailedCreate":
        meaning = of_launcher(synchronized.message)
        component = webhook_of(synchronized.message) or CONTROLLER
        words = from_condition(traces, synchronized, component)
        words = counted(words, traces.said("FailedCreate"))
        return Standing(State.WAITING, meaning.stage, meaning.reason, (words,))
    if synchronized is not None and synchronized.reason == "FailedPvcNotFound":
        words = from_condition(traces, synchronized, CONTROLLER)
        return Standing(State.WAITING, Stage.SCHEDULING, "VolumesNotReady", (words,))
    status = (traces.machine.status if traces.machine else None) or MachineStatus()
    if status.printable_status in VOLUMES_WAITED_FOR or _volume_words(traces):
        return _volumes(traces)
    if synchronized is not None:
        words = from_condition(traces, synchronized, CONTROLLER)
        return Standing(State.WAITING, Stage.LAUNCHER, "LauncherNotRendered", (words,))
    return Standing(State.WAITING, Stage.PERMISSION, "NothingTold")


def _volumes(traces: Traces) -> Standing:
    return Standing(State.WAITING, Stage.SCHEDULING, "VolumesNotReady", _volume_words(traces))


def _volume_words(traces: Traces) -> tuple[Words, ...]:
    """What is said of data volumes."""
    found = [
        from_condition(traces, condition, CONTROLLER)
        for kind in ("DataVolumesReady", "Provisioning")
        if (condition := instance_condition(traces, kind, "False")) is not None
    ]
    return (*found, *(from_event(event) for event in traces.said("FailedDataVolumeImport")))


# -- with a launcher ------------------------------------------------------------------------------


def _launched(traces: Traces) -> Standing:
    """There is a launcher, and it has not been handed to virt-handler yet."""
    pod = traces.pod
    synchronized = instance_condition(traces, "Synchronized", "False")
    if synchronized is not None and synchronized.reason == "FailedGuaranteeResources":
        words = from_condition(traces, synchronized, CONTROLLER)
        return Standing(State.FAILING, Stage.LAUNCHER, "NotGuaranteed", (words,))
    if pod is None:
        return Standing(State.WAITING, Stage.SCHEDULING, "NothingTold")
    status, spec = pod.status or StoredPodStatus(), pod.spec or StoredPodSpec()
    if pod.finished:
        return _failed(traces)
    scheduled = condition_of(status.conditions, "PodScheduled", "False")
    if scheduled is not None:
        return _unscheduled(pod, scheduled)
    unmade = traces.said("FailedResourceClaimCreation")
    if spec.node_name is None and unmade:
        return Standing(State.WAITING, Stage.CLAIMS, "ClaimNotMade", (from_event(unmade[0]),))
    if spec.node_name is None:
        printed = traces.machine.status if traces.machine else None
        if printed and printed.printable_status in VOLUMES_WAITED_FOR:
            return _volumes(traces)
        return Standing(State.WAITING, Stage.SCHEDULING)
    return _stopped_at(traces, _kubelet_words(traces, pod)) or Standing(
        State.WAITING, Stage.KUBELET
    )


def _unscheduled(pod: StoredPod, condition: StatusCondition) -> Standing:
    about = pod_ref(pod)
    words = Words(
        SCHEDULER, about, condition.reason, condition.message, condition.last_transition_time or ""
    )
    if condition.reason == "SchedulingGated":
        gates = (pod.spec or StoredPodSpec()).scheduling_gates or ()
        named = ", ".join(gate.name for gate in gates)
        if not words.message:
            words = Words(SCHEDULER, about, words.reason, named, words.time)
        return Standing(State.WAITING, Stage.SCHEDULING, "SchedulingGated", (words,))
    stage = Stage.CLAIMS if _about_claims(condition.message) else Stage.SCHEDULING
    return Standing(State.WAITING, stage, "NotScheduled", (words,))


def _about_claims(message: str) -> bool:
    """Whether claims are all that keeps the pod waiting."""
    return "resourceclaim" in message or (
        "cannot allocate all claims" in message and "Insufficient" not in message
    )


def _kubelet_words(traces: Traces, pod: StoredPod) -> Iterator[tuple[Meaning, Words]]:
    """Why a bound launcher does not start, by the kubelet's own words."""
    for waiting in pod.waiting():
        meaning = of_container(waiting.reason)
        if meaning is not None:
            yield meaning, Words(KUBELET, pod_ref(pod), waiting.reason, waiting.message)
    for event in traces.said(*EVENTS):
        if event.involved_object.name == pod.metadata.name:
            yield of_event(event.reason, event.message), from_event(event)


def _domain_words(traces: Traces) -> Iterator[tuple[Meaning, Words]]:
    """Why libvirt or QEMU does not start the guest, by virt-handler's words."""
    synchronized = instance_condition(traces, "Synchronized", "False")
    if synchronized is not None:
        yield of_domain(synchronized.message), from_condition(traces, synchronized, HANDLER)
    for event in traces.said("SyncFailed"):
        if synchronized is not None or not runs(traces):  # of a running one it is long past
            yield of_domain(event.message), from_event(event)


def _failed(traces: Traces) -> Standing:
    """The start failed; KubeVirt tries again, and waits longer each time."""
    status = (traces.machine.status if traces.machine else None) or MachineStatus()
    failure = status.start_failure
    found = _stopped_at(traces, _last_words(traces)) or Standing(
        State.FAILING, Stage.LAUNCHER, "NothingTold"
    )
    return Standing(
        State.FAILING, found.stage, found.cause, found.words,
        failure.consecutive_fail_count if failure else 0,
        failure.retry_after_timestamp if failure else None,
    )  # fmt: skip


def _last_words(traces: Traces) -> Iterator[tuple[Meaning, Words]]:
    """What the last attempt left: the pod's own status, then the events about it."""
    pod = traces.pod
    status = (pod.status if pod else None) or StoredPodStatus()
    if pod is not None and status.reason:
        meaning = of_rejection(status.reason)
        if meaning is not None:
            yield meaning, Words(KUBELET, pod_ref(pod), status.reason, status.message or "")
    for event in traces.events:
        meaning = of_rejection(event.reason)
        if meaning is not None:
            yield meaning, from_event(event)
    yield from _domain_words(traces)
    for event in traces.said(*EVENTS):
        yield of_event(event.reason, event.message), from_event(event)


def _stopped_at(traces: Traces, found: Iterator[tuple[Meaning, Words]]) -> Standing | None:
    """The standing that the first words mean, with the others that mean the same."""
    told = list(found)
    if not told:
        return None
    first = told[0][0]
    words = tuple(dict.fromkeys(words for meaning, words in told if meaning == first))
    state = State.RUNNING if runs(traces) else State.FAILING
    return Standing(state, first.stage, first.reason, words[:WORDS_SHOWN])


def pinned(traces: Traces) -> Words | None:
    """virt-handler's words for a VM that it cannot migrate."""
    condition = instance_condition(traces, "LiveMigratable", "False")
    return None if condition is None else from_condition(traces, condition, HANDLER)
