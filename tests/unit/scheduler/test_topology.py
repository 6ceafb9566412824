"""Counts per domain: what single pods change, and what the rules come down to."""

import msgspec
import pytest
from tests.builders import node, pod
from tests.controlplane.scenes import HOST, ZONE, spread, term

from passway.cluster.dump import decode_object
from passway.cluster.fold import fold_node, fold_pod
from passway.cluster.records import LabelSelector, PodAffinityTerm, TopologySpreadConstraint
from passway.scheduler.copies import Together, fit_together
from passway.scheduler.terms import Namespaces, merged, merged_spread, reaches
from passway.scheduler.topology import Counts, Incoming, Rule

DB = {"app": "db"}
NONE = Namespaces(None)


def terms(*items):
    return tuple(msgspec.convert(list(items), list[PodAffinityTerm]))


def constraints(*items):
    return tuple(msgspec.convert(list(items), list[TopologySpreadConstraint]))


def place(name, zone):
    return fold_node(decode_object(node(name, labels={ZONE: zone}))[1])


def existing(name="p", labels=None, **options):
    meta = {"labels": DB if labels is None else labels, **options.pop("meta", {})}
    return fold_pod(decode_object(pod(name, "a", namespace="ns", meta=meta, **options))[1])


A, B = place("a", "x"), place("b", "y")


def counts(*nodes, **rules):
    made = Counts(Incoming("ns", DB, **rules), NONE, NONE)
    made.open(nodes or (A, B), lambda *_: True)
    return made


def test_a_pod_that_comes_and_goes_leaves_nothing():
    own = {"affinity": terms(term()), "anti_affinity": terms(term(HOST))}
    made = counts(**own, spread=constraints(spread()))
    before = made.rules()
    guard = {"podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [term(HOST)]}}  # fmt: skip
    other = existing(affinity=guard)
    copied = made.copy()
    copied.add(other, A)
    assert copied.rules() != before == made.rules()
    copied.add(other, A, -1)
    assert copied.rules() == before


def test_what_is_ending_counts_for_affinity_but_not_for_spreading():
    made = counts(affinity=terms(term()), spread=constraints(spread()))
    made.add(existing(meta={"deletionTimestamp": "2026-06-12T09:00:00Z"}), A)
    affinity, even = made.rules()
    assert affinity.allowed == {"x"}
    assert even.blocked == frozenset()


def test_a_pod_on_a_node_that_does_not_count_is_not_counted():
    made = Counts(Incoming("ns", DB, spread=constraints(spread())), NONE, NONE)
    made.open([A, B], lambda _, found: found.name != "a")
    made.add(existing(), A)
    assert dict(made.domains(0)) == {"y": 0}


@pytest.mark.parametrize(
    ("counted", "rule", "rooms"),
    [
        ({"x": 0, "y": 0}, spread(), {"x": 1, "y": 1}),
        ({"x": 2, "y": 0}, spread(), {"x": 0, "y": 3}),
        ({"x": 2, "y": 2}, spread(skew=3), {"x": 3, "y": 3}),
        ({"x": 1, "y": 0}, spread(minDomains=3), {"x": 0, "y": 1}),
        ({"x": 4}, spread(), {"x": None}),
        ({"x": 0}, spread(minDomains=2, skew=2), {"x": 2}),
    ],
)
def test_how_many_copies_a_domain_takes_alone(counted, rule, rooms):
    nodes = [place(zone, zone) for zone in counted]
    made = counts(*nodes, spread=constraints(rule))
    for found in nodes:
        for number in range(counted[found.labels[ZONE]]):
            made.add(existing(f"{found.name}{number}"), found)
    (even,) = made.rules()
    assert {zone: even.copies({ZONE: zone}) for zone in rooms} == rooms
    assert {zone for zone, room in rooms.items() if room == 0} == set(even.blocked)
    assert even.copies({}) is None


def test_a_rule_is_about_one_label():
    rule = Rule("r", "k", allowed=frozenset("ab"), blocked=frozenset("b"))
    assert [rule.admits(labels) for labels in ({"k": "a"}, {"k": "b"}, {"k": "c"}, {})] == [
        True, False, False, True,
    ]  # fmt: skip
    assert not Rule("r", "k", required=True).admits({})


def test_the_roomiest_domain_is_home_to_all_that_want_to_be_together():
    made = counts(affinity=terms(term()))
    wide = [(A, 2), (B, 3), (place("c", "y"), 1)]
    assert fit_together(made, wide) == Together(4, ("podAffinity",))


def test_spreading_over_two_keys_counts_both():
    made = counts(A, place("c", "x"), B, spread=constraints(spread(), spread(key=HOST)))
    nodes = [(A, 5), (place("c", "x"), 5), (B, 5)]
    # With a: 2, b: 2, c: 1 neither zone x nor node b may have one more.
    assert fit_together(made, nodes).places == 5
    assert fit_together(counts(), nodes) == Together(15)


@pytest.mark.parametrize(
    ("item", "namespace", "known", "assumed", "expected"),
    [
        ({}, "ns", {}, False, True),
        ({}, "other", {}, False, False),
        ({"namespaces": ["other"]}, "ns", {}, False, False),
        ({"namespaces": ["other"]}, "other", {}, False, True),
        ({"namespaceSelector": {}}, "other", None, False, True),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, "other", None, False, False),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, "other", None, True, True),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, "other", {}, True, False),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, "ns", {}, True, False),
    ],
)
def test_which_namespaces_a_term_reaches(item, namespace, known, assumed, expected):
    (made,) = terms(term(**item))
    assert reaches(made, "ns", namespace, Namespaces(known, assumed)) is expected


def test_keys_become_requirements_where_the_pod_has_them():
    (plain, none, kept) = merged(
        terms(
            term(matchLabelKeys=["app", "no"], mismatchLabelKeys=["app"]),
            term(selector=None, matchLabelKeys=["app"]),
            term(matchLabelKeys=["no"]),
        ),
        DB,
    )
    assert [item.text() for item in plain.label_selector.match_expressions] == [
        "app in [db]", "app notin [db]",
    ]  # fmt: skip
    assert none.label_selector is None
    assert kept.label_selector == LabelSelector({"app": "db"})
    loose = spread() | {"whenUnsatisfiable": "ScheduleAnyway"}
    (even,) = merged_spread(constraints(spread(matchLabelKeys=["app"]), loose), DB)
    assert [item.text() for item in even.label_selector.match_expressions] == ["app in [db]"]
