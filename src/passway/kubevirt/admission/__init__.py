"""What KubeVirt's admission makes of a VMI: schema, defaults, then every rule at once.

`review` is the whole way of a VMI that is created; `judge` only the rules, for one that has its
defaults. Rules are generator functions from a subject to causes, in KubeVirt's order (kubevirt
pkg/virt-api/.../admitters/vmi-create-admitter.go and its spec validators, main of 2026-08-22). Its
network validator runs twice, so its causes are there twice.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from passway.kubevirt.admission import (
    cpu,
    devices,
    disks,
    grace,
    interfaces,
    machine,
    memory,
    networks,
    placement,
    schema,
    volumes,
)
from passway.kubevirt.admission.cause import Cause, Site
from passway.kubevirt.admission.subject import Subject, subject_of
from passway.kubevirt.defaults import Refused, default
from passway.kubevirt.settings import Settings

Rule = Callable[[Subject], Iterator[Cause]]
Stage = Literal["schema", "mutation", "validation"]
CODE: Final = 422

# Each network rule, in the order of kubevirt pkg/network/admitter/validator.go.
NETWORK_RULES: Final[tuple[Rule, ...]] = (
    networks.single_default,
    networks.sources,
    interfaces.states,
    interfaces.bindings,
    networks.claims,
    networks.names,
    interfaces.names,
    interfaces.fields,
)
FIRST_RULES: Final[tuple[Rule, ...]] = (
    interfaces.discontinued_gates,
    interfaces.discontinued,
)
MACHINE_RULES: Final[tuple[Rule, ...]] = (
    machine.names,
    memory.amounts,
    memory.hugepages,
    memory.guest_limit,
    memory.reserved_overhead,
    machine.machine_type,
    machine.serial,
    cpu.amounts,
    cpu.pinning,
    cpu.numa,
    cpu.emulator_thread,
    cpu.features,
    cpu.hotplug,
    machine.start_strategy,
    cpu.realtime,
    placement.affinity,
    placement.spread,
    placement.tolerations,
)
DEVICE_RULES: Final[tuple[Rule, ...]] = (
    devices.claims,
    disks.boot_order,
    machine.inputs,
    machine.io_threads,
    machine.probes,
    disks.disks,
    machine.firmware,
    volumes.volumes,
    volumes.container_paths,
    machine.dns_policy,
    machine.eviction,
    devices.displays,
    devices.host_device_gate,
    machine.sound,
    machine.gated_devices,
    disks.reservation,
    grace.grace,
    volumes.mapped,
    memory.present,
    machine.metadata,
    machine.architecture,
)


@dataclass(frozen=True, slots=True)
class Review:
    """What admission says. `vmi`: with its defaults, where it came that far."""

    stage: Stage
    causes: tuple[Cause, ...]
    vmi: Mapping[str, Any] | None = None

    @property
    def allowed(self) -> bool:
        return not self.causes

    @property
    def code(self) -> int | None:
        """The HTTP status of the refusal."""
        return None if self.allowed else CODE


def review(vmi: Mapping[str, Any], settings: Settings, uuid: str = "") -> Review:
    """The answer to the creation of a VMI; `uuid` becomes the firmware's if it names none."""
    refused = schema.check(vmi)
    if refused:
        return Review("schema", refused)
    return mutate_and_judge(vmi, settings, uuid)


def mutate_and_judge(vmi: Mapping[str, Any], settings: Settings, uuid: str = "") -> Review:
    """`review` of a VMI whose schema was checked already."""
    try:
        defaulted = default(vmi, settings, uuid)
    except Refused as refusal:
        return Review("mutation", (Cause("", "", refusal.rule, (Site("spec", refusal.params),)),))
    return Review("validation", judge(defaulted, settings), defaulted)


def judge(vmi: Mapping[str, Any], settings: Settings) -> tuple[Cause, ...]:
    """All causes of a VMI with its defaults, in KubeVirt's order."""
    subject = subject_of(vmi, settings)
    of_networks = _causes(NETWORK_RULES, subject)
    return (
        *_causes(FIRST_RULES, subject),
        *of_networks,
        *_causes(MACHINE_RULES, subject),
        *of_networks,
        *_causes(DEVICE_RULES, subject),
    )


def _causes(rules: tuple[Rule, ...], subject: Subject) -> tuple[Cause, ...]:
    return tuple(cause for rule in rules for cause in rule(subject))
