"""Needs that no node can meet now, and what each of them is told as.

A resource may be unknown to every node, known without any unit or without a healthy one, used up,
or simply too small everywhere: five causes with five remedies, which the scheduler's "Insufficient"
lumps together.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.amounts import HUGEPAGES, as_quantity, is_device
from passway.kubevirt.permitted import permitted_of
from passway.model.names import DEVICE_CLASS_DOMAIN, nearest
from passway.model.verdict import Issue, NodeResult, Severity, Stage
from passway.preflight import supply
from passway.preflight.networks import functions
from passway.preflight.stage import Question, state

STAGE: Final = Stage.SCHEDULING


def unmet(question: Question, walked: tuple[NodeResult, ...]) -> tuple[str, ...]:
    """The resources of which no node has enough free, whatever else it lacks."""
    snapshot = question.snapshot
    return tuple(
        resource
        for resource, wanted in question.pod.requests.items()
        if (
            not supply.enough(snapshot, resource, wanted)
            if _indexed(resource)
            else walked and all(resource in node.fails for node in walked)
        )
    )


def explain(question: Question, resource: str) -> Iterator[Issue]:
    """The issues for one unmet resource; empty pools of virtual functions are told by networks."""
    if resource in functions(question.spec, question.snapshot):
        return
    if not _indexed(resource) or resource.startswith(HUGEPAGES):
        yield _too_small(question, resource)
    elif not supply.advertised(question.snapshot, resource):
        yield _not_advertised(question, resource)
    else:
        yield from _used_up(question, resource)


def _indexed(resource: str) -> bool:
    return "/" in resource or resource.startswith(HUGEPAGES)


def _too_small(question: Question, resource: str) -> Issue:
    snapshot = question.snapshot
    most = max((snapshot.free(node, resource) for node in snapshot.nodes), default=0)
    return question.issue(
        STAGE,
        Severity.ERROR,
        "NoFreeHugepages" if resource.startswith(HUGEPAGES) else "InsufficientResource",
        question.path_of(resource),
        resource=resource,
        wanted=as_quantity(resource, question.pod.requests[resource]),
        most=as_quantity(resource, max(most, 0)),
    )


def _not_advertised(question: Question, resource: str) -> Issue:
    snapshot, path = question.snapshot, question.path_of(resource)
    near = nearest(resource, list(snapshot.devices())) if is_device(resource) else ()
    # Of several it is not known which one was meant.
    near_free = supply.free(snapshot, near[0]) if len(near) == 1 else ()
    read = snapshot.read(kinds.DEVICE_CLASSES)
    provider = _device_class(question, resource)
    if provider or not read.known:
        return question.issue(
            STAGE,
            Severity.UNKNOWN,
            "ResourceNotAdvertisedUndecided",
            path,
            resource=resource,
            near=near,
            near_free=near_free,
            device_class=provider,
            state="" if provider else state(read),
        )
    permits = [
        permit
        for permit in permitted_of(snapshot.kubevirt) or ()
        if permit.resource_name == resource
    ]
    return question.issue(
        STAGE,
        Severity.ERROR,
        "ResourceNotAdvertised",
        path,
        resource=resource,
        near=near,
        near_free=near_free,
        permitted=len(permits),
        external=int(bool(permits) and all(permit.external for permit in permits)),
    )


def _device_class(question: Question, resource: str) -> str:
    """The DeviceClass that provides the resource through claims, if any."""
    classes = question.snapshot.all(kinds.DEVICE_CLASSES, records.DeviceClass)
    for (_, name), found in sorted(classes.items()):
        extended = found.spec.extended_resource_name if found.spec else None
        if resource in {extended, f"{DEVICE_CLASS_DOMAIN}/{name}"}:
            return name
    return ""


def _used_up(question: Question, resource: str) -> Iterator[Issue]:
    snapshot, path = question.snapshot, question.path_of(resource)
    healthy, idle = supply.healthy(snapshot, resource), supply.unhealthy(snapshot, resource)
    # The kubelet keeps a resource with 0 units when its plugin has gone or registers without
    # devices (kubernetes pkg/kubelet/cm/devicemanager, GetCapacity).
    capacities = {node: snapshot.nodes[node].capacity.get(resource, 0) for node in idle}
    unhealthy = tuple(node for node in idle if capacities[node])
    without = tuple(node for node in idle if not capacities[node])
    if without:
        yield question.issue(
            STAGE, Severity.ERROR, "ResourceHasNoUnits", path, without, resource=resource
        )
    if unhealthy:
        capacity = sum(capacities.values())
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "ResourceUnhealthy",
            path,
            unhealthy,
            resource=resource,
            capacity=as_quantity(resource, capacity),
        )
    if healthy:
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "ResourceExhausted",
            path,
            healthy,
            resource=resource,
            wanted=as_quantity(resource, question.pod.requests[resource]),
            free=supply.free(snapshot, resource, healthy),
            holders=supply.holders(snapshot, resource),
        )
