"""The VMs of a snapshot: what each asks for, where it stands and what it holds.

A VM shows as its VirtualMachine, its VirtualMachineInstance and its launcher pod; any of the three
may be missing. Statuses are KubeVirt's own words.
"""

from passway.cluster import kinds, records
from passway.cluster.amounts import is_device
from passway.cluster.fold import FoldedPod
from passway.cluster.snapshot import Key, Snapshot
from passway.preflight.questions import device_names, machine_devices
from passway.service.documents import MachineDocument, MachineList


def machines(snapshot: Snapshot, namespace: str | None = None) -> MachineList:
    """All VMs (of a namespace), by namespace and name."""
    owners = snapshot.all(kinds.MACHINES, records.VirtualMachine)
    instances = snapshot.all(kinds.INSTANCES, records.VirtualMachineInstance)
    launchers = _launchers(snapshot)
    keys = sorted({*owners, *instances, *launchers})
    return MachineList(
        at=snapshot.at,
        items=tuple(
            _machine(key, owners.get(key), instances.get(key), launchers.get(key, []), snapshot)
            for key in keys
            if namespace is None or key[0] == namespace
        ),
        unread={
            kind.plural: snapshot.read(kind, namespace).value
            for kind in (kinds.INSTANCES, kinds.MACHINES, kinds.PODS)
            if not snapshot.read(kind, namespace).known
        },
    )


def _launchers(snapshot: Snapshot) -> dict[Key, list[FoldedPod]]:
    found: dict[Key, list[FoldedPod]] = {}
    for usage in snapshot.usage.values():
        for pod in usage.pods:
            if pod.machine:
                found.setdefault((pod.namespace, pod.machine), []).append(pod)
    return found


def _machine(
    key: Key,
    owner: records.VirtualMachine | None,
    instance: records.VirtualMachineInstance | None,
    launchers: list[FoldedPod],
    snapshot: Snapshot,
) -> MachineDocument:
    if instance is not None or owner is None:
        devices = device_names(instance.spec if instance else None)
    else:
        devices = machine_devices(owner, snapshot)
    holds: dict[str, int] = {}
    for pod in launchers:
        for resource, amount in pod.requests:
            if is_device(resource):
                holds[resource] = holds.get(resource, 0) + amount
    running = instance.status if instance else None
    meta = owner.metadata if owner else instance.metadata if instance else None
    return MachineDocument(
        namespace=key[0],
        name=key[1],
        status=_status(owner, instance),
        run_strategy=_run_strategy(owner),
        node=(running.node_name if running else None) or next((p.node for p in launchers), None),
        devices=devices,
        holds=holds,
        created=meta.creation_timestamp if meta else None,
    )


def _status(
    owner: records.VirtualMachine | None, instance: records.VirtualMachineInstance | None
) -> str:
    printed = owner.status.printable_status if owner and owner.status else None
    phase = instance.status.phase if instance and instance.status else None
    return printed or phase or ("Stopped" if instance is None and owner else "Unknown")


def _run_strategy(owner: records.VirtualMachine | None) -> str | None:
    spec = owner.spec if owner else None
    if spec is None:
        return None
    if spec.run_strategy or spec.running is None:
        return spec.run_strategy
    return "Always" if spec.running else "Halted"
