"""What discovery finds: the plugins of a node, their devices, and what Allocate would hand out.

Owns the values and the two things that all kinds share: one entry of a plugin for each device, and
text as Go reads it (white space, lines, numbers). An id may occur twice in a plugin: KubeVirt lists
a device by its IOMMU group. `warnings` are findings for people; the kubelet sees none of them.
Sources: kubevirt pkg/virt-handler/device-manager/common.go, device_plugin_base.go.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from passway.host.tree import HostTree

PluginKind = Literal["pci", "mdev", "usb"]
AllocateError = Literal["AllocateFailed"]

PCI_DEVICES: Final = "sys/bus/pci/devices"
VFIO: Final = "dev/vfio"

_SPACE: Final = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
_DECIMAL: Final = re.compile(r"[+-]?[0-9]+")
_LIMIT: Final = 2**63


@dataclass(frozen=True, slots=True)
class UsbDevice:
    """A USB device as its uevent tells it. `device_path` is empty if it names none."""

    vendor: int = 0
    product: int = 0
    bcd: int = 0
    bus: int = 0
    device_number: int = 0
    device_path: str = ""

    @property
    def id(self) -> str:
        return f"{self.vendor:04x}:{self.product:04x}-{self.bus:02d}:{self.device_number:02d}"


@dataclass(frozen=True, slots=True)
class Device:
    """One entry of a plugin's list. `pci_address` or `uuid`: what Allocate gives for the id."""

    id: str
    numa_node: int | None = None
    pci_address: str | None = None
    uuid: str | None = None
    usb: tuple[UsbDevice, ...] = ()
    health: Literal["Healthy"] = "Healthy"


@dataclass(frozen=True, slots=True)
class Allocation:
    """What an Allocate call with all ids gives; with an error there is nothing else."""

    env: Mapping[str, str]
    device_nodes: tuple[str, ...]
    error: AllocateError | None = None


@dataclass(frozen=True, slots=True)
class Plugin:
    """One device plugin. `allocation` is None for USB, where nodes are opened when asked for."""

    kind: PluginKind
    resource_name: str
    devices: tuple[Device, ...]
    allocation: Allocation | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The distinct ids: what the kubelet counts."""
        return tuple(dict.fromkeys(device.id for device in self.devices))


@dataclass(frozen=True, slots=True)
class SelectorHint:
    """A selector of a mediated device that names the type's directory, and the right names."""

    resource_name: str
    selector: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Discovery:
    """The plugins, sorted by kind and resource name, and what looks wrong in the list."""

    plugins: tuple[Plugin, ...]
    hints: tuple[SelectorHint, ...]


def vfio_nodes(group: str) -> tuple[str, str]:
    """The device nodes that every VFIO device of a group needs."""
    return ("/dev/vfio/vfio", f"/dev/vfio/{group}")


def numa_node(tree: HostTree, pci_address: str) -> int | None:
    """The NUMA node of a PCI device. Text that is no number counts as node 0, as in KubeVirt."""
    text = tree.text(f"{PCI_DEVICES}/{pci_address}/numa_node")
    if text is None:
        return None
    number = decimal(trimmed(text))
    return None if number < 0 else number


def trimmed(text: str) -> str:
    """Without white space at both ends, as Go's strings.TrimSpace sees it."""
    return text.strip(_SPACE)


def lines(text: str) -> list[str]:
    """The lines as Go's bufio.Scanner gives them: a carriage return at the end is dropped."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def decimal(text: str) -> int:
    """Go's strconv.Atoi with its error ignored: 0 for no number, the nearest for a large one."""
    if not _DECIMAL.fullmatch(text):
        return 0
    if len(text.lstrip("+-0")) > 19:
        return -_LIMIT if text.startswith("-") else _LIMIT - 1
    return max(-_LIMIT, min(int(text), _LIMIT - 1))
