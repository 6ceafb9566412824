"""What the nodes have of one resource, and who holds it.

Owns the facts that several stages tell about a resource: is it advertised, is enough of it free on
one node, how much is free where, and whose pods hold the rest. Work grows with the nodes that
advertise the resource, not with the cluster.
"""

from passway.cluster.amounts import as_quantity
from passway.cluster.fold import FoldedPod
from passway.cluster.snapshot import Snapshot
from passway.model.verdict import Free, Holding, Ref


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


def free(snapshot: Snapshot, resource: str) -> tuple[Free, ...]:
    """Free units on each node that advertises the resource, by node name."""
    return tuple(
        Free(
            node,
            as_quantity(resource, max(snapshot.free(node, resource), 0)),
            as_quantity(resource, snapshot.nodes[node].allocatable.get(resource, 0)),
        )
        for node in sorted(snapshot.advertisers.get(resource, ()))
    )


def holders(snapshot: Snapshot, resource: str) -> tuple[Holding, ...]:
    """Who holds units of the resource, sorted."""
    return tuple(
        sorted(
            Holding(
                holder_of(pod),
                as_quantity(resource, amount),
                pod.node or "",
                pod.name,
                pod.deletion,
            )
            for pod, amount in snapshot.holders(resource)
        )
    )


def holder_of(pod: FoldedPod) -> Ref:
    """The VM of a launcher, or the pod itself."""
    if pod.machine:
        return Ref("VirtualMachine", pod.machine, pod.namespace)
    return Ref("Pod", pod.name, pod.namespace)
