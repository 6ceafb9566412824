"""Drift: where the permitted list, the nodes and the VMs no longer agree.

Findings are issues like any other, so that every surface shows them in the same words. None of
them says that something is broken now; each says what will surprise somebody later.
"""

from collections.abc import Iterator, Mapping

from passway.cluster import kinds, records
from passway.cluster.amounts import as_quantity
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.permitted import Permit, permitted_of
from passway.model.names import nearest
from passway.model.verdict import Issue, Param, Ref, Severity, Stage
from passway.preflight import networks, supply
from passway.preflight.questions import machine_devices
from passway.preflight.stage import ref, state


def drift(snapshot: Snapshot) -> tuple[Issue, ...]:
    """All findings; unknown ones name a kind that was not read."""
    unread = [
        kind for kind in (kinds.NODES, kinds.KUBEVIRTS, kinds.MACHINES)
        if not snapshot.read(kind).known
    ]  # fmt: skip
    found = [_unread(snapshot, kind) for kind in unread]
    permitted = permitted_of(snapshot.kubevirt)
    if kinds.NODES not in unread:
        found += _unhealthy(snapshot)
        found += _gone(snapshot)
        if permitted is not None:
            found += _not_advertised(snapshot, permitted)
            found += _not_permitted(snapshot, permitted)
    found += _duplicates(permitted or ())
    return tuple(found)


def _finding(
    reason: str,
    params: Mapping[str, Param],
    nodes: tuple[str, ...] = (),
    *,
    stage: Stage = Stage.PERMISSION,
    severity: Severity = Severity.WARNING,
    subject: Ref | None = None,
) -> Issue:
    return Issue(reason, stage, severity, subject, "", params, nodes)


def _unread(snapshot: Snapshot, kind: Kind) -> Issue:
    params: dict[str, Param] = {
        "kind": kind.plural, "state": state(snapshot.read(kind)), "what": "drift",
    }  # fmt: skip
    return _finding("KindUnread", params, severity=Severity.UNKNOWN)


def _not_advertised(snapshot: Snapshot, permitted: tuple[Permit, ...]) -> Iterator[Issue]:
    for permit in sorted(set(permitted)):
        if permit.disabled or supply.advertised(snapshot, permit.resource_name):
            continue
        yield _finding(
            "PermittedNotAdvertised",
            {
                "resource": permit.resource_name,
                "selector": f"{permit.kind} {permit.selector}",
                "near": nearest(permit.resource_name, list(snapshot.devices())),
                "external": int(permit.external),
            },
        )


def _not_permitted(snapshot: Snapshot, permitted: tuple[Permit, ...]) -> Iterator[Issue]:
    names = sorted({permit.resource_name for permit in permitted})
    pools = networks.pools(snapshot)
    for resource in snapshot.devices():
        if resource not in names and resource not in pools:
            yield _finding(
                "AdvertisedNotPermitted",
                {"resource": resource, "near": nearest(resource, names)},
                tuple(sorted(snapshot.advertisers[resource])),
            )


def _duplicates(permitted: tuple[Permit, ...]) -> Iterator[Issue]:
    by_selector: dict[tuple[str, str], list[str]] = {}
    for permit in permitted:
        if permit.kind != "usb":
            by_selector.setdefault((permit.kind, permit.selector), []).append(permit.resource_name)
    for (_, selector), names in sorted(by_selector.items()):
        if len(names) > 1:
            yield _finding("DuplicateSelector", {"selector": selector, "resources": tuple(names)})


def _unhealthy(snapshot: Snapshot) -> Iterator[Issue]:
    for resource in snapshot.devices():
        nodes = [snapshot.nodes[name] for name in sorted(snapshot.advertisers[resource])]
        broken = [
            node
            for node in nodes
            if node.capacity.get(resource, 0) > node.allocatable.get(resource, 0)
        ]
        if broken:
            capacity = sum(node.capacity[resource] for node in broken)
            lost = capacity - sum(node.allocatable.get(resource, 0) for node in broken)
            yield _finding(
                "UnhealthyUnits",
                {
                    "resource": resource,
                    "count": lost,
                    "capacity": as_quantity(resource, capacity),
                },
                tuple(node.name for node in broken),
                stage=Stage.SCHEDULING,
            )


def _gone(snapshot: Snapshot) -> Iterator[Issue]:
    """Stopped VMs; a running one holds its device, and a starting one has a verdict of its own."""
    running = snapshot.all(kinds.INSTANCES, records.VirtualMachineInstance)
    for key, machine in sorted(snapshot.all(kinds.MACHINES, records.VirtualMachine).items()):
        if key in running:
            continue
        for resource in sorted(set(machine_devices(machine, snapshot))):
            if "/" in resource and not supply.advertised(snapshot, resource):
                yield _finding(
                    "DeviceGone",
                    {"resource": resource},
                    stage=Stage.SCHEDULING,
                    subject=ref(kinds.MACHINES, key),
                )
