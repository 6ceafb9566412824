"""Laws of the verdict on random clusters."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import GPU, T4, cluster, kubevirt, machine, node, pci, pod, quota, vm

from passway.kube.patch import merge
from passway.model.verdict import Fits
from passway.plan.permit import permit_of, plan_permit
from passway.preflight.questions import fit
from passway.preflight.walk import check

DEVICES = (GPU, T4, "intel.com/QAT")
LABELS = ({}, {"pool": "gpu"}, {"pool": "web"})
TAINT = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}


def nodes(prefix):
    return st.lists(
        st.builds(
            lambda devices, labels, tainted, cordoned, cpu: {
                "devices": devices, "labels": labels, "taints": [TAINT] if tainted else [],
                "unschedulable": cordoned, "cpu": cpu,
            },
            st.dictionaries(st.sampled_from(DEVICES), st.integers(0, 3), max_size=3),
            st.sampled_from(LABELS),
            st.booleans(),
            st.booleans(),
            st.sampled_from(["1", "4", "64"]),
        ),
        max_size=4,
    ).map(lambda items: [node(f"{prefix}{i}", **item) for i, item in enumerate(items)])  # fmt: skip


PODS = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(DEVICES), st.integers(1, 4)), max_size=6
).map(
    lambda items: [
        pod(f"p{i}", f"a{index}", {name: str(count)})
        for i, (index, name, count) in enumerate(items)
    ]
)

MACHINES = st.builds(
    lambda gpus, cores, selector, tolerates: vm(
        gpus=gpus, cpu={"cores": cores},
        **({"nodeSelector": selector} if selector else {}),
        **({"tolerations": [{"operator": "Exists"}]} if tolerates else {}),
    ),
    st.lists(st.sampled_from(DEVICES), max_size=3),
    st.integers(1, 32),
    st.sampled_from(LABELS),
    st.booleans(),
).map(machine)  # fmt: skip

LISTS = st.none() | st.lists(st.sampled_from(DEVICES), max_size=3, unique=True).map(
    lambda names: {"pciHostDevices": [pci(f"10DE:000{i}", n) for i, n in enumerate(names)]}
)


@given(MACHINES, nodes("a"), PODS, nodes("b"), LISTS)
def test_adding_a_node_never_turns_yes_into_no(spec, some, pods, more, listed):
    before = check(spec, cluster(kubevirt(listed), *some, *pods))
    after = check(spec, cluster(kubevirt(listed), *some, *pods, *more))
    assert after.places >= before.places
    if before.fits is Fits.YES:
        assert after.fits is Fits.YES


@given(MACHINES, nodes("a"), PODS, LISTS.filter(lambda listed: listed is not None))
def test_a_permit_on_an_existing_list_never_turns_yes_into_no(spec, some, pods, listed):
    owner = kubevirt(listed)
    snapshot = cluster(owner, *some, *pods)
    change = plan_permit(snapshot, permit_of("pci", "a.b/new", selector="1234:5678"))
    after = check(spec, cluster(merge(owner, change.patch), *some, *pods))
    if check(spec, snapshot).fits is Fits.YES:
        assert after.fits is Fits.YES
    assert [stage.outcome for stage in after.stages if stage.stage != "permission"] == [
        stage.outcome for stage in check(spec, snapshot).stages if stage.stage != "permission"
    ]


@given(MACHINES, nodes("a"), PODS, LISTS, st.integers(0, 4))
def test_a_verdict_and_its_fit_agree(spec, some, pods, listed, hard):
    snapshot = cluster(kubevirt(listed), *some, *pods, quota("q", {f"requests.{GPU}": str(hard)}))
    found = fit(spec, snapshot)
    for replicas in range(1, found.places + 3):
        verdict = check(spec, snapshot, replicas=replicas)
        assert (verdict.fits is Fits.YES) == (replicas <= found.places)


@given(MACHINES, nodes("a"), PODS, LISTS)
def test_folding_nodes_changes_nothing_but_the_list_of_nodes(spec, some, pods, listed):
    snapshot = cluster(kubevirt(listed), *some, *pods)
    folded, whole = check(spec, snapshot), check(spec, snapshot, expand=True)
    assert (folded.fits, folded.places) == (whole.fits, whole.places)
    assert len(folded.nodes) + sum(group.count for group in folded.groups) == len(whole.nodes)
    for group in folded.groups:
        missing = {item.name for item in whole.nodes} - {item.name for item in folded.nodes}
        assert all(
            set(group.fails) <= set(item.fails) for item in whole.nodes if item.name in missing
        )


@settings(max_examples=50)
@given(MACHINES, nodes("a"), PODS)
def test_every_node_says_yes_or_no_to_every_criterion(spec, some, pods):
    for result in check(spec, cluster(kubevirt(), *some, *pods), expand=True).nodes:
        assert set(result.meets).isdisjoint(result.fails)
        assert bool(result.places) == (not result.fails)
        assert len({*result.meets, *result.fails}) == len(result.meets) + len(result.fails)
