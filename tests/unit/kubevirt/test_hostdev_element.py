"""The element's XML: order, what is left out, and what XML cannot hold."""

from xml.etree import ElementTree as ET

import pytest

from passway.kubevirt.addresses import PciAddress, UsbAddress
from passway.kubevirt.hostdev_element import Shown, mdev_device, pci_device, render, usb_device

ADDRESS = PciAddress("0000", "65", "00", "0")
PCI_SOURCE = (
    '<source><address type="pci" domain="0x0000" bus="0x65" slot="0x00" function="0x0" /></source>'
)


def test_a_pci_device():
    assert render(pci_device("gpu-a", ADDRESS)) == (
        f'<hostdev type="pci" managed="no">{PCI_SOURCE}<alias name="ua-gpu-a" /></hostdev>'
    )


def test_everything_in_libvirts_order():
    device = pci_device(
        "sriov-a", ADDRESS, Shown(True, True), boot_order=0,
        guest_address=PciAddress("0000", "0a", "01", "2"),
    )  # fmt: skip
    assert render(device) == (
        f'<hostdev type="pci" managed="no" display="on" ramfb="on">{PCI_SOURCE}<boot order="0" />'
        '<address type="pci" domain="0x0000" bus="0x0a" slot="0x01" function="0x2" />'
        '<alias name="ua-sriov-a" /></hostdev>'
    )


def test_a_mediated_and_a_usb_device():
    assert render(mdev_device("gpu-a", "u", Shown(True, False), model="vfio-ap")) == (
        '<hostdev type="mdev" mode="subsystem" model="vfio-ap" display="on">'
        '<source><address uuid="u" /></source><alias name="ua-gpu-a" /></hostdev>'
    )
    assert render(usb_device("usb-host-a", UsbAddress("1", "4"))) == (
        '<hostdev type="usb" mode="subsystem">'
        '<source><address bus="1" device="4" /></source><alias name="ua-usb-host-a" /></hostdev>'
    )


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("a&b<c>\"d'", "a&b<c>\"d'"),
        ("tab\tline\nreturn\r", "tab\tline\nreturn\r"),
        ("nul\0esc\x1b", "nul\ufffdesc\ufffd"),
        ("\ud800\ufffe\uffff", "\ufffd\ufffd\ufffd"),
        ("\ufffd\ue000\ud7ff\U00010000\U0010ffff ", "\ufffd\ue000\ud7ff\U00010000\U0010ffff "),
    ],
)
def test_any_name_is_well_formed(name, kept):
    element = ET.fromstring(render(mdev_device(name, name)))
    assert element.find("alias").get("name") == f"ua-{kept}"
    assert element.find("source/address").get("uuid") == kept
