"""Devices of resource claims (DRA): `gpus` and `hostDevices` that name a claim's request.

Owns the two builders: an mdev UUID beats a PCI address, devices come in the spec's order whatever
backs them (unlike those of plugins), and every entry must yield one. A PCI GPU ignores its display
options here, and only host devices know the s390x crypto model.
Source: kubevirt pkg/virt-launcher/virtwrap/device/hostdevice/dra/{gpu,generic}_hostdev.go.
"""

from collections.abc import Iterator, Mapping
from typing import assert_never

from passway.kubevirt.addresses import PciAddress, parse_pci
from passway.kubevirt.hostdev_display import shown, shows_by_default
from passway.kubevirt.hostdev_element import HostDevice, Model, mdev_device, pci_device
from passway.kubevirt.hostdev_errors import TranslationError, subject
from passway.kubevirt.hostdev_spec import Entry, Vmi
from passway.kubevirt.metadata import MDEV_UUID, PCI_BUS_ID, Resolved, Unresolved, resolve


def claim_gpu_devices(vmi: Vmi, files: Mapping[str, str]) -> tuple[HostDevice, ...]:
    """The GPUs of claims. `files`: path below the metadata directory -> text."""
    made = []
    by_default = shows_by_default(vmi.gpus)
    for gpu, found in _found("gpus", vmi.gpus, vmi, files):
        alias = f"dra-gpu-{gpu.name or ''}"
        if isinstance(found, PciAddress):
            made.append(pci_device(alias, found))
        else:
            show = shown(gpu.display, "mdev", by_default=by_default)
            made.append(mdev_device(alias, found, show))
            by_default = False
    return tuple(made)


def claim_host_devices(vmi: Vmi, files: Mapping[str, str]) -> tuple[HostDevice, ...]:
    """The host devices of claims."""
    model: Model = "vfio-ap" if vmi.architecture == "s390x" else "vfio-pci"
    return tuple(
        pci_device(f"dra-hostdevice-{entry.name or ''}", found)
        if isinstance(found, PciAddress)
        else mdev_device(f"dra-hostdevice-{entry.name or ''}", found, model=model)
        for entry, found in _found("hostDevices", vmi.host_devices, vmi, files)
    )


def _found(
    field: str, entries: tuple[Entry, ...], vmi: Vmi, files: Mapping[str, str]
) -> Iterator[tuple[Entry, PciAddress | str]]:
    """Each entry with a claim and its device: a PCI address, or the UUID of an mdev."""
    for index, entry in enumerate(entries):
        if not entry.is_claim:
            continue
        device = subject(field, index, entry.name)
        if not entry.claim_name or not entry.request_name:
            raise TranslationError(
                "ClaimReferenceIncomplete", device, looked_for=("claimName and requestName",)
            )
        found = claimed(vmi, files, entry.claim_name, entry.request_name, device)
        if uuid := found.attributes.get(MDEV_UUID):
            yield entry, uuid
        else:
            yield entry, claimed_address(found, device, f"{MDEV_UUID} or {PCI_BUS_ID}")


def claimed(vmi: Vmi, files: Mapping[str, str], claim: str, request: str, device: str) -> Resolved:
    """The device that a request of a claim got; `device` is who asks, for the error."""
    found = resolve(files, vmi.claims, claim, request)
    match found:
        case Resolved():
            return found
        case Unresolved():
            raise TranslationError(
                "ClaimDeviceUnresolved",
                device,
                looked_for=(found.source,),
                value=found.value,
                because=found.because,
            )
        case _:
            assert_never(found)


def claimed_address(found: Resolved, device: str, attributes: str = PCI_BUS_ID) -> PciAddress:
    """The PCI address of a claimed device; `attributes` are those that would have done."""
    text = found.attributes.get(PCI_BUS_ID)
    if text is None:
        raise TranslationError(
            "ClaimDeviceUnresolved",
            device,
            looked_for=(found.source,),
            value=attributes,
            because="MetadataAttributeMissing",
        )
    address = parse_pci(text)
    if address is None:
        raise TranslationError(
            "PciAddressMalformed", device, looked_for=(found.source,), value=text
        )
    return address
