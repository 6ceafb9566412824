"""What a VM asks for: a unit of a device plugin's resource, or a device of a claim.

The union is closed: a device is one or the other, decided by KubeVirt's own rule (a claim counts
exactly when `deviceName` is empty, kubevirt pkg/dra/utils.go). Display options keep *unset* and
*false* apart, because the launcher does.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

DeviceKind = Literal["gpu", "host-device"]

DEVICE_LISTS: dict[DeviceKind, str] = {"gpu": "gpus", "host-device": "hostDevices"}


@dataclass(frozen=True, slots=True)
class PluginDevice:
    """One unit of an extended resource."""

    name: str
    kind: DeviceKind
    resource_name: str
    path: str
    display: bool | None = None
    ram_fb: bool | None = None


@dataclass(frozen=True, slots=True)
class ClaimDevice:
    """One device of a request of a resource claim (DRA)."""

    name: str
    kind: DeviceKind
    claim_name: str
    request_name: str
    path: str
    display: bool | None = None
    ram_fb: bool | None = None


Device: TypeAlias = PluginDevice | ClaimDevice
