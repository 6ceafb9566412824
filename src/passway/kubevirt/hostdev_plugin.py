"""Devices of device plugins: `gpus` and `hostDevices`, by the variables the plugins set.

Owns the two builders: every entry asks each pool in turn, all PCI devices come first, then all
mediated, then (host devices only) all USB ones, and at the end the count must match. An entry with
a claim is asked for like the others, with an empty resource name, but is not counted.
Sources: kubevirt pkg/virt-launcher/virtwrap/device/hostdevice/{gpu,generic}/hostdev.go.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, NoReturn

from passway.kubevirt.addresses import (
    MDEV,
    PCI,
    USB,
    AddressPool,
    PciAddress,
    Prefix,
    UsbAddress,
    parse_pci,
    parse_usb,
    variable_name,
)
from passway.kubevirt.hostdev_display import shown, shows_by_default
from passway.kubevirt.hostdev_element import HostDevice, mdev_device, pci_device, usb_device
from passway.kubevirt.hostdev_errors import Code, CountCause, TranslationError, subject
from passway.kubevirt.hostdev_spec import Entry, Vmi

_PREFIXES: Final[dict[str, tuple[Prefix, ...]]] = {
    "gpus": (PCI, MDEV),
    "hostDevices": (PCI, MDEV, USB),
}


def gpu_devices(vmi: Vmi, env: Mapping[str, str]) -> tuple[HostDevice, ...]:
    """The GPUs that a device plugin serves."""
    build = _Build("gpus", vmi.gpus, env)
    made = [
        pci_device(
            f"gpu-{gpu.name or ''}", build.pci_source(index, address), shown(gpu.display, "pci")
        )
        for index, gpu, address in build.addressed(PCI)
    ]
    by_default = shows_by_default(vmi.gpus)
    for _, gpu, address in build.addressed(MDEV):
        show = shown(gpu.display, "mdev", by_default=by_default)
        made.append(mdev_device(f"gpu-{gpu.name or ''}", address, show))
        by_default = False
    build.check_count()
    return tuple(made)


def host_devices(vmi: Vmi, env: Mapping[str, str]) -> tuple[HostDevice, ...]:
    """The other devices that a device plugin serves; none of them has a display."""
    build = _Build("hostDevices", vmi.host_devices, env)
    made = [
        pci_device(f"hostdevice-{entry.name or ''}", build.pci_source(index, address))
        for index, entry, address in build.addressed(PCI)
    ]
    made += [
        mdev_device(f"hostdevice-{entry.name or ''}", address)
        for _, entry, address in build.addressed(MDEV)
    ]
    made += [
        usb_device(f"usb-host-{entry.name or ''}", build.usb_source(index, address))
        for index, entry, address in build.addressed(USB)
    ]
    build.check_count()
    return tuple(made)


class _Build:
    """One list being built: its pools, and how many devices each entry has got so far."""

    def __init__(self, field: str, entries: tuple[Entry, ...], env: Mapping[str, str]) -> None:
        resources = [entry.resource for entry in entries]
        self.field = field
        self.entries = entries
        self.env = env
        self.pools = {prefix: AddressPool(prefix, resources, env) for prefix in _PREFIXES[field]}
        self.got: Counter[int] = Counter()

    def addressed(self, prefix: Prefix) -> Iterator[tuple[int, Entry, str]]:
        """The entries that get an address from a pool, in the spec's order."""
        for index, entry in enumerate(self.entries):
            if address := self.pools[prefix].pop(entry.resource):
                self.got[index] += 1
                yield index, entry, address

    def pci_source(self, index: int, address: str) -> PciAddress:
        return parse_pci(address) or self._malformed("PciAddressMalformed", PCI, index, address)

    def usb_source(self, index: int, address: str) -> UsbAddress:
        return parse_usb(address) or self._malformed("UsbAddressMalformed", USB, index, address)

    def check_count(self) -> None:
        """As many devices as entries without a claim; only the sums are compared."""
        wanted = [index for index, entry in enumerate(self.entries) if not entry.is_claim]
        if not wanted or self.got.total() == len(wanted):
            return
        odd = [index for index in wanted if self.got[index] != 1] or [
            index for index in self.got if self.entries[index].is_claim
        ]
        index, resource = odd[0], self.entries[odd[0]].resource
        variables = tuple(pool.variable(resource) for pool in self.pools.values())
        found = tuple(variable for variable in variables if variable in self.env)
        raise TranslationError(
            "DeviceCountMismatch",
            subject(self.field, index, self.entries[index].name),
            looked_for=found or variables,
            value=resource,
            because=self._cause(index, found),
        )

    def _cause(self, index: int, found: tuple[str, ...]) -> CountCause:
        if not self.got[index]:
            return "TooFewAddresses" if found else "VariableMissing"
        return "ClaimAddressed" if self.entries[index].is_claim else "AddressedTwice"

    def _malformed(self, code: Code, prefix: Prefix, index: int, address: str) -> NoReturn:
        entry = self.entries[index]
        raise TranslationError(
            code,
            subject(self.field, index, entry.name),
            looked_for=(variable_name(prefix, entry.resource),),
            value=address,
        )
