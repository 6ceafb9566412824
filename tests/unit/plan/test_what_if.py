"""What-if facts as events, and where the VMs go that lose their node."""

import pytest
from tests.builders import GPU, T4, cluster, kubevirt, machine, node, obj, pci, pod, quota, vm

from passway.cluster import kinds, records
from passway.cluster.dump import decode_object
from passway.kubevirt.permitted import permitted_of
from passway.model.errors import Conflict, InvalidInput, NotFound
from passway.model.verdict import Fits
from passway.plan.permit import permit_of
from passway.plan.what_if import MAX_FACTS, AddNode, Allow, Drain, Stop, concerned, suppose
from passway.preflight.moves import _launcher, moves
from passway.preflight.walk import ask, check

KUBEVIRT = kubevirt()
LISTED = {"pciHostDevices": [pci("10DE:2236", GPU)]}


def of(name, **options):
    made = vm(name, **{"gpus": [GPU], **options})
    return ("default", name), machine(made)


def running(name, on, gpus=1, **rest):
    return pod(f"l-{name}", on, {GPU: str(gpus)}, machine=name, **rest)


def new(name, devices=None, **options):
    decoded = decode_object(node(name, devices, **options))
    return AddNode(decoded[1])


def test_which_specs_are_needed():
    snapshot = cluster(
        node("a"), node("b"), running("one", "a"), running("two", "b"), pod("p", "a")
    )
    facts = [Drain("a"), Stop(("x", "y")), new("c"), Drain("missing")]
    assert concerned(facts, snapshot) == (("default", "one"), ("x", "y"))


def test_a_drain_cordons_and_takes_away_what_leaves():
    stays = vm("stays", gpus=[GPU], evictionStrategy="LiveMigrate")
    before = cluster(
        stays, node("a", {GPU: 4}), node("b", {GPU: 4}), running("one", "a"),
        running("stays", "a"), pod("p", "a", {GPU: "1"}), running("two", "b"),
    )  # fmt: skip
    after = suppose(before, [Drain("a")], dict([of("one")]))
    assert after.snapshot.nodes["a"].unschedulable
    assert [held.name for held in after.snapshot.pods_on("a")] == ["l-stays"]
    assert [held.name for held in after.snapshot.pods_on("b")] == ["l-two"]
    (found,) = after.supposed
    assert [(item.machine.name, item.effect) for item in found.impacts] == [
        ("one", "stops"), ("stays", "blocks"),
    ]  # fmt: skip
    assert (found.changed, found.others, after.moved) == (True, 1, (("default", "one"),))


def test_a_drain_needs_its_node():
    with pytest.raises(NotFound, match='no node "a"'):
        suppose(cluster(), [Drain("a")], {})


def test_a_node_may_come_before_it_is_drained():
    facts = [new("a", {GPU: 1}), Drain("a")]
    assert suppose(cluster(), facts, {}).snapshot.nodes["a"].unschedulable
    with pytest.raises(NotFound):
        suppose(cluster(), facts[::-1], {})


def test_vms_of_a_drain_may_share_a_quota():
    used = {f"requests.{GPU}": "2", "count/pods": "2"}
    before = cluster(
        node("a", {GPU: 2}), running("one", "a"), running("two", "a"), quota("q", used, used)
    )
    after = suppose(before, [Drain("a")], dict([of("one"), of("two")]))
    left = after.snapshot.all(kinds.QUOTAS, records.ResourceQuota)[("default", "q")]
    assert left.status.used == {f"requests.{GPU}": "0n", "count/pods": "0n"}


def test_a_vm_stops():
    before = cluster(node("a", {GPU: 1}), running("one", "a"))
    for specs in (dict([of("one")]), {}):  # without its spec, quotas are not touched
        after = suppose(before, [Stop(("default", "one"))], specs)
        assert (after.snapshot.free("a", GPU), after.supposed[0].changed) == (1, True)
    after = suppose(before, [Stop(("default", "none"))], {})
    assert (after.supposed[0].changed, after.snapshot) == (False, before)


def test_a_vm_that_is_stopped_is_not_moved():
    before = cluster(node("a", {GPU: 1}), running("one", "a"))
    facts = [Drain("a"), Stop(("default", "one"))]
    assert suppose(before, facts, dict([of("one")])).moved == ()


T4_PERMIT = permit_of("pci", T4, selector="10de:1eb8")


def test_a_permit():
    before = cluster(kubevirt(LISTED), node("a", {T4: 1}))
    after = suppose(before, [Allow(T4_PERMIT)], {}).snapshot
    assert [entry.resource_name for entry in permitted_of(after.kubevirt)] == [GPU, T4]
    spec = machine(vm("one", gpus=[T4]))
    assert (check(spec, before).fits, check(spec, after).fits) == (Fits.NO, Fits.YES)
    again = suppose(after, [Allow(T4_PERMIT)], {})
    assert (again.supposed[0].changed, again.snapshot) == (False, after)
    with pytest.raises(Conflict):
        suppose(after, [Allow(permit_of("pci", T4, selector="10de:9999"))], {})


@pytest.mark.parametrize(
    ("version", "spec"),
    [
        ("v1beta1", {"permittedHostDevices": {
            "pciHostDevices": [{"pciDeviceSelector": "10DE:2236", "resourceName": GPU},
                               {"pciDeviceSelector": "10DE:0000", "resourceName": "a.b/off",
                                "disabled": True}],
            "usbHostDevices": [{"resourceName": "a.b/usb",
                                "selectors": [{"vendor": "046d", "product": "c52b"}]}],
        }}),
        ("v1", None),
    ],
)  # fmt: skip
def test_a_permit_where_hyperconverged_keeps_the_list(version, spec):
    owner = obj(
        f"hco.kubevirt.io/{version}", "HyperConverged", "hco", "hco",
        meta={"resourceVersion": "1"}, **({"spec": spec} if spec else {}),
    )  # fmt: skip
    after = suppose(cluster(kubevirt(), owner), [Allow(T4_PERMIT)], {}).snapshot
    names = {entry.resource_name for entry in permitted_of(after.kubevirt)}
    assert names == ({GPU, T4, "a.b/usb"} if spec else {T4})  # HyperConverged renders it
    assert T4 in str(after.hyperconverged.spec)


def test_a_permit_where_hyperconverged_has_no_kubevirt_yet():
    owner = obj("hco.kubevirt.io/v1beta1", "HyperConverged", "hco", "hco")
    assert suppose(cluster(owner), [Allow(T4_PERMIT)], {}).snapshot.kubevirt is None


def test_a_node_with_amounts_that_are_none():
    with pytest.raises(InvalidInput, match="Node a: "):
        suppose(cluster(), [new("a", memory="much")], {})


def test_too_many_facts():
    with pytest.raises(InvalidInput, match="101 changes at once; at most 100"):
        suppose(cluster(), [Drain("a")] * (MAX_FACTS + 1), {})


# -- moves ----------------------------------------------------------------------------------------


def test_each_alone_and_all_together():
    specs = dict([of("one", gpus=[GPU] * 2), of("two")])
    found = moves(specs, cluster(KUBEVIRT, node("a", {GPU: 3})))
    assert (found.together, [item.node for item in found.items]) == (Fits.YES, ["a", "a"])
    found = moves(specs, cluster(KUBEVIRT, node("a", {GPU: 2})))
    assert [item.verdict.fits for item in found.items] == [Fits.YES, Fits.YES]
    assert (found.together, [item.node for item in found.items]) == (Fits.NO, [None, None])
    found = moves(specs, cluster(KUBEVIRT, node("a", {GPU: 1})))
    assert [item.verdict.fits for item in found.items] == [Fits.NO, Fits.YES]
    assert found.together is Fits.NO
    assert moves({}, cluster()).items == ()


def test_the_search_tries_other_nodes():
    """`two` may only go to `a`, where the least room is: `one` has to leave it."""
    specs = dict([
        of("one"), of("two", nodeSelector={"only": "a"}), of("zwo", nodeSelector={"only": "a"}),
    ])  # fmt: skip
    nodes = (node("a", {GPU: 1}, labels={"only": "a"}), node("b", {GPU: 2}))
    found = moves(dict(list(specs.items())[:2]), cluster(KUBEVIRT, *nodes))
    assert {item.key[1]: item.node for item in found.items} == {"one": "b", "two": "a"}
    assert moves(specs, cluster(KUBEVIRT, *nodes)).together is Fits.NO


def test_a_search_that_takes_too_long_says_nothing():
    specs = dict([of(f"vm-{index}", gpus=[GPU] * 2) for index in range(7)])
    nodes = [node(f"n{index}", {GPU: 3}) for index in range(6)]
    assert moves(specs, cluster(KUBEVIRT, *nodes)).together is Fits.UNKNOWN


def test_what_was_not_read_is_not_decided():
    specs = dict([of("one")])
    found = moves(specs, cluster(node("a", {GPU: 1}), unread=[kinds.KUBEVIRTS]))
    assert (found.together, found.items[0].verdict.fits) == (Fits.UNKNOWN, Fits.UNKNOWN)


def test_all_of_them_share_a_quota():
    specs = dict([of("one"), of("two")])
    hard = {f"requests.{GPU}": "1", "count/virtualmachines.kubevirt.io": "9"}
    found = moves(specs, cluster(KUBEVIRT, node("a", {GPU: 2}), quota("q", hard)))
    assert (found.items[0].verdict.fits, found.together) == (Fits.YES, Fits.NO)


def test_a_vm_that_was_placed_keeps_its_rules():
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    made = vm("one", affinity={"podAntiAffinity": rule, "podAffinity": {}}, volumes=[
        {"name": "d", "persistentVolumeClaim": {"claimName": "disk"}},
        {"name": "c", "containerDisk": {"image": "i"}},
    ])  # fmt: skip
    made["spec"]["template"]["metadata"] = {"labels": {"app": "x"}}
    question = ask(machine(made), cluster(KUBEVIRT), 1)
    placed = _launcher(question, ("default", "one"), "a").kept
    assert placed.label_map() == {
        "app": "x", "kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": "one",
        "vmi.kubevirt.io/id": "one",
    }  # fmt: skip
    assert [item.topology_key for item in placed.anti_affinity] == ["kubernetes.io/hostname"]
    assert (placed.affinity, placed.volume_claims) == ((), ("disk",))
