"""Node discovery: a host's files and the permitted list -> the device plugins KubeVirt would run.

The way in to `discovery_pci`, `discovery_mdev` and `discovery_usb`. Pure: the files come as a
value. Modelled on virt-handler of KubeVirt main, 2026-08-22. Where it panics or hangs the result is
the sane one: an entry that it cannot serve has no plugin. Entries with an external provider are not
discovered, and neither are those that HyperConverged marks as disabled, which KubeVirt never sees.
Source: kubevirt pkg/virt-handler/device-manager/device_controller.go.
"""

from collections.abc import Iterable

from passway.host.tree import HostTree
from passway.kubevirt.discovered import Discovery
from passway.kubevirt.discovery_mdev import mdev_plugins, selector_hints
from passway.kubevirt.discovery_pci import pci_plugins
from passway.kubevirt.discovery_usb import usb_plugins
from passway.kubevirt.permitted import Permit


def discover(tree: HostTree, permits: Iterable[Permit]) -> Discovery:
    """What the plugins of a node with these files would advertise."""
    served = [permit for permit in permits if not permit.disabled]
    plugins = (*pci_plugins(tree, served), *mdev_plugins(tree, served), *usb_plugins(tree, served))
    return Discovery(
        tuple(sorted(plugins, key=lambda plugin: (plugin.kind, plugin.resource_name))),
        selector_hints(tree, served),
    )
