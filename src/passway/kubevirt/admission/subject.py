"""The defaulted VMI that rules judge, with the levels that most of them read.

Absent levels read as empty, so rules ask without checking; where an empty object differs from none
(`numa`, `hugepages`, `realtime`), they ask the holder. Amounts are parsed on first use, and only
there: a defaulted VMI holds no unreadable one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from passway.kubevirt.settings import Settings
from passway.model.quantity import ZERO, Quantity, parse_quantity

Object = Mapping[str, Any]
_NONE: Final[Object] = {}

DOMAIN: Final = "spec.domain"
DEVICES: Final = f"{DOMAIN}.devices"
INTERFACES: Final = f"{DEVICES}.interfaces"


@dataclass(frozen=True, slots=True)
class Subject:
    """A defaulted VMI on a cluster."""

    spec: Object
    settings: Settings
    annotations: Mapping[str, str]
    labels: Mapping[str, str]
    domain: Object
    devices: Object
    cpu: Object
    memory: Object
    requests: Mapping[str, str]
    limits: Mapping[str, str]
    architecture: str
    gpus: Sequence[Object]
    host_devices: Sequence[Object]
    interfaces: Sequence[Object]
    disks: Sequence[Object]
    networks: Sequence[Object]
    claims: Sequence[Object]
    volumes: Sequence[Object]

    @property
    def dedicated(self) -> bool:
        return bool(self.cpu.get("dedicatedCpuPlacement"))

    @property
    def guest(self) -> Quantity | None:
        text = self.memory.get("guest")
        return None if text is None else parse_quantity(text)

    @property
    def vcpus(self) -> int:
        """Sockets x cores x threads, those that are set (kubevirt pkg/util/hardware)."""
        product = 1
        for field in ("sockets", "cores", "threads"):
            product *= self.cpu.get(field) or 1
        return product

    def on(self, gate: str) -> bool:
        """Whether a feature gate is on."""
        return self.settings.gates.on(gate)


def requested(amounts: Mapping[str, str], resource: str) -> Quantity:
    """An amount of a request or limit; zero where it is absent, as in Kubernetes."""
    text = amounts.get(resource)
    return ZERO if text is None else parse_quantity(text)


def subject_of(vmi: Object, settings: Settings) -> Subject:
    """The subject of a defaulted VMI."""
    spec = vmi["spec"]
    metadata, domain = vmi.get("metadata") or _NONE, spec["domain"]
    resources, devices = domain.get("resources", _NONE), domain.get("devices", _NONE)
    return Subject(
        spec=spec,
        settings=settings,
        annotations=metadata.get("annotations") or _NONE,
        labels=metadata.get("labels") or _NONE,
        domain=domain,
        devices=devices,
        cpu=domain.get("cpu", _NONE),
        memory=domain.get("memory", _NONE),
        requests=resources.get("requests", _NONE),
        limits=resources.get("limits", _NONE),
        architecture=spec["architecture"],
        gpus=devices.get("gpus", ()),
        host_devices=devices.get("hostDevices", ()),
        interfaces=devices.get("interfaces", ()),
        disks=devices.get("disks", ()),
        networks=spec.get("networks", ()),
        claims=spec.get("resourceClaims", ()),
        volumes=spec.get("volumes", ()),
    )
