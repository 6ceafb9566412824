"""Feature gates: which ones are on for a KubeVirt object.

Owns the state machine (kubevirt pkg/virt-config/featuregate/feature-gates.go): a GA gate is on; a
listed one is on; one listed as disabled is off; else Beta is on and Alpha is off. States are those
of the release that `status.observedKubeVirtVersion` names; releases before 1.8 know no disabled
list and no Beta that is on by itself. Read, not run.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from passway.cluster.records import KubeVirt
from passway.kubevirt.configuration import developer_of

State = Literal["GA", "Beta", "Alpha"]
Version = tuple[int, int]

MODELLED: Final[Version] = (1, 9)
DISABLED_LIST_SINCE: Final[Version] = (1, 8)

# Gate -> its states, each with the release that it holds from.
STATES: Final[dict[str, tuple[tuple[Version, State], ...]]] = {
    "GPU": (((0, 0), "GA"),),
    "HostDevices": (((0, 0), "Alpha"),),
    "CPUManager": (((0, 0), "Alpha"),),
    "NUMA": (((0, 0), "GA"),),
    "GPUsWithDRA": (((1, 6), "Alpha"), ((1, 9), "Beta")),
    "HostDevicesWithDRA": (((1, 6), "Alpha"), ((1, 9), "Beta")),
    "NetworkDevicesWithDRA": (((1, 9), "Alpha"),),
    "ExternalNetResourceInjection": (((1, 8), "Beta"),),
    "VGPULiveMigration": (((1, 8), "Alpha"),),
    "ImageVolume": (((1, 9), "Beta"),),
    "AlignCPUs": (((0, 0), "Alpha"),),
    "CrossArchitectureVirtualization": (((1, 9), "Alpha"),),
    "HypervStrictCheck": (((0, 0), "Alpha"),),
    "PCINUMAAwareTopology": (((1, 6), "Alpha"),),
    "IOMMUFD": (((1, 9), "Alpha"),),
    "GraceIOVirtualization": (((1, 9), "Alpha"),),
    "ReservedOverheadMemlock": (((1, 9), "Alpha"),),
    "DownwardMetrics": (((0, 0), "Alpha"),),
    "ExperimentalIgnitionSupport": (((0, 0), "Alpha"),),
    "HostDisk": (((0, 0), "Alpha"),),
    "PersistentReservation": (((0, 0), "Alpha"),),
    "Sidecar": (((0, 0), "Alpha"),),
    "VSOCK": (((0, 0), "Alpha"),),
}
_VERSION: Final = re.compile(r"v?(\d+)\.(\d+)")


@dataclass(frozen=True, slots=True)
class Gates:
    """The effective gates of one cluster."""

    version: Version
    enabled: frozenset[str]
    disabled: frozenset[str]

    def on(self, gate: str) -> bool:
        """Whether KubeVirt treats the gate as on."""
        state = self.state(gate)
        if state == "GA":
            return True
        if state is None:
            return False
        if gate in self.enabled:
            return True
        has_list = self.version >= DISABLED_LIST_SINCE
        return has_list and state == "Beta" and gate not in self.disabled

    def state(self, gate: str) -> State | None:
        """The gate's state in this release; None where the release does not know it."""
        held = [state for since, state in STATES.get(gate, ()) if since <= self.version]
        return held[-1] if held else None

    def listing(self) -> dict[str, bool]:
        """Every gate that matters here, and whether it is on."""
        return {gate: self.on(gate) for gate in sorted(STATES)}


def gates_of(kubevirt: KubeVirt | None) -> Gates:
    """The gates of a KubeVirt object; without one, or without a version, those of the model."""
    developer = developer_of(kubevirt)
    return Gates(
        version=version_of(kubevirt) or MODELLED,
        enabled=frozenset(developer.feature_gates or ()),
        disabled=frozenset(developer.disabled_feature_gates or ()),
    )


def version_of(kubevirt: KubeVirt | None) -> Version | None:
    """(major, minor) of the release that is running, if the object says so."""
    status = kubevirt.status if kubevirt else None
    match = _VERSION.match((status.observed_kube_virt_version if status else None) or "")
    return (int(match[1]), int(match[2])) if match else None
