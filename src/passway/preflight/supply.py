"""What the nodes have of one resource, and who holds it.

Owns the facts that several stages tell about a resource: is it advertised, is enough of it free on
one node, how much is free where, and whose pods hold the rest. Work grows with the nodes that
advertise the resource, not with the cluster.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from passway.cluster.amounts import as_quantity, is_device
from passway.cluster.fold import FoldedPod
from passway.cluster.snapshot import Snapshot
from passway.model.verdict import Free, Holding, Ref, Some

TOLD: Final = 50
"""How many nodes or holders an issue carries; the rest is a number."""


def advertised(snapshot: Snapshot, resource: str) -> bool:
    """Some node has the resource in its capacity or allocatable list, be it with 0 units."""
    return resource in snapshot.advertisers


def healthy(snapshot: Snapshot, resource: str) -> tuple[str, ...]:
    """The nodes with at least one allocatable unit, sorted."""
    nodes = snapshot.nodes
    return tuple(
        node
        for node in sorted(snapshot.advertisers.get(resource, ()))
        if nodes[node].allocatable.get(resource, 0) > 0
    )


def unhealthy(snapshot: Snapshot, resource: str) -> tuple[str, ...]:
    """The nodes that name the resource but have no allocatable unit, sorted."""
    return tuple(
        sorted(snapshot.advertisers.get(resource, frozenset()) - {*healthy(snapshot, resource)})
    )


def enough(snapshot: Snapshot, resource: str, wanted: int) -> bool:
    """Some node has that many units free, whatever else it lacks."""
    return any(
        snapshot.free(node, resource) >= wanted for node in snapshot.advertisers.get(resource, ())
    )


def free(snapshot: Snapshot, resource: str, nodes: Iterable[str] | None = None) -> Some:
    """Free units on the nodes that advertise the resource (or those named), most free first."""
    names = snapshot.advertisers.get(resource, frozenset()) if nodes is None else nodes
    best = sorted((-max(snapshot.free(node, resource), 0), node) for node in names)
    return Some(
        tuple(
            Free(
                node,
                as_quantity(resource, -amount),
                as_quantity(resource, snapshot.nodes[node].allocatable.get(resource, 0)),
            )
            for amount, node in best[:TOLD]
        ),
        len(best),
    )


def devices_on(
    snapshot: Snapshot, resources: Iterable[str], nodes: tuple[str, ...]
) -> tuple[Some, ...]:
    """Free units on these nodes of every one of the resources that is a device."""
    return tuple(
        free(snapshot, resource, nodes) for resource in sorted(resources) if is_device(resource)
    )


def holders(snapshot: Snapshot, resource: str) -> Some:
    """Who holds units of the resource: by node, then by holder."""
    told: list[Holding] = []
    total = 0
    for pod, amount in snapshot.holders(resource):
        total += 1
        if total <= TOLD:
            told.append(_holding(pod, resource, amount))
    return Some(tuple(told), total)


def holders_on(snapshot: Snapshot, wants: Iterable[tuple[str, str]]) -> Some:
    """Who holds units of a resource on a node, for each such (node, resource); both are told."""
    told = [
        replace(_holding(pod, resource, amount), resource=resource)
        for node, resource in wants
        for pod in snapshot.pods_on(node)
        if (amount := dict(pod.requests).get(resource, 0))
    ]
    return Some(tuple(told[:TOLD]), len(told))


def _holding(pod: FoldedPod, resource: str, amount: int) -> Holding:
    units = as_quantity(resource, amount)
    return Holding(holder_of(pod), units, pod.node or "", pod.name, pod.deletion)


def holder_of(pod: FoldedPod) -> Ref:
    """The VM of a launcher, or the pod itself."""
    if pod.machine:
        return Ref("VirtualMachine", pod.machine, pod.namespace)
    return Ref("Pod", pod.name, pod.namespace)
