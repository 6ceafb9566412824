"""What admission reads of the KubeVirt object's configuration, with KubeVirt's own defaults.

Owns the reading of `spec.configuration` (kubevirt pkg/virt-config/configuration.go and
virt-config.go): machine types by architecture, rollout strategy, hotplug limits, the default
network. A configuration that KubeVirt finds invalid counts as absent as a whole, because its last
valid one, which nobody can see from outside, or the defaults stay in force.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Final

from passway.kubevirt.gates import MODELLED, Gates, Version
from passway.kubevirt.permitted import KUBEVIRT, Permit, permits_in
from passway.model.quantity import InvalidQuantity, Quantity, milli, parse_quantity

DEFAULT_ARCHITECTURE: Final = "amd64"
DEFAULT_CPU_REQUEST: Final = milli(100)
DEFAULT_HOTPLUG_RATIO: Final = 4
EVEN_PARITY: Final = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
INTERFACES: Final = ("bridge", "masquerade", "slirp")

_MACHINES: Final = {
    "amd64": ("q35", ("q35*", "pc-q35*")),
    "arm64": ("virt", ("virt*",)),
    "s390x": ("s390-ccw-virtio", ("s390-ccw-virtio*",)),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """A configuration in force. `parity`: the KubeVirt object's own annotation, if it is set."""

    gates: Gates
    architecture: str = DEFAULT_ARCHITECTURE
    machine_type: str = ""
    machines: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    emulated: tuple[str, ...] = ()
    cpu_model: str = ""
    cpu_request: Quantity = DEFAULT_CPU_REQUEST
    eviction_strategy: str = "None"
    live_update: bool = True
    max_hotplug_ratio: int = DEFAULT_HOTPLUG_RATIO
    max_cpu_sockets: int = 0
    max_guest: Quantity | None = None
    default_interface: str = "bridge"
    bridge_permitted: bool = True
    permits: tuple[Permit, ...] = ()
    parity: str | None = None

    def machine_of(self, architecture: str) -> str:
        """The machine type of VMs that name none; an unknown architecture counts as amd64."""
        fallback, _ = _MACHINES.get(architecture, _MACHINES[DEFAULT_ARCHITECTURE])
        own = self.machines.get(architecture, {}).get("machineType")
        if architecture == DEFAULT_ARCHITECTURE:
            own = own or self.machine_type
        return str(own or fallback)

    def machine_patterns(self, architecture: str) -> tuple[str, ...]:
        """The machine types that are allowed, as patterns."""
        _, fallback = _MACHINES.get(architecture, _MACHINES[DEFAULT_ARCHITECTURE])
        own = self.machines.get(architecture, {}).get("emulatedMachines")
        if architecture == DEFAULT_ARCHITECTURE:
            own = own or self.emulated
        return tuple(own or fallback)

    def allows_machine(self, architecture: str, machine: str) -> bool:
        """Whether a machine type is among the allowed ones."""
        patterns = self.machine_patterns(architecture)
        return any(fnmatchcase(machine, pattern) for pattern in patterns)


def settings_of(
    configuration: Mapping[str, Any],
    architecture: str | None = None,
    version: Version = MODELLED,
    annotations: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of a `spec.configuration`.

    `architecture` is that of the control plane, `annotations` are those of the KubeVirt object.
    """
    given = configuration if is_valid(configuration) else {}
    developer, live, network = (
        _mapping(given, "developerConfiguration"),
        _mapping(given, "liveUpdateConfiguration"),
        _mapping(given, "network"),
    )
    machines = _mapping(given, "architectureConfiguration")
    return Settings(
        gates=Gates(
            version,
            frozenset(developer.get("featureGates") or ()),
            frozenset(developer.get("disabledFeatureGates") or ()),
        ),
        architecture=architecture or machines.get("defaultArchitecture") or DEFAULT_ARCHITECTURE,
        machine_type=given.get("machineType") or "",
        machines={name: _mapping(machines, name) for name in _MACHINES},
        emulated=tuple(given.get("emulatedMachines") or ()),
        cpu_model=given.get("cpuModel") or "",
        cpu_request=_quantity(given.get("cpuRequest")) or DEFAULT_CPU_REQUEST,
        eviction_strategy=given.get("evictionStrategy") or "None",
        live_update=given.get("vmRolloutStrategy") in {None, "", "LiveUpdate"},
        max_hotplug_ratio=live.get("maxHotplugRatio") or DEFAULT_HOTPLUG_RATIO,
        max_cpu_sockets=live.get("maxCpuSockets") or 0,
        max_guest=_quantity(live.get("maxGuest")),
        default_interface=network.get("defaultNetworkInterface") or "bridge",
        bridge_permitted=network.get("permitBridgeInterfaceOnPodNetwork") is not False,
        permits=permits_in(given.get("permittedHostDevices"), KUBEVIRT),
        parity=(annotations or {}).get(EVEN_PARITY),
    )


def is_valid(configuration: Mapping[str, Any]) -> bool:
    """Whether KubeVirt takes the configuration at all."""
    developer = _mapping(configuration, "developerConfiguration")
    live = _mapping(configuration, "liveUpdateConfiguration")
    interface = _mapping(configuration, "network").get("defaultNetworkInterface")
    return (
        all(_is_at_least(developer, name, 1) for name in ("cpuAllocationRatio", "memoryOvercommit"))
        and all(_is_at_least(live, name, 0) for name in ("maxHotplugRatio", "maxCpuSockets"))
        and interface in {None, "", *INTERFACES}
        and _is_amount(configuration.get("cpuRequest"))
        and _is_amount(live.get("maxGuest"))
    )


def _is_at_least(holder: Mapping[str, Any], name: str, least: int) -> bool:
    number = holder.get(name)
    return number is None or (type(number) is int and number >= least)


def _is_amount(text: object) -> bool:
    return text is None or _quantity(text) is not None


def _mapping(holder: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = holder.get(name)
    return value if isinstance(value, Mapping) else {}


def _quantity(text: object) -> Quantity | None:
    try:
        return None if text is None else parse_quantity(str(text))
    except InvalidQuantity:
        return None
