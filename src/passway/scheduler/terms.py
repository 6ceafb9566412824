"""Terms of pod affinity and anti-affinity, and spread constraints, as they apply to one pod.

Owns which namespaces a term reaches, which pods it selects, and what the API server makes of
`matchLabelKeys` when it creates a pod. Whether a namespace is selected is unknown where Namespace
objects were not read; the caller then says what to assume. Source: kube-scheduler
framework/types.go AffinityTerm and plugins/interpodaffinity, kubernetes
pkg/registry/core/pod/strategy.go, v1.36.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import msgspec

from passway.cluster.labels import matches_selector
from passway.cluster.records import (
    LabelSelector,
    Named,
    PodAffinityTerm,
    Requirement,
    TopologySpreadConstraint,
)

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""A label that the API server sets on every namespace."""


@dataclass(frozen=True, slots=True)
class Namespaces:
    """All namespaces by ('', name), or that they are not known (None), and what is then assumed."""

    known: Mapping[tuple[str, str], Named] | None
    assumed: bool = False

    def selected(self, selector: LabelSelector, namespace: str) -> bool:
        """Whether a selector of namespaces selects this one."""
        if self.known is None:
            return self.assumed or is_empty(selector)
        found = self.known.get(("", namespace))
        labels = (found.metadata.labels if found else None) or {}
        return matches_selector(selector, {NAMESPACE_NAME: namespace, **labels})


Terms: TypeAlias = tuple[PodAffinityTerm, ...]


def is_empty(selector: LabelSelector) -> bool:
    """It selects everything."""
    return not (selector.match_labels or selector.match_expressions)


def reaches(term: PodAffinityTerm, owner: str, namespace: str, namespaces: Namespaces) -> bool:
    """A term of a pod in the namespace `owner` speaks of the pods of this namespace."""
    selector = term.namespace_selector
    if namespace in (term.namespaces or ()):
        return True
    if selector is None:
        return not term.namespaces and namespace == owner
    return namespaces.selected(selector, namespace)


def selects(term: PodAffinityTerm, labels: Mapping[str, str]) -> bool:
    """A term without a selector selects no pod; one with an empty selector every pod."""
    return term.label_selector is not None and matches_selector(term.label_selector, labels)


def merged(terms: Iterable[PodAffinityTerm], labels: Mapping[str, str]) -> Terms:
    """The terms as the API server stores them in a pod with these labels."""
    return tuple([
        msgspec.structs.replace(
            term,
            label_selector=_with_keys(
                term.label_selector, labels, term.match_label_keys, term.mismatch_label_keys
            ),
        )
        for term in terms
    ])  # fmt: skip


def merged_spread(
    constraints: Iterable[TopologySpreadConstraint], labels: Mapping[str, str]
) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints that can refuse a node, as they apply to a pod with these labels.

    `ScheduleAnyway`, as all of the cluster's own defaults are, only ranks nodes.
    """
    return tuple([
        msgspec.structs.replace(
            item, label_selector=_with_keys(item.label_selector, labels, item.match_label_keys)
        )
        for item in constraints
        if item.when_unsatisfiable == "DoNotSchedule"
    ])  # fmt: skip


def _with_keys(
    selector: LabelSelector | None,
    labels: Mapping[str, str],
    match: tuple[str, ...] | None,
    mismatch: tuple[str, ...] | None = None,
) -> LabelSelector | None:
    added = [
        Requirement(key, operator, (labels[key],))
        for keys, operator in ((match, "In"), (mismatch, "NotIn"))
        for key in keys or ()
        if key in labels
    ]
    if selector is None or not added:
        return selector
    expressions = (*(selector.match_expressions or ()), *added)
    return msgspec.structs.replace(selector, match_expressions=expressions)
