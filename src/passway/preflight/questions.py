"""Other questions that one snapshot answers: how many fit, and what a drain would stop.

Owns only the combination of facts that the stages already have; it holds no rule of its own about
nodes or quotas.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from passway.cluster import kinds, records
from passway.cluster.amounts import Vector, parse
from passway.cluster.fold import FoldedPod
from passway.cluster.records import MachineInstanceSpec, VirtualMachine, VirtualMachineSpec
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.configuration import configuration_of
from passway.kubevirt.fields import entries, text
from passway.kubevirt.matcher import INSTANCETYPE, Match, Named, find
from passway.manifest.spec import MachineSpec
from passway.model.errors import NotFound
from passway.model.verdict import Fits, Ref, Verdict
from passway.preflight import quota
from passway.preflight.stage import Question
from passway.preflight.supply import holder_of
from passway.preflight.walk import ask, preflight

Effect = Literal["stops", "migrates", "blocks", "external"]
ROOM_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class Fit:
    """How many more of one machine fit. `limits`: what ends it -> on how many nodes."""

    places: int
    by_nodes: int
    by_quota: int | None
    limits: Mapping[str, int]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Impact:
    """What a drain does to one VM. `room`: other nodes with enough free for its launcher."""

    machine: Ref
    effect: Effect
    devices: tuple[str, ...]
    strategy: str
    room: tuple[str, ...]


def fit(spec: MachineSpec, snapshot: Snapshot) -> Fit:
    """How many copies of the machine fit, and what runs out first.

    Zero when any stage refuses one; each node counts alone, so copies that keep each other away
    by more than the node are counted too high and said to be unknown in the verdict.
    """
    question = ask(spec, snapshot, 1)
    verdict = preflight(question)
    nodes = verdict.places or 0
    left = _by_quota(question)
    by_quota = min(left.values()) if left else None
    refused = verdict.fits is Fits.NO
    places = 0 if refused else nodes if by_quota is None else min(nodes, by_quota)
    limits = dict(sorted(verdict.limits.items()))
    if by_quota is not None and by_quota <= nodes:
        limits = {key: 0 for key, count in sorted(left.items()) if count == by_quota}
    return Fit(places, nodes, by_quota, limits, verdict)


def _by_quota(question: Question) -> dict[str, int]:
    """Quota and key -> how many machines it still allows."""
    quotas = question.snapshot.all(kinds.QUOTAS, records.ResourceQuota)
    charges = quota.charges(question)
    left: dict[str, int] = {}
    for (namespace, name), found in quotas.items():
        if namespace != question.spec.namespace or not quota.applies(found, question):
            continue
        status = found.status or records.QuotaStatus()
        hard, used = parse(status.hard), parse(status.used)
        for key in hard.keys() & charges.keys():
            count = (hard[key] - used.get(key, 0)) // charges[key].nanos
            left[f"{name}: {key}"] = max(count, 0)
    return left


def drain(snapshot: Snapshot, node: str) -> tuple[Impact, ...]:
    """What a drain of the node does to each VM on it, by name; NotFound for an unknown node."""
    if node not in snapshot.nodes:
        raise NotFound(
            f'there is no node "{node}"', hint="passway get nodes lists the nodes that were read"
        )
    pods = [pod for pod in snapshot.pods_on(node) if pod.machine]
    return tuple(sorted((_impact(snapshot, pod) for pod in pods), key=lambda item: item.machine))


def _impact(snapshot: Snapshot, pod: FoldedPod) -> Impact:
    spec = _running_spec(snapshot, pod)
    devices = device_names(spec)
    strategy = (
        (spec.eviction_strategy if spec else None)
        or configuration_of(snapshot.kubevirt).eviction_strategy
        or "None"
    )
    return Impact(
        machine=holder_of(pod),
        effect=_effect(strategy, pinned=bool(devices)),
        devices=devices,
        strategy=strategy,
        room=_room(snapshot, pod.requests, pod.node or ""),
    )


def _running_spec(snapshot: Snapshot, pod: FoldedPod) -> MachineInstanceSpec | None:
    instances = snapshot.all(kinds.INSTANCES, records.VirtualMachineInstance)
    instance = instances.get((pod.namespace, pod.machine or ""))
    if instance is not None:
        return instance.spec
    machines = snapshot.all(kinds.MACHINES, records.VirtualMachine)
    machine = machines.get((pod.namespace, pod.machine or ""))
    template = machine.spec.template if machine and machine.spec else None
    return template.spec if template else None


def device_names(spec: MachineInstanceSpec | None) -> tuple[str, ...]:
    """The resources and claims that a VMI spec's devices name, sorted, one for each device."""
    devices = spec.domain.devices if spec and spec.domain else None
    if devices is None:
        return ()
    listed = (*(devices.gpus or ()), *(devices.host_devices or ()))
    return tuple(sorted(item.device_name or item.claim_name or item.name for item in listed))


def machine_devices(machine: VirtualMachine, snapshot: Snapshot) -> tuple[str, ...]:
    """`device_names` of a VM that may not run: its template's, and its instance type's, if read."""
    spec = machine.spec or VirtualMachineSpec()
    names = device_names(spec.template.spec if spec.template else None)
    if spec.instancetype is None:
        return names
    wanted = Named(spec.instancetype.kind or "", spec.instancetype.name)
    found = find(INSTANCETYPE, wanted, machine.metadata.namespace or "", snapshot)
    if not isinstance(found, Match):
        return names
    listed = (*entries(found.spec, "gpus"), *entries(found.spec, "hostDevices"))
    return tuple(sorted([*names, *(text(entry, "deviceName") for entry in listed)]))


def _effect(strategy: str, *, pinned: bool) -> Effect:
    """What the eviction webhook makes of it (kubevirt pod-eviction-admitter.go)."""
    if strategy == "External":
        return "external"
    if strategy == "LiveMigrate":
        return "blocks" if pinned else "migrates"
    return "migrates" if strategy == "LiveMigrateIfPossible" and not pinned else "stops"


def _room(snapshot: Snapshot, requests: Vector, node: str) -> tuple[str, ...]:
    """Other nodes with enough free; taints and the VM's own rules are not looked at."""
    indexed = [snapshot.advertisers.get(name, frozenset()) for name, _ in requests if "/" in name]
    names = frozenset.intersection(*indexed) if indexed else frozenset(snapshot.nodes)
    found: list[str] = []
    for name in sorted(names - {node}):
        usable = not snapshot.nodes[name].unschedulable
        if usable and all(snapshot.free(name, key) >= amount for key, amount in requests):
            found.append(name)
        if len(found) == ROOM_SHOWN:
            break
    return tuple(found)
