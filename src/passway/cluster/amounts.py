"""Amounts as the scheduler counts them: CPU in thousandths, everything else in whole units.

Owns the conversion from the API's text to integers, rounding up as kube-scheduler's NodeInfo does
(MilliValue for cpu, Value for the rest), and the sum of a pod's requests. A vector is a sorted
tuple of (resource, amount) and is shared between all pods that ask for the same.
Source: component-helpers/resource/helpers.go and noderesources/fit.go, v1.34.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from passway.cluster.records import (
    Amounts,
    Container,
    PodSpec,
    PodStatus,
    Resources,
)
from passway.model.quantity import NANOS, InvalidQuantity, Quantity, parse_quantity

Vector: TypeAlias = tuple[tuple[str, int], ...]
Nanos: TypeAlias = dict[str, int]
Items: TypeAlias = tuple[tuple[str, str | int | float], ...]
Given: TypeAlias = Mapping[str, tuple[Amounts | None, Amounts | None, bool]]
"""Container -> what it has, what was allocated to it, and whether a resize is infeasible."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL: Final = "ephemeral-storage"
HUGEPAGES: Final = "hugepages-"
KUBEVIRT_DEVICES: Final = "devices.kubevirt.io/"
NATIVE: Final = frozenset({CPU, MEMORY, PODS, EPHEMERAL})
_NONE_GIVEN: Final[Given] = {}
_MILLI_NANOS: Final = NANOS // 1000
_BYTES: Final = (MEMORY, EPHEMERAL)


def units(resource: str, nanos: int) -> int:
    """Nano-units -> the integer that the scheduler counts this resource in."""
    return -(-nanos // (_MILLI_NANOS if resource == CPU else NANOS))


def as_quantity(resource: str, amount: int) -> Quantity:
    """The scheduler's integer -> a quantity to show."""
    if resource == CPU:
        return Quantity(amount * _MILLI_NANOS)
    binary = resource in _BYTES or resource.startswith(HUGEPAGES)
    return Quantity(amount * NANOS, "BinarySI" if binary else "DecimalSI")


def is_device(resource: str) -> bool:
    """A device of a plugin that a VM may ask for: extended, and not one of KubeVirt's own."""
    return (
        "/" in resource
        and not resource.startswith(KUBEVIRT_DEVICES)
        and "kubernetes.io/" not in resource
    )


def integers(amounts: Amounts | None) -> dict[str, int]:
    """An API resource list as integers; raises InvalidQuantity with the name of the resource."""
    return {resource: units(resource, nanos) for resource, nanos in parse(amounts).items()}


def parse(amounts: Amounts | None) -> Nanos:
    """An API resource list -> exact nano-units."""
    return dict(_parsed(tuple(amounts.items()))) if amounts else {}


@lru_cache(maxsize=65536)
def _parsed(items: Items) -> Nanos:
    """Shared between callers, which must not write to it."""
    parsed: Nanos = {}
    for resource, text in items:
        try:
            parsed[resource] = parse_quantity(str(text)).nanos
        except InvalidQuantity as error:
            raise InvalidQuantity(f"{resource}: {error}") from None
    return parsed


def pod_requests(spec: PodSpec, status: PodStatus | None = None) -> Vector:
    """What a pod counts for on its node, itself as one of `pods` included.

    The larger of (all containers and sidecars) and (each init container with the sidecars before
    it), then pod-level resources in their place, then the overhead of its runtime class. While a
    pod is resized in place, the larger of what is asked for and what `status` says it has counts.
    """
    level = spec.resources
    pod_level = _items(level.requests) if level else ()
    given = _NONE_GIVEN
    if status is not None and (status.container_statuses or status.init_container_statuses):
        given = _given(status)
        if pod_level and status.resources:
            parts = (status.resources.requests, status.allocated_resources)
            pod_level = _larger(pod_level, *parts, infeasible=_is_infeasible(status))
    return _total(
        tuple([_effective(container, given) for container in spec.containers or ()]),
        tuple(
            [
                (
                    container.restart_policy == "Always",
                    _effective(container, given if container.restart_policy == "Always" else None),
                )
                for container in spec.init_containers or ()
            ]
        ),
        _items(level.limits) if level else (),
        pod_level,
        _items(spec.overhead) if spec.overhead else (),
    )


def _given(status: PodStatus) -> Given:
    """What containers were given, by name, where that is told, and if more can never be given."""
    infeasible = _is_infeasible(status) if status.conditions else False
    return {
        item.name: (item.resources.requests, item.allocated_resources, infeasible)
        for items in (status.container_statuses, status.init_container_statuses)
        for item in items or ()
        if item.resources is not None
    }


def _effective(container: Container, given: Given | None) -> Items:
    wanted = _wanted(container.resources)
    found = given.get(container.name) if given else None
    if found is None:
        return wanted
    actuated, allocated, infeasible = found
    return _larger(wanted, actuated, allocated, infeasible=infeasible)


def _larger(
    wanted: Items, actuated: Amounts | None, allocated: Amounts | None, *, infeasible: bool
) -> Items:
    """What counts while a resize is under way; one that a node can never do does not count.

    Source: component-helpers/resource/helpers.go determineEffectiveRequests, v1.36.
    """
    parts = [_items(actuated), _items(allocated)]
    if all(part == wanted for part in parts if part):
        return wanted
    if not infeasible:
        parts.append(wanted)
    largest: dict[str, tuple[int, str | int | float]] = {}
    for part in parts:
        amounts = _parsed(part)
        for resource, text in part:
            if resource not in largest or amounts[resource] > largest[resource][0]:
                largest[resource] = (amounts[resource], text)
    return tuple([(resource, text) for resource, (_, text) in largest.items()])


def _is_infeasible(status: PodStatus) -> bool:
    for condition in status.conditions or ():
        if condition.type == "PodResizePending":
            return condition.reason == "Infeasible"
    return False


@lru_cache(maxsize=65536)
def _total(
    containers: tuple[Items, ...],
    init_containers: tuple[tuple[bool, Items], ...],
    pod_limits: Items,
    pod_level: Items,
    overhead: Items,
) -> Vector:
    """Cached by the texts: most pods of a cluster ask for what another one asks for."""
    sidecars: Nanos = {}
    peak: Nanos = {}
    for is_sidecar, wanted in init_containers:
        if is_sidecar:
            sidecars = _sum((sidecars, _parsed(wanted)))
            peak = _max(peak, sidecars)
        else:
            peak = _max(peak, _sum((sidecars, _parsed(wanted))))
    total = _max(_sum((sidecars, *(_parsed(wanted) for wanted in containers))), peak)
    # The API server defaults a pod's own requests to what its containers ask, else to its limits.
    total = {**_parsed(pod_limits), **total, **_parsed(pod_level)}
    total = _sum((total, _parsed(overhead)))
    counted = {resource: units(resource, nanos) for resource, nanos in total.items()}
    counted[PODS] = 1
    return tuple(sorted((resource, amount) for resource, amount in counted.items() if amount > 0))


def _wanted(resources: Resources | None) -> Items:
    """Requests; a limit alone is its own request, as the API server defaults it."""
    if resources is None:
        return ()
    requests, limits = resources.requests, resources.limits
    if limits and not (requests and limits.keys() <= requests.keys()):
        return tuple({**limits, **(requests or {})}.items())
    return tuple(requests.items()) if requests else ()


def _items(amounts: Amounts | None) -> Items:
    return tuple(amounts.items()) if amounts else ()


def _sum(parts: Iterable[Mapping[str, int]]) -> Nanos:
    total: Nanos = {}
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, 0) + amount
    return total


def _max(left: Nanos, right: Mapping[str, int]) -> Nanos:
    merged = dict(left)
    for resource, amount in right.items():
        if amount > merged.get(resource, 0):
            merged[resource] = amount
    return merged
