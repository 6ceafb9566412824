"""Stage 3: ResourceQuotas of the namespace, judged on the launcher pods that would be created.

Admission compares with `status.hard`, never with `spec.hard`, so a quota without a status enforces
nothing yet. Extended resources are capped by `requests.<name>` only. Source: Kubernetes
pkg/quota/v1 and plugin resourcequota, v1.34.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from passway.cluster import kinds, records
from passway.cluster.amounts import as_quantity, is_device, parse
from passway.model.quantity import Quantity, quantity
from passway.model.verdict import Issue, Param, Ref, Severity, Stage
from passway.preflight import limit_ranges, overhead
from passway.preflight.stage import Question

STAGE: Final = Stage.QUOTA
COUNTS: Final = (
    "count/pods",
    "count/virtualmachines.kubevirt.io",
    "count/virtualmachineinstances.kubevirt.io",
)
MEMORY_KEYS: Final = frozenset({"memory", "requests.memory", "limits.memory"})
_SCOPES: Final = {"NotTerminating": True, "Terminating": False, "NotBestEffort": True,
                  "BestEffort": False, "CrossNamespacePodAffinity": False}  # fmt: skip


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    yield from question.unread(STAGE, kinds.QUOTAS, "the quotas of the namespace")
    quotas = question.snapshot.all(kinds.QUOTAS, records.ResourceQuota)
    for key in sorted(key for key in quotas if key[0] == question.spec.namespace):
        yield from _quota(question, quotas[key], Ref("ResourceQuota", key[1], key[0]))
    yield from limit_ranges.judge(question)


def _quota(question: Question, quota: records.ResourceQuota, ref: Ref) -> Iterator[Issue]:
    spec = quota.spec or records.QuotaSpec()
    status = quota.status or records.QuotaStatus()
    wanted = charges(question)
    counts = applies(quota, question)
    if counts is False:
        return
    if counts is None:
        yield question.issue(
            STAGE, Severity.UNKNOWN, "QuotaUndecided", quota=ref.name, scope="priority class"
        )
        return
    yield from _without_effect(question, spec, ref)
    hard, used = parse(status.hard), parse(status.used)
    waiting = sorted(key for key in wanted if key in (spec.hard or {}) and key not in hard)
    if waiting:
        yield question.issue(
            STAGE, Severity.WARNING, "QuotaNotInForce", quota=ref.name, key=tuple(waiting)
        )
    for key in sorted(hard):
        if key in wanted and used.get(key, 0) + wanted[key].nanos > hard[key]:
            shown = wanted[key].format
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "QuotaExceeded",
                question.path_of(key.removeprefix("requests.").removeprefix("limits.")),
                (),
                quota=ref.name,
                key=key,
                requested=wanted[key],
                used=Quantity(used.get(key, 0), shown),
                hard=Quantity(hard[key], shown),
                **_overhead(question, key),
            )


def charges(question: Question) -> Mapping[str, Quantity]:
    """Quota key -> what the machines would be charged for it."""
    count = question.replicas
    charged = dict.fromkeys(COUNTS, quantity(count))
    for resource, amount in question.pod.requests.items():
        total = as_quantity(resource, amount) * count
        charged[f"requests.{resource}"] = total
        if not is_device(resource) and "/" not in resource:
            charged[resource] = total
    for resource, amount in question.pod.limits.items():
        charged[f"limits.{resource}"] = as_quantity(resource, amount) * count
    return {key: amount for key, amount in charged.items() if amount.nanos > 0}


def applies(quota: records.ResourceQuota, question: Question) -> bool | None:
    """Whether the quota counts the launcher pods; None where that could not be decided."""
    spec = quota.spec or records.QuotaSpec()
    requirements = list((spec.scope_selector or records.ScopeSelector()).match_expressions or ())
    requirements += [records.ScopeRequirement(scope, "Exists") for scope in spec.scopes or ()]
    answers = [_in_scope(item, question.pod.priority_class) for item in requirements]
    if False in answers:
        return False
    return None if None in answers else True


def _in_scope(requirement: records.ScopeRequirement, priority_class: str | None) -> bool | None:
    if requirement.scope_name != "PriorityClass":
        return _SCOPES.get(requirement.scope_name)
    values = requirement.values or ()
    match requirement.operator:
        case "In":
            return priority_class in values
        case "NotIn":
            return priority_class not in values
        case "Exists":
            return priority_class is not None
        case "DoesNotExist":
            return priority_class is None
        case _:
            return None


def _without_effect(question: Question, spec: records.QuotaSpec, ref: Ref) -> Iterator[Issue]:
    for resource in sorted(question.pod.requests):
        for key in (resource, f"limits.{resource}"):
            if is_device(resource) and key in (spec.hard or {}):
                yield question.issue(
                    STAGE,
                    Severity.WARNING,
                    "QuotaKeyWithoutEffect",
                    question.path_of(resource),
                    quota=ref.name,
                    key=key,
                    resource=resource,
                )


def _overhead(question: Question, key: str) -> dict[str, Param]:
    """KubeVirt's share of a memory charge, which users forget."""
    if key not in MEMORY_KEYS:
        return {}
    of_request = key != "limits.memory"
    return {
        **overhead.share(question, of_request=of_request, machines=question.replicas),
        "helpers": overhead.helpers(question, of_request=of_request, machines=question.replicas),
    }
