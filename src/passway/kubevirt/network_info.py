"""The network-info file: which PCI address each SR-IOV network of the pod got.

Owns its JSON (the projected annotation kubevirt.io/network-info) and what counts as having none. It
does not know interfaces; an address is handed out once, since the launcher takes it out of its
pool, but nobody notices when two networks carry the same one.
Sources: kubevirt pkg/network/downwardapi/types.go, …/hostdevice/sriov/hostdev.go.
"""

from typing import Any, Final

import msgspec

from passway.kubevirt.hostdev_json import read_document

PATH: Final = "/etc/podinfo/network-info"


class _Pci(msgspec.Struct, frozen=True):
    address: str | None = msgspec.field(name="pci-address", default=None)
    physical: str | None = msgspec.field(name="pf-pci-address", default=None)
    vhost_net: str | None = msgspec.field(name="vhost-net", default=None)
    rdma: str | None = msgspec.field(name="rdma-device", default=None)
    representor: str | None = msgspec.field(name="representor-device", default=None)


class _DeviceInfo(msgspec.Struct, frozen=True):
    type: str | None = None
    version: str | None = None
    pci: _Pci | None = None
    vdpa: dict[str, Any] | None = None


class _Interface(msgspec.Struct, frozen=True):
    network: str | None = None
    mac: str | None = None
    deviceinfo: _DeviceInfo | None = None

    @property
    def address(self) -> str:
        pci = self.deviceinfo.pci if self.deviceinfo else None
        return (pci.address if pci else None) or ""


class _NetworkInfo(msgspec.Struct, frozen=True):
    interfaces: tuple[_Interface | None, ...] | None = None


def addresses_by_network(text: str) -> dict[str, str]:
    """Network -> PCI address as written; the last entry of a network wins. Raises `NotJson`."""
    info = read_document(text, _NetworkInfo)
    return {
        interface.network or "": interface.address
        for interface in info.interfaces or ()
        if interface and interface.address
    }
