"""Defaults inside features, firmware and devices, and those that depend on the architecture.

Owns what KubeVirt's generated defaulting sets (kubevirt staging/src/kubevirt.io/api/core/v1/
defaults.go, pkg/defaults/{amd64,arm64,s390x,hyperv}.go): features that are named are on, disks get
a target and a bus, watchdogs an action, probes their numbers. Works in place on a tidied spec.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Spec = dict[str, Any]

DISK_TARGETS: Final = ("disk", "cdrom", "lun")
_PROBE: Final = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_SPINLOCKS: Final = 4096
_HYPERV_NEEDS: Final = (
    ("evmcs", "vapic"),
    ("ipi", "vpindex"),
    ("tlbflush", "vpindex"),
    ("synictimer", "synic"),
    ("synic", "vpindex"),
)
"""Enlightenment -> the one it needs; leaves first."""
_BUS: Final = {"arm64": "virtio", "s390x": "virtio"}
_WATCHDOG: Final = {"s390x": "diag288"}


def set_features(spec: Spec, uuid: str) -> None:
    """Firmware and features."""
    domain: Spec = spec["domain"]
    features: Spec = domain.setdefault("features", {})
    # ACPI is on wherever nothing turned it off; s390x has none.
    acpi: Spec = features.setdefault("acpi", {})
    acpi.setdefault("enabled", spec["architecture"] != "s390x")
    firmware: Spec = domain.setdefault("firmware", {})
    firmware.setdefault("uuid", uuid)
    for feature in ("apic", "smm", "pvspinlock"):
        _turn_on(features.get(feature))
    for state in features.get("hyperv", {}).values():
        _turn_on(state)
    for timer in domain.get("clock", {}).get("timer", {}).values():
        timer.setdefault("present", True)
    if "hyperv" in features:
        _set_hyperv(domain, features["hyperv"])


def _turn_on(state: Spec | None) -> None:
    if state is not None:
        state.setdefault("enabled", True)


def _set_hyperv(domain: Spec, hyperv: Spec) -> None:
    spinlocks = hyperv.get("spinlocks", {})
    if spinlocks.get("enabled"):
        spinlocks.setdefault("spinlocks", _SPINLOCKS)
    for part in (*_parts(hyperv, "synictimer"), *_parts(hyperv, "tlbflush")):
        _turn_on(part)
    for feature, needed in _HYPERV_NEEDS:
        if hyperv.get(feature, {}).get("enabled"):
            state = hyperv.setdefault(needed, {"enabled": True})
            if not state["enabled"]:
                return
    if hyperv.get("evmcs", {}).get("enabled"):
        _require_vmx(domain["cpu"])


def _parts(hyperv: Mapping[str, Any], feature: str) -> Iterator[Spec]:
    held = hyperv.get(feature, {})
    yield from (held[part] for part in ("direct", "extended") if part in held)


def _require_vmx(cpu: Spec) -> None:
    features = cpu.setdefault("features", [])
    for feature in features:
        if feature["name"] == "vmx":
            feature["policy"] = "require"
            return
    features.append({"name": "vmx", "policy": "require"})


def set_devices(spec: Spec) -> None:
    """Disks, inputs, displays, probes and pull policies."""
    devices: Spec = spec["domain"]["devices"]
    _set_disks(spec, devices)
    for source in devices.get("inputs", ()):
        source["bus"] = source.get("bus") or "usb"
        source["type"] = source.get("type") or "tablet"
    for gpu in devices.get("gpus", ()):
        _turn_on(gpu.get("virtualGPUOptions", {}).get("display", {}).get("ramFB"))
    for probe in ("readinessProbe", "livenessProbe"):
        if probe in spec:
            for field, least in _PROBE.items():
                if spec[probe].get(field, 0) < 1:
                    spec[probe][field] = least
    for volume in spec.get("volumes", ()):
        if "containerDisk" in volume:
            _set_pull_policy(volume["containerDisk"])


def _set_disks(spec: Spec, devices: Spec) -> None:
    """Every volume without a disk or filesystem gets a disk; every disk gets a target."""
    disks: list[Spec] = list(devices.get("disks", ()))
    named = {entry["name"] for entry in (*disks, *devices.get("filesystems", ()))}
    disks.extend(
        {"name": volume["name"]}
        for volume in spec.get("volumes", ())
        if volume["name"] not in named
    )
    if disks:
        devices["disks"] = disks
    for disk in disks:
        if not any(target in disk for target in DISK_TARGETS):
            disk["disk"] = {}
        if "cdrom" in disk:
            disk["cdrom"].setdefault("readonly", True)
            disk["cdrom"].setdefault("tray", "closed")
        _turn_on(disk.get("blockSize", {}).get("matchVolume"))


def _set_pull_policy(disk: Spec) -> None:
    image = disk["image"]
    floating = image.endswith(":latest") or not any(mark in image for mark in ":@")
    disk.setdefault("imagePullPolicy", "Always" if floating else "IfNotPresent")


def set_architecture(spec: Spec) -> None:
    """CPU model and boot loader of arm64, and what each architecture's devices default to."""
    domain: Spec = spec["domain"]
    architecture = spec["architecture"]
    bus = _BUS.get(architecture, "sata")
    for disk in domain["devices"].get("disks", ()):
        for target in DISK_TARGETS:
            if target in disk:
                disk[target].setdefault("bus", bus)
    if architecture == "arm64":
        domain["cpu"].setdefault("model", "host-passthrough")
        loader = domain["firmware"].setdefault("bootloader", {"efi": {}})
        if "efi" in loader:
            loader["efi"].setdefault("secureBoot", False)
    elif "watchdog" in domain["devices"]:
        action = domain["devices"]["watchdog"].setdefault(
            _WATCHDOG.get(architecture, "i6300esb"), {}
        )
        action.setdefault("action", "reset")
