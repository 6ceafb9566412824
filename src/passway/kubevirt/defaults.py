"""What KubeVirt's mutating webhook makes of a VMI before anything judges it.

Owns the order and the amounts: architecture, machine type, CPU request, guest memory, topology,
eviction strategy, network, disks, CPU model, hotplug limits and annotations (kubevirt
pkg/defaults/defaults.go and pkg/virt-api/webhooks/mutating-webhook/mutators/vmi-mutator.go, main of
2026-08-22). What is filled into single devices and features is in `default_devices`. A VMI is
refused here with a `Refused`; the input is never touched.
"""

from collections.abc import Mapping
from typing import Any, Final

from passway.kubevirt.default_devices import set_architecture, set_devices, set_features
from passway.kubevirt.settings import DEFAULT_CPU_REQUEST, EVEN_PARITY, Settings
from passway.kubevirt.tidy import tidy
from passway.model.quantity import InvalidQuantity, Quantity, parse_quantity, quantity
from passway.model.verdict import Param

MAX_VCPUS: Final = 512
DEFAULT_MODEL: Final = "host-model"
TOPOLOGY_VERSION: Final = "kubevirt.io/pci-topology-version"
_UINT32: Final = 2**32
_MIB: Final = 2**20
_BLOCK: Final = 2 * _MIB
_GIGA_BLOCK: Final = 1024 * _MIB
LEAST_TO_GROW: Final = quantity(1024 * _MIB, "BinarySI")
"""Smaller guests get no memory hotplug."""

Spec = dict[str, Any]


class Refused(ValueError):
    """The mutating webhook refuses the VMI; `rule` says which rule of admission it broke."""

    def __init__(self, rule: str, **params: Param) -> None:
        super().__init__(rule)
        self.rule = rule
        self.params = params


def default(vmi: Mapping[str, Any], settings: Settings, uuid: str = "") -> dict[str, Any]:
    """A new VMI with KubeVirt's defaults; raises Refused.

    `vmi` passes the schema; `uuid` becomes the firmware's where the VMI names none.
    """
    try:
        spec = tidy(vmi.get("spec") or {})
    except InvalidQuantity:
        raise Refused("QuantityUnparsable") from None
    _set_spec(spec, settings)
    set_features(spec, uuid)
    set_devices(spec)
    set_architecture(spec)
    _cpu(spec).setdefault("model", settings.cpu_model or DEFAULT_MODEL)
    if settings.live_update and spec["architecture"] != "arm64":
        _set_max_sockets(_cpu(spec), settings)
        _set_max_guest(spec, settings)
    for field in ("sockets", "cores", "threads", "maxSockets"):
        if not _cpu(spec).get(field, 1):
            del spec["domain"]["cpu"][field]
    metadata = dict(vmi.get("metadata") or {})
    annotations = {**(metadata.get("annotations") or {}), **_annotations(spec, settings)}
    if annotations:
        metadata["annotations"] = annotations
    return {**vmi, "metadata": metadata, "spec": spec}


def _cpu(spec: Spec) -> Spec:
    cpu: Spec = spec["domain"]["cpu"]
    return cpu


def _set_spec(spec: Spec, settings: Settings) -> None:
    domain: Spec = spec["domain"]
    architecture = spec.setdefault("architecture", settings.architecture)
    domain.setdefault("machine", {}).setdefault("type", settings.machine_of(architecture))
    _set_cpu_request(domain, settings)
    _set_guest(domain)
    _set_topology(domain)
    spec.setdefault("evictionStrategy", settings.eviction_strategy)
    _set_network(spec, settings)


def amount(holder: Mapping[str, Any], resource: str) -> Quantity | None:
    """A resource of a list of tidied amounts; None where it is absent."""
    text = holder.get(resource)
    return None if text is None else parse_quantity(text)


def _set_cpu_request(domain: Spec, settings: Settings) -> None:
    resources: Spec = domain["resources"]
    requests: Spec = resources.get("requests", {})
    limit, request = amount(resources.get("limits", {}), "cpu"), amount(requests, "cpu")
    if limit and limit.nanos and not (request and request.nanos):
        requests = {**requests, "cpu": str(limit)}
    dedicated = domain.get("cpu", {}).get("dedicatedCpuPlacement", False)
    if "cpu" not in requests and settings.cpu_request != DEFAULT_CPU_REQUEST and not dedicated:
        requests = {**requests, "cpu": str(settings.cpu_request)}
    if requests:
        resources["requests"] = requests


def _set_guest(domain: Spec) -> None:
    """From the request, else the limit, else one huge page; amounts of zero count as none."""
    memory: Spec = domain.setdefault("memory", {})
    if "guest" in memory:
        return
    resources = domain["resources"]
    for held in ("requests", "limits"):
        given = amount(resources.get(held, {}), "memory")
        if given and given.nanos:
            memory["guest"] = str(given)
            return
    if "hugepages" in memory:
        try:
            memory["guest"] = str(parse_quantity(memory["hugepages"].get("pageSize", "")))
        except InvalidQuantity:
            return


def _set_topology(domain: Spec) -> None:
    """Without any topology: as many sockets as the CPU limit or request has whole CPUs."""
    cpu: Spec = domain.setdefault("cpu", {})
    if any(cpu.get(field) for field in ("sockets", "cores", "threads")):
        return
    resources = domain["resources"]
    given = amount(resources.get("limits", {}), "cpu") or amount(
        resources.get("requests", {}), "cpu"
    )
    # A negative amount wraps around in an unsigned number of 32 bits.
    sockets = given.value % _UINT32 if given is not None else 1
    cpu.update(sockets=sockets, cores=1, threads=1)


def _set_network(spec: Spec, settings: Settings) -> None:
    """The pod network, where the VMI names no network and no interface.

    Source: kubevirt pkg/network/vmispec (SetDefaultNetworkInterface).
    """
    devices: Spec = spec["domain"]["devices"]
    if devices.get("autoattachPodInterface") is False:
        return
    if "networks" in spec or "interfaces" in devices:
        return
    binding = settings.default_interface
    if binding == "slirp":
        raise Refused("SlirpDiscontinued", binding=binding)
    if binding == "bridge" and not settings.bridge_permitted:
        raise Refused("BridgeNotPermitted")
    devices["interfaces"] = [{"name": "default", binding: {}}]
    spec["networks"] = [{"name": "default", "pod": {}}]


def _set_max_sockets(cpu: Spec, settings: Settings) -> None:
    """The cluster's limit, else the hotplug ratio, kept below 512 vCPUs where that can be."""
    if cpu.get("maxSockets"):
        return
    sockets, most = cpu.get("sockets", 0), settings.max_cpu_sockets
    if most:
        cpu["maxSockets"] = max(most, sockets)
        return
    most = sockets * settings.max_hotplug_ratio % _UINT32
    each = cpu.get("cores", 0) * cpu.get("threads", 0)
    if most * each % _UINT32 > MAX_VCPUS:
        most = max(MAX_VCPUS // each, sockets)
    cpu["maxSockets"] = most


def _set_max_guest(spec: Spec, settings: Settings) -> None:
    """Source: kubevirt pkg/liveupdate/memory/memory.go, which says when memory can grow."""
    domain: Spec = spec["domain"]
    memory: Spec = domain["memory"]
    guest = amount(memory, "guest")
    if "maxGuest" in memory or guest is None or not _can_grow(spec):
        return
    most = settings.max_guest or quantity(guest.value * settings.max_hotplug_ratio, "BinarySI")
    block = _GIGA_BLOCK if memory.get("hugepages", {}).get("pageSize") == "1Gi" else _BLOCK
    fits = LEAST_TO_GROW <= guest <= most
    if fits and guest.value % block == 0 and most.value % block == 0:
        memory["maxGuest"] = str(most)


def _can_grow(spec: Spec) -> bool:
    domain = spec["domain"]
    return (
        spec["architecture"] == "amd64"
        and "realtime" not in domain["cpu"]
        and "guestMappingPassthrough" not in domain["cpu"].get("numa", {})
        and "launchSecurity" not in domain
    )


def _annotations(spec: Spec, settings: Settings) -> dict[str, str]:
    annotations = {}
    machine = spec["domain"]["machine"]["type"]
    is_pcie = "q35" in machine or machine.startswith("virt")
    if spec["architecture"] in {"amd64", "arm64"} and is_pcie:
        annotations[TOPOLOGY_VERSION] = "v3"
    isolates = spec["domain"]["cpu"].get("isolateEmulatorThread", False)
    if isolates and settings.parity is not None and settings.gates.on("AlignCPUs"):
        annotations[EVEN_PARITY] = settings.parity
    return annotations
