"""A request for a VM, as flags or a REST body, becomes a VirtualMachine object.

Owns the short form (name, image, CPUs, memory in MiB, devices, interfaces, placement) and its
validation, all faults at once; disks and cloud-init are in `plan.disks`. The result takes the same
path as any manifest: nothing is judged here that a stage judges, except what the short form itself
promises.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from passway.model import names
from passway.model.devices import DEVICE_LISTS, DeviceKind
from passway.model.errors import InvalidInput
from passway.model.verdict import Issue, Severity, Stage
from passway.plan import disks
from passway.plan.disks import NO_DATA, ROOT, CloudInit, DiskRequest, Fault, checked, repeated

MAX_DEVICES: Final = 16
PAGE_SIZES: Final = ("2Mi", "1Gi")
MAX_CPUS: Final = 512
MAX_MEMORY_MIB: Final = 64 * 1024 * 1024
RUN_STRATEGIES: Final = ("Always", "RerunOnFailure", "Manual", "Halted", "Once")
EVICTION_STRATEGIES: Final = ("None", "LiveMigrate", "LiveMigrateIfPossible", "External")
Binding = Literal["sriov", "bridge"]


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """One device of the short form."""

    name: str
    device_name: str
    kind: DeviceKind = "gpu"


@dataclass(frozen=True, slots=True)
class InterfaceRequest:
    """One more interface: `attachment` is the NetworkAttachmentDefinition, `[namespace/]name`."""

    name: str
    attachment: str
    model: str | None = None
    binding: Binding = "sriov"


@dataclass(frozen=True, slots=True)
class MachineRequest:
    """A VM in short form. `memory_mib` in MiB; without image and disks it is for a check only.

    `eviction_strategy`: what a drain does; None chooses one that does not block it.
    `pod_network`: whether it has the interface `default` on the pod's network. `boots`: one that
    has nothing to boot from is refused.
    """

    name: str
    namespace: str = "default"
    image: str = ""
    cpus: int = 1
    memory_mib: int = 1024
    devices: tuple[DeviceRequest, ...] = ()
    interfaces: tuple[InterfaceRequest, ...] = ()
    dedicated_cpus: bool = False
    hugepages: str | None = None
    numa_passthrough: bool = False
    run_strategy: str = "Always"
    labels: Mapping[str, str] = field(default_factory=dict)
    disks: tuple[DiskRequest, ...] = ()
    cloud_init: CloudInit = NO_DATA
    eviction_strategy: str | None = None
    pod_network: bool = True
    boots: bool = False

    @property
    def all_disks(self) -> tuple[DiskRequest, ...]:
        """In the order in which they are tried for booting."""
        root = DiskRequest(ROOT, "container_disk", self.image)
        return (root, *self.disks) if self.image else self.disks


def plan_machine(request: MachineRequest) -> dict[str, Any]:
    """The VirtualMachine; raises InvalidInput with every fault of the request."""
    issues = tuple(
        Issue(
            "InvalidValue", Stage.MANIFEST, Severity.ERROR, path=path, params={"problem": problem}
        )
        for path, problem in _faults(request)
    )
    if issues:
        first = issues[0]
        raise InvalidInput(
            f"{first.path}: {first.params['problem']}"
            + (f" (and {len(issues) - 1} more)" if len(issues) > 1 else ""),
            issues=issues,
        )
    templates = disks.templates_of(request.disks)
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": request.name,
            "namespace": request.namespace,
            **({"labels": dict(request.labels)} if request.labels else {}),
        },
        "spec": {
            "runStrategy": request.run_strategy,
            **({"dataVolumeTemplates": templates} if templates else {}),
            "template": {
                "metadata": {"labels": {"kubevirt.io/vm": request.name}},
                "spec": _instance(request),
            },
        },
    }


def _instance(request: MachineRequest) -> dict[str, Any]:
    domain: dict[str, Any] = {
        "cpu": {"cores": request.cpus},
        "memory": {"guest": f"{request.memory_mib}Mi"},
        "devices": _devices(request),
    }
    if request.dedicated_cpus:
        domain["cpu"]["dedicatedCpuPlacement"] = True
    if request.numa_passthrough:
        domain["cpu"]["numa"] = {"guestMappingPassthrough": {}}
    if request.hugepages:
        domain["memory"]["hugepages"] = {"pageSize": request.hugepages}
    spec: dict[str, Any] = {"domain": domain, "networks": _networks(request)}
    volumes = disks.volumes_of(request.all_disks, request.cloud_init)
    if volumes:
        spec["volumes"] = volumes
    # A device pins the VM to its node: LiveMigrate would block every drain.
    strategy = request.eviction_strategy or ("None" if request.devices else None)
    if strategy is not None:
        spec["evictionStrategy"] = strategy
    return spec


def _devices(request: MachineRequest) -> dict[str, Any]:
    devices: dict[str, Any] = {
        "interfaces": [
            *([{"name": "default", "masquerade": {}}] if request.pod_network else []),
            *(
                {
                    "name": item.name,
                    item.binding: {},
                    **({"model": item.model} if item.model else {}),
                }
                for item in request.interfaces
            ),
        ]
    }
    listed_disks = disks.disks_of(request.all_disks, request.cloud_init)
    if listed_disks:
        devices["disks"] = listed_disks
    if not devices["interfaces"]:
        # With none, and no word about it, KubeVirt would add the one on the pod's network.
        devices["autoattachPodInterface"] = False
    for kind, listed in DEVICE_LISTS.items():
        items = [
            {"name": item.name, "deviceName": item.device_name}
            for item in request.devices
            if item.kind == kind
        ]
        if items:
            devices[listed] = items
    return devices


def _networks(request: MachineRequest) -> list[dict[str, Any]]:
    multus = [
        {"name": item.name, "multus": {"networkName": item.attachment}}
        for item in request.interfaces
    ]
    return [*([{"name": "default", "pod": {}}] if request.pod_network else []), *multus]


# -- validation -----------------------------------------------------------------------------------


def _faults(request: MachineRequest) -> Iterator[Fault]:
    yield from checked("name", request.name, names.dns_label)
    yield from checked("namespace", request.namespace, names.dns_label)
    yield from _sizes(request)
    if len(request.devices) > MAX_DEVICES:
        yield "devices", f"{len(request.devices)} devices; at most {MAX_DEVICES} are allowed"
    for index, device in enumerate(request.devices[:MAX_DEVICES]):
        yield from checked(f"devices[{index}].name", device.name, names.dns_label)
        yield from checked(f"devices[{index}].device_name", device.device_name, names.resource_name)
    for index, interface in enumerate(request.interfaces):
        yield from checked(f"interfaces[{index}].name", interface.name, names.dns_label)
        path = f"interfaces[{index}].network_type.{interface.binding}.name"
        yield from checked(path, interface.attachment, names.network_name)
    yield from repeated("devices", [device.name for device in request.devices])
    taken = ["default"] if request.pod_network else []
    yield from repeated("interfaces", [*taken, *(item.name for item in request.interfaces)])
    if request.boots and not request.all_disks:
        yield "image", "name an image, or a disk to boot from"
    yield from disks.faults(request.image, request.disks, request.cloud_init)
    if request.numa_passthrough and not request.dedicated_cpus:
        yield "cpu_numa_passthrough", "NUMA passthrough needs dedicated CPUs"
    if request.numa_passthrough and not request.hugepages:
        yield "cpu_numa_passthrough", "NUMA passthrough needs hugepages"


def _sizes(request: MachineRequest) -> Iterator[Fault]:
    if not 1 <= request.cpus <= MAX_CPUS:
        yield "cpus", f"{request.cpus} is not between 1 and {MAX_CPUS}"
    if not 1 <= request.memory_mib <= MAX_MEMORY_MIB:
        yield "memory", f"{request.memory_mib} MiB is not between 1 and {MAX_MEMORY_MIB}"
    if request.hugepages not in {None, *PAGE_SIZES}:
        sizes = " or ".join(PAGE_SIZES)
        yield "memory_hugepages_page_size", f"{request.hugepages!r}; use {sizes}"
    if request.run_strategy not in RUN_STRATEGIES:
        allowed = ", ".join(RUN_STRATEGIES)
        yield "run_strategy", f"{request.run_strategy!r}; use one of {allowed}"
    if request.eviction_strategy not in {None, *EVICTION_STRATEGIES}:
        allowed = ", ".join(EVICTION_STRATEGIES)
        yield "eviction_strategy", f"{request.eviction_strategy!r}; use one of {allowed}"
