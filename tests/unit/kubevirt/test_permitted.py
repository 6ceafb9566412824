"""The permitted list, in every spelling and as malformed as it comes."""

import pytest
from tests.builders import GPU, kubevirt, pci

from passway.cluster.dump import decode_object
from passway.kubevirt.permitted import (
    HYPERCONVERGED_V1,
    HYPERCONVERGED_V1BETA1,
    KUBEVIRT,
    Permit,
    permits_in,
    permitted_of,
    read_permit,
)

USB = [{"vendor": "46F4", "product": "0001"}, {"vendor": "46f4", "product": "0002"}]


def in_force(permitted):
    return permitted_of(decode_object(kubevirt(permitted))[1])


def test_an_absent_list_is_none_and_an_empty_one_permits_nothing():
    assert permitted_of(None) is None
    assert in_force(None) is None
    assert in_force({}) == ()
    assert in_force({"pciHostDevices": []}) == ()


def test_the_three_lists_in_their_order():
    permitted = {
        "usb": [{"resourceName": "kubevirt.io/storage", "selectors": USB}],
        "mediatedDevices": [
            {"mdevNameSelector": "GRID T4-1Q", "resourceName": "nvidia.com/GRID_T4-1Q"}
        ],
        "pciHostDevices": [
            pci("10de:1eb8", "nvidia.com/T4", externalResourceProvider=True),
            pci("10DE:2236", GPU),
        ],
    }
    assert in_force(permitted) == (
        Permit("nvidia.com/T4", "pci", ("10DE:1EB8",), external=True),
        Permit(GPU, "pci", ("10DE:2236",)),
        Permit("nvidia.com/GRID_T4-1Q", "mediated", ("GRID T4-1Q",)),
        Permit("kubevirt.io/storage", "usb", ("46f4:0001", "46f4:0002")),
    )


def test_a_bundle_is_shown_as_one_selector():
    (permit,) = in_force({"usb": [{"resourceName": "a/b", "selectors": USB}]})
    assert permit.selector == "46f4:0001,46f4:0002"


HYPERCONVERGED = {
    "pciHostDevices": [{"pciDeviceSelector": "10de:2236", "resourceName": GPU, "disabled": True}],
    "usbHostDevices": [{"resourceName": "a/b", "selectors": USB[:1]}],
    "mediatedDevices": [{"mdevNameSelector": "x", "resourceName": "a/c"}],
}


@pytest.mark.parametrize("spelling", [HYPERCONVERGED_V1BETA1, HYPERCONVERGED_V1])
def test_the_spelling_of_hyperconverged(spelling):
    assert permits_in(HYPERCONVERGED, spelling) == (
        Permit(GPU, "pci", ("10DE:2236",), disabled=True),
        Permit("a/c", "mediated", ("x",)),
        Permit("a/b", "usb", ("46f4:0001",)),
    )


def test_one_spelling_is_not_the_other():
    assert permits_in(HYPERCONVERGED, KUBEVIRT) == (
        Permit(GPU, "pci", ("",), disabled=True),
        Permit("a/c", "mediated", ("x",)),
    )
    theirs = {"pciHostDevices": [pci("10de:2236", GPU)], "usb": [{"resourceName": "a/b"}]}
    assert permits_in(theirs, HYPERCONVERGED_V1) == (Permit(GPU, "pci", ("",)),)


def test_where_the_lists_are():
    assert KUBEVIRT.path == ("spec", "configuration", "permittedHostDevices")
    assert HYPERCONVERGED_V1BETA1.path == ("spec", "permittedHostDevices")
    assert HYPERCONVERGED_V1.path == ("spec", "virtualization", "permittedHostDevices")
    assert list(KUBEVIRT.lists().values()) == ["pciHostDevices", "mediatedDevices", "usb"]
    assert HYPERCONVERGED_V1.lists()["usb"] == "usbHostDevices"


@pytest.mark.parametrize(
    ("permitted", "expected"),
    [
        (None, ()),
        ({"pciHostDevices": None}, ()),
        ({"pciHostDevices": {"a": "b"}, "usb": "x", "mediatedDevices": 5}, ()),
        ({"pciHostDevices": ["10de:2236", None, []]}, ()),
        ({"pciHostDevices": [{}]}, (Permit("", "pci", ("",)),)),
        (
            {"pciHostDevices": [{"resourceName": None, "pciVendorSelector": None}]},
            (Permit("", "pci", ("",)),),
        ),
        (
            {"pciHostDevices": [{"resourceName": 5, "pciVendorSelector": 10}]},
            (Permit("5", "pci", ("10",)),),
        ),
        ({"mediatedDevices": [{"mdevNameSelector": None}]}, (Permit("", "mediated", ("",)),)),
        ({"usb": [{"resourceName": "a/b"}]}, (Permit("a/b", "usb", ()),)),
        ({"usb": [{"selectors": None}, {"selectors": 5}]}, (Permit("", "usb", ()),) * 2),
        ({"usb": [{"selectors": "x"}]}, (Permit("", "usb", ()),)),
        (
            {"usb": [{"selectors": [None, "x", {}, {"vendor": None, "product": 1}]}]},
            (Permit("", "usb", (":", ":1")),),
        ),
    ],
)
def test_malformed_entries_are_kept_as_far_as_they_can_be_read(permitted, expected):
    assert permits_in(permitted, KUBEVIRT) == expected


@pytest.mark.parametrize("value", ["true", 1, None, False])
def test_a_switch_is_on_only_when_it_is_true(value):
    entry = {"externalResourceProvider": value, "disabled": value}
    found = read_permit("pci", entry, KUBEVIRT)
    assert (found.external, found.disabled) == (False, False)
