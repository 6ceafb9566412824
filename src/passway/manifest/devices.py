"""The devices a VMI spec asks for, and the rules about one device and among devices.

A device with a deviceName is a device-plugin device, whatever else it says: that is KubeVirt's own
rule (pkg/dra/utils.go). Faulty devices still get a view where it is clear what they are. Whether a
resource exists or is permitted is for later stages.
"""

from collections.abc import Iterator
from typing import Final

from passway.manifest.cursor import Cursor
from passway.manifest.findings import Findings
from passway.model.devices import DEVICE_LISTS, ClaimDevice, Device, DeviceKind, PluginDevice
from passway.model.names import InvalidName, resource_name

_SOURCES: Final = ("deviceName", "claimName", "requestName")


def devices(vmi: Cursor, findings: Findings) -> tuple[Device, ...]:
    """All devices, GPUs first, in the order of their lists."""
    section = vmi.at("domain", "devices")
    found: list[Device] = []
    for kind, list_name in DEVICE_LISTS.items():
        for entry in section.at(list_name).items():
            device = _device(entry, kind, findings)
            if device is not None:
                found.append(device)
    findings.require_unique_names(_entries(section), "gpus and hostDevices")
    _require_one_source(found, section, findings)
    return tuple(found)


def _entries(section: Cursor) -> Iterator[Cursor]:
    for list_name in DEVICE_LISTS.values():
        yield from section.at(list_name).items()


def _require_one_source(found: list[Device], section: Cursor, findings: Findings) -> None:
    """KubeVirt refuses a mix among GPUs; host devices may mix."""
    gpus = [device for device in found if device.kind == "gpu"]
    plugin = tuple(device.name for device in gpus if isinstance(device, PluginDevice))
    claim = tuple(device.name for device in gpus if isinstance(device, ClaimDevice))
    if plugin and claim:
        findings.add("MixedDeviceSources", section.at("gpus").path, plugin=plugin, claim=claim)


def _device(entry: Cursor, kind: DeviceKind, findings: Findings) -> Device | None:
    name = entry.at("name").text() or entry.path.rpartition(".")[2]
    resource = entry.at("deviceName").text()
    claim, request = entry.at("claimName").text(), entry.at("requestName").text()
    display, ram_fb = _display(entry)
    if resource is not None:
        if claim is not None or request is not None:
            findings.add("DeviceAndClaim", entry.path, device=name)
        _check_resource_name(entry.at("deviceName"), resource, findings)
        return PluginDevice(name, kind, resource, entry.path, display, ram_fb)
    if claim is not None and request is not None:
        return ClaimDevice(name, kind, claim, request, entry.path, display, ram_fb)
    if not any(entry.at(key).misread for key in _SOURCES):
        reason = "DeviceWithoutSource" if claim is request else "ClaimIncomplete"
        findings.add(reason, entry.path, device=name)
    return None


def _check_resource_name(place: Cursor, text: str, findings: Findings) -> None:
    """Only what can never be an extended resource; odd names that can be one stay."""
    try:
        resource_name(text)
    except InvalidName as error:
        findings.add("InvalidValue", place.path, problem=str(error))


def _display(entry: Cursor) -> tuple[bool | None, bool | None]:
    """(display, ramFB): an empty `display` leaves it unset, an empty `ramFB` switches it on."""
    display = entry.at("virtualGPUOptions", "display")
    ram_fb = display.at("ramFB")
    enabled = ram_fb.at("enabled").flag()
    return display.at("enabled").flag(), True if ram_fb.present and enabled is None else enabled
