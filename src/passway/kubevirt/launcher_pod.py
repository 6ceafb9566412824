"""The launcher pod in first form: what the scheduler and a quota see of a VM.

Owns the pod's requests (CPU by the cluster's allocation ratio or dedicated, guest memory plus
KubeVirt's overhead, hugepages, one unit per device, KubeVirt's own devices) and its placement
rules. The sums follow kubevirt pkg/virt-controller/services and pkg/hypervisor/kvm of 1.9; what is
not modelled yet (container disks, hook sidecars, CPU features) only adds to it or narrows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Final

import msgspec

from passway.cluster.records import Affinity, KubeVirt, NodeSelector, Toleration
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.configuration import configuration_of, developer_of
from passway.manifest.spec import MachineSpec
from passway.model.quantity import NANOS, Quantity, parse_quantity

MIB: Final = 1024**2
SCHEDULABLE: Final = "kubevirt.io/schedulable"
CPU_MANAGER: Final = "kubevirt.io/cpumanager"
ARCHITECTURE: Final = "kubernetes.io/arch"
DEFAULT_CPU_RATIO: Final = 10
DEFAULT_MEMORY_OVERCOMMIT: Final = 100
CONSOLE_LOG: Final = ({"cpu": 5, "memory": 35_000_000}, {"cpu": 15, "memory": 60_000_000})
"""Requests and limits of the console log sidecar; a Guaranteed pod requests its limits."""


@dataclass(frozen=True, slots=True)
class LauncherPod:
    """The pod that would run the VM. Amounts are the scheduler's integers (cpu in thousandths).

    `overhead` says what KubeVirt adds to the guest's memory: part -> bytes.
    """

    namespace: str
    requests: Mapping[str, int]
    overhead: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    node_labels: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Affinity = field(default_factory=Affinity)
    tolerations: tuple[Toleration, ...] = ()
    spread: bool = False
    priority_class: str | None = None
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def node_affinity(self) -> NodeSelector | None:
        return self.affinity.node_affinity.required if self.affinity.node_affinity else None


def render_launcher(
    spec: MachineSpec, snapshot: Snapshot, functions: Mapping[str, int]
) -> LauncherPod:
    """The launcher of a VM on this cluster; `functions` are the VFs of its networks by resource."""
    kubevirt = snapshot.kubevirt
    overhead = memory_overhead(spec, kubevirt)
    requests = {"cpu": _cpu(spec, kubevirt)}
    guest = _memory(spec, kubevirt)
    pages = _hugepages(spec, guest)
    requests["memory"] = sum(overhead.values()) + (0 if pages else guest)
    requests.update(pages)
    for device in spec.plugin_devices:
        requests[device.resource_name] = requests.get(device.resource_name, 0) + 1
    for resource, count in functions.items():
        requests[resource] = requests.get(resource, 0) + count
    requests.update(_own_devices(spec, kubevirt))
    requests["ephemeral-storage"] = 50_000_000
    if spec.plain("domain.devices.logSerialConsole") is not False:
        sidecar = CONSOLE_LOG[1 if spec.cpu.dedicated else 0]
        requests["cpu"] += sidecar["cpu"]
        requests["memory"] += sidecar["memory"]
    requests["pods"] = 1
    return LauncherPod(
        namespace=spec.namespace,
        requests={resource: amount for resource, amount in requests.items() if amount > 0},
        overhead=overhead,
        labels={**spec.labels, "kubevirt.io": "virt-launcher"},
        node_labels=_node_labels(spec),
        node_selector={**_cluster_selector(kubevirt), **spec.node_selector},
        affinity=msgspec.convert(spec.plain("affinity") or {}, Affinity),
        tolerations=tuple(msgspec.convert(spec.plain("tolerations") or [], list[Toleration])),
        spread=bool(spec.plain("topologySpreadConstraints")),
        priority_class=spec.priority_class,
        limits=_limits(spec, guest, overhead),
    )


def vcpus(spec: MachineSpec) -> int:
    """sockets x cores x threads; without any of them, the CPU limit or request, rounded up."""
    parts = [part for part in (spec.cpu.sockets, spec.cpu.cores, spec.cpu.threads) if part]
    if not parts:
        given = spec.limits.get("cpu") or spec.requests.get("cpu")
        return max(given.value, 1) if given else 1
    product = 1
    for part in parts:
        product *= part
    return product


def memory_overhead(spec: MachineSpec, kubevirt: KubeVirt | None) -> dict[str, int]:
    """What KubeVirt adds to the guest's memory: part -> bytes.

    Source: kubevirt pkg/hypervisor/kvm/hypervisorbackend.go (GetMemoryOverhead).
    """
    requested = spec.requests.get("memory")
    parts = {
        "page tables": requested.value // 512 if requested else 0,
        "launcher, libvirt and QEMU": 240 * MIB,
        "vCPUs": 8 * MIB * vcpus(spec),
        "I/O thread": 8 * MIB,
        "graphics": 0
        if spec.plain("domain.devices.autoattachGraphicsDevice") is False
        else 32 * MIB,
        "arm64": 128 * MIB if spec.plain("architecture") == "arm64" else 0,
        "passthrough devices": 1024 * MIB if _passthrough(spec) else 0,
        "TPM": 53 * MIB if spec.plain("domain.devices.tpm") is not None else 0,
        "dedicated CPUs": 100 * MIB if spec.cpu.dedicated else 0,
    }
    ratio = _overhead_ratio(kubevirt)
    return {name: ceil(amount * ratio) for name, amount in parts.items() if amount}


def _passthrough(spec: MachineSpec) -> bool:
    return bool(spec.devices) or any(interface.sriov for interface in spec.interfaces)


def _overhead_ratio(kubevirt: KubeVirt | None) -> float:
    text = configuration_of(kubevirt).additional_guest_memory_overhead_ratio
    try:
        return max(float(text or 1), 0.0)
    except ValueError:
        return 1.0


def _cpu(spec: MachineSpec, kubevirt: KubeVirt | None) -> int:
    """Thousandths of a CPU of the compute container."""
    count = vcpus(spec)
    if spec.cpu.dedicated:
        return 1000 * (count + (1 if spec.cpu.isolate_emulator else 0))
    asked = spec.requests.get("cpu") or spec.limits.get("cpu")
    if asked:
        return asked.milli_value
    ratio = developer_of(kubevirt).cpu_allocation_ratio or DEFAULT_CPU_RATIO
    default = configuration_of(kubevirt).cpu_request
    if default is not None and (request := parse_quantity(str(default))).milli_value != 100:
        return request.milli_value
    return -(-1000 * count // ratio)


def _memory(spec: MachineSpec, kubevirt: KubeVirt | None) -> int:
    """Bytes that the guest's memory counts for: request, limit, or guest by the overcommit."""
    given = spec.requests.get("memory") or spec.limits.get("memory")
    if given:
        return given.value
    overcommit = developer_of(kubevirt).memory_overcommit or DEFAULT_MEMORY_OVERCOMMIT
    if spec.memory.guest:
        return spec.memory.guest.value * 100 // overcommit
    return parse_quantity(spec.memory.hugepages).value if spec.memory.hugepages else 0


def _hugepages(spec: MachineSpec, memory: int) -> dict[str, int]:
    if not spec.memory.hugepages:
        return {}
    guest = spec.memory.guest.value if spec.memory.guest else memory
    size = str(Quantity(parse_quantity(spec.memory.hugepages).value * NANOS, "BinarySI"))
    return {f"hugepages-{size}": min(memory, guest)}


def _own_devices(spec: MachineSpec, kubevirt: KubeVirt | None) -> dict[str, int]:
    """KubeVirt's own device resources, one unit each."""
    if developer_of(kubevirt).use_emulation:
        return {}
    devices = {"devices.kubevirt.io/kvm": 1}
    if spec.plain("domain.devices.autoattachPodInterface") is not False or spec.interfaces:
        devices["devices.kubevirt.io/tun"] = 1
        devices["devices.kubevirt.io/vhost-net"] = 1
    return devices


def _limits(spec: MachineSpec, guest: int, overhead: Mapping[str, int]) -> dict[str, int]:
    """What counts for a quota on limits: KubeVirt sets them only where such a quota exists."""
    extra = sum(overhead.values())
    memory = spec.limits["memory"].value + extra if "memory" in spec.limits else 2 * (guest + extra)
    cpu = spec.limits["cpu"].milli_value if "cpu" in spec.limits else 1000 * vcpus(spec)
    log = CONSOLE_LOG[1]
    return {"cpu": cpu + log["cpu"], "memory": memory + log["memory"]}


def _node_labels(spec: MachineSpec) -> dict[str, str]:
    labels = {SCHEDULABLE: "true", ARCHITECTURE: spec.plain("architecture") or "amd64"}
    if spec.cpu.dedicated:
        labels[CPU_MANAGER] = "true"
    return labels


def _cluster_selector(kubevirt: KubeVirt | None) -> dict[str, str]:
    return dict(developer_of(kubevirt).node_selectors or {})
