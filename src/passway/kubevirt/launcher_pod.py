"""The launcher pod in first form: what the scheduler and a quota see of a VM.

Owns the pod's requests (CPU by the cluster's allocation ratio or dedicated, guest memory plus
KubeVirt's overhead, hugepages, one unit per device, KubeVirt's own devices) and its placement
rules. The sums follow kubevirt pkg/virt-controller/services and pkg/hypervisor/kvm of 1.9; what is
not modelled yet (container disks, hook sidecars, CPU features) only adds to it or narrows it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Final

import msgspec

from passway.cluster.amounts import HUGEPAGES, KUBEVIRT_DEVICES, units
from passway.cluster.records import Affinity, KubeVirt, NodeSelector, Toleration
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.configuration import configuration_of, developer_of
from passway.manifest.spec import MachineSpec
from passway.model.quantity import InvalidQuantity, Quantity, parse_quantity

MIB: Final = 1024**2
SCHEDULABLE: Final = "kubevirt.io/schedulable"
CPU_MANAGER: Final = "kubevirt.io/cpumanager"
ARCHITECTURE: Final = "kubernetes.io/arch"
DEFAULT_CPU_RATIO: Final = 10
DEFAULT_CPU_REQUEST: Final = 100
DEFAULT_MEMORY_OVERCOMMIT: Final = 100
CONSOLE_LOG: Final = ({"cpu": 5, "memory": 35_000_000}, {"cpu": 15, "memory": 60_000_000})
"""Requests and limits of the console log sidecar; a Guaranteed pod requests its limits."""
EPHEMERAL_BYTES: Final = 50_000_000
_MERGED: Final = frozenset({"cpu", "memory", "ephemeral-storage"})


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
    requests = _compute(spec, kubevirt, overhead)
    limits = _limits(spec, requests, overhead)
    for device in spec.plugin_devices:
        requests[device.resource_name] = requests.get(device.resource_name, 0) + 1
    for resource, count in functions.items():
        requests[resource] = requests.get(resource, 0) + count
    requests.update(_own_devices(spec, kubevirt))
    _lay_over(spec, requests)
    if _logs_console(spec, kubevirt):
        requested, limited = CONSOLE_LOG
        for resource, amount in (limited if _guaranteed(spec) else requested).items():
            requests[resource] += amount
        for resource, amount in limited.items():
            limits[resource] += amount
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
        limits=limits,
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
    reserved = _quantity(spec.plain("domain.memory.reservedOverhead.addedOverhead"))
    parts = {
        "page tables": _thousands(requested.value) * 1000 // 512 if requested else 0,
        "launcher, libvirt and QEMU": 240 * MIB,
        "vCPUs": 8 * MIB * vcpus(spec),
        "I/O thread": 8 * MIB,
        "graphics": 0
        if spec.plain("domain.devices.autoattachGraphicsDevice") is False
        else 32 * MIB,
        "arm64": 128 * MIB if spec.plain("architecture") == "arm64" else 0,
        "passthrough devices": 1024 * MIB if _passthrough(spec) else 0,
        "TPM": 53 * MIB if spec.plain("domain.devices.tpm") is not None else 0,
        "guaranteed resources": 100 * MIB if _guaranteed(spec) else 0,
        "reserved": reserved.value if reserved else 0,
    }
    parts["cluster ratio"] = (
        int(_thousands(sum(parts.values())) * (_overhead_ratio(kubevirt) - 1)) * 1000
    )
    return {name: amount for name, amount in parts.items() if amount}


def _thousands(amount: int) -> int:
    """Rounded up, like `Quantity.ScaledValue(Kilo)`, which KubeVirt calculates with."""
    return -(-amount // 1000)


def _passthrough(spec: MachineSpec) -> bool:
    return bool(spec.devices) or any(interface.sriov for interface in spec.interfaces)


def _guaranteed(spec: MachineSpec) -> bool:
    """Dedicated CPUs, or requests that equal the limits for CPU and memory."""
    return bool(spec.cpu.dedicated) or all(
        limit is not None and limit.nanos > 0 and spec.requests.get(resource, limit) == limit
        for resource, limit in ((name, spec.limits.get(name)) for name in ("cpu", "memory"))
    )


def _overhead_ratio(kubevirt: KubeVirt | None) -> float:
    """1 for what KubeVirt cannot read either."""
    try:
        ratio = float(configuration_of(kubevirt).additional_guest_memory_overhead_ratio or 1)
    except ValueError:
        return 1.0
    return ratio if isfinite(ratio) else 1.0


def _quantity(text: object) -> Quantity | None:
    """None also for what is no quantity: refusing it is admission's."""
    try:
        return None if text is None else parse_quantity(str(text))
    except InvalidQuantity:
        return None


def _compute(
    spec: MachineSpec, kubevirt: KubeVirt | None, overhead: Mapping[str, int]
) -> dict[str, int]:
    """CPU, memory, hugepages and storage of the compute container."""
    extra, memory = sum(overhead.values()), _memory(spec, kubevirt)
    requests = {"cpu": _cpu(spec, kubevirt)}
    if spec.memory.hugepages:
        guest = spec.memory.guest.value if spec.memory.guest else memory
        requests["memory"] = max(memory - guest, 0) + extra
        requests[f"{HUGEPAGES}{spec.memory.hugepages}"] = min(memory, guest)
    else:
        overcommits = spec.plain("domain.resources.overcommitGuestOverhead") is True
        requests["memory"] = memory + (0 if overcommits else extra)
    storage = spec.requests.get("ephemeral-storage")
    requests["ephemeral-storage"] = EPHEMERAL_BYTES + (storage.value if storage else 0)
    return requests


def _cpu(spec: MachineSpec, kubevirt: KubeVirt | None) -> int:
    """Thousandths of a CPU of the compute container."""
    count = _host_cpus(spec)
    if spec.cpu.dedicated:
        return 1000 * (count + (1 if spec.cpu.isolate_emulator else 0))
    asked = spec.requests.get("cpu") or spec.limits.get("cpu")
    if asked:
        return asked.milli_value
    default = _quantity(configuration_of(kubevirt).cpu_request)
    if default is not None and default.milli_value != DEFAULT_CPU_REQUEST:
        return default.milli_value
    ratio = developer_of(kubevirt).cpu_allocation_ratio
    return -(-1000 * count // _positive(ratio, DEFAULT_CPU_RATIO))


def _host_cpus(spec: MachineSpec) -> int:
    """The vCPUs and the I/O threads of the supplemental pool."""
    return vcpus(spec) + (spec.plain("domain.ioThreads.supplementalPoolThreadCount") or 0)


def _positive(number: int | None, default: int) -> int:
    return number if number is not None and number > 0 else default


def _memory(spec: MachineSpec, kubevirt: KubeVirt | None) -> int:
    """Bytes that the guest's memory counts for: request, limit, or guest by the overcommit."""
    request, limit = spec.requests.get("memory"), spec.limits.get("memory")
    if limit and limit.nanos and not (request and request.nanos):
        return limit.value
    if request:
        return request.value
    if spec.memory.guest:
        overcommit = developer_of(kubevirt).memory_overcommit
        return spec.memory.guest.value * 100 // _positive(overcommit, DEFAULT_MEMORY_OVERCOMMIT)
    page = _quantity(spec.memory.hugepages)
    return page.value if page else 0


def _own_devices(spec: MachineSpec, kubevirt: KubeVirt | None) -> dict[str, int]:
    """KubeVirt's own device resources, one unit each."""
    emulates = developer_of(kubevirt).use_emulation
    interfaces = spec.plain("domain.devices.interfaces") or ()
    attaches = spec.plain("domain.devices.autoattachPodInterface") is not False
    virtio = any(interface.get("model") in {None, "", "virtio"} for interface in interfaces)
    wanted = {
        "kvm": not emulates,
        "tun": attaches or bool(interfaces),
        "vhost-net": not emulates and (virtio or (attaches and not interfaces)),
    }
    return {f"{KUBEVIRT_DEVICES}{device}": 1 for device, wants in wanted.items() if wants}


def _lay_over(spec: MachineSpec, requests: dict[str, int]) -> None:
    """Whatever else `domain.resources` names replaces what KubeVirt counted."""
    for resource, amount in spec.limits.items():
        if resource not in _MERGED and resource not in requests:
            requests[resource] = units(resource, amount.nanos)
    for resource, amount in spec.requests.items():
        if resource not in _MERGED:
            requests[resource] = units(resource, amount.nanos)


def _logs_console(spec: MachineSpec, kubevirt: KubeVirt | None) -> bool:
    """Source: kubevirt pkg/virt-controller/services/serialconsolelog.go."""
    if spec.plain("domain.devices.autoattachSerialConsole") is False:
        return False
    options = configuration_of(kubevirt).virtual_machine_options
    asked = spec.plain("domain.devices.logSerialConsole")
    by_default = options is None or options.disable_serial_console_log is None
    return by_default if asked is None else bool(asked)


def _limits(
    spec: MachineSpec, requests: Mapping[str, int], overhead: Mapping[str, int]
) -> dict[str, int]:
    """What counts for a quota on limits: KubeVirt sets them only where such a quota exists."""
    cpu, memory = 1000 * _host_cpus(spec), 2 * requests["memory"]
    if spec.cpu.dedicated:
        return {"cpu": requests["cpu"], "memory": requests["memory"]}
    if "cpu" in spec.limits:
        cpu = spec.limits["cpu"].milli_value
    if limit := spec.limits.get("memory"):
        pages = spec.memory.guest if spec.memory.hugepages else None
        memory = max(limit.value - (pages.value if pages else 0), 0) + sum(overhead.values())
    return {"cpu": cpu, "memory": memory}


def _node_labels(spec: MachineSpec) -> dict[str, str]:
    labels = {SCHEDULABLE: "true", ARCHITECTURE: spec.plain("architecture") or "amd64"}
    if spec.cpu.dedicated:
        labels[CPU_MANAGER] = "true"
    return labels


def _cluster_selector(kubevirt: KubeVirt | None) -> dict[str, str]:
    return dict(developer_of(kubevirt).node_selectors or {})
