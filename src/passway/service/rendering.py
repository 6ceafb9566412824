"""What KubeVirt would make of a VM, as documents: the launcher's libvirt devices.

Owns which part of a manifest's object is rendered, how many entries are taken on (the work grows
with their square), and that a failure of the launcher is part of the document, not an exception:
it is the answer. Everything about devices is decided in `kubevirt`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from passway.kubevirt.addresses import MDEV, PCI, USB, variable_name
from passway.kubevirt.hostdev import Environment, translate
from passway.kubevirt.hostdev_element import HostDevice, render
from passway.kubevirt.hostdev_errors import TranslationError, subject
from passway.kubevirt.hostdev_spec import Vmi, read_machine
from passway.manifest.spec import MachineSpec
from passway.model.errors import InvalidInput
from passway.model.reasons import render as render_issue
from passway.model.verdict import Severity
from passway.preflight.stage import Question
from passway.service import documents as d
from passway.service import report
from passway.service.launcher import stopped

MAX_ENTRIES: Final = 256
"""Of each list; a guest has no room for as many PCI devices."""
_SHOWN: Final = 4
_FIELDS: Final = {
    "dra-gpu-": "gpus", "gpu-": "gpus", "dra-hostdevice-": "hostDevices",
    "hostdevice-": "hostDevices", "usb-host-": "hostDevices", "sriov-": "interfaces",
}  # fmt: skip
"""How the alias of an element begins -> the list that its device stands in."""


def host_devices(spec: MachineSpec, environment: Environment) -> d.HostDevices:
    """The `<hostdev>` elements of a machine, or why the launcher would fail.

    Raises InvalidInput for a machine with more entries than are rendered.
    """
    elements: tuple[d.HostDeviceElement, ...] = ()
    error = None
    try:
        vmi = read_machine(_plain(spec))
        _check_size(vmi)
        made = translate(vmi, environment)
        elements = tuple(
            d.HostDeviceElement(device=_device(vmi, item), xml=render(item)) for item in made
        )
    except TranslationError as failure:
        error = d.RenderError(
            code=failure.code,
            device=failure.device,
            looked_for=failure.looked_for,
            message=str(failure),
            hint=failure.hint,
        )
    return d.HostDevices(machine=report.machine_ref(spec.ref), elements=elements, error=error)


def expanded_host_devices(question: Question, environment: Environment) -> d.HostDevices:
    """The same for a VM that refers to an instance type or a preference.

    Raises InvalidInput where what it refers to is not known, since devices may come from there.
    """
    ref = question.spec.ref
    for issue in question.found():
        if issue.severity is Severity.UNKNOWN:
            words = render_issue(issue)
            raise InvalidInput(f"{issue.path}: {words.message}", hint=words.remedy)
    error = stopped(question)
    if error is not None:
        return d.HostDevices(machine=report.machine_ref(ref), elements=(), error=error)
    return host_devices(question.spec, environment)


def variables(spec: MachineSpec) -> tuple[str, ...]:
    """The variables that the launcher would look for, a few, in the order of the devices."""
    found = [
        variable_name(prefix, device.resource_name)
        for device in spec.plugin_devices[:_SHOWN]
        for prefix in ((PCI, MDEV) if device.kind == "gpu" else (PCI, MDEV, USB))
    ]
    return tuple(dict.fromkeys(found))


def _plain(spec: MachineSpec) -> Mapping[str, Any]:
    """A VMI with its status, or anything else as a VM, whose interfaces count as attached."""
    if spec.ref.kind == "VirtualMachineInstance":
        document = spec.document.plain()
        if isinstance(document, dict) and document.get("status"):
            return document
    return {"spec": {"template": {"spec": spec.vmi.plain()}}}


def _lists(vmi: Vmi) -> dict[str, Sequence[Any]]:
    return {
        "gpus": vmi.gpus,
        "hostDevices": vmi.host_devices,
        "interfaces": vmi.interfaces,
        "networks": vmi.networks,
        "resourceClaims": vmi.claims,
        "status.interfaces": vmi.interface_statuses,
    }


def _check_size(vmi: Vmi) -> None:
    for field, entries in _lists(vmi).items():
        if len(entries) > MAX_ENTRIES:
            raise InvalidInput(f"{field} has {len(entries)} entries; at most {MAX_ENTRIES}")


def _device(vmi: Vmi, made: HostDevice) -> str | None:
    """Where the device stands in the spec, in the words of errors."""
    for prefix, field in _FIELDS.items():
        if made.alias.startswith(prefix):
            name = made.alias.removeprefix(prefix)
            for index, entry in enumerate(_lists(vmi)[field]):
                if (entry.name or "") == name:
                    return subject(field, index, name)
    return None
