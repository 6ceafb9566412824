"""What components say, taken from where they say it: conditions, events, the status of a pod.

Owns the values of a standing (the state, the words, the stage) and the way from a condition or an
event to words with the component that they are attributed to. What they mean is not known here.
"""

from dataclasses import dataclass
from enum import StrEnum

from passway.cluster.traces import Event, StatusCondition, StoredPod, Traces
from passway.model.verdict import Ref, Stage


class State(StrEnum):
    """What the VM does."""

    RUNNING = "running"
    STOPPED = "stopped"
    WAITING = "waiting"
    FAILING = "failing"


@dataclass(frozen=True, slots=True)
class Words:
    """What a component says, letter by letter. `times`: how often it said so."""

    component: str
    about: Ref
    reason: str
    message: str
    time: str = ""
    times: int = 1


@dataclass(frozen=True, slots=True)
class Standing:
    """`stage` is None where nothing stands in the way. `cause` is the reason that the words have.

    `fails` says how often its start failed one after the other, `retry` when the next is due.
    """

    state: State
    stage: Stage | None = None
    cause: str = ""
    words: tuple[Words, ...] = ()
    fails: int = 0
    retry: str | None = None


def runs(traces: Traces) -> bool:
    status = traces.instance.status if traces.instance else None
    return status is not None and status.phase == "Running"


def condition_of(
    conditions: tuple[StatusCondition, ...] | None, kind: str, status: str
) -> StatusCondition | None:
    for condition in conditions or ():
        if condition.type == kind and condition.status == status:
            return condition
    return None


def instance_condition(traces: Traces, kind: str, status: str) -> StatusCondition | None:
    found = traces.instance.status if traces.instance else None
    return condition_of(found.conditions if found else None, kind, status)


def from_condition(
    traces: Traces, condition: StatusCondition, component: str, *, owner: bool = False
) -> Words:
    kind = "VirtualMachine" if owner else "VirtualMachineInstance"
    return Words(
        component, Ref(kind, traces.key[1], traces.key[0]), condition.reason, condition.message,
        condition.last_transition_time or "",
    )  # fmt: skip


def from_event(event: Event) -> Words:
    about = event.involved_object
    return Words(
        event.component, Ref(about.kind, about.name, about.namespace or event.metadata.namespace),
        event.reason, event.message, event.time, event.times,
    )  # fmt: skip


def counted(words: Words, events: tuple[Event, ...]) -> Words:
    """The words with how often an attempt ended so, and when last: each has an event of its own."""
    times = sum(event.times for event in events)
    last = max((event.time for event in events), default=words.time)
    return Words(
        words.component, words.about, words.reason, words.message, last, max(times, words.times)
    )


def pod_ref(pod: StoredPod) -> Ref:
    return Ref("Pod", pod.metadata.name, pod.metadata.namespace)
