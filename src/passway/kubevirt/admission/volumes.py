"""Rules on volumes: names, sources, cloud-init, host disks, and the disk of each.

Source: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go
(validateVolumes, validateContainerDisks, validateVirtualMachineInstanceSpecVolumeDisks).
"""

import base64
import binascii
import posixpath
from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import Cause, cause, gate_off, invalid, required
from passway.kubevirt.admission.subject import Object, Subject
from passway.model.quantity import parse_quantity

VOLUMES: Final = "spec.volumes"
SOURCES: Final = (
    "persistentVolumeClaim", "sysprep", "cloudInitNoCloud", "cloudInitConfigDrive",
    "containerDisk", "ephemeral", "emptyDisk", "hostDisk", "dataVolume", "configMap", "secret",
    "downwardAPI", "serviceAccount", "downwardMetrics", "memoryDump", "containerPath",
)  # fmt: skip
CLOUD_INIT: Final = ("cloudInitNoCloud", "cloudInitConfigDrive")
ONCE: Final = ("serviceAccount", "downwardMetrics", "memoryDump")
NAMED: Final = {
    "configMap": "name",
    "secret": "secretName",
    "serviceAccount": "serviceAccountName",
}
CLOUD_INIT_BYTES: Final = 2048
HOST_DISK_TYPES: Final = ("Disk", "DiskOrCreate")


def path_of(index: int) -> str:
    """The field path of a volume."""
    return f"{VOLUMES}[{index}]"


def volumes(subject: Subject) -> Iterator[Cause]:
    """Each volume by itself, and those that may be there only once."""
    seen: set[str] = set()
    for index, volume in enumerate(subject.volumes):
        name, path = volume["name"], path_of(index)
        if name in seen:
            yield invalid("VolumeNameDuplicate", f"{path}.name", name=name, list="volumes")
        seen.add(name)
        yield from _source(path, volume)
        source = next((source for source in CLOUD_INIT if source in volume), None)
        if source:
            yield from _cloud_init(f"{path}.{source}", volume[source])
        if "downwardMetrics" in volume and not subject.on("DownwardMetrics"):
            yield gate_off("DownwardMetricsGateOff", "DownwardMetrics", path)
        if "hostDisk" in volume:
            yield from _host_disk(subject, path, volume["hostDisk"])
        yield from _names(path, volume)
    for source in ONCE:
        indexes = [index for index, volume in enumerate(subject.volumes) if source in volume]
        if len(indexes) > 1:
            yield invalid("VolumeSourceTwice", VOLUMES, path_of(indexes[1]), source=source)


def _names(path: str, volume: Object) -> Iterator[Cause]:
    for source, field in NAMED.items():
        if source in volume and not volume[source].get(field):
            yield invalid("VolumeFieldMissing", f"{path}.{source}.{field}", field=field)


def _source(path: str, volume: Object) -> Iterator[Cause]:
    if "dataVolume" in volume and not volume["dataVolume"].get("name"):
        yield required("VolumeFieldMissing", f"{path}.name", f"{path}.dataVolume", field="name")
    given = tuple(source for source in SOURCES if source in volume)
    if len(given) != 1:
        yield invalid("VolumeSourceCount", path, name=volume["name"], given=given, count=len(given))


def _cloud_init(path: str, data: Object) -> Iterator[Cause]:
    counts = 0
    for kind in ("userData", "networkData"):
        given = [name for name in (kind, f"{kind}Base64") if data.get(name)]
        size = len(data.get(kind, "").encode())
        if f"{kind}Base64" in given:
            decoded = _decode(data[f"{kind}Base64"])
            if decoded is None:
                place = f"{path}.{kind}Base64"
                yield invalid("CloudInitNotBase64", place, field=f"{kind}Base64")
            size = size or decoded or 0
        total = len(given) + bool(data.get(_secret(kind), {}).get("name"))
        counts += total
        if total > 1:
            yield invalid("CloudInitSourcesMany", path, f"{path}.{given[0]}", data=kind)
        if size > CLOUD_INIT_BYTES:
            yield invalid(
                "CloudInitTooLong", path, f"{path}.{given[0]}",
                data=kind, bytes=size, limit=CLOUD_INIT_BYTES,
            )  # fmt: skip
    if not counts:
        yield invalid("CloudInitEmpty", path)


def _secret(kind: str) -> str:
    """The field of the reference; the CRD spells user data's differently."""
    return "secretRef" if kind == "userData" else "networkDataSecretRef"


def _decode(text: str) -> int | None:
    try:
        return len(base64.b64decode(text, validate=True))
    except (binascii.Error, ValueError):
        return None


def _host_disk(subject: Subject, path: str, disk: Object) -> Iterator[Cause]:
    if not subject.on("HostDisk"):
        yield gate_off("HostDiskGateOff", "HostDisk", path, f"{path}.hostDisk")
    place, kind = f"{path}.hostDisk", disk.get("type", "")
    if not disk.get("path"):
        yield cause("FieldValueNotFound", "VolumeFieldMissing", f"{place}.path", None, field="path")
    if kind not in HOST_DISK_TYPES:
        yield invalid("HostDiskTypeUnknown", f"{place}.type", type=kind)
    if kind == HOST_DISK_TYPES[0] and parse_quantity(disk.get("capacity", "0")).nanos:
        yield invalid("HostDiskCapacityIdle", f"{place}.capacity")


def container_paths(subject: Subject) -> Iterator[Cause]:
    """The path inside a container disk is absolute and names a file."""
    for index, volume in enumerate(subject.volumes):
        path = volume.get("containerDisk", {}).get("path", "")
        if path and not is_file_path(path):
            place = f"{path_of(index)}.containerDisk"
            yield invalid("FilePathMalformed", place, f"{place}.path", file=path)


def is_file_path(path: str) -> bool:
    """Whether a path is absolute, not the root, and without relative parts."""
    cleaned = posixpath.normpath(f"/{path.lstrip('/')}")
    return path != "/" and cleaned == path.removesuffix("/")


def mapped(subject: Subject) -> Iterator[Cause]:
    """Each volume is a disk or a filesystem of the VMI; defaults see to that."""
    known = {entry["name"] for entry in (*subject.disks, *subject.devices.get("filesystems", ()))}
    for index, volume in enumerate(subject.volumes):
        if "memoryDump" not in volume and volume["name"] not in known:
            field = f"spec.domain.volumes[{index}].name"
            yield invalid("VolumeWithoutDisk", field, f"{path_of(index)}.name", name=volume["name"])
