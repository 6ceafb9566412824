"""The request bodies: shapes for pydantic, and nothing that judges.

Unknown fields are refused and nothing is coerced. Grammar and rules of values (names, sizes, NUMA)
belong to `plan`, which tells all faults at once; here they are only documented, so that the OpenAPI
document says what will be accepted. Each model turns itself into the value its use case takes.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from passway.cluster.dump import decode_object
from passway.cluster.records import Node
from passway.kubevirt.hostdev import Environment
from passway.kubevirt.permitted import Permit
from passway.model.errors import InvalidInput
from passway.model.names import dns_label
from passway.plan.disks import MAX_DISKS, MAX_KEYS, CloudInit, DiskRequest, NewVolume
from passway.plan.machine import (
    MAX_CPUS,
    MAX_DEVICES,
    MAX_MEMORY_MIB,
    DeviceRequest,
    InterfaceRequest,
    MachineRequest,
)
from passway.plan.permit import permit_of
from passway.plan.what_if import MAX_FACTS, AddNode, Allow, Drain, Fact, Stop

MAX_TEXT: Final = 1024
MAX_LABELS: Final = 64
MAX_FILES: Final = 256
MAX_FILE: Final = 64 * 1024
MAX_METADATA: Final = 16 * 1024
"""Smaller, since each device reads its file anew; drivers write one or two KiB."""
LABEL: Final = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
_PART: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_PART}(\.{_PART})*"
_QUALIFIED: Final = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_MDEV: Final = r"[^\x00-\x1f\x7f/\s]([^\x00-\x1f\x7f/]*[^\x00-\x1f\x7f/\s])?"
_USB: Final = "(0[xX])?[0-9A-Fa-f]{1,4}"
_LABEL_VALUE: Final = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$"
_LABEL_KEY: Final = f"^({_SUBDOMAIN}/)?{_QUALIFIED}$"


def _text(pattern: str, length: int, description: str) -> Any:
    """A bounded text whose pattern is documented here and judged elsewhere."""
    return Field(
        max_length=MAX_TEXT,
        description=description,
        json_schema_extra={"pattern": f"^{pattern}$", "minLength": 1, "maxLength": length},
    )


def _amount(most: int, description: str) -> Any:
    return Field(description=description, json_schema_extra={"minimum": 1, "maximum": most})


Name = Annotated[str, _text(LABEL, 63, "A DNS label.")]
ResourceName = Annotated[
    str, _text(f"{_SUBDOMAIN}/{_QUALIFIED}", 317, "The name that nodes advertise: vendor.com/name.")
]
NetworkName = Annotated[
    str,
    _text(f"({LABEL}/)?{_SUBDOMAIN}", 317, "A NetworkAttachmentDefinition: [namespace/]name."),
]
Cpus = Annotated[int, _amount(MAX_CPUS, "Virtual CPUs.")]
Memory = Annotated[int, _amount(MAX_MEMORY_MIB, "Guest memory in MiB.")]
EvictionStrategy = Literal["None", "LiveMigrate", "LiveMigrateIfPossible", "External"]
PageSize = Literal["2Mi", "1Gi"]
LabelKey = Annotated[str, Field(max_length=317, pattern=_LABEL_KEY)]
LabelValue = Annotated[str, Field(max_length=63, pattern=_LABEL_VALUE)]


def _manifest(value: Any) -> Any:
    if not isinstance(value, str | dict):
        raise ValueError("write the manifest as text or as an object")  # noqa: TRY004 - pydantic's way
    return value


Manifest = Annotated[
    Any,
    BeforeValidator(_manifest),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "object"}]}),
    Field(description="The VM: a manifest's text, YAML or JSON, or the object itself."),
]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DeviceBody(_Body):
    """A device that the VM asks for."""

    name: Name
    device_name: ResourceName
    kind: Literal["gpu", "host-device"] = "gpu"


class Sriov(_Body):
    """Where the virtual function comes from."""

    name: NetworkName


class Bridge(_Body):
    """Which network the bridge of the node is connected to."""

    name: NetworkName


class NetworkType(_Body):
    """The type of an additional interface: exactly one."""

    sriov: Sriov | None = None
    bridge: Bridge | None = None

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    @model_validator(mode="after")
    def _one(self) -> "NetworkType":
        if (self.sriov is None) == (self.bridge is None):
            raise ValueError("name exactly one of sriov and bridge")
        return self


class InterfaceBody(_Body):
    """An interface beside the one on the pod's network."""

    name: Name
    network: str | None = Field(
        default=None, max_length=253, description="A note; KubeVirt's network is named as `name`."
    )
    model: Annotated[str, Field(max_length=32, pattern="^[a-z0-9][-a-z0-9_]*$")] | None = None
    network_type: NetworkType

    def request(self) -> InterfaceRequest:
        chosen = self.network_type
        if chosen.bridge is not None:
            return InterfaceRequest(self.name, chosen.bridge.name, self.model, "bridge")
        assert chosen.sriov is not None  # noqa: S101 - there is exactly one
        return InterfaceRequest(self.name, chosen.sriov.name, self.model)


class NewVolumeBody(_Body):
    """A DataVolume that is made with the VM, and removed with it."""

    storage: str = Field(max_length=64, description="Its size, as 20Gi.")
    url: str | None = Field(
        default=None, max_length=MAX_TEXT,
        description="Its content: http(s):// or docker://; blank without.",
    )  # fmt: skip
    storage_class: str | None = Field(default=None, max_length=253)

    def request(self) -> NewVolume:
        return NewVolume(self.storage, self.url, self.storage_class)


class DiskBody(_Body):
    """A disk: exactly one of `container_disk`, `persistent_volume_claim` and `data_volume`."""

    name: Name
    container_disk: str | None = Field(default=None, max_length=512, description="An image.")
    persistent_volume_claim: str | None = Field(default=None, max_length=253)
    data_volume: str | None = Field(default=None, max_length=253)
    new: NewVolumeBody | None = Field(default=None, description="Makes the data volume.")
    bus: Literal["virtio", "scsi", "sata"] = "virtio"

    @model_validator(mode="after")
    def _one(self) -> "DiskBody":
        given = [self.container_disk, self.persistent_volume_claim, self.data_volume]
        if sum(item is not None for item in given) != 1:
            raise ValueError(
                "name exactly one of container_disk, persistent_volume_claim and data_volume"
            )
        if self.new is not None and self.data_volume is None:
            raise ValueError("new makes a data_volume; name it there")
        return self

    def request(self) -> DiskRequest:
        if self.data_volume is not None:
            made = None if self.new is None else self.new.request()
            return DiskRequest(self.name, "data_volume", self.data_volume, self.bus, made)
        if self.container_disk is not None:
            return DiskRequest(self.name, "container_disk", self.container_disk, self.bus)
        claim = self.persistent_volume_claim or ""
        return DiskRequest(self.name, "persistent_volume_claim", claim, self.bus)


class MachineBody(_Body):
    """A VM in short form."""

    name: Name
    namespace: Name = "default"
    image: str = Field(
        default="", max_length=512, pattern="^[!-~]*$",
        description="The container disk to boot; without it, the first of `disks` boots.",
    )  # fmt: skip
    cpus: Cpus
    memory: Memory
    devices: list[DeviceBody] = Field(
        default=[], max_length=256, json_schema_extra={"maxItems": MAX_DEVICES}
    )
    interfaces: list[InterfaceBody] = Field(default=[], max_length=MAX_DEVICES)
    cpu_dedicated_placement: bool = False
    memory_hugepages_page_size: PageSize | None = None
    cpu_numa_passthrough: bool = Field(
        default=False, description="Needs dedicated CPUs and hugepages."
    )
    run_strategy: Literal["Always", "RerunOnFailure", "Manual", "Halted", "Once"] = "Always"
    labels: dict[LabelKey, LabelValue] = Field(default={}, max_length=MAX_LABELS)
    disks: list[DiskBody] = Field(default=[], max_length=MAX_DISKS)
    user_data: str | None = Field(
        default=None, max_length=MAX_FILE, description="For cloud-init; KubeVirt takes 2048 bytes."
    )
    ssh_keys: list[Annotated[str, Field(max_length=16 * 1024)]] = Field(
        default=[], max_length=MAX_KEYS, description="Public keys, where there is no user_data."
    )
    eviction_strategy: EvictionStrategy | None = Field(
        default=None, description="What a drain does; with devices it is None unless said."
    )
    pod_network: bool = Field(default=True, description="Has an interface on the pod's network.")

    def request(self) -> MachineRequest:
        return MachineRequest(
            name=self.name,
            namespace=self.namespace,
            image=self.image,
            cpus=self.cpus,
            memory_mib=self.memory,
            devices=tuple(
                DeviceRequest(item.name, item.device_name, item.kind) for item in self.devices
            ),
            interfaces=tuple(item.request() for item in self.interfaces),
            dedicated_cpus=self.cpu_dedicated_placement,
            hugepages=self.memory_hugepages_page_size,
            numa_passthrough=self.cpu_numa_passthrough,
            run_strategy=self.run_strategy,
            labels=self.labels,
            disks=tuple(item.request() for item in self.disks),
            cloud_init=CloudInit(self.user_data, tuple(self.ssh_keys)),
            eviction_strategy=self.eviction_strategy,
            pod_network=self.pod_network,
            boots=True,
        )


class WantedDevice(_Body):
    """A device of a preflight; its name does not matter."""

    name: Name | None = None
    device_name: ResourceName
    kind: Literal["gpu", "host-device"] = "gpu"


class PreflightBody(_Body):
    """What a VM would ask for."""

    devices: list[WantedDevice] = Field(
        default=[], max_length=256, json_schema_extra={"maxItems": MAX_DEVICES}
    )
    sriov_networks: list[NetworkName] = Field(default=[], max_length=MAX_DEVICES)
    namespace: Name = "default"
    dedicated_cpus: bool = False
    numa_passthrough: bool = Field(default=False, description="Needs dedicated CPUs and hugepages.")
    hugepages: PageSize | None = None
    cpus: Cpus = 1
    memory: Memory = 1024

    def request(self) -> MachineRequest:
        return MachineRequest(
            name="preflight",
            namespace=self.namespace,
            cpus=self.cpus,
            memory_mib=self.memory,
            devices=tuple(
                DeviceRequest(
                    f"device-{index}" if item.name is None else item.name,
                    item.device_name,
                    item.kind,
                )
                for index, item in enumerate(self.devices)
            ),
            interfaces=tuple(
                InterfaceRequest(f"sriov-{index}", network)
                for index, network in enumerate(self.sriov_networks)
            ),
            dedicated_cpus=self.dedicated_cpus,
            hugepages=self.hugepages,
            numa_passthrough=self.numa_passthrough,
        )


class _PermitBody(_Body):
    resource_name: ResourceName
    external_resource_provider: bool = False
    confirm: bool = Field(
        default=False, description="Go on although this switches KubeVirt's check on."
    )
    dry_run: bool = False


class PciPermit(_PermitBody):
    """A PCI device by vendor and device id."""

    kind: Literal["pci"]
    pci_vendor_selector: Annotated[
        str, _text("[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4}", 9, "vendor:device, hexadecimal.")
    ]

    def permit(self) -> Permit:
        external = self.external_resource_provider
        selector = self.pci_vendor_selector
        return permit_of("pci", self.resource_name, selector=selector, external=external)


class MediatedPermit(_PermitBody):
    """A mediated device by the name of its type."""

    kind: Literal["mediated"]
    mdev_name_selector: Annotated[str, _text(_MDEV, 128, "The type's name, not its directory.")]

    def permit(self) -> Permit:
        external = self.external_resource_provider
        selector = self.mdev_name_selector
        return permit_of("mediated", self.resource_name, selector=selector, external=external)


class UsbPermit(_PermitBody):
    """A USB device by vendor and product id."""

    kind: Literal["usb"]
    vendor: Annotated[str, _text(_USB, 6, "Hexadecimal.")]
    product: Annotated[str, _text(_USB, 6, "Hexadecimal.")]

    def permit(self) -> Permit:
        external = self.external_resource_provider
        return permit_of(
            "usb", self.resource_name, vendor=self.vendor, product=self.product, external=external
        )


PermitBody = Annotated[PciPermit | MediatedPermit | UsbPermit, Field(discriminator="kind")]
PERMIT_KINDS: Final = ("pci", "mediated", "usb")


Namespace = Annotated[Name, AfterValidator(dns_label)]
"""A namespace that nothing else would judge."""


class PermitEntry(_Body):
    """An entry of the permitted list, as `POST /api/v1/devices/permitted` takes it."""

    kind: Literal["pci", "mediated", "usb"]
    resource_name: ResourceName
    pci_vendor_selector: str | None = Field(default=None, max_length=MAX_TEXT)
    mdev_name_selector: str | None = Field(default=None, max_length=MAX_TEXT)
    vendor: str | None = Field(default=None, max_length=MAX_TEXT)
    product: str | None = Field(default=None, max_length=MAX_TEXT)

    def permit(self) -> Permit:
        selectors = [item for item in (self.pci_vendor_selector, self.mdev_name_selector) if item]
        return permit_of(
            self.kind,
            self.resource_name,
            selector=selectors[0] if len(selectors) == 1 else None,
            vendor=self.vendor,
            product=self.product,
        )


class ChangeBody(_Body):
    """One change; exactly one of `drain`, `stop`, `permit` and `add_node`."""

    drain: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    stop: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    namespace: Namespace | None = Field(default=None, description="Of the VM that stops.")
    permit: PermitEntry | None = None
    add_node: dict[str, Any] | None = Field(default=None, description="The node's manifest.")

    def fact(self, namespace: str) -> Fact:
        """What is supposed; raises InvalidInput."""
        given = [self.drain, self.stop, self.permit, self.add_node]
        if sum(item is not None for item in given) != 1 or (self.namespace and not self.stop):
            raise InvalidInput(
                "a change is exactly one of drain, stop (with namespace), permit and add_node"
            )
        if self.drain is not None:
            return Drain(self.drain)
        if self.stop is not None:
            return Stop((self.namespace or namespace, self.stop))
        if self.permit is not None:
            return Allow(self.permit.permit())
        found = decode_object({"apiVersion": "v1", "kind": "Node", **(self.add_node or {})})
        if found is None or not isinstance(found[1], Node):
            raise InvalidInput("add_node: this is not a v1 Node")
        return AddNode(found[1])


class WhatIfBody(_Body):
    """Changes in their order, and the VM that is asked about."""

    changes: list[ChangeBody] = Field(min_length=1, max_length=MAX_FACTS)
    manifest: Manifest | None = None
    namespace: Namespace = "default"

    def facts(self) -> list[Fact]:
        return [change.fact(self.namespace) for change in self.changes]


class RenderXmlBody(_Body):
    """A VM, and what its launcher would find around it."""

    manifest: Manifest
    env: dict[str, Annotated[str, Field(max_length=MAX_FILE)]] = Field(
        default={}, max_length=MAX_FILES, description="The launcher's variables."
    )
    metadata: dict[str, Annotated[str, Field(max_length=MAX_METADATA)]] = Field(
        default={},
        max_length=MAX_FILES,
        description="Claim metadata: path below /var/run/kubernetes.io/dra-device-attributes "
        "-> text.",
    )
    network_info: str | None = Field(
        default=None, max_length=MAX_FILE, description="The text of /etc/podinfo/network-info."
    )

    def environment(self) -> Environment:
        return Environment(self.env, self.metadata, self.network_info)
