"""What becomes of the rendered launcher before it is stored: the cluster's mutating admission.

Owns two steps that are no part of KubeVirt and still decide what the scheduler and quotas see: the
injector of network resources, which adds virtual functions to the first container, and the
defaults of the namespace's LimitRanges. Source: k8snetworkplumbingwg/network-resources-injector and
Kubernetes plugin/pkg/admission/limitranger, v1.34.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from msgspec import structs

from passway.cluster.amounts import parse
from passway.cluster.records import LimitRangeItem, PodSpec
from passway.kubevirt.container import Container
from passway.kubevirt.launch import Launch
from passway.model.quantity import ZERO, Quantity, quantity

CONTAINER = "Container"


def injected(launch: Launch, functions: Mapping[str, int]) -> Launch:
    """The pod with virtual functions (resource -> count) in its first container."""
    if not functions:
        return launch
    first, *rest = launch.containers
    requests, limits = dict(first.requests), dict(first.limits)
    for resource, count in functions.items():
        requests[resource] = requests.get(resource, ZERO) + quantity(count)
        limits[resource] = limits.get(resource, ZERO) + quantity(count)
    return replace(launch, containers=(replace(first, requests=requests, limits=limits), *rest))


def with_defaults(launch: Launch, ranges: Iterable[LimitRangeItem]) -> Launch:
    """The pod whose containers got the default requests and limits that they lacked."""
    for item in ranges:
        if item.type == CONTAINER and (item.default or item.default_request):
            limits = _quantities(parse(item.default))
            requests = _quantities(parse(item.default_request))
            launch = replace(
                launch,
                containers=_filled(launch.containers, requests, limits),
                init_containers=_filled(launch.init_containers, requests, limits),
            )
    return launch


def completed(item: LimitRangeItem) -> LimitRangeItem:
    """With the defaults that the API server derives: a maximum is the default limit, and so on.

    Source: Kubernetes pkg/apis/core/v1/defaults.go (SetDefaults_LimitRange).
    """
    if item.type != CONTAINER:
        return item
    default = {**(item.max or {}), **(item.default or {})}
    default_request = {**(item.min or {}), **default, **(item.default_request or {})}
    return structs.replace(item, default=default, default_request=default_request)


def pod_spec(launch: Launch, overhead: Mapping[str, str | int | float] | None) -> PodSpec:
    """The wire form of the pod's amounts; `overhead` is that of its runtime class."""
    return PodSpec(
        containers=tuple([container.record() for container in launch.containers]),
        init_containers=tuple([container.record() for container in launch.init_containers]),
        overhead=dict(overhead) if overhead else None,
    )


def limits_spec(launch: Launch, overhead: Mapping[str, str | int | float] | None) -> PodSpec:
    """The same with limits in the place of requests, which sum up by the same rule."""
    swapped = replace(
        launch,
        containers=_limits_only(launch.containers),
        init_containers=_limits_only(launch.init_containers),
    )
    return pod_spec(swapped, overhead)


def _limits_only(containers: tuple[Container, ...]) -> tuple[Container, ...]:
    return tuple([replace(container, requests={}) for container in containers])


def _filled(
    containers: tuple[Container, ...],
    requests: Mapping[str, Quantity],
    limits: Mapping[str, Quantity],
) -> tuple[Container, ...]:
    """A request that is missing beside a limit was set to it before, when the pod was read."""
    return tuple(
        replace(
            container,
            requests={**requests, **container.limits, **container.requests},
            limits={**limits, **container.limits},
        )
        for container in containers
    )


def _quantities(nanos: Mapping[str, int]) -> dict[str, Quantity]:
    return {resource: Quantity(amount) for resource, amount in nanos.items()}
