"""The launcher's other containers: console log, container disks, virtiofs, hooks.

Follows kubevirt pkg/virt-controller/services (serialconsolelog.go, virtiofs.go, renderresources.go)
and pkg/container-disk. All share one pattern: amounts of the kind, the cluster's own in their
place (`supportContainerResources`), and requests that equal the limits where the VMI wants
guaranteed resources. Only hooks have none by themselves.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from passway.kubevirt.container import ALWAYS, Container
from passway.kubevirt.fields import Tree, at, entries, flag, present, text
from passway.kubevirt.surroundings import Surroundings
from passway.kubevirt.traits import annotations, binding_names, is_guaranteed
from passway.model.quantity import Quantity, milli, parse_quantity, quantity

Amounts = Mapping[str, Quantity]

HOOKS: Final = "hooks.kubevirt.io/hookSidecars"
KERNEL_BOOT: Final = "kernel-boot-volume"
STORAGE: Final = {"ephemeral-storage": quantity(50_000_000)}


def _amounts(cpu: int, memory: str) -> dict[str, Quantity]:
    """CPU in thousandths."""
    return {"cpu": milli(cpu), "memory": parse_quantity(memory)}


# Kind in supportContainerResources, requests, limits.
_Kind = tuple[str, Amounts, Amounts]
CONSOLE: Final[_Kind] = ("guest-console-log", _amounts(5, "35M"), _amounts(15, "60M"))
DISK: Final[_Kind] = ("container-disk", _amounts(1, "1M"), _amounts(10, "40M"))
DISK_BINARY: Final[_Kind] = ("container-disk", _amounts(10, "1M"), _amounts(100, "40M"))
DISK_BINARY_GUARANTEED: Final[_Kind] = ("container-disk", {}, _amounts(10, "40M"))
VIRTIOFS: Final[_Kind] = ("virtiofs", _amounts(10, "1M"), _amounts(100, "80M"))
HOOK: Final[_Kind] = ("sidecar", {}, {})
HOOK_GUARANTEED: Final[_Kind] = ("sidecar", {}, _amounts(200, "64M"))


def main_containers(vmi: Tree, around: Surroundings) -> tuple[Container, ...]:
    """The containers beside compute."""
    disks = () if around.gates.on("ImageVolume") else _disks(vmi, around)
    return (*disks, *_virtiofs(vmi, around), *_hooks(vmi, around))


def init_containers(vmi: Tree, around: Surroundings) -> tuple[Container, ...]:
    """The console log, which is a sidecar, then what container disks need before the start."""
    console: tuple[Container, ...] = ()
    if _logs_console(vmi, around):
        made = _container("guest-console-log", CONSOLE, vmi, around)
        console = (replace(made, restart_policy=ALWAYS),)
    disks = _disks(vmi, around)
    if not disks or around.gates.on("ImageVolume"):
        return (*console, *disks)
    kind = DISK_BINARY_GUARANTEED if is_guaranteed(vmi) else DISK_BINARY
    binary = _container("container-disk-binary", kind, vmi, around)
    return (*console, binary, *(replace(disk, name=f"{disk.name}-init") for disk in disks))


def _logs_console(vmi: Tree, around: Surroundings) -> bool:
    devices = ("spec", "domain", "devices")
    if flag(vmi, *devices, "autoattachSerialConsole") is False:
        return False
    asked = flag(vmi, *devices, "logSerialConsole")
    options = around.configuration.virtual_machine_options
    return (not options or options.disable_serial_console_log is None) if asked is None else asked


def _disks(vmi: Tree, around: Surroundings) -> tuple[Container, ...]:
    """One for each container disk, and one for a kernel from an image."""
    volumes = entries(vmi, "spec", "volumes")
    names = [text(volume, "name") for volume in volumes if present(volume, "containerDisk")]
    if present(vmi, "spec", "domain", "firmware", "kernelBoot", "container"):
        names.append(KERNEL_BOOT)
    if not names:
        return ()
    made = _container("", DISK, vmi, around)
    requests = {**made.requests, **STORAGE}
    return tuple(replace(made, name=f"volume{name}", requests=requests) for name in names)


def _virtiofs(vmi: Tree, around: Surroundings) -> tuple[Container, ...]:
    """One for each volume that is a file system of the guest."""
    shared = entries(vmi, "spec", "domain", "devices", "filesystems")
    if not shared:
        return ()
    names = {text(item, "name") for item in shared}
    return tuple(
        _container(f"virtiofs-{text(volume, 'name')}", VIRTIOFS, vmi, around)
        for volume in entries(vmi, "spec", "volumes")
        if text(volume, "name") in names
    )


def _hooks(vmi: Tree, around: Surroundings) -> tuple[Container, ...]:
    """One for each hook of the annotation, and for each binding plugin that has an image."""
    count = len(_listed_hooks(vmi))
    plugins = around.configuration.binding_plugins
    count += sum(bool(text(plugins.get(name), "sidecarImage")) for name in binding_names(vmi))
    if not count:
        return ()
    kind = HOOK_GUARANTEED if is_guaranteed(vmi) else HOOK
    made = _container("", kind, vmi, around)
    return tuple(replace(made, name=f"hook-sidecar-{index}") for index in range(count))


def _listed_hooks(vmi: Tree) -> list[object]:
    """What the annotation lists; nothing where it cannot be read, which is an error upstream."""
    written = at(annotations(vmi), HOOKS)
    try:
        found = json.loads(written) if isinstance(written, str) else None
    except (ValueError, RecursionError):
        return []
    return found if isinstance(found, list) else []


def _container(name: str, kind: _Kind, vmi: Tree, around: Surroundings) -> Container:
    given_requests, given_limits = around.support(kind[0])
    limits = {**kind[2], **_native(given_limits)}
    requests = limits if is_guaranteed(vmi) else {**kind[1], **_native(given_requests)}
    return Container(name, requests, limits)


def _native(amounts: Amounts) -> dict[str, Quantity]:
    return {name: amount for name, amount in amounts.items() if name in {"cpu", "memory"}}
