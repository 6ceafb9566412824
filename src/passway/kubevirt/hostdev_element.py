"""libvirt's `<hostdev>` element as a value, and its XML.

Owns which attributes and children an element has and in which order (kubevirt
pkg/virt-launcher/virtwrap/api/schema.go), and that whatever a name holds the text is well-formed:
a character that XML cannot have becomes U+FFFD, as Go's encoding/xml does it.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple
from xml.etree import ElementTree as ET

from passway.kubevirt.addresses import Address, MdevAddress, PciAddress, UsbAddress

Model = Literal["vfio-pci", "vfio-ap"]
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Shown(NamedTuple):
    """Whether a device is a display, and whether it shows from the firmware on."""

    display: bool
    ram_fb: bool


HIDDEN: Final = Shown(display=False, ram_fb=False)


@dataclass(frozen=True, slots=True)
class HostDevice:
    """One `<hostdev>`. `alias` is without libvirt's prefix for user-defined names."""

    type: Literal["pci", "mdev", "usb"]
    alias: str
    source: Address
    managed: Literal["no"] | None = None
    mode: Literal["subsystem"] | None = None
    model: Model | None = None
    shown: Shown = HIDDEN
    boot_order: int | None = None
    guest_address: PciAddress | None = None

    def attributes(self) -> dict[str, str]:
        """The attributes that are set."""
        written = {
            "type": self.type,
            "managed": self.managed,
            "mode": self.mode,
            "model": self.model,
            "display": "on" if self.shown.display else None,
            "ramfb": "on" if self.shown.ram_fb else None,
        }
        return {name: value for name, value in written.items() if value is not None}


def render(device: HostDevice) -> str:
    """The element's XML, on one line."""
    element = ET.Element("hostdev", device.attributes())
    _child(_child(element, "source"), "address", device.source.attributes())
    if device.boot_order is not None:
        _child(element, "boot", {"order": str(device.boot_order)})
    if device.guest_address is not None:
        _child(element, "address", device.guest_address.attributes())
    _child(element, "alias", {"name": f"ua-{device.alias}"})
    return ET.tostring(element, encoding="unicode")


def _child(parent: ET.Element, tag: str, attributes: dict[str, str] | None = None) -> ET.Element:
    return ET.SubElement(
        parent,
        tag,
        {name: _NO_XML.sub("\ufffd", value) for name, value in (attributes or {}).items()},
    )


def pci_device(
    alias: str,
    source: PciAddress,
    shown: Shown = HIDDEN,
    *,
    boot_order: int | None = None,
    guest_address: PciAddress | None = None,
) -> HostDevice:
    """A passed-through PCI function; KubeVirt never lets libvirt rebind its driver."""
    return HostDevice(
        "pci",
        alias,
        source,
        managed="no",
        shown=shown,
        boot_order=boot_order,
        guest_address=guest_address,
    )


def mdev_device(
    alias: str,
    uuid: str,
    shown: Shown = HIDDEN,
    *,
    model: Model = "vfio-pci",
) -> HostDevice:
    """A mediated device."""
    return HostDevice("mdev", alias, MdevAddress(uuid), mode="subsystem", model=model, shown=shown)


def usb_device(alias: str, source: UsbAddress) -> HostDevice:
    """A USB device."""
    return HostDevice("usb", alias, source, mode="subsystem")
