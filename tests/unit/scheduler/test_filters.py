"""One node against one pod: every criterion that fails, and how many copies fit."""

from dataclasses import replace

import msgspec
import pytest
from tests.builders import GPU, cluster, node, pod

from passway.cluster.records import NodeSelector, Toleration
from passway.cluster.snapshot import Usage
from passway.scheduler.filters import Demand, alone, fails, places
from passway.scheduler.topology import Rule
from passway.scheduler.volumes import Bound, Volumes

CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
TAINT = {"key": "nvidia.com/gpu", "value": "true", "effect": "NoSchedule"}
HERE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]}
ELSEWHERE = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["m"]}]}


APART = Rule("podAntiAffinity", "kubernetes.io/hostname", room=lambda _: 1)


def bound(zone):
    expression = {"key": "zone", "operator": "In", "values": [zone]}
    return Bound("data", terms({"matchExpressions": [expression]}))


def terms(*items):
    return msgspec.convert({"nodeSelectorTerms": items}, NodeSelector)


def judged(demand, item, used=None):
    snapshot = after(item, used)
    return fails(demand, snapshot.nodes["n"], snapshot.free_on("n"))


def placed(demand, item, used=None):
    snapshot = after(item, used)
    node = snapshot.nodes["n"]
    return alone(demand, node, places(demand, [node], [snapshot.free_on("n")])[0])


def after(item, used):
    """The node, with so much of it in use."""
    free = {
        name: amount - (used or {}).get(name, 0)
        for name, amount in cluster(item).free_on("n").items()
    }
    return replace(cluster(item), usage={"n": Usage((), free)})


@pytest.mark.parametrize(
    ("options", "tolerations", "expected"),
    [
        pytest.param({}, [], [], id="nothing"),
        pytest.param({"unschedulable": True}, [], ["schedulable"], id="cordoned"),
        pytest.param(
            {"unschedulable": True, "taints": [CORDON]}, [], ["schedulable"],
            id="the taint of a cordon is no second criterion",
        ),
        pytest.param({"taints": [CORDON]}, [], ["schedulable"], id="the taint alone"),
        pytest.param(
            {"taints": [CORDON]}, [{"key": CORDON["key"], "operator": "Exists"}], [],
            id="the taint alone, tolerated",
        ),
        pytest.param(
            {"unschedulable": True, "taints": [CORDON]},
            [{"key": CORDON["key"], "operator": "Exists"}], [], id="a cordon that is tolerated",
        ),
        pytest.param(
            {"unschedulable": True},
            [{"key": CORDON["key"], "operator": "Exists", "effect": "NoExecute"}],
            ["schedulable"], id="a toleration of another effect",
        ),
        pytest.param({"taints": [TAINT]}, [], ["taints"], id="tainted"),
        pytest.param(
            {"taints": [TAINT]}, [{"key": TAINT["key"], "value": "true"}], [], id="tolerated"
        ),
        pytest.param(
            {"taints": [{"key": "k", "effect": "PreferNoSchedule"}]}, [], [], id="only preferred"
        ),
        pytest.param(
            {"unschedulable": True, "taints": [CORDON, TAINT]}, [], ["schedulable", "taints"],
            id="cordoned and tainted",
        ),
    ],
)  # fmt: skip
def test_cordons_and_taints(options, tolerations, expected):
    demand = Demand({"pods": 1}, tolerations=tuple(Toleration(**item) for item in tolerations))
    assert judged(demand, node("n", **options)) == expected
    assert placed(demand, node("n", **options))[0] == (0 if expected else 110)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"labels": {"zone": "a"}}, []),
        ({"labels": {"zone": "b", "x": "y"}}, ["zone=b", "x=y"]),
        ({"node_selector": {"zone": "a"}}, []),
        ({"node_selector": {"zone": "b"}}, ["nodeSelector"]),
        ({"node_affinity": terms(ELSEWHERE, HERE)}, []),
        ({"node_affinity": terms(ELSEWHERE)}, ["nodeAffinity"]),
        ({"node_affinity": terms()}, ["nodeAffinity"]),
        ({"volumes": Volumes((bound("a"),))}, []),
        ({"volumes": Volumes((bound("a"), bound("b")))}, ["volumes"]),
        ({"volumes": Volumes(refused=True)}, ["volumes"]),
        ({"rules": (Rule("podAffinity", "zone", required=True),)}, []),
        ({"rules": (Rule("podAffinity", "rack", required=True),)}, ["podAffinity"]),
        ({"rules": (Rule("x", "zone", allowed=frozenset("b")),)}, ["x"]),
        ({"rules": (Rule("x", "rack", allowed=frozenset("b")),)}, []),
        ({"rules": (Rule("x", "zone", blocked=frozenset("a")), Rule("x", "q", True))}, ["x"]),
    ],
)
def test_rules(rule, expected):
    assert judged(Demand({"pods": 1}, **rule), node("n", labels={"zone": "a"})) == expected


def test_every_criterion_is_told_in_the_order_of_the_list():
    demand = Demand(
        {"cpu": 65_000, GPU: 1, "memory": 2**30},
        labels={"zone": "b"},
        node_selector={"x": "y"},
        node_affinity=terms(ELSEWHERE),
        volumes=Volumes((bound("b"),)),
        rules=(Rule("podAntiAffinity", "kubernetes.io/hostname", blocked=frozenset("n")),),
    )
    assert demand.criteria() == (
        "schedulable", "taints", "zone=b", "nodeSelector", "nodeAffinity", "volumes",
        "podAntiAffinity", "cpu", GPU, "memory",
    )  # fmt: skip
    item = node("n", unschedulable=True, taints=[TAINT])
    assert judged(demand, item) == [name for name in demand.criteria() if name != "memory"]


def test_rules_that_are_not_asked_for_are_no_criteria():
    assert Demand({"cpu": 1}).criteria() == ("schedulable", "taints", "cpu")


@pytest.mark.parametrize(
    ("requests", "used", "expected"),
    [
        pytest.param({GPU: 2}, {}, [], id="exactly enough"),
        pytest.param({GPU: 3}, {}, [GPU], id="one too many"),
        pytest.param({GPU: 1}, {GPU: 1}, [], id="the last one"),
        pytest.param({GPU: 1}, {GPU: 2}, [GPU], id="all in use"),
        pytest.param({GPU: 1}, {GPU: 5}, [GPU], id="more in use than there are"),
        pytest.param({"a/b": 1}, {}, ["a/b"], id="not advertised"),
        pytest.param({"pods": 1}, {"pods": 110}, ["pods"], id="full of pods"),
        pytest.param({"cpu": 1000, "memory": 2**40}, {"cpu": 63_001}, ["cpu", "memory"], id="both"),
    ],
)
def test_resources_against_what_is_free(requests, used, expected):
    assert judged(Demand(requests), node("n", {GPU: 2}), used) == expected


@pytest.mark.parametrize(
    ("requests", "used", "options", "expected"),
    [
        ({GPU: 2, "pods": 1}, {}, {}, (4, GPU)),
        ({GPU: 2, "pods": 1}, {GPU: 3}, {}, (2, GPU)),
        ({GPU: 2, "pods": 1}, {GPU: 7}, {}, (0, GPU)),
        ({GPU: 1, "cpu": 20_000, "pods": 1}, {}, {}, (3, "cpu")),
        ({"pods": 1, GPU: 1}, {"pods": 108}, {}, (2, "pods")),
        ({"pods": 1, GPU: 1}, {}, {"rules": (APART,)}, (1, "podAntiAffinity")),
        ({"pods": 1, GPU: 8}, {}, {"rules": (APART,)}, (1, GPU)),
        ({"pods": 1, GPU: 9}, {}, {"rules": (APART,)}, (0, GPU)),
        ({"pods": 1}, {}, {"labels": {"x": "y"}}, (0, "pods")),
    ],
)
def test_how_many_copies_fit_and_what_ends_them(requests, used, options, expected):
    assert placed(Demand(requests, **options), node("n", {GPU: 8}), used) == expected


def test_places_go_node_by_node():
    snapshot = cluster(node("n", {GPU: 2}), node("m", {GPU: 8}), pod("p", "m", {GPU: "1"}))
    nodes = [snapshot.nodes[name] for name in ("n", "m")]
    free = [snapshot.free_on(name) for name in ("n", "m")]
    assert places(Demand({GPU: 2, "pods": 1}), nodes, free) == [(1, GPU), (3, GPU)]
