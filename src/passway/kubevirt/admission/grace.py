"""Rules on NVIDIA Grace GPUs, whose passthrough needs a prepared VM and three gates.

Source: kubevirt pkg/virt-api/webhooks/validating-webhook/admitters/grace_io_virtualization.go. The
only rules of admission that read the permitted list: a device is a Grace one by the selector of its
resource name, of which the last entry counts. Selectors are read more generously here (`0x`,
spaces) than by the device plugin, which never matches such a one.
"""

import re
from collections.abc import Iterator
from typing import Final

from passway.kubevirt.admission.cause import Cause, gate_off, invalid, required
from passway.kubevirt.admission.devices import GPUS, HOST_DEVICES
from passway.kubevirt.admission.subject import DEVICES, DOMAIN, Subject
from passway.manifest.nodes import child

GATE: Final = "GraceIOVirtualization"
VENDOR: Final = "10DE"
DEVICES_OF_GRACE: Final = frozenset({"2342", "2348", "2941"})
MACHINE: Final = "virt"
ROOT_COMPLEX: Final = "kubevirt.io/placePCIDevicesOnRootComplex"
HOLE64: Final = "kubevirt.io/disablePCIHole64"
_ID: Final = re.compile(r"\s*(?:0[xX])?([0-9A-Fa-f]{4}|\*)\s*")


def grace(subject: Subject) -> Iterator[Cause]:
    """What a VM with a Grace GPU lacks."""
    requests, ambiguous = _requests(subject)
    enabled = subject.on(GATE)
    if enabled:
        for path, resource in ambiguous:
            yield invalid("GraceSelectorAmbiguous", path, resource=resource)
    if not requests:
        return
    if not enabled:
        for path, _ in requests:
            yield gate_off("GraceGateOff", GATE, path)
        return
    yield from _machine(subject)
    for gate, rule in (
        ("PCINUMAAwareTopology", "GraceNeedsPciNumaGate"),
        ("IOMMUFD", "GraceNeedsIommufdGate"),
    ):
        if not subject.on(gate):
            yield gate_off(rule, gate, DEVICES, requests[0][0])
    for annotation, rule in (
        (ROOT_COMPLEX, "GraceRootComplexPlacement"),
        (HOLE64, "GraceNeedsPciHole64"),
    ):
        if subject.annotations.get(annotation) == "true":
            yield invalid(
                rule,
                f"metadata.annotations[{annotation}]",
                child("metadata.annotations", annotation),
                annotation=annotation,
            )


def _machine(subject: Subject) -> Iterator[Cause]:
    if subject.architecture != "arm64":
        yield invalid("GraceArchitecture", "spec.architecture", architecture=subject.architecture)
    machine = subject.domain["machine"]["type"]
    if machine != MACHINE:
        yield invalid("GraceMachineType", f"{DOMAIN}.machine.type", machine=machine)
    if not subject.dedicated:
        yield required("GraceNeedsDedicatedCpus", f"{DOMAIN}.cpu.dedicatedCpuPlacement")


Request = tuple[str, str]
"""Path of the device name, resource name."""


def _requests(subject: Subject) -> tuple[list[Request], list[Request]]:
    """The devices that are Grace GPUs, and those whose selector leaves it open."""
    selectors = {
        permit.resource_name: permit.selector
        for permit in subject.settings.permits
        if permit.kind == "pci" and permit.resource_name and permit.selector
    }
    if not selectors:
        return [], []
    certain, ambiguous = [], []
    for kind, devices in ((GPUS, subject.gpus), (HOST_DEVICES, subject.host_devices)):
        for index, entry in enumerate(devices):
            resource = entry.get("deviceName", "")
            vendor, device = _parts(selectors.get(resource, ""))
            request = (f"{kind.path}[{index}].deviceName", resource)
            if vendor == VENDOR and device in DEVICES_OF_GRACE:
                certain.append(request)
            elif vendor == VENDOR and device == "*":
                ambiguous.append(request)
    return certain, ambiguous


def _parts(selector: str) -> tuple[str, str]:
    parts = [_ID.fullmatch(part) for part in selector.split(":")]
    if len(parts) != 2 or not (parts[0] and parts[1]):
        return "", ""
    return parts[0][1].upper(), parts[1][1].upper()
