"""What an instance type makes of a VM's template, and what of the template stands against it.

An instance type decides: a field that both set is a conflict, and KubeVirt refuses the VM with all
of them. Sources: kubevirt pkg/instancetype/apply/*.go (v1.9.0), whose order is kept. Works in place
on a plain VMI; after a conflict that tree is of no use. Maps, lists and texts without content count
as unset, since KubeVirt's mutating webhook writes them so. Sites of causes are paths from the VM's
spec. An instance type without `cpu` or `memory`, which the API server refuses, leaves both alone.
"""

import struct
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from passway.kubevirt.admission.cause import Cause, invalid
from passway.kubevirt.fields import LARGEST, Tree, amount, at, mapping, present, texts, whole
from passway.kubevirt.overlay import Spec, section
from passway.kubevirt.topology import spread_options, spreadable, topology
from passway.manifest.nodes import child
from passway.model.quantity import quantity

TEMPLATE: Final = "template"
CONFLICT: Final = "InstancetypeConflict"
NOT_SPREADABLE: Final = "TopologyNotDivisible"


class _Copied(NamedTuple):
    """A field that is copied: where the instance type has it and where the VMI spec does."""

    source: tuple[str, ...]
    target: tuple[str, ...]


_FIRST: Final = (
    _Copied(("nodeSelector",), ("nodeSelector",)),
    _Copied(("schedulerName",), ("schedulerName",)),
)
_LAST: Final = (
    _Copied(("ioThreadsPolicy",), ("domain", "ioThreadsPolicy")),
    _Copied(
        ("ioThreads", "supplementalPoolThreadCount"),
        ("domain", "ioThreads", "supplementalPoolThreadCount"),
    ),
    _Copied(("launchSecurity",), ("domain", "launchSecurity")),
    _Copied(("gpus",), ("domain", "devices", "gpus")),
    _Copied(("hostDevices",), ("domain", "devices", "hostDevices")),
)
_POINTERS: Final = frozenset(
    {"ioThreadsPolicy", "supplementalPoolThreadCount", "launchSecurity", "numa", "realtime"}
)
"""Fields that count as set also when they are empty."""
_CPU: Final = {
    "model": "model",
    "dedicatedCPUPlacement": "dedicatedCpuPlacement",
    "isolateEmulatorThread": "isolateEmulatorThread",
    "numa": "numa",
    "realtime": "realtime",
}
"""The instance type's field, which conflicts are told by -> the VMI's."""


def apply_instancetype(vmi: Spec, instancetype: Tree, preference: Tree) -> tuple[Cause, ...]:
    """Lays the instance type over the VMI; the preference only shapes its CPUs."""
    vcpus = vcpus_of(instancetype)
    if mapping(instancetype, "cpu") and not spreadable(vcpus, preference):
        return (_not_spreadable(vcpus, preference),)
    spec = vmi["spec"]
    return (
        *_copy(spec, instancetype, _FIRST),
        *_cpu(spec, instancetype, preference),
        *_memory(spec, instancetype),
        *_copy(spec, instancetype, _LAST),
        *_annotations(vmi, instancetype),
    )


def vcpus_of(instancetype: Tree) -> int:
    """The number of vCPUs that the guest gets."""
    return max(whole(instancetype, "cpu", "guest"), 0)


def _conflict(*path: str, told: str = "") -> Cause:
    """`told` is the last step as KubeVirt spells it."""
    inner = ".".join(path)
    place = f"{TEMPLATE}.spec.{inner}"
    field = ".".join(("spec", TEMPLATE, "spec", *path[:-1], told or path[-1]))
    return invalid(CONFLICT, field, place, field=inner)


def _not_spreadable(vcpus: int, preference: Tree) -> Cause:
    ratio, across = spread_options(preference)
    return invalid(
        NOT_SPREADABLE, "instancetype.spec.cpu.guest", "instancetype",
        vcpus=vcpus, ratio=ratio, across=across,
    )  # fmt: skip


def _is_set(value: Any, key: str) -> bool:
    return value is not None and (bool(value) or key in _POINTERS)


def _copy(spec: Spec, instancetype: Tree, fields: tuple[_Copied, ...]) -> Iterator[Cause]:
    for source, target in fields:
        key, given = target[-1], at(instancetype, *source)
        if not _is_set(given, key):
            continue
        if _is_set(at(spec, *target), key):
            yield _conflict(*target)
        else:
            section(spec, *target[:-1])[key] = given


def _cpu(spec: Spec, instancetype: Tree, preference: Tree) -> Iterator[Cause]:
    given = mapping(instancetype, "cpu")
    if not given:
        return
    conflicts = list(_cpu_conflicts(spec, given))
    if conflicts:
        yield from conflicts
        return
    cpu = section(spec, "domain", "cpu")
    for source, target in {**_CPU, "maxSockets": "maxSockets"}.items():
        if given.get(source) is not None:
            cpu[target] = given[source]
    cpu.update(topology(vcpus_of(instancetype), preference))


def _cpu_conflicts(spec: Spec, given: Tree) -> Iterator[Cause]:
    for held in ("requests", "limits"):
        if present(spec, "domain", "resources", held, "cpu"):
            yield _conflict("domain", "resources", held, "cpu")
    for level in ("sockets", "cores", "threads"):
        if at(spec, "domain", "cpu", level):
            yield _conflict("domain", "cpu", level)
    for source, target in _CPU.items():
        if given.get(source) is not None and _is_set(at(spec, "domain", "cpu", target), target):
            yield _conflict("domain", "cpu", target, told=source)


def _memory(spec: Spec, instancetype: Tree) -> Iterator[Cause]:
    """KubeVirt tells the first conflict only."""
    given = mapping(instancetype, "memory")
    if not given:
        return
    place = _memory_conflict(spec, given)
    if place is not None:
        yield _conflict(*place)
        return
    memory = section(spec, "domain", "memory")
    for key in ("guest", "hugepages", "maxGuest"):
        if given.get(key) is not None:
            memory[key] = given[key]
    guest, percent = amount(given, "guest"), whole(given, "overcommitPercent")
    if guest is not None and percent > 0:
        requests = section(spec, "domain", "resources", "requests")
        requests["memory"] = str(quantity(_undercut(guest.value, percent), guest.format))


def _memory_conflict(spec: Spec, given: Tree) -> tuple[str, ...] | None:
    for key in ("guest", "hugepages", "maxGuest"):
        is_asked = key == "guest" or given.get(key) is not None
        if is_asked and present(spec, "domain", "memory", key):
            return "domain", "memory", key
    for held in ("requests", "limits"):
        if present(spec, "domain", "resources", held, "memory"):
            return "domain", "resources", held, "memory"
    return None


def _undercut(guest: int, percent: int) -> int:
    """The guest's bytes less the percentage, in KubeVirt's single precision."""
    share = _single(1 - _single(_single(percent) / 100))
    return int(_single(_single(min(guest, LARGEST)) * share))


def _single(number: float) -> float:
    """The nearest number of single precision."""
    return float(struct.unpack("f", struct.pack("f", number))[0])


def _annotations(vmi: Spec, instancetype: Tree) -> Iterator[Cause]:
    own = section(vmi, "metadata", "annotations")
    for key, value in texts(instancetype, "annotations").items():
        if own.setdefault(key, value) != value:
            place = f"{TEMPLATE}.{child('metadata.annotations', key)}"
            yield invalid(CONFLICT, f"annotations.{key}", place, field=f"annotation {key}")
