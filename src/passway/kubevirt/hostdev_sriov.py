"""SR-IOV interfaces: virtual functions from the network-info file, and from claims.

Owns the two builders and which interfaces take part: by network-info those that Multus has reported
in the VMI's status, by claim those whose network names one. An interface may be in both; upstream
lets that pass, so it does here. Guest address and boot order belong to the interface.
Source: kubevirt pkg/virt-launcher/virtwrap/device/hostdevice/sriov/hostdev.go.
"""

from collections.abc import Mapping

from passway.kubevirt.addresses import PciAddress, parse_pci
from passway.kubevirt.hostdev_claim import claimed, claimed_address
from passway.kubevirt.hostdev_element import HostDevice, pci_device
from passway.kubevirt.hostdev_errors import TranslationError, subject
from passway.kubevirt.hostdev_json import NotJson
from passway.kubevirt.hostdev_spec import MULTUS, Interface, Vmi
from passway.kubevirt.network_info import PATH, addresses_by_network


def sriov_devices(vmi: Vmi, network_info: str | None) -> tuple[HostDevice, ...]:
    """The functions of attached networks; None is no such file, empty one that never fills."""
    attached = [
        (index, interface)
        for index, interface in enumerate(vmi.interfaces)
        if interface.sriov is not None and _is_attached(vmi, interface)
    ]
    if not attached:
        return ()
    addresses = _addresses(network_info, _subject(*attached[0]))
    return tuple(_from_network_info(index, found, addresses) for index, found in attached)


def sriov_claim_devices(vmi: Vmi, files: Mapping[str, str]) -> tuple[HostDevice, ...]:
    """The functions of networks that name a claim; only a PCI address counts."""
    sources = {network.name or "": network.resource_claim for network in vmi.networks}
    made = []
    for index, interface in enumerate(vmi.interfaces):
        source = sources.get(interface.name or "")
        if interface.sriov is None or source is None:
            continue
        device = _subject(index, interface)
        claim, request = source.claim_name or "", source.request_name or ""
        found = claimed(vmi, files, claim, request, device)
        made.append(_function(interface, claimed_address(found, device), device))
    return tuple(made)


def _is_attached(vmi: Vmi, interface: Interface) -> bool:
    """What Multus reports; the separator has a space, without it the source is another one."""
    name = interface.name or ""
    status = next((one for one in vmi.interface_statuses if (one.name or "") == name), None)
    return status is not None and MULTUS in (status.info_source or "").split(", ")


def _addresses(network_info: str | None, device: str) -> dict[str, str]:
    if network_info == "":
        raise TranslationError("NetworkInfoMissing", device, looked_for=(PATH,))
    try:
        addresses = addresses_by_network("{}" if network_info is None else network_info)
    except NotJson as error:
        raise TranslationError(
            "NetworkInfoMalformed", device, looked_for=(PATH,), value=str(error)
        ) from None
    if not addresses:
        raise TranslationError("NetworkInfoHasNoAddresses", device, looked_for=(PATH,))
    return addresses


def _from_network_info(index: int, interface: Interface, addresses: dict[str, str]) -> HostDevice:
    device, network = _subject(index, interface), interface.name or ""
    # Taken out of the pool: a second interface of that name finds nothing.
    text = addresses.pop(network, None)
    if text is None:
        raise TranslationError("NetworkAddressMissing", device, looked_for=(PATH,), value=network)
    address = parse_pci(text)
    if address is None:
        raise TranslationError("PciAddressMalformed", device, looked_for=(PATH,), value=text)
    return _function(interface, address, device)


def _function(interface: Interface, source: PciAddress, device: str) -> HostDevice:
    wanted = interface.pci_address
    guest = parse_pci(wanted) if wanted else None
    if wanted and guest is None:
        raise TranslationError(
            "GuestPciAddressMalformed", device, looked_for=("pciAddress",), value=wanted
        )
    return pci_device(
        f"sriov-{interface.name or ''}",
        source,
        boot_order=interface.boot_order,
        guest_address=guest,
    )


def _subject(index: int, interface: Interface) -> str:
    return subject("interfaces", index, interface.name)
