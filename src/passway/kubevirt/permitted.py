"""The permitted list: `permittedHostDevices`, in KubeVirt's and in HyperConverged's spelling.

Owns the reading of the three lists into entries and the one difference that matters most: an
absent list checks nothing, an empty one permits nothing (kubevirt
pkg/virt-controller/services/renderresources.go). Entries that are malformed are kept as far as
they can be read; judging them is for others.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

from passway.cluster.records import HyperConverged, KubeVirt
from passway.kubevirt.configuration import configuration_of

PermitKind = Literal["pci", "mediated", "usb"]


@dataclass(frozen=True, slots=True)
class Spelling:
    """Where an object keeps the list, and how it spells the fields."""

    path: tuple[str, ...]
    pci_selector: str
    usb_list: str

    def lists(self) -> dict[PermitKind, str]:
        return {"pci": "pciHostDevices", "mediated": "mediatedDevices", "usb": self.usb_list}


KUBEVIRT: Final = Spelling(
    ("spec", "configuration", "permittedHostDevices"), "pciVendorSelector", "usb"
)
HYPERCONVERGED_V1BETA1: Final = Spelling(
    ("spec", "permittedHostDevices"), "pciDeviceSelector", "usbHostDevices"
)
HYPERCONVERGED_V1: Final = Spelling(
    ("spec", "virtualization", "permittedHostDevices"), "pciDeviceSelector", "usbHostDevices"
)


@dataclass(frozen=True, slots=True, order=True)
class Permit:
    """One entry. `selectors`: one PCI id or mdev name, or the `vendor:product` ids of a bundle."""

    resource_name: str
    kind: PermitKind
    selectors: tuple[str, ...]
    external: bool = False
    disabled: bool = False

    @property
    def selector(self) -> str:
        return ",".join(self.selectors)


def permits_in(permitted: Mapping[str, Any] | None, spelling: Spelling) -> tuple[Permit, ...]:
    """The entries of a list object, in its order: PCI, mediated, USB."""
    lists = {kind: (permitted or {}).get(field) for kind, field in spelling.lists().items()}
    return tuple(
        read_permit(kind, entry, spelling)
        for kind, entries in lists.items()
        if isinstance(entries, list)
        for entry in entries
        if isinstance(entry, dict)
    )


def read_permit(kind: PermitKind, entry: Mapping[str, Any], spelling: Spelling) -> Permit:
    """One entry of one of the lists."""
    return Permit(
        resource_name=_text(entry, "resourceName"),
        kind=kind,
        selectors=_selectors(kind, entry, spelling),
        external=entry.get("externalResourceProvider") is True,
        disabled=entry.get("disabled") is True,
    )


def _selectors(kind: PermitKind, entry: Mapping[str, Any], spelling: Spelling) -> tuple[str, ...]:
    match kind:
        case "pci":
            return (_text(entry, spelling.pci_selector).upper(),)
        case "mediated":
            return (_text(entry, "mdevNameSelector"),)
        case "usb":
            listed = entry.get("selectors")
            return tuple(
                f"{_text(item, 'vendor')}:{_text(item, 'product')}".lower()
                for item in (listed if isinstance(listed, list) else ())
                if isinstance(item, dict)
            )
        case _:
            assert_never(kind)


def _text(entry: Mapping[str, Any], field: str) -> str:
    value = entry.get(field)
    return "" if value is None else str(value)


def spelling_of(owner: HyperConverged) -> Spelling:
    """How this HyperConverged object keeps the list: by the version that it was read in."""
    version = owner.api_version.rpartition("/")[2]
    return HYPERCONVERGED_V1 if version == "v1" else HYPERCONVERGED_V1BETA1


def permitted_of(kubevirt: KubeVirt | None) -> tuple[Permit, ...] | None:
    """The list in force; None when it is absent, so that KubeVirt checks nothing."""
    raw = configuration_of(kubevirt).permitted_host_devices
    return None if raw is None else permits_in(raw, KUBEVIRT)
