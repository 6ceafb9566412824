"""Node affinity, node selectors and label selectors."""

import msgspec
import pytest

from passway.cluster.labels import matches_labels, matches_selector
from passway.cluster.records import LabelSelector, NodeSelector
from passway.scheduler.selectors import matches_node

LABELS = {"zone": "a", "gpus": "8", "empty": "", "below": "-3"}


def expression(key, operator, *values):
    return {"key": key, "operator": operator, "values": list(values)}


def matches(*terms, name="n1", labels=LABELS):
    return matches_node(msgspec.convert({"nodeSelectorTerms": terms}, NodeSelector), name, labels)


@pytest.mark.parametrize(
    ("key", "operator", "values", "expected"),
    [
        ("zone", "In", ["a"], True),
        ("zone", "In", ["b", "a"], True),
        ("zone", "In", ["b"], False),
        ("zone", "In", ["A"], False),
        ("missing", "In", ["a"], False),
        ("empty", "In", [""], True),
        ("missing", "In", [""], False),
        ("zone", "NotIn", ["b"], True),
        ("zone", "NotIn", ["b", "a"], False),
        ("missing", "NotIn", ["a"], True),
        ("zone", "Exists", [], True),
        ("empty", "Exists", [], True),
        ("missing", "Exists", [], False),
        ("zone", "DoesNotExist", [], False),
        ("missing", "DoesNotExist", [], True),
        ("gpus", "Gt", ["7"], True),
        ("gpus", "Gt", ["8"], False),
        ("gpus", "Gt", ["10"], False),
        ("gpus", "Gt", ["-9"], True),
        ("gpus", "Lt", ["9"], True),
        ("gpus", "Lt", ["8"], False),
        ("gpus", "Lt", ["10"], True),
        ("below", "Lt", ["0"], True),
        ("below", "Lt", ["+0"], True),
        ("missing", "Gt", ["1"], False),
        ("missing", "Lt", ["1"], False),
        ("zone", "Gt", ["1"], False),
        ("empty", "Lt", ["1"], False),
    ],
)
def test_one_expression(key, operator, values, expected):
    assert matches({"matchExpressions": [expression(key, operator, *values)]}) is expected


@pytest.mark.parametrize(
    ("key", "operator", "values"),
    [
        ("zone", "In", []),
        ("zone", "NotIn", []),
        ("missing", "NotIn", []),
        ("zone", "Exists", ["a"]),
        ("missing", "DoesNotExist", ["a"]),
        ("gpus", "Gt", []),
        ("gpus", "Gt", ["1", "2"]),
        ("gpus", "Gt", ["1.5"]),
        ("gpus", "Gt", ["1_0"]),
        ("gpus", "Gt", [" 1"]),
        ("gpus", "Gt", ["1" * 5000]),
        ("gpus", "Lt", ["x"]),
        ("zone", "in", ["a"]),
        ("zone", "", ["a"]),
    ],
)
def test_a_malformed_expression_matches_nothing(key, operator, values):
    assert not matches({"matchExpressions": [expression(key, operator, *values)]})


def test_values_may_be_left_out():
    assert matches({"matchExpressions": [{"key": "zone", "operator": "Exists"}]})
    assert not matches({"matchExpressions": [{"key": "zone", "operator": "In"}]})


def test_terms_are_ored_and_expressions_anded():
    yes, no = expression("zone", "In", "a"), expression("zone", "In", "b")
    assert matches({"matchExpressions": [no]}, {"matchExpressions": [yes]})
    assert not matches({"matchExpressions": [yes, no]})
    assert matches({"matchExpressions": [yes, expression("gpus", "Gt", "1")]})
    assert not matches({"matchExpressions": [no]}, {"matchExpressions": [yes, no]})


@pytest.mark.parametrize("term", [{}, {"matchExpressions": []}, {"matchFields": []}])
def test_an_empty_term_matches_nothing(term):
    assert not matches(term)
    assert matches(term, {"matchExpressions": [expression("zone", "Exists")]})


def test_no_terms_match_nothing():
    assert not matches()


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (expression("metadata.name", "In", "n1"), True),
        (expression("metadata.name", "In", "n2"), False),
        (expression("metadata.name", "NotIn", "n2"), True),
        (expression("metadata.name", "NotIn", "n1"), False),
        (expression("metadata.uid", "NotIn", "x"), False),
        (expression("spec.unschedulable", "DoesNotExist"), False),
    ],
)
def test_the_one_field_is_the_name(field, expected):
    assert matches({"matchFields": [field]}) is expected


def test_fields_and_expressions_of_a_term_are_anded():
    field, label = expression("metadata.name", "In", "n1"), expression("zone", "In", "a")
    assert matches({"matchFields": [field], "matchExpressions": [label]})
    assert not matches({"matchFields": [field], "matchExpressions": [label]}, name="n2")
    assert not matches({"matchFields": [field], "matchExpressions": [label]}, labels={})


def test_the_name_is_no_label():
    assert not matches({"matchExpressions": [expression("metadata.name", "In", "n1")]})


@pytest.mark.parametrize(
    ("selector", "expected"),
    [({}, True), ({"zone": "a"}, True), ({"zone": "a", "gpus": "8"}, True),
     ({"zone": "a", "gpus": "7"}, False), ({"missing": ""}, False), ({"empty": ""}, True)],
)  # fmt: skip
def test_a_node_selector_needs_every_pair(selector, expected):
    assert matches_labels(selector, LABELS) is expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({}, True),
        ({"matchLabels": {"zone": "a"}}, True),
        ({"matchLabels": {"zone": "b"}}, False),
        ({"matchExpressions": [expression("zone", "Exists")]}, True),
        ({"matchExpressions": [expression("zone", "NotIn", "a")]}, False),
        ({"matchLabels": {"zone": "a"}, "matchExpressions": [expression("x", "Exists")]}, False),
        ({"matchLabels": {"zone": "b"}, "matchExpressions": [expression("zone", "Exists")]}, False),
        ({"matchLabels": {}, "matchExpressions": []}, True),
    ],
)
def test_a_label_selector(selector, expected):
    assert matches_selector(msgspec.convert(selector, LabelSelector), LABELS) is expected
