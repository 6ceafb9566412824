"""Rules on disks, and on the boot order that disks and interfaces share.

Source: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go
(validateBootOrder, validateDisks). Some of KubeVirt's fields name no place (`spec[0].bootOrder`);
the sites do.
"""

import re
from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import (
    Cause,
    gate_off,
    invalid,
    required,
    unsupported,
)
from passway.kubevirt.admission.interfaces import is_guest_address
from passway.kubevirt.admission.interfaces import path_of as interface_path
from passway.kubevirt.admission.subject import DEVICES, Object, Subject
from passway.kubevirt.default_devices import DISK_TARGETS
from passway.model.names import InvalidName, dns_label

DISKS: Final = f"{DEVICES}.disks"
BUSES: Final = ("virtio", "scsi", "sata", "usb")
CACHES: Final = ("none", "writethrough", "writeback")
IO_MODES: Final = ("native", "threads")
ERROR_POLICIES: Final = ("stop", "ignore", "report", "enospace")
BLOCK_SIZES: Final = (512, 2 * 1024**2)
MAX_SERIAL: Final = 256
SERIAL: Final = re.compile(r"[A-Za-z0-9_.+-]+")
LUN_SOURCES: Final = ("persistentVolumeClaim", "dataVolume")


def path_of(index: int) -> str:
    """The field path of a disk."""
    return f"{DISKS}[{index}]"


def boot_order(subject: Subject) -> Iterator[Cause]:
    """The volume of each disk, and boot orders that are used twice."""
    volumes = {volume["name"]: volume for volume in subject.volumes}
    taken: set[int] = set()
    for index, disk in enumerate(subject.disks):
        yield from _volume(index, disk, volumes.get(disk["name"]))
        order = disk.get("bootOrder")
        if order is not None:
            if order in taken:
                yield invalid("BootOrderDuplicate", f"{path_of(index)}.bootOrder", order=order)
            taken.add(order)
    for index, interface in enumerate(subject.interfaces):
        order, place = interface.get("bootOrder"), f"{interface_path(index)}.bootOrder"
        if order is None:
            continue
        if order < 1:
            yield invalid("BootOrderZero", f"spec[{index}].bootOrder", place, order=order)
            continue
        if order in taken:
            yield invalid("BootOrderDuplicate", place, order=order)
        taken.add(order)


def _volume(index: int, disk: Object, volume: Object | None) -> Iterator[Cause]:
    path = path_of(index)
    if volume is None:
        # An empty CD-ROM waits for a medium; releases differ in the gate that allows it.
        if "cdrom" not in disk:
            yield invalid("DiskWithoutVolume", f"{path}.name", disk=disk["name"])
        return
    if "lun" in disk and not any(source in volume for source in LUN_SOURCES):
        yield invalid("LunNeedsClaim", f"{path}.lun", disk=disk["name"])
    if "downwardMetrics" in volume:
        if "disk" not in disk:
            yield required("DownwardMetricsNeedsVirtio", f"{path}.disk", path, disk=disk["name"])
        elif disk["disk"].get("bus", "virtio") != "virtio":
            yield invalid("DownwardMetricsNeedsVirtio", f"{path}.disk.bus", disk=disk["name"])


def disks(subject: Subject) -> Iterator[Cause]:
    """Each disk by itself."""
    seen: list[str] = []
    for index, disk in enumerate(subject.disks):
        path, name = path_of(index), disk["name"]
        for _ in range(seen.count(name)):
            yield invalid("DiskNameDuplicate", f"{path}.name", name=name, list="disks")
        seen.append(name)
        targets = tuple(target for target in DISK_TARGETS if target in disk)
        if len(targets) > 1:
            yield invalid("DiskTargetsMany", path, disk=name, given=targets)
        yield from _address(index, disk)
        if disk.get("bootOrder", 1) < 1:
            yield invalid("BootOrderZero", f"{path}.bootOrder", order=disk["bootOrder"])
        yield from _bus(index, disk)
        yield from _serial(path, disk)
        yield from _modes(index, disk)
        if not _is_label(name):
            # Upstream builds this field below the list itself.
            field = f"{DISKS}.domain.devices.disks[{index}].name"
            yield invalid("DiskNameMalformed", field, f"{path}.name", name=name)
        yield from _block_size(path, disk)


def _is_label(name: str) -> bool:
    try:
        return bool(dns_label(name))
    except InvalidName:
        return False


def _address(index: int, disk: Object) -> Iterator[Cause]:
    target = disk.get("disk", {})
    address = target.get("pciAddress", "")
    if not address:
        return
    field = f"{DISKS}.domain.devices.disks.disk[{index}].pciAddress"
    place = f"{path_of(index)}.disk.pciAddress"
    if target.get("bus") != "virtio":
        yield invalid("DiskAddressNeedsVirtio", field, place, disk=disk["name"])
    if not is_guest_address(address):
        yield invalid("DiskPciAddressMalformed", field, place, address=address)


def _bus(index: int, disk: Object) -> Iterator[Cause]:
    # Defaults see to it that there is a target and that it has a bus.
    target = next(name for name in DISK_TARGETS if name in disk)
    bus, path = disk[target]["bus"], path_of(index)
    place = f"{path}.{target}.bus"
    if bus not in BUSES:
        yield invalid("DiskBusUnsupported", place, bus=bus, allowed=BUSES)
    elif bus == "virtio" and target == "cdrom":
        yield invalid("CdromOnVirtio", place)
    elif bus == "sata" and disk.get("disk", {}).get("readonly"):
        yield invalid("SataDiskReadOnly", place)
    if disk.get("dedicatedIOThread") and bus != "virtio":
        field = f"{DISKS}.domain.devices.disks[{index}]"
        yield unsupported("IoThreadNeedsVirtio", field, f"{path}.dedicatedIOThread", bus=bus)


def _serial(path: str, disk: Object) -> Iterator[Cause]:
    serial = disk.get("serial", "")
    if serial and not SERIAL.fullmatch(serial):
        yield invalid("SerialMalformed", f"{path}.serial")
    if len(serial) > MAX_SERIAL:
        yield invalid("SerialTooLong", f"{path}.serial", limit=MAX_SERIAL)


def _modes(index: int, disk: Object) -> Iterator[Cause]:
    path = path_of(index)
    for field, allowed in (("cache", CACHES), ("io", IO_MODES), ("errorPolicy", ERROR_POLICIES)):
        value = disk.get(field, "" if field != "errorPolicy" else None)
        if value in {"", None} and field != "errorPolicy":
            continue
        if value is None or value in allowed:
            continue
        place = f"{path}.{field}"
        if field == "io":
            told = f"{DISKS}.domain.devices.disks[{index}].io"
            yield unsupported("DiskModeUnsupported", told, place, field=field, allowed=allowed)
        else:
            yield invalid("DiskModeUnsupported", place, field=field, allowed=allowed)


def _block_size(path: str, disk: Object) -> Iterator[Cause]:
    sizes = disk.get("blockSize", {})
    custom, place = sizes.get("custom"), f"{path}.blockSize"
    if custom is None:
        return
    if sizes.get("matchVolume", {}).get("enabled"):
        yield invalid("BlockSizeTwice", place)
        return
    logical, physical = custom.get("logical", 0), custom.get("physical", 0)
    if logical > physical:
        yield invalid("BlockSizeLogicalLarger", f"{place}.custom.logical")
    else:
        least, most = BLOCK_SIZES
        for field, size in (("logical", logical), ("physical", physical)):
            if not least <= size <= most or size & (size - 1):
                yield invalid("BlockSizeUnsupported", f"{place}.custom.{field}", size=size)


def reservation(subject: Subject) -> Iterator[Cause]:
    """Persistent reservations need their gate."""
    held = [index for index, disk in enumerate(subject.disks) if _reserves(disk)]
    if held and not subject.on("PersistentReservation"):
        place = f"{path_of(held[0])}.lun.reservation"
        field = f"{DISKS}.luns.reservation"
        yield gate_off("PersistentReservationGateOff", "PersistentReservation", field, place)


def _reserves(disk: Object) -> bool:
    return bool(disk.get("lun", {}).get("reservation"))
