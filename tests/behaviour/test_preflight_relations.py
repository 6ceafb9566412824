"""What is told about other pods, and what is unknown, counted and evicted because of them."""

import pytest
from tests.builders import GPU, ask, kubevirt, node, obj, pod, reasons, vm
from tests.controlplane.scenes import HOST, ZONE, apart, labelled, near, spread, term, zoned

from passway.cluster import kinds
from passway.model.reasons import render
from passway.model.verdict import Fits

OTHER = obj("v1", "Namespace", "other", meta={"labels": {"team": "x"}})
BY_LABEL = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
CLASSES = [
    obj("scheduling.k8s.io/v1", "PriorityClass", name, value=value)
    for name, value in (("high", 100), ("low", -1))
]


def db(name, where, namespace="default", **more):
    return pod(
        name, where, {"cpu": "10m"}, namespace=namespace, meta={"labels": {"app": "db"}}, **more
    )


def issue(verdict, reason):
    (found,) = [item for item in verdict.issues if item.reason == reason]
    return found


def words(verdict, reason):
    return render(issue(verdict, reason)).message


def labelled_vm(labels=None, **instance):
    made = vm(**instance)
    made["spec"]["template"]["metadata"] = {"labels": labels or {}}
    return made


# -- what is told ---------------------------------------------------------------------------------


def test_where_the_wanted_pods_are():
    verdict = ask(
        vm(affinity=near(term()), nodeSelector={HOST: "b"}), kubevirt(), *zoned("x", ""),
        db("p", "a", machine="one"),
    )  # fmt: skip
    found = issue(verdict, "PodAffinityUnmet")
    assert (found.nodes, found.path) == (("b",), "spec.template.spec.affinity.podAffinity")
    assert words(verdict, "PodAffinityUnmet") == (
        "b has all else that the VM asks for, but its podAffinity wants a pod with app=db in the "
        f"same {ZONE}; such pods are default/one in {ZONE}=x; some of these nodes have no label "
        f"{ZONE}"
    )


def test_which_pods_it_keeps_away_from_and_only_those_there():
    verdict = ask(
        vm(affinity=apart(term()), gpus=[GPU]), kubevirt(), *zoned("x", devices={GPU: 1}),
        *zoned("x", "y")[1:], db("p", "a"), db("q", "b"),
    )  # fmt: skip
    found = issue(verdict, "PodAntiAffinityConflict")
    assert [ref.name for ref in found.params["pods"].items] == ["p"]
    assert found.params["domains"].items == (f"{ZONE}=x",)


def test_who_keeps_the_vm_away():
    guard = apart(term(HOST, "kubevirt.io=virt-launcher"))
    verdict = ask(vm(), kubevirt(), node("a"), db("p", "a", affinity=guard))
    assert words(verdict, "KeptAwayByPods") == (
        "a has all else that the VM asks for, but default/p has a podAntiAffinity that matches "
        f"this VM; it holds for {HOST}=a"
    )


def test_how_many_pods_each_domain_has():
    verdict = ask(
        labelled_vm({"app": "db"}, topologySpreadConstraints=[spread()], nodeSelector={HOST: "a"}),
        kubevirt(), *zoned("x", "y"), db("p", "a"),
    )  # fmt: skip
    assert verdict.fits is Fits.YES  # the selector leaves one domain alone
    every = spread(nodeAffinityPolicy="Ignore")
    verdict = ask(
        labelled_vm({"app": "db"}, topologySpreadConstraints=[every], nodeSelector={HOST: "a"}),
        kubevirt(), *zoned("x", "y"), db("p", "a"),
    )  # fmt: skip
    found = issue(verdict, "SpreadExceeded")
    assert (found.nodes, found.params["counts"].items) == (("a",), ("x: 1", "y: 0"))
    assert words(verdict, "SpreadExceeded") == (
        f"a has all else that the VM asks for, but with it their {ZONE} would have over 1 pod with "
        "app=db more than the one that has the fewest; now there are x: 1 and y: 0"
    )


def test_only_the_constraint_that_refuses_is_told():
    both = [spread(), spread("tier=x", key=HOST)]
    verdict = ask(
        labelled_vm({"app": "db"}, topologySpreadConstraints=both), kubevirt(), *zoned("x", "y"),
        db("p", "a"), db("q", "b", priority=1), db("r", "b"), db("s", "a"),
        node("c", labels={ZONE: "z"}, unschedulable=True),
    )  # fmt: skip
    assert issue(verdict, "SpreadExceeded").params["key"] == ZONE
    assert reasons(verdict) == ["NodeUnschedulable", "SpreadExceeded"]


@pytest.mark.parametrize(
    ("instance", "more", "text"),
    [
        ({"affinity": near(term())}, [], f"beside pods with app=db in the same {ZONE}"),
        ({"affinity": apart(term(selector={}))}, [db("p", "a")],
         f"away from pods with any labels in the same {ZONE}"),
        ({"topologySpreadConstraints": [spread(None)]}, [], f"spread over {ZONE}"),
        ({}, [db("p", "a", affinity=apart(term(selector=labelled("kubevirt.io=virt-launcher"))))],
         "the podAntiAffinity of pods that run there"),
    ],
)  # fmt: skip
def test_rules_show_in_the_near_misses(instance, more, text):
    where = "" if "topologySpreadConstraints" in instance else "x"
    taint = {"key": "k", "effect": "NoSchedule"}
    made = vm(gpus=[GPU], cpu={"cores": 2}, **instance)
    verdict = ask(made, kubevirt(), *zoned(where, devices={GPU: 1}, taints=[taint]), *more)
    assert text in words(verdict, "NoNodeHasAll")


def test_a_term_without_a_selector_is_told_as_such():
    verdict = ask(vm(affinity=near(term(selector=None))), kubevirt(), *zoned("x"))
    assert "a pod with no labels in the same" in words(verdict, "PodAffinityUnmet")
    expression = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}
    verdict = ask(vm(affinity=near(term(selector=expression))), kubevirt(), *zoned("x"))
    assert "a pod with app in [db] in the same" in words(verdict, "PodAffinityUnmet")


# -- what was not read ----------------------------------------------------------------------------


def test_pods_that_were_not_read_may_be_the_wanted_ones():
    verdict = ask(vm(affinity=near(term())), kubevirt(), *zoned("x"), unread=[kinds.PODS])
    assert (verdict.fits, reasons(verdict)) == (Fits.UNKNOWN, ["KindUnread"])


@pytest.mark.parametrize(
    ("rules", "fits"),
    [
        (near(term(**BY_LABEL)), Fits.UNKNOWN),
        (apart(term(**BY_LABEL)), Fits.UNKNOWN),
        (near(term(namespaceSelector={})), Fits.YES),
        (near(term(namespaces=["other"])), Fits.YES),
        (apart(term(selector="app=web", **BY_LABEL)), Fits.YES),
    ],
)
def test_namespaces_that_were_not_read_are_unknown_only_where_they_decide(rules, fits):
    verdict = ask(
        vm(affinity=rules),
        kubevirt(),
        *zoned("x"),
        db("p", "a", "other"),
        unread=[kinds.NAMESPACES],
    )
    told = [item for item in verdict.issues if item.params.get("kind") == "namespaces"]
    assert bool([item for item in told if item.stage == "scheduling"]) is (fits is Fits.UNKNOWN)
    assert (verdict.places == 0) is False


def test_a_namespace_whose_object_is_not_there_has_only_the_label_of_its_name():
    by_name = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}
    verdict = ask(
        vm(affinity=near(term(**by_name))), kubevirt(), *zoned("x"), db("p", "a", "other")
    )
    assert verdict.fits is Fits.YES


def nominated(name, where, priority=0, **requests):
    made = pod(name, None, {GPU: "1"}, phase="Pending", priority=priority, **requests)
    made["status"]["nominatedNodeName"] = where
    return made


@pytest.mark.parametrize(
    ("priority", "unread", "expected"),
    [
        (0, [], ["NoNodeHasAll"]),
        (-1, [], []),
        (5, [kinds.PRIORITY_CLASSES], ["KindUnread"]),
    ],
)
def test_the_room_of_a_nominated_pod(priority, unread, expected):
    verdict = ask(
        vm(gpus=[GPU]), kubevirt(), node("a", {GPU: 1}), nominated("p", "a", priority),
        unread=unread,
    )  # fmt: skip
    assert reasons(verdict) == expected


def test_a_nominated_pod_takes_one_of_the_places():
    objects = (kubevirt(), node("a", {GPU: 3}), node("b", {GPU: 1}), nominated("p", "a"))
    assert ask(vm(gpus=[GPU]), *objects).places == 3
    assert ask(vm(gpus=[GPU]), *objects, nominated("q", "a"), nominated("r", "gone")).places == 2
    even = labelled_vm(gpus=[GPU], affinity=apart(term(selector="app=x")))
    assert ask(even, *objects).places == 3


def test_a_guard_on_a_node_that_is_not_there_keeps_nobody_away():
    guard = apart(term(HOST, "kubevirt.io=virt-launcher"))
    verdict = ask(vm(), kubevirt(), node("a"), db("p", "gone", affinity=guard))
    assert verdict.fits is Fits.YES


def test_affinity_has_to_hold_with_and_without_the_nominated():
    made = nominated("p", "a")
    made["metadata"]["labels"] = {"app": "db"}
    made["spec"]["containers"] = [{"resources": {}}]
    assert ask(vm(affinity=near(term())), kubevirt(), *zoned("x"), made).fits is Fits.NO
    assert ask(vm(affinity=apart(term())), kubevirt(), *zoned("x"), made).fits is Fits.NO


# -- priority -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "classes", "expected"),
    [
        ("high", [], ["PriorityClassMissing"]),
        ("high", CLASSES, []),
        ("system-node-critical", [], []),
        (None, [], []),
    ],
)
def test_a_class_that_does_not_exist(name, classes, expected):
    instance = {"priorityClassName": name} if name else {}
    assert reasons(ask(vm(**instance), kubevirt(), node("a"), *classes)) == expected


def test_the_default_class_of_the_cluster():
    default = obj("scheduling.k8s.io/v1", "PriorityClass", "usual", value=10, globalDefault=True)
    full = [node("a", {GPU: 1}), pod("p", "a", {GPU: "1"}, priority=5)]
    assert "FitsByEviction" in reasons(ask(vm(gpus=[GPU]), kubevirt(), *full, default))
    assert "FitsByEviction" not in reasons(ask(vm(gpus=[GPU]), kubevirt(), *full))
    unread = ask(vm(gpus=[GPU]), kubevirt(), *full, unread=[kinds.PRIORITY_CLASSES])
    assert reasons(unread) == ["ResourceExhausted"]


def test_the_node_with_the_least_important_victims_is_told():
    objects = [node(name, {GPU: 1}) for name in "abc"]
    pods = [
        pod("p", "a", {GPU: "1"}, priority=7), pod("q", "b", {GPU: "1"}, priority=3, machine="one"),
        pod("r", "c", {GPU: "1"}, priority=200),
    ]  # fmt: skip
    verdict = ask(vm(gpus=[GPU], priorityClassName="high"), kubevirt(), *objects, *pods, *CLASSES)
    found = issue(verdict, "FitsByEviction")
    assert (found.nodes, found.params["node"], found.severity) == (("a", "b"), "b", "warning")
    assert words(verdict, "FitsByEviction").startswith(
        "with its priority of 100 the scheduler would evict default/one from b to make room"
    )
    assert (verdict.fits, reasons(verdict)) == (Fits.NO, ["ResourceExhausted", "FitsByEviction"])


def test_a_nominated_pod_is_not_overlooked_by_an_eviction():
    objects = [
        node("a", {GPU: 1}), pod("p", "a", {GPU: "1"}, priority=7), nominated("q", "a", 100),
    ]  # fmt: skip
    verdict = ask(vm(gpus=[GPU], priorityClassName="high"), kubevirt(), *objects, *CLASSES)
    assert reasons(verdict) == ["ResourceExhausted"]


# -- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "rules", "places", "limits"),
    [
        ({"app": "db"}, {"affinity": apart(term())}, 2, {"podAntiAffinity": 3}),
        ({"app": "db"}, {"affinity": apart(term(HOST))}, 3, {"podAntiAffinity": 3}),
        ({"app": "db"}, {"affinity": near(term())}, 4, {GPU: 3, "podAffinity": 3}),
        ({}, {"affinity": apart(term())}, 6, {GPU: 3}),
        ({"app": "db"}, {"topologySpreadConstraints": [spread()]}, 5,
         {"topologySpreadConstraints": 3}),
        ({"app": "db"}, {"topologySpreadConstraints": [spread(skew=2)]}, 6, {GPU: 3}),
        ({"app": "db"}, {"topologySpreadConstraints": [spread(minDomains=3)]}, 2,
         {"topologySpreadConstraints": 3}),
        ({"app": "db"}, {"topologySpreadConstraints": [spread({})]}, 6, {GPU: 3}),
        ({}, {"topologySpreadConstraints": [spread()]}, 6, {GPU: 3}),
    ],
)  # fmt: skip
def test_copies_count_for_each_other(labels, rules, places, limits):
    """Three nodes with two GPUs each, two of them in one zone."""
    nodes = zoned("x", "x", "y", devices={GPU: 2})
    verdict = ask(labelled_vm(labels, gpus=[GPU], **rules), kubevirt(), *nodes)
    assert (verdict.places, verdict.limits) == (places, limits)


def test_copies_in_the_only_domain_are_never_uneven():
    nodes = zoned("x", "x", devices={GPU: 2})
    rules = {"topologySpreadConstraints": [spread()]}
    verdict = ask(labelled_vm({"app": "db"}, gpus=[GPU], **rules), kubevirt(), *nodes)
    assert (verdict.places, verdict.limits) == (4, {GPU: 2})
