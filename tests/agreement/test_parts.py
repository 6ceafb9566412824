"""The parts of the agreement that need no plane: they must be able to find a fault."""

import json

import pytest
from tests import builders
from tests.agreement.bench import SHARES, Result, Table
from tests.agreement.compare import decided, disagreements, is_combination, without_functions
from tests.agreement.generate import BREAKS, THEMES, generate
from tests.agreement.real import Outcome
from tests.agreement.scenario import Scenario
from tests.agreement.shrink import shrink
from tests.builders import GPU, cluster, kubevirt, node, vm

from passway.manifest.vm import parse_manifest
from passway.model.errors import InvalidManifest
from passway.preflight.walk import check

OFF = {"developerConfiguration": {"disabledFeatureGates": ["ExternalNetResourceInjection"]}}
ON = {"developerConfiguration": {"disabledFeatureGates": []}}


def scenario(**options) -> Scenario:
    return Scenario(0, "fits", OFF, vm(gpus=[GPU]), **options)


def verdict(*objects, machine=None):
    made = machine or vm(gpus=[GPU])
    spec = parse_manifest(json.dumps(made), "vm.json").require()[0]
    return check(spec, cluster(kubevirt(), *objects), expand=True)


GOOD = node("a", {GPU: 1})
FULL = node("b", {GPU: 0})
BOUND = Outcome("bound", feasible=frozenset({"a"}))


def test_a_seed_makes_the_same_scenario_everywhere():
    assert generate(7).text() == generate(7).text()
    assert generate(7).text() != generate(8).text()


def test_every_theme_is_drawn():
    assert set(THEMES) == set(BREAKS)
    assert {generate(seed).theme for seed in range(400)} == set(THEMES)


def test_half_of_the_clusters_look_at_the_attachments_themselves():
    made = [generate(seed) for seed in range(300)]
    off = [item for item in made if item.configuration["developerConfiguration"]
           ["disabledFeatureGates"]]  # fmt: skip
    on = [item for item in made if item not in off]
    assert 0.4 < len(off) / len(made) < 0.6
    assert 0.5 < sum(item.injector for item in on) / len(on) < 0.9


def test_agreement():
    assert disagreements(scenario(), BOUND, verdict(GOOD, FULL)) == []


@pytest.mark.parametrize(
    ("outcome", "objects", "told"),
    [
        (Outcome("bound", feasible=frozenset({"a", "b"})), (GOOD, FULL), "feasible: ours ['a']"),
        (Outcome("bound", feasible=frozenset()), (FULL,), "the verdict is no"),
        (Outcome("scheduling", feasible=frozenset()), (GOOD,), "scheduling says nothing"),
        (Outcome("quota"), (GOOD,), "quota says nothing"),
        (Outcome("permission"), (FULL,), "permission says nothing"),
    ],
)
def test_a_disagreement_is_told(outcome, objects, told):
    assert any(told in line for line in disagreements(scenario(), outcome, verdict(*objects)))


def test_an_unknown_is_a_disagreement():
    spec = parse_manifest(json.dumps(vm(gpus=[GPU])), "vm.json").require()[0]
    unread = check(spec, cluster(kubevirt(), GOOD, unread=[builders.kinds.QUOTAS]), expand=True)
    assert any(line.startswith("unknown") for line in disagreements(scenario(), BOUND, unread))


def test_an_error_at_a_stage_that_the_vm_passed():
    tight = builders.quota("tight", {f"requests.{GPU}": "0"})
    said = verdict(FULL, tight)
    found = disagreements(scenario(), Outcome("scheduling", feasible=frozenset()), said)
    assert any(line.startswith("quota says") for line in found)


def test_a_quota_of_vmis_stops_them_before_anything_is_rendered():
    tight = builders.quota("tight", {"count/virtualmachineinstances.kubevirt.io": "0"})
    said = verdict(GOOD, tight, builders.kubevirt({}))
    words = 'virtualmachineinstances.kubevirt.io "vm" is forbidden: exceeded quota: tight'
    assert disagreements(scenario(), Outcome("quota", words), said) == []
    assert disagreements(scenario(), Outcome("quota", "pods is forbidden"), said) != []


def test_a_manifest_that_is_none_agrees_with_admission_alone():
    invalid = InvalidManifest("x", issues=())
    assert disagreements(scenario(), Outcome("admission"), invalid) == []
    assert disagreements(scenario(), BOUND, invalid) != []


def test_functions_that_nobody_asks_for():
    made = Scenario(0, "fits", ON, vm(sriov=["net"]))
    assert without_functions(made)
    said = verdict(GOOD, builders.attachment("net"), machine=vm(sriov=["net"]))
    assert disagreements(made, BOUND, said) == []
    assert decided(made, BOUND, said) == "networks"
    pool = node("a", {builders.VF: 2})
    objects = (pool, builders.attachment("net"), builders.injector())
    content = verdict(*objects, machine=vm(sriov=["net"]))
    assert any("nobody asks" in line for line in disagreements(made, BOUND, content))


def test_a_combination_is_what_no_single_criterion_shows():
    small = node("a", {GPU: 1}, memory="1Gi")
    assert is_combination(verdict(small, FULL))
    assert not is_combination(verdict(FULL, node("c", {GPU: 0})))
    assert not is_combination(verdict(GOOD, FULL))


def test_the_table_says_what_is_decided_too_seldom():
    table = Table()
    table.add(Result(scenario(), BOUND, verdict(GOOD), ()))
    assert table.lacking() == [stage for stage in SHARES if stage != "fits"]
    assert any(line.split() == ["fits", "1", "100.0%", "25%"] for line in table.lines())


def test_shrinking_keeps_what_matters():
    """A stand-in disagrees as long as the node `bad` is there."""

    class Stand:
        def run(self, made: Scenario) -> Result:
            there = any(item["metadata"]["name"] == "bad" for item in made.nodes)
            return Result(made, BOUND, verdict(GOOD), ("wrong",) if there else ())

    big = scenario(nodes=[node("a"), node("bad"), node("c")], pods=[builders.pod("p", "a")])
    big.vm["spec"]["template"]["spec"]["nodeSelector"] = {"x": "y"}
    small = shrink(Stand(), Stand().run(big))
    assert [item["metadata"]["name"] for item in small.scenario.nodes] == ["bad"]
    assert small.scenario.pods == []
    assert "nodeSelector" not in small.scenario.vm["spec"]["template"]["spec"]
    assert len(big.nodes) == 3
