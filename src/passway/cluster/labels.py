"""Labels against selectors: pairs, requirements and the selector objects of the API.

Follows k8s.io/apimachinery labels.Requirement. Unlike upstream, a malformed requirement matches
nothing instead of being an error. What selects nodes by more than labels is the scheduler's.
"""

import re
from collections.abc import Mapping
from typing import Final

from passway.cluster.records import LabelSelector, Requirement

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")
"""What strconv.ParseInt takes, but for the last digit of 64 bits."""


def matches_labels(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Every pair of a nodeSelector or matchLabels is among the labels."""
    return all(labels.get(key) == value for key, value in selector.items())


def matches_selector(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """A metav1.LabelSelector; an empty one matches everything."""
    return matches_labels(selector.match_labels or {}, labels) and all(
        matches_requirement(requirement, labels) for requirement in selector.match_expressions or ()
    )


def matches_requirement(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """One requirement; Gt and Lt compare integers."""
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
