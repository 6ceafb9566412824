"""Laws of affinity, spreading, copies and evictions on random clusters."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.builders import GPU, ask, cluster, kubevirt, machine, node, obj, pod, vm
from tests.controlplane.scenes import HOST, REQUIRED, ZONE, apart, near, spread, term

from passway.preflight.placement import place
from passway.preflight.walk import ask as question
from passway.preflight.walk import check

NODES = "abcde"
KEYS = st.sampled_from([ZONE, HOST])
APPS = st.sampled_from(["db", "web", "vm"])
zones = st.lists(st.sampled_from(["x", "y", "z", ""]), min_size=1, max_size=5)
pods = st.lists(
    st.tuples(
        st.sampled_from(NODES), APPS, st.booleans(), st.none() | st.tuples(KEYS, APPS)
    ),
    max_size=7,
)  # fmt: skip
wanted, shunned = (st.lists(st.tuples(KEYS, APPS), max_size=2) for _ in range(2))
even = st.lists(
    st.tuples(KEYS, APPS, st.integers(1, 2), st.none() | st.integers(1, 4)),
    max_size=2, unique_by=lambda item: item[0],
)  # fmt: skip


def nodes(made):
    return [
        node(name, labels={ZONE: zone} if zone else {})
        for name, zone in zip(NODES, made, strict=False)
    ]


def existing(made):
    return [
        pod(
            f"p{index}", where, {"cpu": "1m"},
            meta={
                "labels": {"app": app},
                **({"deletionTimestamp": "2026-06-12T09:00:00Z"} if going else {}),
            },
            **({"affinity": apart(term(guard[0], f"app={guard[1]}"))} if guard else {}),
        )
        for index, (where, app, going, guard) in enumerate(made)
    ]  # fmt: skip


def incoming(own, near_to, apart_from, rules, **options):
    affinity = {}
    if near_to:
        affinity |= near(*(term(key, f"app={app}") for key, app in near_to))
    if apart_from:
        affinity |= apart(*(term(key, f"app={app}") for key, app in apart_from))
    constraints = [
        spread(f"app={app}", skew, key, **({"minDomains": least} if least else {}))
        for key, app, skew, least in rules
    ]
    made = vm(affinity=affinity, topologySpreadConstraints=constraints, **options)
    made["spec"]["template"]["metadata"] = {"labels": {"app": own}}
    return made


def labels_of(item):
    return item["metadata"]["labels"]


def by_definition(  # noqa: C901 - one rule after the other
    own, near_to, apart_from, rules, all_nodes, all_pods
):
    """The nodes that are left, straight from what the documentation of each rule says."""
    where = {item["metadata"]["name"]: labels_of(item) for item in all_nodes}
    here = [item for item in all_pods if item["spec"]["nodeName"] in where]

    def same(item, key, value):
        return value is not None and where[item["spec"]["nodeName"]].get(key) == value

    def is_near(labels):
        if any(key not in labels for key, _ in near_to):
            return False
        found = [item for item in here if all(labels_of(item)["app"] == app for _, app in near_to)]
        placed = [
            item for item in found
            if any(key in where[item["spec"]["nodeName"]] for key, _ in near_to)
        ]  # fmt: skip
        if not placed and all(own == app for _, app in near_to):
            return True
        return all(any(same(item, key, labels[key]) for item in found) for key, _ in near_to)

    def is_apart(labels):
        return not any(
            labels_of(item)["app"] == app and same(item, key, labels.get(key))
            for item in here
            for key, app in apart_from
        )

    def is_let(labels):
        for item in here:
            terms = item["spec"].get("affinity", {}).get("podAntiAffinity", {}).get(REQUIRED, [])
            for rule in terms:
                key, app = rule["topologyKey"], rule["labelSelector"]["matchLabels"]["app"]
                if app == own and same(item, key, labels.get(key)):
                    return False
        return True

    def is_even(labels):
        eligible = [item for item in where.values() if all(key in item for key, *_ in rules)]
        for key, app, skew, least in rules:
            if key not in labels:
                return False
            counts = Counter({item[key]: 0 for item in eligible})
            for item in here:
                place = where[item["spec"]["nodeName"]]
                counted = labels_of(item)["app"] == app and place in eligible
                if counted and "deletionTimestamp" not in item["metadata"]:
                    counts[place[key]] += 1
            fewest = 0 if len(counts) < (least or 1) else min(counts.values())
            if counts[labels[key]] + (own == app) - fewest > skew:
                return False
        return True

    return {
        name
        for name, labels in where.items()
        if (not near_to or is_near(labels))
        and is_apart(labels)
        and is_let(labels)
        and is_even(labels)
    }


@given(zones, pods, APPS, wanted, shunned, even)
def test_the_nodes_that_are_left_are_those_of_the_definition(
    some, others, own, near_to, apart_from, rules
):
    made, there = nodes(some), existing(others)
    spec = machine(incoming(own, near_to, apart_from, rules))
    found = place(question(spec, cluster(kubevirt(), *made, *there), 1), expand=True)
    assert {item.name for item in found.feasible} == by_definition(
        own, near_to, apart_from, rules, made, there
    )


@given(zones, pods, APPS, wanted, shunned, even)
def test_a_verdict_on_other_pods_is_told_in_words_and_agrees_with_its_nodes(
    some, others, own, near_to, apart_from, rules
):
    verdict = ask(
        incoming(own, near_to, apart_from, rules), kubevirt(), *nodes(some), *existing(others),
        expand=True,
    )  # fmt: skip
    assert (verdict.fits == "yes") == any(not item.fails for item in verdict.nodes)
    assert (verdict.places > 0) == (verdict.fits == "yes")
    for item in verdict.nodes:
        assert set(item.meets).isdisjoint(item.fails)


@given(zones, pods, st.sampled_from(["apart", "even"]), KEYS, st.integers(1, 2), st.data())
def test_as_many_copies_fit_as_can_be_added_one_by_one(some, others, rule, key, skew, data):
    """For one rule about copies the order does not matter."""
    rules = [(key, "db", skew, None)] if rule == "even" else []
    made = incoming("db", [], [(key, "db")] if rule == "apart" else [], rules)
    devices = {GPU: 2}
    all_nodes = [
        node(name, devices, labels={ZONE: zone} if zone else {})
        for name, zone in zip(NODES, some, strict=False)
    ]
    made["spec"]["template"]["spec"]["domain"]["devices"]["gpus"] = [
        {"name": "gpu", "deviceName": GPU}
    ]
    there = existing([(where, app, False, None) for where, app, *_ in others])
    own = made["spec"]["template"]["spec"].get("affinity", {})
    told = check(machine(made), cluster(kubevirt(), *all_nodes, *there)).places
    for count in range(20):
        found = check(machine(made), cluster(kubevirt(), *all_nodes, *there))
        free = [item.name for item in found.nodes if not item.fails]
        if not free:
            assert count == told
            return
        assert found.places == told - count
        copy = pod(
            f"copy{count}", data.draw(st.sampled_from(free)), {GPU: "1"},
            meta={"labels": {"app": "db", "kubevirt.io": "virt-launcher"}}, affinity=own,
        )  # fmt: skip
        there = [*there, copy]
    raise AssertionError("the copies never end")


PRIORITIES = st.integers(0, 4)
held = st.lists(st.tuples(st.sampled_from("ab"), PRIORITIES, st.integers(1, 2)), max_size=6)


@given(held, PRIORITIES, st.integers(1, 3))
def test_who_is_evicted_makes_room_and_nobody_less_does(others, own, wants):
    classed = obj("scheduling.k8s.io/v1", "PriorityClass", "own", value=own)
    all_nodes = [node(name, {GPU: 3}) for name in "ab"]
    there = [
        pod(f"p{index}", where, {GPU: str(count)}, priority=priority)
        for index, (where, priority, count) in enumerate(others)
    ]
    made = vm(gpus=[GPU] * wants, priorityClassName="own")

    def told(left):
        return ask(made, kubevirt(), classed, *all_nodes, *left)

    verdict = told(there)
    (found,) = [item for item in verdict.issues if item.reason == "FitsByEviction"] or [None]
    if found is None:
        lower = [item for item in there if item["spec"]["priority"] < own]
        rest = [item for item in there if item not in lower]
        assert verdict.fits == "yes" or not lower or told(rest).fits == "no"
        return
    victims = {ref.name for ref in found.params["victims"]}
    assert victims
    assert verdict.fits == "no"
    gone = [item for item in there if item["metadata"]["name"] in victims]
    assert all(item["spec"]["priority"] < own for item in gone)
    assert told([item for item in there if item not in gone]).fits == "yes"
    for back in gone:
        assert told([item for item in there if item not in gone or item is back]).fits == "no"
