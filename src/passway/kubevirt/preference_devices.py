"""What a preference adds to devices: models, buses and switches where the VMI names none.

Sources: kubevirt pkg/instancetype/preference/apply/{device,disk,interface}.go (v1.9.0), and for
the disks of volumes that have none pkg/virt-controller/watch/vm/vm.go, which makes them before
preferences are applied, so that these get the preferred bus too. `preferredVirtualGPUOptions` is
part of the API, but nothing applies it. Works in place on a plain VMI spec.
"""

from collections.abc import Mapping
from typing import Final

from passway.kubevirt.default_devices import DISK_TARGETS
from passway.kubevirt.fields import Tree, at, entries, present, text
from passway.kubevirt.overlay import Spec, fill, items, section

_SWITCHES: Final = {
    "preferredAutoattachGraphicsDevice": "autoattachGraphicsDevice",
    "preferredAutoattachInputDevice": "autoattachInputDevice",
    "preferredAutoattachMemBalloon": "autoattachMemBalloon",
    "preferredAutoattachPodInterface": "autoattachPodInterface",
    "preferredAutoattachSerialConsole": "autoattachSerialConsole",
    "preferredBlockMultiQueue": "blockMultiQueue",
    "preferredNetworkInterfaceMultiQueue": "networkInterfaceMultiqueue",
    "preferredRng": "rng",
    "preferredTPM": "tpm",
    "preferredUseVirtioTransitional": "useVirtioTransitional",
}
"""The preference's field -> the VMI's."""
_BUSES: Final = {"disk": "preferredDiskBus", "cdrom": "preferredCdromBus", "lun": "preferredLunBus"}
_DISK: Final = {
    "preferredDiskBlockSize": "blockSize",
    "preferredDiskCache": "cache",
    "preferredDiskIO": "io",
}
_INPUT: Final = {"preferredInputBus": "bus", "preferredInputType": "type"}
_BINDINGS: Final = (
    "binding", "bridge", "macvtap", "masquerade", "passt", "passtBinding", "slirp", "sriov",
)  # fmt: skip


def apply_device_preferences(spec: Spec, wanted: Tree) -> None:
    """Fills in what the devices leave open."""
    if not wanted:
        return
    devices = section(spec, "domain", "devices")
    _fill_all(devices, wanted, _SWITCHES)
    if present(wanted, "preferredDisableHotplug"):
        devices["disableHotplug"] = wanted["preferredDisableHotplug"]
    if present(devices, "sound"):
        fill(devices, ("sound", "model"), at(wanted, "preferredSoundModel"))
    fill(devices, ("video", "type"), at(wanted, "preferredVideoType"))
    _complete_disks(spec, devices)
    for disk in items(devices, "disks"):
        _disk(disk, wanted)
    for interface in items(devices, "interfaces"):
        _interface(interface, spec, wanted)
    for source in items(devices, "inputs"):
        _fill_all(source, wanted, _INPUT)
    _panic_devices(devices, wanted)


def _fill_all(holder: Spec, wanted: Tree, fields: Mapping[str, str]) -> None:
    for source, target in fields.items():
        fill(holder, (target,), wanted.get(source))


def _complete_disks(spec: Spec, devices: Spec) -> None:
    """A disk for every volume that has neither disk nor filesystem."""
    named = {text(item, "name") for held in ("disks", "filesystems") for item in
             items(devices, held)}  # fmt: skip
    names = [text(volume, "name") for volume in items(spec, "volumes")]
    missing = [{"name": name} for name in names if name not in named]
    if missing:
        devices["disks"] = [*items(devices, "disks"), *missing]


def _disk(disk: Spec, wanted: Tree) -> None:
    target = next((key for key in DISK_TARGETS if present(disk, key)), "")
    bus = section(disk, target or "disk")
    fill(bus, ("bus",), wanted.get(_BUSES[target or "disk"]))
    if target in {"", "disk"}:
        _fill_all(disk, wanted, _DISK)
        if bus.get("bus") == "virtio":
            fill(disk, ("dedicatedIOThread",), wanted.get("preferredDiskDedicatedIoThread"))


def _interface(interface: Spec, spec: Tree, wanted: Tree) -> None:
    fill(interface, ("model",), wanted.get("preferredInterfaceModel"))
    is_bound = any(present(interface, binding) for binding in _BINDINGS)
    if not is_bound and _is_of_pod(text(interface, "name"), spec):
        fill(interface, ("masquerade",), wanted.get("preferredInterfaceMasquerade"))


def _is_of_pod(name: str, spec: Tree) -> bool:
    """Whether the first network of that name is the pod's."""
    named = (network for network in entries(spec, "networks") if text(network, "name") == name)
    return present(next(named, None), "pod")


def _panic_devices(devices: Spec, wanted: Tree) -> None:
    model = wanted.get("preferredPanicDeviceModel")
    if model is None:
        return
    if not devices.get("panicDevices"):
        devices["panicDevices"] = [{"model": model}]
    for device in items(devices, "panicDevices"):
        fill(device, ("model",), model)
