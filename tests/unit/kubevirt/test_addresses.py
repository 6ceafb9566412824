"""Variables, addresses and pools, beyond what the vectors pin."""

import pytest

from passway.kubevirt.addresses import (
    MDEV,
    PCI,
    USB,
    AddressPool,
    MdevAddress,
    PciAddress,
    UsbAddress,
    parse_pci,
    parse_usb,
    usb_devices_found,
    variable_name,
)


@pytest.mark.parametrize(
    ("resource", "variable"),
    [
        ("nvidia.com/GA102GL_A10", "PCI_RESOURCE_NVIDIA_COM_GA102GL_A10"),
        ("intel.com/qat-vf", "PCI_RESOURCE_INTEL_COM_QAT-VF"),
        ("", "PCI_RESOURCE_"),
        ("a.b.c/d/e", "PCI_RESOURCE_A_B_C_D_E"),
        ("straße/x", "PCI_RESOURCE_STRAßE_X"),
        ("ᾀ/é", "PCI_RESOURCE_ᾈ_É"),
    ],
)
def test_the_variable_of_a_resource(resource, variable):
    assert variable_name(PCI, resource) == variable


def test_a_pci_address_keeps_its_digits():
    address = parse_pci("0000:0A:1f.7")
    assert address == PciAddress("0000", "0A", "1f", "7")
    assert [*address.attributes().items()] == [
        ("type", "pci"), ("domain", "0x0000"), ("bus", "0x0A"), ("slot", "0x1f"),
        ("function", "0x7"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "0a:00.0", "0000:0a:00.8", "0000:0a:00.0\n", "\u0660000:0a:00.0"]
)
def test_no_pci_address(text):
    assert parse_pci(text) is None


def test_usb_addresses_need_one_colon_and_leave_out_empty_parts():
    assert parse_usb("1:4") == UsbAddress("1", "4")
    assert parse_usb("14") is parse_usb("1:4:5") is None
    assert parse_usb("1:4").attributes() == {"bus": "1", "device": "4"}
    assert parse_usb(":4").attributes() == {"device": "4"}
    assert parse_usb(":").attributes() == {}


def test_an_mdev_has_only_its_uuid():
    assert MdevAddress("x").attributes() == {"uuid": "x"}


def test_a_usb_variable_counts_even_when_it_is_empty():
    assert usb_devices_found(["a/b", "c/d"], {"USB_RESOURCE_C_D": ""})
    assert not usb_devices_found(["a/b"], {"PCI_RESOURCE_A_B": "1:1"})
    assert not usb_devices_found([], {"USB_RESOURCE_": "1:1"})


def pool(prefix=PCI, **variables):
    env = {f"{prefix}_{name}": value for name, value in variables.items()}
    return AddressPool(prefix, [name.lower() for name in variables], env)


def test_an_address_is_gone_for_every_resource():
    addresses = pool(A="1,2,1", B="1,3")
    assert [addresses.pop("a"), addresses.pop("b"), addresses.pop("a"), addresses.pop("a")] == [
        "1", "3", "2", "",
    ]  # fmt: skip


def test_an_empty_element_is_taken_like_an_address():
    addresses = pool(A=",x,,", B=",y")
    assert [addresses.pop("a"), addresses.pop("a"), addresses.pop("b")] == ["", "x", "y"]


def test_exactly_one_trailing_comma_goes():
    assert pool(A="1,").listed("a") == ["1"]
    assert pool(A="1,,").listed("a") == ["1", ""]
    assert pool(A=",").listed("a") == pool(A="").listed("a") == []


def test_a_pool_reads_the_variables_of_its_kind():
    env = {"MDEV_PCI_RESOURCE_A_B": "u", "USB_RESOURCE_A_B": "1:1"}
    assert AddressPool(MDEV, ["a/b"], env).pop("a/b") == "u"
    assert AddressPool(USB, ["a/b"], env).variable("a/b") == "USB_RESOURCE_A_B"
    assert AddressPool(PCI, ["a/b"], env).pop("a/b") == ""
