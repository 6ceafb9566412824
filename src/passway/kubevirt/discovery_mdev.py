"""Mediated devices (vGPUs) of a node that KubeVirt's own plugins would offer.

Owns the name of a type, which is the content of its `name` file and not its directory, and the
plugin for each type. Two types under one resource name give two plugins, of which virt-handler
runs one, by chance; both are listed. A selector that names the directory (nvidia-222) never
matches a type that has a name: `selector_hints` says which name was meant.
Sources: kubevirt pkg/virt-handler/device-manager/mediated_device.go, device_controller.go.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from passway.host.tree import HostTree
from passway.kubevirt.addresses import MDEV, variable_name
from passway.kubevirt.discovered import (
    PCI_DEVICES,
    VFIO,
    Allocation,
    Device,
    Plugin,
    SelectorHint,
    numa_node,
    trimmed,
    vfio_nodes,
)
from passway.kubevirt.permitted import Permit

_DEVICES: Final = "sys/bus/mdev/devices"
_PARENTS: Final = "sys/class/mdev_bus"
_TYPES: Final = "mdev_supported_types"


def mdev_plugins(tree: HostTree, permits: Iterable[Permit]) -> tuple[Plugin, ...]:
    """The mdev plugins, one for each type; the last entry of a selector wins."""
    # A resource name without a slash makes KubeVirt panic; it gets no plugin here.
    wanted = {
        _key(permit.selector): permit.resource_name
        for permit in permits
        if permit.kind == "mediated" and not permit.external
    }
    found: dict[str, list[Device]] = {}
    for uuid in tree.names(_DEVICES):
        name = _type_name(tree, uuid)
        device = _device(tree, uuid) if name is not None and "/" in wanted.get(name, "") else None
        if name is not None and device is not None:
            found.setdefault(name, []).append(device)
    return tuple(_plugin(tree, wanted[name], found[name]) for name in sorted(found))


def _key(text: str) -> str:
    """How names and selectors compare: spaces are underscores, and only then the ends are cut."""
    return trimmed(text.replace(" ", "_"))


def _type_name(tree: HostTree, uuid: str) -> str | None:
    """The type of a device, if the device is a link; without a name file its directory's name."""
    place = f"{_DEVICES}/{uuid}/mdev_type"
    if tree.link(f"{_DEVICES}/{uuid}") is None:
        return None
    name = tree.text(f"{place}/name")
    if name is None and not tree.exists(f"{place}/name"):
        target = tree.link(place)
        name = None if target is None else target.rstrip("/").rpartition("/")[2]
    return None if name is None else _key(name)


def _device(tree: HostTree, uuid: str) -> Device | None:
    parts = (tree.link(f"{_DEVICES}/{uuid}") or "").split("/")
    group = tree.link_name(f"{_DEVICES}/{uuid}/iommu_group")
    if len(parts) < 2 or group is None:
        return None
    return Device(group, numa_node(tree, parts[-2]), uuid=uuid)


def _plugin(tree: HostTree, resource: str, devices: list[Device]) -> Plugin:
    uuid_of = {device.id: device.uuid or "" for device in devices}
    listed = tuple(
        Device(device.id, device.numa_node, uuid=uuid_of[device.id]) for device in devices
    )
    return Plugin("mdev", resource, listed, _allocation(tree, resource, uuid_of))


def _allocation(tree: HostTree, resource: str, uuid_of: dict[str, str]) -> Allocation:
    """Fails if a group has no device node, which KubeVirt checks for mdevs only."""
    if not all(tree.exists(f"{VFIO}/{group}") for group in uuid_of):
        return Allocation({}, (), "AllocateFailed")
    nodes = tuple(node for group in uuid_of for node in vfio_nodes(group))
    return Allocation({variable_name(MDEV, resource): ",".join(uuid_of.values())}, nodes)


# -- selectors that name the directory ------------------------------------------------------------


def selector_hints(tree: HostTree, permits: Iterable[Permit]) -> tuple[SelectorHint, ...]:
    """The entries whose selector is the directory of a type that has another name."""
    names: dict[str, set[str]] = {}
    for directory, name in _types(tree):
        names.setdefault(directory, set()).add(name)
    every = {_key(name) for group in names.values() for name in group}
    return tuple(
        SelectorHint(permit.resource_name, permit.selector, tuple(sorted(meant)))
        for permit in permits
        if permit.kind == "mediated" and _key(permit.selector) not in every
        if (meant := names.get(trimmed(permit.selector)))
    )


def _types(tree: HostTree) -> Iterator[tuple[str, str]]:
    """(directory, name) of every type that a card supports or a device has, where it has a name."""
    parents = [f"{_PARENTS}/{card}" for card in tree.names(_PARENTS)]
    parents += [f"{PCI_DEVICES}/{address}" for address in tree.names(PCI_DEVICES)]
    for parent in parents:
        for directory in tree.names(f"{parent}/{_TYPES}"):
            yield from _named(tree, directory, f"{parent}/{_TYPES}/{directory}")
    for uuid in tree.names(_DEVICES):
        place = f"{_DEVICES}/{uuid}/mdev_type"
        yield from _named(tree, tree.link_name(place), place)


def _named(tree: HostTree, directory: str | None, place: str) -> Iterator[tuple[str, str]]:
    name = trimmed(tree.text(f"{place}/name") or "")
    if directory and name:
        yield directory, name
