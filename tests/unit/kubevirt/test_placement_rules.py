"""What Kubernetes refuses in placement rules; agreement asks the real components the same."""

import pytest

from passway.kubevirt.placement_rules import affinity, left_to_the_pod, spread, tolerations

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SOUND = {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "maxSkew": 1}


def node_term(term):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}


def expression(operator, *values, key="a"):
    return node_term({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})


def found(faults):
    return [(fault.rule, fault.path) for fault in faults]


TERM = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"


@pytest.mark.parametrize(
    ("tree", "rule", "path"),
    [
        ({"nodeAffinity": {REQUIRED: {}}}, "RuleFieldEmpty",
         f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"),
        (expression("In"), "RuleValuesDiffer", f"{TERM}.matchExpressions[0].values"),
        (expression("Exists", "x"), "RuleValuesDiffer", f"{TERM}.matchExpressions[0].values"),
        (expression("Gt", "1", "2"), "RuleValuesDiffer", f"{TERM}.matchExpressions[0].values"),
        (expression("Near", "x"), "RuleChoiceUnknown", f"{TERM}.matchExpressions[0].operator"),
        (expression("Exists", key="a b"), "RuleKeyInvalid", f"{TERM}.matchExpressions[0].key"),
        (node_term({"matchFields": [{"key": "metadata.name", "operator": "In",
                                     "values": ["a", "b"]}]}),
         "RuleValuesDiffer", f"{TERM}.matchFields[0].values"),
        (node_term({"matchFields": [{"key": "metadata.name", "operator": "Exists"}]}),
         "RuleChoiceUnknown", f"{TERM}.matchFields[0].operator"),
        (node_term({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["a"]}]}),
         "RuleChoiceUnknown", f"{TERM}.matchFields[0].key"),
        (node_term({"matchFields": [{"key": "metadata.name", "operator": "In",
                                     "values": ["Not A Node"]}]}),
         "RuleNameInvalid", f"{TERM}.matchFields[0].values"),
        ({"nodeAffinity": {PREFERRED: [{"weight": 0, "preference": {}}]}}, "RuleWeightInvalid",
         f"affinity.nodeAffinity.{PREFERRED}[0].weight"),
        ({"podAffinity": {PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "a"}}]}},
         "RuleWeightInvalid", f"affinity.podAffinity.{PREFERRED}[0].weight"),
        ({"podAffinity": {REQUIRED: [{"topologyKey": ""}]}}, "RuleFieldEmpty",
         f"affinity.podAffinity.{REQUIRED}[0].topologyKey"),
        ({"podAntiAffinity": {REQUIRED: [{"topologyKey": "a b"}]}}, "RuleKeyInvalid",
         f"affinity.podAntiAffinity.{REQUIRED}[0].topologyKey"),
        ({"podAffinity": {REQUIRED: [{"topologyKey": "a", "namespaces": ["Not One"]}]}},
         "RuleNameInvalid", f"affinity.podAffinity.{REQUIRED}[0].namespaces"),
        ({"podAffinity": {REQUIRED: [{"topologyKey": "a", "labelSelector": {
            "matchLabels": {"a b": "c"}}}]}},
         "RuleKeyInvalid", f"affinity.podAffinity.{REQUIRED}[0].labelSelector.matchLabels"),
        ({"podAffinity": {REQUIRED: [{"topologyKey": "a", "namespaceSelector": {
            "matchExpressions": [{"key": "a", "operator": "In", "values": ["not a label"]}]}}]}},
         "RuleKeyInvalid",
         f"affinity.podAffinity.{REQUIRED}[0].namespaceSelector.matchExpressions[0].values"),
        ({"podAffinity": {REQUIRED: [{"topologyKey": "a", "labelSelector": {
            "matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]}}]}},
         "RuleChoiceUnknown",
         f"affinity.podAffinity.{REQUIRED}[0].labelSelector.matchExpressions[0].operator"),
    ],
)  # fmt: skip
def test_a_fault_of_an_affinity_and_its_place(tree, rule, path):
    assert found(affinity(tree, "affinity", strict=False)) == [(rule, path)]


def test_a_sound_affinity():
    tree = {
        **expression("In", "x"),
        "podAntiAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": {"topologyKey": "a"}}]},
        "podAffinity": {REQUIRED: [{"topologyKey": "zone", "namespaces": ["a"], "labelSelector": {
            "matchExpressions": [{"key": "example.com/a", "operator": "Exists"}]}}]},
    }  # fmt: skip
    assert found(affinity(tree, "affinity", strict=True)) == []


def test_the_api_server_alone_looks_at_the_values_of_a_node_affinity():
    tree = expression("In", "not a label")
    assert found(affinity(tree, "affinity", strict=False)) == []
    assert found(left_to_the_pod({"affinity": tree})) == [
        ("RuleKeyInvalid", f"{TERM}.matchExpressions[0].values")
    ]


@pytest.mark.parametrize(
    ("change", "rule", "field"),
    [
        ({"maxSkew": 0}, "RuleNumberTooSmall", ".maxSkew"),
        ({"topologyKey": ""}, "RuleFieldEmpty", ".topologyKey"),
        ({"nodeTaintsPolicy": "Maybe"}, "RuleChoiceUnknown", ".nodeTaintsPolicy"),
        ({"whenUnsatisfiable": "Sometimes"}, "RuleChoiceUnknown", ".whenUnsatisfiable"),
        ({"labelSelector": {"matchLabels": {"a": "b c"}}}, "RuleKeyInvalid",
         ".labelSelector.matchLabels"),
    ],
)  # fmt: skip
def test_a_fault_of_a_constraint(change, rule, field):
    faults = spread(({**SOUND, **change},), "spread", strict=False)
    assert found(faults) == [(rule, f"spread[0]{field}")]


def test_two_constraints_for_one_key():
    assert found(spread((SOUND, SOUND), "spread", strict=False)) == [("RuleRepeated", "spread[1]")]


@pytest.mark.parametrize(
    ("change", "rule", "field"),
    [
        ({"minDomains": 0}, "RuleNumberTooSmall", "minDomains"),
        ({"minDomains": 2, "whenUnsatisfiable": "ScheduleAnyway"}, "RuleDomainsIdle", "minDomains"),
    ],
)
def test_what_kubevirt_lets_pass_of_a_constraint(change, rule, field):
    tree = {"topologySpreadConstraints": [{**SOUND, **change}]}
    assert found(left_to_the_pod(tree)) == [(rule, f"topologySpreadConstraints[0].{field}")]


@pytest.mark.parametrize(
    ("toleration", "strict", "rule", "field"),
    [
        ({"key": "a", "operator": "Near"}, False, "RuleChoiceUnknown", "operator"),
        ({"key": "a", "effect": "Never"}, False, "RuleChoiceUnknown", "effect"),
        ({"key": "a b", "operator": "Exists"}, True, "RuleKeyInvalid", "key"),
        ({"operator": "Equal", "value": "x"}, True, "RuleKeyNeeded", "operator"),
        ({"operator": "Exists", "value": "x"}, True, "RuleValuesDiffer", "value"),
        ({"key": "a", "value": "not a label"}, True, "RuleKeyInvalid", "value"),
        ({"key": "a", "operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 1}, True,
         "RuleSecondsIdle", "tolerationSeconds"),
    ],
)  # fmt: skip
def test_a_fault_of_a_toleration(toleration, strict, rule, field):
    faults = tolerations((toleration,), "tolerations", strict=strict)
    assert found(faults) == [(rule, f"tolerations[0].{field}")]


def test_sound_tolerations():
    sound = (
        {"operator": "Exists"},
        {"key": "a", "value": "b"},
        {"key": "example.com/a", "operator": "Exists", "effect": "NoExecute",
         "tolerationSeconds": 5},
    )  # fmt: skip
    assert found(tolerations(sound, "tolerations", strict=True)) == []
