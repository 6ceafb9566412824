"""Changes of the permitted list: normal forms, conflicts, owners, consequences."""

import pytest
from tests.builders import (
    GPU,
    T4,
    cluster,
    instancetype,
    kubevirt,
    node,
    obj,
    pci,
    pod,
    referring,
    vm,
)

from passway.cluster import kinds
from passway.kube.patch import merge
from passway.kubevirt.permitted import Permit
from passway.model.errors import Conflict, Forbidden, InvalidInput, NotFound, Unavailable
from passway.model.verdict import Ref
from passway.plan.permit import permit_of, plan_permit, plan_unpermit

A10 = permit_of("pci", GPU, selector="10de:2236")
LISTED = {"pciHostDevices": [{**pci("10DE:2236", GPU), "unknownField": [1]}]}


def hyperconverged(version="v1beta1", spec=None):
    return obj(
        f"hco.kubevirt.io/{version}", "HyperConverged", "kubevirt-hyperconverged", "kv",
        meta={"resourceVersion": "42"}, spec=spec,
    )  # fmt: skip


# -- entries --------------------------------------------------------------------------------------


def test_entries_come_in_normal_form():
    assert Permit(GPU, "pci", ("10DE:2236",)) == A10
    usb = permit_of("usb", "a.b/key", vendor="0x46F4", product="1")
    assert usb.selectors == ("46f4:0001",)
    mdev = permit_of("mediated", "a.b/vgpu", selector="GRID T4-1Q", external=True)
    assert (mdev.selectors, mdev.external) == (("GRID T4-1Q",), True)


@pytest.mark.parametrize(
    ("kind", "name", "fields", "message"),
    [
        ("pci", GPU, {"selector": "10de:*"}, "PCI vendor selector"),
        ("pci", "A10", {"selector": "10de:2236"}, "resource name"),
        ("pci", GPU, {}, "needs pci_vendor_selector"),
        ("pci", GPU, {"selector": "10de:2236", "vendor": "1"}, "needs pci_vendor_selector"),
        ("usb", GPU, {"selector": "1:2"}, "needs vendor and product"),
        ("usb", GPU, {"vendor": "xyz", "product": "1"}, "USB id"),
        ("mediated", GPU, {"selector": " x"}, "mdev type name"),
        ("gpu", GPU, {"selector": "10de:2236"}, "use pci, mediated or usb"),
    ],
)
def test_malformed_entries(kind, name, fields, message):
    with pytest.raises(InvalidInput, match=message):
        permit_of(kind, name, **fields)


# -- adding ---------------------------------------------------------------------------------------


def test_adding_keeps_every_entry_and_field_that_is_there():
    change = plan_permit(cluster(kubevirt(LISTED)), permit_of("pci", T4, selector="10de:1eb8"))
    assert change.changed
    assert change.target == Ref("KubeVirt", "kubevirt", "kubevirt")
    assert change.patch == {
        "metadata": {"resourceVersion": "7"},
        "spec": {"configuration": {"permittedHostDevices": {"pciHostDevices": [
            LISTED["pciHostDevices"][0],
            {"resourceName": T4, "pciVendorSelector": "10DE:1EB8"},
        ]}}},
    }  # fmt: skip
    assert not change.enforcement


def test_the_patch_makes_exactly_the_list_that_is_shown():
    before = kubevirt(LISTED)
    change = plan_permit(cluster(before), permit_of("usb", "a.b/key", vendor="46f4", product="1"))
    after = merge(before, change.patch)["spec"]["configuration"]["permittedHostDevices"]
    assert after == change.after
    assert after["usb"] == [
        {"resourceName": "a.b/key", "selectors": [{"vendor": "46f4", "product": "0001"}]}
    ]
    assert "+- resourceName: a.b/key" in change.diff().replace("  ", "")


def test_the_same_entry_is_no_change_whatever_its_letter_case():
    lower = {"pciHostDevices": [pci("10de:2236", GPU)]}
    change = plan_permit(cluster(kubevirt(lower)), A10)
    assert (change.changed, change.patch, change.diff()) == (False, {}, "")


def test_mdev_names_are_the_same_with_underscores():
    listed = {"mediatedDevices": [{"mdevNameSelector": "GRID T4-1Q", "resourceName": "a.b/v"}]}
    same = permit_of("mediated", "a.b/v", selector="GRID_T4-1Q")
    assert not plan_permit(cluster(kubevirt(listed)), same).changed


@pytest.mark.parametrize(
    "permit",
    [
        permit_of("pci", GPU, selector="10de:9999"),
        permit_of("pci", GPU, selector="10de:2236", external=True),
        permit_of("mediated", GPU, selector="X"),
    ],
)
def test_the_same_name_with_another_entry_conflicts(permit):
    with pytest.raises(Conflict, match="permitted already as pci 10DE:2236") as caught:
        plan_permit(cluster(kubevirt(LISTED)), permit)
    assert caught.value.code == "ENTRY_DIFFERS"
    external = {"pciHostDevices": [pci("10DE:2236", GPU, externalResourceProvider=True)]}
    with pytest.raises(Conflict, match="10DE:2236, external"):
        plan_permit(cluster(kubevirt(external)), A10)


def test_external_entries_say_so():
    change = plan_permit(cluster(kubevirt({})), permit_of("pci", GPU, selector="10de:2236",
                                                          external=True))  # fmt: skip
    assert change.after["pciHostDevices"][0]["externalResourceProvider"] is True


def test_the_first_permit_switches_enforcement_on_and_names_who_would_be_refused():
    snapshot = cluster(
        kubevirt(),
        vm("other", gpus=[T4]),
        vm("same", gpus=[GPU]),
        vm("plain"),
        vm("host", host_devices=["a.b/c"]),
        {**referring("big"), "metadata": {"name": "typed", "namespace": "default"}},
        instancetype("big", host_devices=["a.b/c"]),
        obj("kubevirt.io/v1", "VirtualMachine", "odd", "default"),
    )
    change = plan_permit(snapshot, A10)
    assert change.enforcement
    assert [str(item) for item in change.refused] == [
        "default/host",
        "default/other",
        "default/typed",
    ]
    assert "KubeVirt checks nothing" in change.diff()


def test_a_permit_on_an_existing_list_refuses_nobody_new():
    change = plan_permit(cluster(kubevirt({}), vm("other", gpus=[T4])), A10)
    assert (change.enforcement, change.refused, change.in_use) == (False, (), ())


# -- removing -------------------------------------------------------------------------------------


def test_removing_the_last_entry_leaves_an_empty_list_never_an_absent_one():
    before = kubevirt(LISTED)
    change = plan_unpermit(cluster(before), GPU)
    after = merge(before, change.patch)["spec"]["configuration"]["permittedHostDevices"]
    assert after == change.after == {}


def test_removing_keeps_the_rest():
    listed = {
        "pciHostDevices": [pci("10DE:2236", GPU), pci("10DE:1EB8", T4), "not an object"],
        "mediatedDevices": [{"mdevNameSelector": "X", "resourceName": T4}],
        "usb": "not a list",
    }
    change = plan_unpermit(cluster(kubevirt(listed)), GPU)
    assert change.after == {**listed, "pciHostDevices": listed["pciHostDevices"][1:]}
    assert set(change.patch["spec"]["configuration"]["permittedHostDevices"]) == {"pciHostDevices"}


def test_removing_by_selector():
    listed = {"pciHostDevices": [pci("10DE:2236", GPU), pci("10DE:9999", GPU)]}
    change = plan_unpermit(cluster(kubevirt(listed)), GPU, "10de:9999")
    assert change.after == {"pciHostDevices": [listed["pciHostDevices"][0]]}
    assert not plan_unpermit(cluster(kubevirt(listed)), GPU, "10de:0000").changed


def test_removing_what_is_not_there_is_no_change():
    assert not plan_unpermit(cluster(kubevirt({})), GPU).changed
    assert not plan_unpermit(cluster(kubevirt()), GPU).changed


def test_removing_names_who_uses_it_and_who_will_be_refused():
    snapshot = cluster(
        kubevirt(LISTED), node("a", {GPU: 2}), vm("stopped", gpus=[GPU]), vm("other", gpus=[T4]),
        pod("l", "a", {GPU: "1"}, machine="running"), pod("plain", "a", {GPU: "1"}),
    )  # fmt: skip
    change = plan_unpermit(snapshot, GPU)
    assert [str(item) for item in change.refused] == ["default/stopped"]
    assert [str(item) for item in change.in_use] == ["default/running"]


def test_one_of_two_entries_of_a_name_may_go_while_it_is_in_use():
    listed = {"pciHostDevices": [pci("10DE:2236", GPU), pci("10DE:9999", GPU)]}
    snapshot = cluster(
        kubevirt(listed), node("a", {GPU: 2}), pod("l", "a", {GPU: "1"}, machine="running")
    )
    assert plan_unpermit(snapshot, GPU, "10DE:9999").in_use == ()


# -- who keeps the list ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "path"),
    [
        ("v1beta1", ("spec", "permittedHostDevices")),
        ("v1", ("spec", "virtualization", "permittedHostDevices")),
    ],
)
def test_hyperconverged_is_changed_in_its_own_spelling(version, path):
    owner = hyperconverged(version, {"other": 1})
    change = plan_permit(cluster(kubevirt({}), owner), A10)
    assert change.kind.api_version == f"hco.kubevirt.io/{version}"
    assert change.target == Ref("HyperConverged", "kubevirt-hyperconverged", "kv")
    assert change.patch["metadata"] == {"resourceVersion": "42"}
    listing = merge(owner, change.patch)
    assert listing["spec"]["other"] == 1
    for field in path:
        listing = listing[field]
    assert listing == {"pciHostDevices": [{"resourceName": GPU, "pciDeviceSelector": "10DE:2236"}]}


def test_hyperconverged_with_odd_levels_is_read_as_without_a_list():
    change = plan_permit(cluster(kubevirt({}), hyperconverged("v1", {"virtualization": 3})), A10)
    assert change.before is None
    odd = hyperconverged("v1beta1", {"permittedHostDevices": [1]})
    assert plan_permit(cluster(kubevirt({}), odd), A10).before is None


def test_a_disabled_entry_does_not_conflict():
    listed = {"pciHostDevices": [
        {"pciDeviceSelector": "10DE:9999", "resourceName": GPU, "disabled": True}]}  # fmt: skip
    owner = hyperconverged("v1beta1", {"permittedHostDevices": listed})
    change = plan_permit(cluster(kubevirt({}), owner), A10)
    assert len(change.after["pciHostDevices"]) == 2


def test_usb_in_hyperconverged():
    owner = hyperconverged("v1beta1", {})
    usb = permit_of("usb", "a.b/key", vendor="46f4", product="1")
    assert "usbHostDevices" in plan_permit(cluster(kubevirt({}), owner), usb).after


def test_without_kubevirt_there_is_no_list():
    with pytest.raises(NotFound, match="no KubeVirt object"):
        plan_permit(cluster(), A10)


def test_who_keeps_the_list_must_be_known():
    with pytest.raises(Unavailable, match=r"hyperconvergeds\.hco\.kubevirt\.io were not read"):
        plan_permit(cluster(kubevirt({}), unread=[kinds.HYPERCONVERGEDS]), A10)
    with pytest.raises(Forbidden, match=r"kubevirts\.kubevirt\.io may not be listed") as caught:
        plan_unpermit(cluster(forbidden=[kinds.KUBEVIRTS]), GPU)
    assert caught.value.code == "RBAC_DENIED"
