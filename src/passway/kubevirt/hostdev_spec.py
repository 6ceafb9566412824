"""The part of a VMI that the launcher builds devices from.

Owns the wire structs (only the fields read here) and which object holds them: a VMI, or a VM or a
bare VMI spec, which have no status yet. Unset and false stay different. It decides nothing but what
is claim-backed.
Source: kubevirt staging/src/kubevirt.io/api/core/v1/schema.go, pkg/dra/utils.go.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from passway.kubevirt.hostdev_errors import TranslationError

MULTUS: Final = "multus-status"


class Toggle(msgspec.Struct, frozen=True):
    """Something with an `enabled` that may be unset."""

    enabled: bool | None = None


class Display(msgspec.Struct, frozen=True):
    enabled: bool | None = None
    ram_fb: Toggle | None = msgspec.field(name="ramFB", default=None)


class VirtualGpuOptions(msgspec.Struct, frozen=True):
    display: Display | None = None


class Entry(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of `gpus` or `hostDevices`."""

    name: str | None = None
    device_name: str | None = None
    claim_name: str | None = None
    request_name: str | None = None
    options: VirtualGpuOptions | None = msgspec.field(name="virtualGPUOptions", default=None)

    @property
    def resource(self) -> str:
        """The resource asked for; empty for a claim, which still looks up a variable."""
        return self.device_name or ""

    @property
    def is_claim(self) -> bool:
        """An entry with both a deviceName and a claim is not claim-backed."""
        return not self.resource and (self.claim_name is not None or self.request_name is not None)

    @property
    def display(self) -> Display | None:
        return self.options.display if self.options else None


class Interface(msgspec.Struct, frozen=True, rename="camel"):
    name: str | None = None
    sriov: dict[str, Any] | None = None
    pci_address: str | None = None
    boot_order: Annotated[int, msgspec.Meta(ge=0)] | None = None


class ClaimSource(msgspec.Struct, frozen=True, rename="camel"):
    """The claim and request of a network."""

    claim_name: str | None = None
    request_name: str | None = None


class Network(msgspec.Struct, frozen=True, rename="camel"):
    name: str | None = None
    resource_claim: ClaimSource | None = None


class ClaimEntry(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of `spec.resourceClaims`."""

    name: str | None = None
    resource_claim_name: str | None = None


class Devices(msgspec.Struct, frozen=True, rename="camel"):
    gpus: tuple[Entry, ...] | None = None
    host_devices: tuple[Entry, ...] | None = None
    interfaces: tuple[Interface, ...] | None = None


class Domain(msgspec.Struct, frozen=True):
    devices: Devices | None = None


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    architecture: str | None = None
    domain: Domain | None = None
    networks: tuple[Network, ...] | None = None
    resource_claims: tuple[ClaimEntry, ...] | None = None


class InterfaceStatus(msgspec.Struct, frozen=True, rename="camel"):
    name: str | None = None
    info_source: str | None = None


class Status(msgspec.Struct, frozen=True):
    interfaces: tuple[InterfaceStatus, ...] | None = None


class Vmi(msgspec.Struct, frozen=True):
    """A VirtualMachineInstance."""

    spec: Spec | None = None
    status: Status | None = None

    @property
    def devices(self) -> Devices:
        domain = self.spec.domain if self.spec else None
        return (domain.devices if domain else None) or _NO_DEVICES

    @property
    def gpus(self) -> tuple[Entry, ...]:
        return self.devices.gpus or ()

    @property
    def host_devices(self) -> tuple[Entry, ...]:
        return self.devices.host_devices or ()

    @property
    def interfaces(self) -> tuple[Interface, ...]:
        return self.devices.interfaces or ()

    @property
    def networks(self) -> tuple[Network, ...]:
        return (self.spec.networks if self.spec else None) or ()

    @property
    def claims(self) -> tuple[ClaimEntry, ...]:
        return (self.spec.resource_claims if self.spec else None) or ()

    @property
    def architecture(self) -> str:
        return (self.spec.architecture if self.spec else None) or ""

    @property
    def interface_statuses(self) -> tuple[InterfaceStatus, ...]:
        return (self.status.interfaces if self.status else None) or ()


_NO_DEVICES: Final = Devices()


def read_vmi(vmi: Mapping[str, Any]) -> Vmi:
    """A VirtualMachineInstance as KubeVirt's JSON has it."""
    try:
        return msgspec.convert(vmi, Vmi)
    except msgspec.ValidationError as error:
        raise TranslationError("SpecMalformed", "", value=str(error)) from None


def read_machine(document: Mapping[str, Any]) -> Vmi:
    """A VirtualMachineInstance, a VirtualMachine or a bare VMI spec.

    The last two know no networks' status: each of their SR-IOV interfaces counts as attached.
    """
    spec = document.get("spec")
    if "spec" not in document:
        return _attached(read_vmi({"spec": document}))
    template = spec.get("template") if isinstance(spec, Mapping) else None
    if template is None:
        return read_vmi(document)
    return _attached(read_vmi(template))


def _attached(vmi: Vmi) -> Vmi:
    claimed = {network.name for network in vmi.networks if network.resource_claim is not None}
    statuses = tuple(
        InterfaceStatus(interface.name, MULTUS)
        for interface in vmi.interfaces
        if interface.name not in claimed
    )
    return msgspec.structs.replace(vmi, status=Status(statuses))
