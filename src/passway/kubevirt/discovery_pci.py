"""PCI devices of a node that KubeVirt's own plugins would offer.

Owns the match of a device (its id, its driver) and the plugin that comes of it. Only the exact
driver vfio-pci counts, with one exception: virtual functions of the nvidia driver that have a vGPU
profile. The rest of an IOMMU group is not looked at, and neither is it here: two devices of one
group are two entries with one id, and the last one is what Allocate hands out.
Sources: kubevirt pkg/virt-handler/device-manager/pci_device.go, nvidia.go, common.go.
"""

from collections.abc import Iterable
from typing import Final

from passway.host.tree import HostTree
from passway.kubevirt.addresses import PCI, variable_name
from passway.kubevirt.discovered import (
    PCI_DEVICES,
    Allocation,
    Device,
    Plugin,
    lines,
    numa_node,
    trimmed,
    vfio_nodes,
)
from passway.kubevirt.permitted import Permit

_DRIVER: Final = "vfio-pci"
_NVIDIA: Final = "nvidia"
_NO_PROFILES: Final = frozenset({"", "0"})


def pci_plugins(tree: HostTree, permits: Iterable[Permit]) -> tuple[Plugin, ...]:
    """The PCI plugins; without `sys/bus/pci/devices`, where KubeVirt panics, there are none."""
    # device_controller.go: a map from selector to resource, so the last entry wins.
    wanted = {
        permit.selector.lower(): permit.resource_name
        for permit in permits
        if permit.kind == "pci" and not permit.external
    }
    found: dict[str, list[Device]] = {}
    for item in tree.walk(PCI_DEVICES) if wanted else ():
        pci_id = None if item.is_directory else _pci_id(tree, item.name)
        if pci_id in wanted and (device := _device(tree, item.name)):
            found.setdefault(wanted[pci_id], []).append(device)
    return tuple(_plugin(tree, resource, devices) for resource, devices in found.items())


def _pci_id(tree: HostTree, address: str) -> str | None:
    """`vendor:device` in lower case: the first line that starts with PCI_ID, whatever follows."""
    text = tree.text(f"{PCI_DEVICES}/{address}/uevent") or ""
    line = next((line for line in lines(text) if line.startswith("PCI_ID")), None)
    # Without an equals sign KubeVirt takes the whole line.
    return None if line is None else trimmed(line[line.find("=") + 1 :]).lower()


def _device(tree: HostTree, address: str) -> Device | None:
    driver = tree.link_name(f"{PCI_DEVICES}/{address}/driver")
    if driver != _DRIVER and not (driver == _NVIDIA and _has_vgpu(tree, address)):
        return None
    group = tree.link_name(f"{PCI_DEVICES}/{address}/iommu_group")
    if group is None:
        return None
    return Device(group, numa_node(tree, address), pci_address=address)


def _has_vgpu(tree: HostTree, address: str) -> bool:
    """A function that is no physical one and has a vGPU type (kubevirt PR 16890)."""
    if tree.exists(f"{PCI_DEVICES}/{address}/sriov_totalvfs"):
        return False
    profile = tree.text(f"{PCI_DEVICES}/{address}/nvidia/current_vgpu_type")
    return profile is not None and trimmed(profile) not in _NO_PROFILES


def _plugin(tree: HostTree, resource: str, devices: list[Device]) -> Plugin:
    address_of = {device.id: device.pci_address or "" for device in devices}
    listed = tuple(
        Device(device.id, device.numa_node, pci_address=address_of[device.id]) for device in devices
    )
    nodes = [
        node
        for group, address in address_of.items()
        for node in (*vfio_nodes(group), *_character_devices(tree, address))
    ]
    env = {variable_name(PCI, resource): ",".join(address_of.values())}
    return Plugin("pci", resource, listed, Allocation(env, tuple(nodes)))


def _character_devices(tree: HostTree, address: str) -> list[str]:
    """The device's own VFIO nodes, which a kernel with iommufd has."""
    names = tree.names(f"{PCI_DEVICES}/{address}/vfio-dev")
    return [f"/dev/vfio/devices/{name}" for name in names]
