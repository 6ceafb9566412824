"""Host addresses as the launcher gets them: variables named after resources, taken from pools.

Owns the name of the variable, the grammar of PCI and USB addresses as the launcher reads them
(looser than `model.names`: slots over 1f pass, USB numbers are any text) and the pools: an address
that is handed out is gone for every resource of that pool. It does not know devices; a malformed
address is None and the caller, who knows the device, says so.
Sources: kubevirt pkg/util/util.go, pkg/virt-launcher/virtwrap/device, …/hostdevice/addresspool.go.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Prefix = Literal["PCI_RESOURCE", "MDEV_PCI_RESOURCE", "USB_RESOURCE"]
PCI: Final[Prefix] = "PCI_RESOURCE"
MDEV: Final[Prefix] = "MDEV_PCI_RESOURCE"
USB: Final[Prefix] = "USB_RESOURCE"

_PCI_ADDRESS: Final = re.compile(r"([0-9A-Fa-f]{4}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])")


@dataclass(frozen=True, slots=True)
class PciAddress:
    """A PCI address in libvirt's parts; the digits keep their case."""

    domain: str
    bus: str
    slot: str
    function: str

    def attributes(self) -> dict[str, str]:
        """Of libvirt's `<address>`."""
        return {
            "type": "pci",
            "domain": f"0x{self.domain}",
            "bus": f"0x{self.bus}",
            "slot": f"0x{self.slot}",
            "function": f"0x{self.function}",
        }


@dataclass(frozen=True, slots=True)
class MdevAddress:
    """A mediated device; nothing checks the UUID."""

    uuid: str

    def attributes(self) -> dict[str, str]:
        """Of libvirt's `<address>`."""
        return {"uuid": self.uuid}


@dataclass(frozen=True, slots=True)
class UsbAddress:
    """A USB device by bus and device number, either of which may be any text."""

    bus: str
    device: str

    def attributes(self) -> dict[str, str]:
        """Of libvirt's `<address>`; an empty part is left out."""
        parts = {"bus": self.bus, "device": self.device}
        return {name: part for name, part in parts.items() if part}


Address: TypeAlias = PciAddress | MdevAddress | UsbAddress


def parse_pci(text: str) -> PciAddress | None:
    """`dddd:bb:ss.f` in full, or None."""
    match = _PCI_ADDRESS.fullmatch(text)
    return PciAddress(*match.groups()) if match else None


def parse_usb(text: str) -> UsbAddress | None:
    """`bus:device`, or None unless there is exactly one colon."""
    parts = text.split(":")
    return UsbAddress(*parts) if len(parts) == 2 else None


def variable_name(prefix: str, resource_name: str) -> str:
    """The variable that holds a resource's addresses; a hyphen stays as it is."""
    return f"{prefix}_{_upper(resource_name).replace('/', '_').replace('.', '_')}"


def _upper(text: str) -> str:
    """Go's upper case: one character for one character, so that sharp s stays."""
    if text.isascii():
        return text.upper()
    return "".join(
        next((found for found in (one.upper(), one.title()) if len(found) == 1), one)
        for one in text
    )


def usb_devices_found(resource_names: Iterable[str], env: Mapping[str, str]) -> bool:
    """Whether the variable of any of them exists, even empty."""
    return any(variable_name(USB, resource) in env for resource in resource_names)


class AddressPool:
    """The addresses of some resources, of one kind, in one builder."""

    __slots__ = ("_addresses", "_env", "prefix")

    def __init__(self, prefix: Prefix, resources: Iterable[str], env: Mapping[str, str]) -> None:
        self.prefix = prefix
        self._env = env
        self._addresses = {resource: self.listed(resource) for resource in resources}

    def variable(self, resource: str) -> str:
        """The variable that this pool reads for a resource."""
        return variable_name(self.prefix, resource)

    def listed(self, resource: str) -> list[str]:
        """The addresses that the variable lists, without one trailing comma."""
        text = self._env.get(self.variable(resource), "").removesuffix(",")
        return text.split(",") if text else []

    def pop(self, resource: str) -> str:
        """The next address of a resource, empty for none; every pool of it loses that address.

        An empty element (`a,,b`) is taken like an address, so it costs the asker its device.
        """
        addresses = self._addresses[resource]
        if not addresses:
            return ""
        taken = addresses[0]
        for name, held in self._addresses.items():
            if taken in held:
                self._addresses[name] = [address for address in held if address != taken]
        return taken
