"""Node selectors and required node affinity.

Follows component-helpers nodeaffinity: terms are ORed, expressions of a term are ANDed, an empty
term matches nothing, `metadata.name` is the one field. Unlike upstream, a malformed requirement
matches nothing instead of failing the pod.
"""

from collections.abc import Mapping
from typing import Final

from passway.cluster.labels import matches_requirement
from passway.cluster.records import NodeSelector, NodeSelectorTerm

NAME_FIELD: Final = "metadata.name"


def matches_node(selector: NodeSelector, name: str, labels: Mapping[str, str]) -> bool:
    """Required node affinity."""
    return any(_matches_term(term, name, labels) for term in selector.node_selector_terms)


def _matches_term(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    return all(matches_requirement(item, labels) for item in term.match_expressions or ()) and all(
        item.key == NAME_FIELD and matches_requirement(item, {NAME_FIELD: name})
        for item in term.match_fields or ()
    )
