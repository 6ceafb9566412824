"""Folding: an object becomes the little that preflight reads of it, at once.

A pod of seven kilobytes becomes one small struct with interned strings and a shared request
vector; a node becomes integers. What is folded away can never be asked for later, so this module
is the place where a stage's new need shows up.
"""

from sys import intern
from typing import Final

import msgspec

from passway.cluster.amounts import Vector, integers, pod_requests
from passway.cluster.records import (
    Node,
    NodeSpec,
    NodeStatus,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodMeta,
    PodSpec,
    PodStatus,
    Taint,
)

FINISHED: Final = frozenset({"Succeeded", "Failed"})
UID_LENGTH: Final = 36
HEARTBEAT: Final = "kubevirt.io/heartbeat"
_SHARED_MOST: Final = 4096
"""How many sets of labels are remembered, so that pods that have the same share one."""
_SHARED: Final[dict[tuple[tuple[str, str], ...], tuple[str, ...]]] = {}
_NO_SPEC: Final = PodSpec()
_NO_STATUS: Final = PodStatus()


class FoldedPod(msgspec.Struct, frozen=True, gc=False):
    """A pod that holds or waits for resources. `labels` alternates keys and values."""

    namespace: str
    name: str
    node: str | None
    requests: Vector
    labels: tuple[str, ...] = ()
    machine: str | None = None
    """Name of the VMI that owns this launcher, which is also the name of its VM."""
    priority: int = 0
    deletion: str | None = None
    nominated_node: str | None = None
    host_ports: tuple[tuple[int, str], ...] = ()
    volume_claims: tuple[str, ...] = ()
    resource_claims: tuple[str, ...] = ()
    affinity: tuple[PodAffinityTerm, ...] = ()
    anti_affinity: tuple[PodAffinityTerm, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)

    def label_map(self) -> dict[str, str]:
        return dict(zip(self.labels[::2], self.labels[1::2], strict=True))


class NodeInfo(msgspec.Struct, frozen=True, gc=False):
    """A node: its amounts are in the scheduler's integers (cpu in thousandths)."""

    name: str
    labels: dict[str, str]
    taints: tuple[Taint, ...]
    unschedulable: bool
    capacity: dict[str, int]
    allocatable: dict[str, int]
    ready: bool
    created: str | None = None
    heartbeat: str | None = None


def fold_node(node: Node) -> NodeInfo:
    """Raises InvalidQuantity for amounts that are none."""
    meta, spec, status = node.metadata, node.spec or NodeSpec(), node.status or NodeStatus()
    ready = [condition for condition in status.conditions or () if condition.type == "Ready"]
    return NodeInfo(
        name=intern(meta.name),
        labels={intern(key): intern(value) for key, value in (meta.labels or {}).items()},
        taints=spec.taints or (),
        unschedulable=bool(spec.unschedulable),
        capacity=_interned(integers(status.capacity)),
        allocatable=_interned(integers(status.allocatable)),
        ready=all(condition.status == "True" for condition in ready),
        created=meta.creation_timestamp,
        heartbeat=max(
            (
                time
                for time in (
                    (meta.annotations or {}).get(HEARTBEAT),
                    *(condition.last_heartbeat_time for condition in status.conditions or ()),
                )
                if time
            ),
            default=None,
        ),
    )


def fold_pod(pod: Pod) -> FoldedPod | None:
    """None for a finished pod: it holds nothing any more. Raises InvalidQuantity."""
    meta, spec, status = pod.metadata, pod.spec or _NO_SPEC, pod.status or _NO_STATUS
    if status.phase in FINISHED:
        return None
    affinity, machine = spec.affinity, _machine(meta)
    return FoldedPod(
        namespace=intern(meta.namespace or "default"),
        name=meta.name,
        node=intern(spec.node_name) if spec.node_name else None,
        requests=pod_requests(spec, status),
        labels=_labels(meta.labels, unique=machine is not None) if meta.labels else (),
        machine=machine,
        priority=spec.priority or 0,
        deletion=meta.deletion_timestamp,
        nominated_node=status.nominated_node_name or None,
        host_ports=_host_ports(spec),
        volume_claims=_volume_claims(spec) if spec.volumes else (),
        resource_claims=_resource_claims(spec) if spec.resource_claims else (),
        affinity=_terms(affinity.pod_affinity) if affinity else (),
        anti_affinity=_terms(affinity.pod_anti_affinity) if affinity else (),
    )


def _interned(amounts: dict[str, int]) -> dict[str, int]:
    return {intern(resource): amount for resource, amount in amounts.items()}


def _labels(labels: dict[str, str], *, unique: bool) -> tuple[str, ...]:
    """Sorted keys and values; pods of one owner share them, those of launchers are `unique`."""
    if unique:
        return _flat(labels)
    items = tuple(labels.items())
    shared = _SHARED.get(items)
    if shared is None:
        if len(_SHARED) >= _SHARED_MOST:
            _SHARED.clear()
        shared = _SHARED[items] = _flat(labels)
    return shared


def _flat(labels: dict[str, str]) -> tuple[str, ...]:
    flat: list[str] = []
    for key, value in sorted(labels.items()):
        # Long values are UIDs and hashes: each is one pod's own, so sharing gains nothing.
        flat.append(intern(key))
        flat.append(intern(value) if len(value) < UID_LENGTH else value)
    return tuple(flat)


def _machine(meta: PodMeta) -> str | None:
    for owner in meta.owner_references or ():
        if owner.kind == "VirtualMachineInstance":
            return owner.name
    return None


def _host_ports(spec: PodSpec) -> tuple[tuple[int, str], ...]:
    found = [
        (port.host_port, port.protocol or "TCP")
        for container in spec.containers or ()
        if container.ports
        for port in container.ports
        if port.host_port
    ]
    return tuple(found) if found else ()


def _volume_claims(spec: PodSpec) -> tuple[str, ...]:
    return tuple(
        [
            volume.persistent_volume_claim.claim_name
            for volume in spec.volumes or ()
            if volume.persistent_volume_claim
        ]
    )


def _resource_claims(spec: PodSpec) -> tuple[str, ...]:
    return tuple(claim.resource_claim_name or claim.name for claim in spec.resource_claims or ())


def _terms(affinity: PodAffinity | None) -> tuple[PodAffinityTerm, ...]:
    return (affinity.required or ()) if affinity else ()
