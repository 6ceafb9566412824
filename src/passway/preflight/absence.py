"""The cluster without one VM, or with it stopped: what its launcher holds is free again.

Owns which objects that changes: the launchers, the VMI, and what quotas count of them. Quotas are
counted by the API server; here they give back what the launcher would be charged, so that a VM that
is asked about again is not kept away by itself.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from passway.cluster import kinds, records
from passway.cluster.amounts import parse
from passway.cluster.fold import FoldedPod
from passway.cluster.overlay import ObjectEvent, overlaid
from passway.cluster.snapshot import Key, Snapshot
from passway.manifest.spec import MachineSpec
from passway.model.verdict import Verdict
from passway.preflight import quota
from passway.preflight.stage import Question
from passway.preflight.walk import ask, preflight

MACHINE_COUNT: Final = "count/virtualmachines.kubevirt.io"
INSTANCE_COUNT: Final = "count/virtualmachineinstances.kubevirt.io"


def launchers(snapshot: Snapshot, key: Key) -> tuple[FoldedPod, ...]:
    """The launchers of a VM that hold something or wait for it."""
    assigned = (pod for held in snapshot.usage.values() for pod in held.pods)
    return tuple(
        pod
        for pods in (snapshot.pending.values(), assigned)
        for pod in pods
        if pod.machine == key[1] and pod.namespace == key[0]
    )


def stopped(question: Question, key: Key) -> tuple[ObjectEvent, ...]:
    """The events of a VM that stops. `question` is about that VM."""
    snapshot = question.snapshot
    pods = launchers(snapshot, key)
    running = key in snapshot.all(kinds.INSTANCES, records.VirtualMachineInstance)
    gone = [ObjectEvent(kinds.PODS, pod.key) for pod in pods]
    if running:
        gone.append(ObjectEvent(kinds.INSTANCES, key))
    return (*gone, *_given_back(question, launched=bool(pods), running=running, made=False))


def absent(question: Question, key: Key) -> tuple[ObjectEvent, ...]:
    """The events of a VM that never was: nothing of it is counted."""
    snapshot = question.snapshot
    made = key in snapshot.all(kinds.MACHINES, records.VirtualMachine)
    running = key in snapshot.all(kinds.INSTANCES, records.VirtualMachineInstance)
    pods = launchers(snapshot, key)
    gone = [ObjectEvent(kinds.PODS, pod.key) for pod in pods]
    return (*gone, *_given_back(question, launched=bool(pods), running=running, made=made))


def again(spec: MachineSpec, snapshot: Snapshot, key: Key) -> tuple[Question, Verdict]:
    """The walk of a VM that exists, as if it were asked for now and nothing of it existed."""
    events = absent(ask(spec, snapshot, 1), key)
    question = ask(spec, overlaid(snapshot, events), 1)
    return question, preflight(question)


def charged(question: Question) -> Iterator[ObjectEvent]:
    """The quotas of the namespace with what one more launcher is charged for."""
    charges = {
        key: amount.nanos
        for key, amount in quota.charges(question).items()
        if key not in {MACHINE_COUNT, INSTANCE_COUNT}
    }
    return _recounted(question, charges)


def _given_back(
    question: Question, *, launched: bool, running: bool, made: bool
) -> Iterator[ObjectEvent]:
    """The quotas of the namespace, without what the VM is charged for."""
    counts = {MACHINE_COUNT: made, INSTANCE_COUNT: running}
    charges = {
        key: -amount.nanos
        for key, amount in quota.charges(question).items()
        if counts.get(key, launched)
    }
    return _recounted(question, charges)


def _recounted(question: Question, charges: Mapping[str, int]) -> Iterator[ObjectEvent]:
    found = question.snapshot.all(kinds.QUOTAS, records.ResourceQuota)
    for key, item in found.items():
        if key[0] != question.spec.namespace or quota.applies(item, question) is False:
            continue
        status = item.status or records.QuotaStatus()
        used = parse(status.used)
        counted = {name: max(amount + charges.get(name, 0), 0) for name, amount in used.items()}
        if counted != used:
            amounts = {name: f"{nanos}n" for name, nanos in counted.items()}
            changed = msgspec.structs.replace(status, used=amounts)
            yield ObjectEvent(kinds.QUOTAS, key, msgspec.structs.replace(item, status=changed))
