"""Feature gates: which ones are on for a KubeVirt object, in the release that it runs.

Owns the state machine (kubevirt pkg/virt-config/featuregate/feature-gates.go): a GA gate is on, a
discontinued one is off; a listed one is on; one listed as disabled is off; else Beta is on, and
Alpha and deprecated ones are off. States are those of the release that
`status.observedKubeVirtVersion` names; releases before 1.8 know no disabled list and no Beta that
is on by itself. Also owns what that text says: builds of main call themselves by a date
(20260822_d923fdb81), `devel` or the next release's alpha, so not every text names a release.
Sources of the states: pkg/virt-config/featuregate/{active,inactive}.go, 1.7 to main.
"""

import re
from dataclasses import dataclass
from typing import Final, Literal

from passway.cluster.records import KubeVirt
from passway.kubevirt.configuration import developer_of

State = Literal["GA", "Beta", "Alpha", "Deprecated", "Discontinued"]
Version = tuple[int, int]

MODELLED: Final[Version] = (1, 9)
DISABLED_LIST_SINCE: Final[Version] = (1, 8)

_ANY: Final[Version] = (0, 0)
# Gate -> its states, each with the release that it holds from. What was so before 1.5 is not told.
STATES: Final[dict[str, tuple[tuple[Version, State], ...]]] = {
    "AlignCPUs": ((_ANY, "Alpha"),),
    "AutoResourceLimitsGate": (((1, 5), "GA"),),
    "CPUManager": ((_ANY, "Alpha"),),
    "CrossArchitectureVirtualization": (((1, 9), "Alpha"),),
    "DisableMDEVConfiguration": ((_ANY, "Alpha"), ((1, 8), "Deprecated")),
    "DockerSELinuxMCSWorkaround": (((1, 4), "Deprecated"),),
    "DownwardMetrics": ((_ANY, "Alpha"),),
    "ExperimentalIgnitionSupport": ((_ANY, "Alpha"),),
    "ExperimentalVirtiofsSupport": ((_ANY, "Alpha"), ((1, 7), "Discontinued")),
    "ExternalNetResourceInjection": (((1, 8), "Beta"),),
    "GPU": ((_ANY, "GA"),),
    "GPUsWithDRA": (((1, 6), "Alpha"), ((1, 9), "Beta")),
    "GraceIOVirtualization": (((1, 9), "Alpha"),),
    "HostDevices": ((_ANY, "Alpha"),),
    "HostDevicesWithDRA": (((1, 6), "Alpha"), ((1, 9), "Beta")),
    "HostDisk": ((_ANY, "Alpha"),),
    "HotplugNICs": (((1, 4), "GA"),),
    "HotplugVolumes": ((_ANY, "Alpha"), ((1, 9), "Deprecated")),
    "HypervStrictCheck": ((_ANY, "Alpha"),),
    "IOMMUFD": (((1, 9), "Alpha"),),
    "ImageVolume": (((1, 6), "Alpha"), ((1, 7), "Beta")),
    "KubevirtSeccompProfile": ((_ANY, "Beta"),),
    "LiveMigration": ((_ANY, "GA"),),
    "Macvtap": (((1, 3), "Discontinued"),),
    "MultiArchitecture": ((_ANY, "Alpha"), ((1, 8), "Deprecated")),
    "NUMA": ((_ANY, "GA"),),
    "NetworkDevicesWithDRA": (((1, 9), "Alpha"),),
    "NonRoot": ((_ANY, "GA"),),
    "PCINUMAAwareTopology": (((1, 6), "Alpha"),),
    "PSA": ((_ANY, "GA"),),
    "Passt": (((1, 3), "Discontinued"),),
    # Since when it is discontinued was not seen; the binding that replaces it came with 1.8.
    "PasstIPStackMigration": (((1, 6), "Alpha"), ((1, 8), "Discontinued")),
    "PersistentReservation": ((_ANY, "Alpha"), ((1, 9), "GA")),
    "ReservedOverheadMemlock": (((1, 8), "Alpha"),),
    "Root": ((_ANY, "Alpha"),),
    "SRIOVLiveMigration": ((_ANY, "GA"),),
    "Sidecar": ((_ANY, "Alpha"),),
    "Snapshot": (((1, 3), "Beta"),),
    "VGPULiveMigration": (((1, 8), "Alpha"),),
    "VMExport": (((1, 3), "Beta"), ((1, 9), "GA")),
    "VMLiveUpdateFeatures": (((1, 5), "GA"),),
    "VSOCK": ((_ANY, "Alpha"),),
    "VmiMemoryOverheadReport": (((1, 8), "Alpha"), ((1, 9), "Beta"), ((1, 10), "GA")),
}
LISTABLE: Final = frozenset(
    gate for gate, states in STATES.items() if states[-1][1] not in {"GA", "Discontinued"}
)
"""Gates that a cluster of the modelled release can turn on."""
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
        if state is None or state == "Discontinued":
            return False
        if state == "GA" or gate in self.enabled:
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


def observed(kubevirt: KubeVirt | None) -> str:
    """What the running KubeVirt calls itself; empty where nothing says it."""
    status = kubevirt.status if kubevirt else None
    return (status.observed_kube_virt_version if status else None) or ""


def version_of(kubevirt: KubeVirt | None) -> Version | None:
    """(major, minor) of the release that is running, if the object names one."""
    match = _VERSION.match(observed(kubevirt))
    return (int(match[1]), int(match[2])) if match else None
