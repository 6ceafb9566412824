"""USB devices of a node that KubeVirt's own plugins would offer.

Owns the reading of a device's uevent and the making of sets: a resource takes sets of one device
for every selector until one is missing, and earlier entries take first. Two equal selectors in one
entry take the same device twice. An entry without selectors, on which KubeVirt never returns, is
left out. The ids have a random part there; here it is `XXXX`.
Source: kubevirt pkg/virt-handler/device-manager/usb_device.go.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from passway.host.tree import HostTree
from passway.kubevirt.discovered import Device, Plugin, UsbDevice, lines
from passway.kubevirt.permitted import Permit

_DEVICES: Final = "sys/bus/usb/devices"
_NUMBER: Final = {10: re.compile(r"[+-]?[0-9]+"), 16: re.compile(r"[+-]?[0-9A-Fa-f]+")}
_LIMIT: Final = 2**31
_LENGTH: Final = 64


def usb_plugins(tree: HostTree, permits: Iterable[Permit]) -> tuple[Plugin, ...]:
    """The USB plugins; entries of one resource name share one."""
    wanted = [permit for permit in permits if permit.kind == "usb" and not permit.external]
    left = _plugged(tree) if wanted else []
    found: dict[str, list[Device]] = {}
    for permit in wanted:
        sets = _sets(permit, left)
        found.setdefault(permit.resource_name, []).extend(
            Device(f"{permit.resource_name}-XXXX-{index}", usb=devices)
            for index, devices in enumerate(sets)
        )
    return tuple(
        Plugin("usb", resource, tuple(devices)) for resource, devices in found.items() if devices
    )


def _sets(permit: Permit, left: list[UsbDevice]) -> list[tuple[UsbDevice, ...]]:
    """As many sets as there are; what they use is taken out of `left`."""
    wanted = [_selector(selector) for selector in permit.selectors]
    sets: list[tuple[UsbDevice, ...]] = []
    while wanted and (devices := _fetch(wanted, left)):
        sets.append(devices)
        for device in devices:
            _remove(device, left)
    return sets


def _fetch(
    wanted: list[tuple[int, int] | None], left: list[UsbDevice]
) -> tuple[UsbDevice, ...] | None:
    found = [
        next((device for device in left if (device.vendor, device.product) == ids), None)
        for ids in wanted
    ]
    devices = tuple(device for device in found if device is not None)
    return devices if len(devices) == len(wanted) else None


def _remove(device: UsbDevice, left: list[UsbDevice]) -> None:
    index = next((index for index, other in enumerate(left) if other.id == device.id), None)
    if index is not None:
        del left[index]


def _selector(text: str) -> tuple[int, int] | None:
    vendor, _, product = text.partition(":")
    ids = (_number(vendor, 16), _number(product, 16))
    return None if ids[0] is None or ids[1] is None else (ids[0], ids[1])


def _number(text: str, radix: int) -> int | None:
    """A number of 32 bits with a sign, as Go's strconv.ParseInt takes it: no 0x, no underscores."""
    if len(text) > _LENGTH or not _NUMBER[radix].fullmatch(text):
        return None
    number = int(text, radix)
    return number if -_LIMIT <= number < _LIMIT else None


# -- what is plugged in ---------------------------------------------------------------------------


def _plugged(tree: HostTree) -> list[UsbDevice]:
    """The devices in the order of their names; controllers and interfaces are none."""
    found = [
        _read_uevent(tree, item.path)
        for item in tree.walk(_DEVICES)
        if not item.name.startswith("usb") and tree.exists(f"{item.path}/idVendor")
    ]
    return [device for device in found if device is not None]


def _read_uevent(tree: HostTree, path: str) -> UsbDevice | None:
    """The device of a uevent file; None if there is none, or if a number in it is none."""
    text = tree.text(f"{path}/uevent")
    device: UsbDevice | None = None if text is None else UsbDevice()
    for line in lines(text or ""):
        name, *values = line.split("=")
        if device is not None and len(values) == 1:
            device = _with(device, name, values[0])
    return device


def _with(device: UsbDevice, name: str, value: str) -> UsbDevice | None:
    match name:
        case "BUSNUM":
            bus = _number(value, 10)
            return None if bus is None else replace(device, bus=bus)
        case "DEVNUM":
            number = _number(value, 10)
            return None if number is None else replace(device, device_number=number)
        case "PRODUCT":
            return _with_product(device, value)
        case "DEVNAME":
            return replace(device, device_path=_below_dev(value))
        case _:
            return device


def _with_product(device: UsbDevice, value: str) -> UsbDevice | None:
    """`vendor/product/release`, hexadecimal."""
    numbers = [number for part in value.split("/") if (number := _number(part, 16)) is not None]
    if len(numbers) != 3 or value.count("/") != 2:
        return None
    vendor, product, bcd = numbers
    return replace(device, vendor=vendor, product=product, bcd=bcd)


def _below_dev(name: str) -> str:
    """The path of a device node, with `.` and `..` resolved as Go's filepath.Join does."""
    parts: list[str] = ["dev"]
    for part in name.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in {"", "."}:
            parts.append(part)
    return "/" + "/".join(parts)
