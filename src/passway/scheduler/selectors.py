"""Label selectors, node selectors and required node affinity.

Follows k8s.io/apimachinery labels.Requirement and component-helpers nodeaffinity: terms are ORed,
expressions of a term are ANDed, an empty term matches nothing, `metadata.name` is the one field.
Unlike upstream, a malformed requirement matches nothing instead of failing the pod.
"""

import re
from collections.abc import Mapping
from typing import Final

from passway.cluster.records import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement

NAME_FIELD: Final = "metadata.name"
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
"""What strconv.ParseInt takes, but for the last digit of 64 bits."""


def matches_labels(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Every pair of a nodeSelector or matchLabels is among the labels."""
    return all(labels.get(key) == value for key, value in selector.items())


def matches_node(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Required node affinity."""
    return any(_matches_term(term, name, labels) for term in selector.node_selector_terms)


def matches_selector(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """A metav1.LabelSelector; an empty one matches everything."""
    return matches_labels(selector.match_labels or {}, labels) and all(
        _matches(requirement, labels) for requirement in selector.match_expressions or ()
    )


def _matches_term(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(_matches(item, labels) for item in term.match_expressions or ()) and all(
        item.key == NAME_FIELD and _matches(item, {NAME_FIELD: name})
        for item in term.match_fields or ()
    )


def _matches(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    values = requirement.values or ()
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return bool(values) and value not in values
        case "Exists":
            return not values and value is not None
        case "DoesNotExist":
            return not values and value is None
        case "Gt":
            return _compare(value, values) > 0
        case "Lt":
            return _compare(value, values) < 0
        case _:
            return False


def _compare(value: str | None, values: tuple[str, ...]) -> int:
    """-1, 0 or 1 for integers; 0, which matches neither Gt nor Lt, for anything else."""
    if len(values) != 1 or not all(_INTEGER.fullmatch(text) for text in (value or "", *values)):
        return 0
    left, right = int(value or ""), int(values[0])
    return (left > right) - (left < right)
