"""Traces: what one VM left behind in the cluster, with the components' own words.

Owns the wire records of a status (conditions, container states, events) and which objects belong to
a VM: the VM, its VMI, the VMI's launchers, and the events about any of them, also about launchers
that are gone, whose names the VMI's own events tell. They are read for one VM when somebody asks
why it does not run, and are no part of the mirror. Nothing is judged here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import msgspec

from passway.cluster.kinds import EVENTS, INSTANCES, MACHINES, PODS, kind_of
from passway.cluster.records import Meta, PodMeta, Record, VirtualMachineSpec
from passway.cluster.snapshot import Key, Read
from passway.model.errors import InvalidInput

R = TypeVar("R", bound=Record)
Object = Mapping[str, Any]
CREATED_FOR: Final = "VirtualMachineInstance"
# pkg/virt-controller/watch/common: "Created virtual machine pod %s", "Deleted finished pod %s" …
_NAMED: Final = re.compile(r"\b(virt-launcher-[a-z0-9][a-z0-9.-]*[a-z0-9])\b")
GONE_SHOWN: Final = 3


class StatusCondition(Record, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class StartFailure(Record, frozen=True):
    consecutive_fail_count: int = 0
    retry_after_timestamp: str | None = None


class MachineStatus(Record, frozen=True):
    printable_status: str | None = None
    conditions: tuple[StatusCondition, ...] | None = None
    start_failure: StartFailure | None = None


class StoredMachine(Record, frozen=True):
    metadata: Meta
    spec: VirtualMachineSpec | None = None
    status: MachineStatus | None = None


class InstanceStatus(Record, frozen=True):
    phase: str | None = None
    node_name: str | None = None
    evacuation_node_name: str | None = None
    conditions: tuple[StatusCondition, ...] | None = None


class StoredInstance(Record, frozen=True):
    metadata: Meta
    status: InstanceStatus | None = None


class Waiting(Record, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerState(Record, frozen=True):
    waiting: Waiting | None = None


class ContainerStatus(Record, frozen=True):
    name: str = ""
    state: ContainerState | None = None


class SchedulingGate(Record, frozen=True):
    name: str = ""


class StoredPodSpec(Record, frozen=True):
    node_name: str | None = None
    scheduling_gates: tuple[SchedulingGate, ...] | None = None


class StoredPodStatus(Record, frozen=True):
    phase: str | None = None
    reason: str | None = None
    message: str | None = None
    conditions: tuple[StatusCondition, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class StoredPod(Record, frozen=True):
    metadata: PodMeta
    spec: StoredPodSpec | None = None
    status: StoredPodStatus | None = None

    @property
    def finished(self) -> bool:
        return (self.status.phase if self.status else None) in {"Succeeded", "Failed"}

    def waiting(self) -> Iterator[Waiting]:
        """What its containers wait for."""
        status = self.status or StoredPodStatus()
        for found in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
            if found.state and found.state.waiting:
                yield found.state.waiting


class Involved(Record, frozen=True):
    kind: str = ""
    name: str = ""
    namespace: str | None = None
    uid: str = ""


class EventSource(Record, frozen=True):
    component: str = ""


class EventSeries(Record, frozen=True):
    count: int = 0
    last_observed_time: str | None = None


class Event(Record, frozen=True):
    metadata: Meta
    involved_object: Involved = msgspec.field(default_factory=Involved)
    reason: str = ""
    message: str = ""
    type: str = ""
    count: int | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
    source: EventSource | None = None
    reporting_component: str = ""
    series: EventSeries | None = None

    @property
    def component(self) -> str:
        """Who says it."""
        return (self.source.component if self.source else "") or self.reporting_component

    @property
    def time(self) -> str:
        """When it was said last."""
        series = self.series.last_observed_time if self.series else None
        return (
            series or self.last_timestamp or self.event_time or self.metadata.creation_timestamp
        ) or ""

    @property
    def times(self) -> int:
        """How often."""
        return (self.series.count if self.series else None) or self.count or 1


@dataclass(frozen=True, slots=True)
class Traces:
    """Everything of one VM. `document` is the VM, or the VMI of one without a VM, as it is stored.

    `pods` and `events` have the newest first. `unread`: kind (plural) -> why it was not read.
    """

    key: Key
    document: Object
    machine: StoredMachine | None = None
    instance: StoredInstance | None = None
    pods: tuple[StoredPod, ...] = ()
    events: tuple[Event, ...] = ()
    unread: Mapping[str, Read] = field(default_factory=dict)

    @property
    def pod(self) -> StoredPod | None:
        """The launcher that counts: the newest one that is not finished, else the newest."""
        alive = [pod for pod in self.pods if not pod.finished]
        return next(iter([*alive, *self.pods]), None)

    def said(self, *reasons: str) -> tuple[Event, ...]:
        """The events of these reasons, the newest first."""
        return tuple(event for event in self.events if event.reason in reasons)


def traces(
    objects: Iterable[Object], key: Key, unread: Mapping[str, Read] | None = None
) -> Traces | None:
    """The traces of one VM among objects of all kinds; None where there is neither VM nor VMI."""
    found: dict[str, list[Object]] = {kind.plural: [] for kind in (MACHINES, INSTANCES, PODS)}
    events: list[Event] = []
    for item in objects:
        kind = kind_of(str(item.get("apiVersion") or ""), str(item.get("kind") or ""))
        meta = item.get("metadata")
        if not isinstance(meta, dict) or (meta.get("namespace") or "default") != key[0]:
            continue
        if kind in (MACHINES, INSTANCES) and meta.get("name") == key[1]:
            found[kind.plural].append(item)
        elif kind == PODS and _is_launcher(meta, key[1]):
            found[PODS.plural].append(item)
        elif is_event(item):
            events.append(_record(item, Event))
    machines, instances = found[MACHINES.plural], found[INSTANCES.plural]
    if not (machines or instances):
        return None
    pods = [_record(item, StoredPod) for item in found[PODS.plural]]
    machine = _record(machines[-1], StoredMachine) if machines else None
    return Traces(
        key=key,
        document=(machines or instances)[-1],
        machine=machine,
        instance=_record(instances[-1], StoredInstance) if instances else None,
        pods=tuple(sorted(pods, key=_newest, reverse=True)),
        events=_about(events, key[1], [pod.metadata.name for pod in pods], machine),
        unread={} if unread is None else unread,
    )


def is_event(item: Object) -> bool:
    """Whether an object is an event of the core group."""
    return item.get("kind") == EVENTS.kind and item.get("apiVersion") == EVENTS.api_version


def events_of(objects: Iterable[Object]) -> list[Event]:
    """The events among objects."""
    return [_record(item, Event) for item in objects if is_event(item)]


def launchers_told(events: Iterable[Event], name: str) -> tuple[str, ...]:
    """The launchers that the events of the VMI name, the newest few; most of them are gone."""
    told: dict[str, None] = {}
    for event in sorted(events, key=lambda event: event.time, reverse=True):
        if (event.involved_object.kind, event.involved_object.name) == (CREATED_FOR, name):
            told.update(dict.fromkeys(_NAMED.findall(event.message)))
    return tuple(told)[:GONE_SHOWN]


def _about(
    events: list[Event], name: str, pods: list[str], machine: StoredMachine | None
) -> tuple[Event, ...]:
    """The events about this VM, and not about an older one of its name."""
    own = {(MACHINES.kind, name), (INSTANCES.kind, name)}
    own |= {(PODS.kind, pod) for pod in (*pods, *launchers_told(events, name))}
    since = (machine.metadata.creation_timestamp if machine else None) or ""
    kept = [
        event
        for event in events
        if (event.involved_object.kind, event.involved_object.name) in own and event.time >= since
    ]
    return tuple(sorted(kept, key=lambda event: (event.time, event.metadata.name), reverse=True))


def _is_launcher(meta: Object, name: str) -> bool:
    owners = meta.get("ownerReferences")
    return isinstance(owners, list) and any(
        isinstance(owner, dict) and (owner.get("kind"), owner.get("name")) == (CREATED_FOR, name)
        for owner in owners
    )


def _newest(pod: StoredPod) -> tuple[str, str]:
    return (pod.metadata.creation_timestamp or "", pod.metadata.name)


def _record(item: Object, record: type[R]) -> R:
    try:
        return msgspec.convert(item, record, strict=True)
    except msgspec.ValidationError as error:
        raise InvalidInput(f"{item.get('kind')}: {error}") from None
