"""Stage 10: life after the start. Warnings only: they never keep a VM from starting.

A device pins a VM to its node (kubevirt pkg/virt-handler/vm.go: host devices and GPUs are not
live-migratable); with evictionStrategy LiveMigrate the eviction webhook then refuses for ever and
a drain hangs.
"""

from collections.abc import Iterator
from typing import Final

from passway.kubevirt.configuration import configuration_of
from passway.model.devices import Device, PluginDevice
from passway.model.verdict import Issue, Severity, Stage
from passway.preflight.stage import Question

STAGE: Final = Stage.LIFECYCLE
BLOCKS: Final = "LiveMigrate"


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    spec = question.spec
    if not spec.devices:
        return
    devices = tuple(sorted({_named(device) for device in spec.devices}))
    yield question.issue(
        STAGE, Severity.WARNING, "PinnedToNode", spec.devices[0].path, devices=devices
    )
    own = spec.eviction_strategy
    strategy = own or configuration_of(question.snapshot.kubevirt).eviction_strategy
    if strategy == BLOCKS:
        yield question.issue(
            STAGE,
            Severity.WARNING,
            "DrainBlocked",
            spec.vmi_field("evictionStrategy") if own else "",
            devices=devices,
            origin="" if own else " (the cluster's default)",
        )


def _named(device: Device) -> str:
    return device.resource_name if isinstance(device, PluginDevice) else device.claim_name
