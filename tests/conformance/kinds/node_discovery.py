"""Permitted list and files of a host -> the plugins of virt-handler and what Allocate gives."""

from dataclasses import asdict

from tests.conformance.difference import Difference

from passway.host.tree import HostTree
from passway.kubevirt.discovered import Device, Plugin
from passway.kubevirt.discovery import discover
from passway.kubevirt.permitted import KUBEVIRT, permits_in


def differences(case: dict) -> list[Difference]:
    """What differs from KubeVirt."""
    given = case["input"]
    permits = permits_in(given["permittedHostDevices"], KUBEVIRT)
    got = _ordered([_plugin(one) for one in discover(HostTree.of(given["tree"]), permits).plugins])
    wanted = _ordered(_wanted(case["expected"]))
    return [] if got == wanted else [Difference("expected.plugins", wanted, got)]


def _wanted(expected: dict) -> list[dict]:
    """The plugins. Where KubeVirt panics or hangs, the entry that makes it do so has none, and the
    vectors have no other entry there.
    """
    return [] if "panic" in expected or "hang" in expected else expected["plugins"]


def _ordered(plugins: list[dict]) -> list[dict]:
    """By kind and name; two mdev types under one name come in the order of a Go map."""
    return sorted(plugins, key=lambda one: (one["kind"], one["resourceName"], str(one["devices"])))


def _plugin(plugin: Plugin) -> dict:
    told = {
        "kind": plugin.kind,
        "resourceName": plugin.resource_name,
        "devices": [_device(device) for device in plugin.devices],
    }
    allocation = plugin.allocation
    if allocation and allocation.error:
        told["allocateAllError"] = allocation.error
    elif allocation:
        told["allocateAllEnv"] = dict(allocation.env)
        told["allocateAllDeviceNodes"] = list(allocation.device_nodes)
    return told


def _device(device: Device) -> dict:
    told = {
        "id": device.id, "health": device.health, "numaNode": device.numa_node,
        "pciAddress": device.pci_address, "uuid": device.uuid, "usb": _usb(device),
    }  # fmt: skip
    return {key: value for key, value in told.items() if value is not None}


def _usb(device: Device) -> list[dict] | None:
    renamed = {"device_number": "deviceNumber", "device_path": "devicePath"}
    return [
        {"id": one.id, **{renamed.get(key, key): value for key, value in asdict(one).items()}}
        for one in device.usb
    ] or None
