"""Stage 3 too: LimitRanges of the namespace, judged on the launcher's containers.

They refuse pods, not VMs, so nobody hears of them before the launcher is created: a maximum below
the guest's memory, a minimum above what a helper container asks for, a default limit that
KubeVirt's compute container gets and that is less than it requests, or a limit that is too many
times the request. Source: Kubernetes
plugin/pkg/admission/limitranger, v1.34.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from passway.cluster import kinds
from passway.cluster.amounts import CPU, HUGEPAGES, MEMORY, parse
from passway.cluster.records import LimitRangeItem
from passway.cluster.snapshot import Read
from passway.kubevirt.admitted import CONTAINER
from passway.kubevirt.launcher_pod import named_limit_items
from passway.model.quantity import NANOS, Format, Quantity
from passway.model.verdict import Issue, Param, Severity, Stage
from passway.preflight import overhead
from passway.preflight.stage import Question

STAGE: Final = Stage.QUOTA
POD: Final = "Pod"
COMPUTE: Final = "compute"
THE_POD: Final = "the pod"
_MILLI: Final = NANOS // 1000


@dataclass(frozen=True, slots=True)
class _Part:
    """A container, or the pod as a whole: resource -> nano-units."""

    name: str
    requests: Mapping[str, int]
    limits: Mapping[str, int]


def judge(question: Question) -> Iterator[Issue]:
    """The issues: one for each rule that is broken.

    A source that leaves them out has none, as far as anyone can tell; one that may not list them
    is unknown.
    """
    if question.read(kinds.LIMIT_RANGES) is Read.FORBIDDEN:
        yield from question.unread(STAGE, kinds.LIMIT_RANGES, "the limit ranges of the namespace")
    containers = _containers(question)
    for name, item in named_limit_items(question.snapshot, question.spec.namespace):
        if item.type not in {CONTAINER, POD}:
            continue
        parts = containers if item.type == CONTAINER else (_pod(question),)
        for rule, resource, bound in _bounds(item):
            broken = [part for part in parts if _breaks(rule, resource, bound, part)]
            if broken:
                yield _issue(question, name, item, rule, resource, bound, broken)
        for resource, ratio in sorted(parse(item.max_limit_request_ratio).items()):
            yield from _ratio(question, name, item, resource, ratio, parts)


def _bounds(item: LimitRangeItem) -> Iterator[tuple[str, str, int]]:
    """(rule, resource, nano-units); a default that is the maximum is told as that."""
    highest = parse(item.max)
    for rule, amounts in (("maximum", highest), ("minimum", parse(item.min))):
        for resource, bound in sorted(amounts.items()):
            yield rule, resource, bound
    if item.type == CONTAINER:
        for resource, bound in sorted(parse(item.default).items()):
            if bound != highest.get(resource):
                yield "default limit", resource, bound


def _breaks(rule: str, resource: str, bound: int, part: _Part) -> bool:
    request, limit = part.requests.get(resource), part.limits.get(resource)
    match rule:
        case "maximum":
            return limit is None or limit > bound or (request or 0) > bound
        case "minimum":
            return request is None or request < bound or (limit is not None and limit < bound)
        case _:
            return limit == bound and (request or 0) > bound


def _ratio(
    question: Question,
    name: str,
    item: LimitRangeItem,
    resource: str,
    ratio: int,
    parts: tuple[_Part, ...],
) -> Iterator[Issue]:
    """The first part whose limit is too many times its request, or that lacks one of the two."""
    for part in parts:
        request, limit = part.requests.get(resource, 0), part.limits.get(resource, 0)
        if not request or not limit or limit * NANOS > ratio * request:
            shown = _format(resource)
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "LimitRangeRatio",
                question.path_of(resource),
                limit_range=name,
                resource=resource,
                kind=item.type,
                container=part.name,
                bound=Quantity(ratio, "DecimalSI"),
                request=Quantity(request, shown) if request else "none",
                limit=Quantity(limit, shown) if limit else "none",
            )
            return


def _format(resource: str) -> Format:
    return "BinarySI" if resource == MEMORY or resource.startswith(HUGEPAGES) else "DecimalSI"


def _issue(
    question: Question,
    name: str,
    item: LimitRangeItem,
    rule: str,
    resource: str,
    bound: int,
    broken: list[_Part],
) -> Issue:
    amounts = [_telling(rule, resource, part) for part in broken]
    amount = min(amounts) if rule == "minimum" else max(amounts)
    shown = _format(resource)
    return question.issue(
        STAGE,
        Severity.ERROR,
        "LimitRangeExceeded",
        question.path_of(resource),
        (),
        limit_range=name,
        rule=rule,
        resource=resource,
        kind=item.type,
        containers=tuple(part.name for part in broken),
        bound=Quantity(bound, shown),
        amount=Quantity(amount, shown) if amount else "none",
        **_overhead(question, rule, resource, broken),
    )


def _overhead(
    question: Question, rule: str, resource: str, broken: list[_Part]
) -> dict[str, Param]:
    """KubeVirt's share of an amount that is too large: it is in the compute container."""
    largest = max(broken, key=lambda part: _telling(rule, resource, part))
    if resource != MEMORY or rule == "minimum" or largest.name not in {COMPUTE, THE_POD}:
        return {}
    of_request = largest.requests.get(MEMORY, 0) >= largest.limits.get(MEMORY, 0)
    if not of_request and question.spec.plain("domain.resources.limits.memory") is None:
        return {}  # a limit that others have set, as a default, knows no overhead
    return overhead.share(question, of_request=of_request)


def _telling(rule: str, resource: str, part: _Part) -> int:
    """The amount that breaks the rule."""
    found = [part.requests.get(resource, 0), part.limits.get(resource, 0)]
    return min(found) if rule == "minimum" and resource in part.limits else max(found)


def _containers(question: Question) -> tuple[_Part, ...]:
    launch = question.pod.launch
    return tuple(
        _Part(
            container.name,
            {name: amount.nanos for name, amount in container.requests.items()},
            {name: amount.nanos for name, amount in container.limits.items()},
        )
        for container in (*launch.containers, *launch.init_containers)
    )


def _pod(question: Question) -> _Part:
    """Sums as the scheduler counts them; devices have the same limits as requests."""
    pod = question.pod
    requests = {name: _nanos(name, amount) for name, amount in pod.requests.items()}
    devices = {name: amount for name, amount in requests.items() if "/" in name}
    limits = {name: _nanos(name, amount) for name, amount in pod.limits.items()}
    return _Part(THE_POD, requests, {**devices, **limits})


def _nanos(resource: str, amount: int) -> int:
    return amount * (_MILLI if resource == CPU else NANOS)
