"""Wire records: what Passway reads of each Kubernetes object, and nothing else.

msgspec skips the bytes of every field that no struct names, so an object costs what is read of it.
Field names are the API's own (camelCase through `rename`). A record judges nothing; amounts stay
the API's text until they are folded. `PermittedHostDevices` lists stay plain, because a change
must write back every field it does not know.
"""

from typing import Any

import msgspec

Amounts = dict[str, str | int | float]


class Record(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Base of all wire records."""


class OwnerReference(Record, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class Meta(Record, frozen=True):
    name: str
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


# -- selectors, shared by pods and by what the scheduler model reads ------------------------------


class Requirement(Record, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] | None = None

    def text(self) -> str:
        """`zone in [a, b]`, as kubectl prints it."""
        values = f" [{', '.join(self.values)}]" if self.values else ""
        return f"{self.key} {self.operator.lower()}{values}"


class LabelSelector(Record, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: tuple[Requirement, ...] | None = None


class NodeSelectorTerm(Record, frozen=True):
    match_expressions: tuple[Requirement, ...] | None = None
    match_fields: tuple[Requirement, ...] | None = None

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """All of them, which have to hold together."""
        return (*(self.match_expressions or ()), *(self.match_fields or ()))


class NodeSelector(Record, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    def text(self) -> str:
        """Requirements that hold together are joined by `and`, alternatives by `or`."""
        terms = (
            " and ".join(item.text() for item in term.requirements)
            for term in self.node_selector_terms
        )
        return " or ".join(terms)

    def labels(self) -> tuple[str, ...]:
        """The keys of the labels that it looks at, sorted."""
        return tuple(
            sorted(
                {
                    item.key
                    for term in self.node_selector_terms
                    for item in term.match_expressions or ()
                }
            )
        )


class NodeAffinity(Record, frozen=True):
    required: NodeSelector | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class PodAffinityTerm(Record, frozen=True):
    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] | None = None
    mismatch_label_keys: tuple[str, ...] | None = None


class PodAffinity(Record, frozen=True):
    required: tuple[PodAffinityTerm, ...] | None = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=None
    )


class Affinity(Record, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(Record, frozen=True):
    topology_key: str = ""
    max_skew: int = 1
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: tuple[str, ...] | None = None


class Toleration(Record, frozen=True):
    key: str | None = None
    operator: str | None = None
    value: str | None = None
    effect: str | None = None


class Taint(Record, frozen=True):
    key: str
    effect: str
    value: str | None = None

    def text(self) -> str:
        """`key=value:effect`, as kubectl prints it."""
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


# -- core kinds -----------------------------------------------------------------------------------


class Condition(Record, frozen=True):
    type: str
    status: str
    reason: str | None = None
    last_heartbeat_time: str | None = None


class NodeSpec(Record, frozen=True):
    unschedulable: bool | None = None
    taints: tuple[Taint, ...] | None = None


class NodeStatus(Record, frozen=True):
    capacity: Amounts | None = None
    allocatable: Amounts | None = None
    conditions: tuple[Condition, ...] | None = None


class Node(Record, frozen=True):
    metadata: Meta
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class Resources(Record, frozen=True):
    requests: Amounts | None = None
    limits: Amounts | None = None


class Port(Record, frozen=True):
    host_port: int | None = None
    protocol: str | None = None


class Container(Record, frozen=True):
    name: str = ""
    resources: Resources | None = None
    ports: tuple[Port, ...] | None = None
    restart_policy: str | None = None


class ClaimSource(Record, frozen=True):
    claim_name: str = ""


class PodVolume(Record, frozen=True):
    persistent_volume_claim: ClaimSource | None = None


class PodResourceClaim(Record, frozen=True):
    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodSpec(Record, frozen=True):
    node_name: str | None = None
    priority: int | None = None
    containers: tuple[Container, ...] | None = None
    init_containers: tuple[Container, ...] | None = None
    overhead: Amounts | None = None
    resources: Resources | None = None
    volumes: tuple[PodVolume, ...] | None = None
    resource_claims: tuple[PodResourceClaim, ...] | None = None
    affinity: Affinity | None = None


class ContainerStatus(Record, frozen=True):
    """What a kubelet has given to a container; differs from the spec while it is resized."""

    name: str = ""
    resources: Resources | None = None
    allocated_resources: Amounts | None = None


class PodCondition(Record, frozen=True):
    type: str = ""
    reason: str | None = None


class PodStatus(Record, frozen=True):
    phase: str | None = None
    nominated_node_name: str | None = None
    conditions: tuple[PodCondition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None
    resources: Resources | None = None
    allocated_resources: Amounts | None = None


class PodMeta(Record, frozen=True):
    """Without annotations, which make up a good part of a launcher and are read by nothing."""

    name: str
    namespace: str | None = None
    resource_version: str = ""
    labels: dict[str, str] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class Pod(Record, frozen=True):
    metadata: PodMeta
    spec: PodSpec | None = None
    status: PodStatus | None = None


class Named(Record, frozen=True):
    """A kind of which only the metadata is read."""

    metadata: Meta


class ScopeRequirement(Record, frozen=True):
    scope_name: str
    operator: str
    values: tuple[str, ...] | None = None


class ScopeSelector(Record, frozen=True):
    match_expressions: tuple[ScopeRequirement, ...] | None = None


class QuotaSpec(Record, frozen=True):
    hard: Amounts | None = None
    scopes: tuple[str, ...] | None = None
    scope_selector: ScopeSelector | None = None


class QuotaStatus(Record, frozen=True):
    hard: Amounts | None = None
    used: Amounts | None = None


class ResourceQuota(Record, frozen=True):
    metadata: Meta
    spec: QuotaSpec | None = None
    status: QuotaStatus | None = None


class LimitRangeItem(Record, frozen=True):
    type: str = ""
    max: Amounts | None = None
    min: Amounts | None = None
    default: Amounts | None = None
    default_request: Amounts | None = None
    max_limit_request_ratio: Amounts | None = None


class LimitRangeSpec(Record, frozen=True):
    limits: tuple[LimitRangeItem, ...] | None = None


class LimitRange(Record, frozen=True):
    metadata: Meta
    spec: LimitRangeSpec | None = None


class PriorityClass(Record, frozen=True):
    metadata: Meta
    value: int = 0
    global_default: bool | None = None
    preemption_policy: str | None = None


class PodOverhead(Record, frozen=True):
    pod_fixed: Amounts | None = None


class RuntimeClass(Record, frozen=True):
    metadata: Meta
    handler: str = ""
    overhead: PodOverhead | None = None


class TopologyRequirement(Record, frozen=True):
    key: str = ""
    values: tuple[str, ...] | None = None


class TopologySelectorTerm(Record, frozen=True):
    match_label_expressions: tuple[TopologyRequirement, ...] | None = None


class StorageClass(Record, frozen=True):
    metadata: Meta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: tuple[TopologySelectorTerm, ...] | None = None


class ClaimSpec(Record, frozen=True):
    volume_name: str | None = None
    storage_class_name: str | None = None
    access_modes: tuple[str, ...] | None = None
    resources: Resources | None = None
    selector: LabelSelector | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class ClaimStatus(Record, frozen=True):
    phase: str | None = None


class PersistentVolumeClaim(Record, frozen=True):
    metadata: Meta
    spec: ClaimSpec | None = None
    status: ClaimStatus | None = None


class VolumeNodeAffinity(Record, frozen=True):
    required: NodeSelector | None = None


class ClaimReference(Record, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""


class VolumeSpec(Record, frozen=True):
    node_affinity: VolumeNodeAffinity | None = None
    storage_class_name: str | None = None
    capacity: Amounts | None = None
    access_modes: tuple[str, ...] | None = None
    claim_ref: ClaimReference | None = None
    volume_mode: str | None = None
    volume_attributes_class_name: str | None = None


class VolumeStatus(Record, frozen=True):
    phase: str | None = None


class PersistentVolume(Record, frozen=True):
    metadata: Meta
    spec: VolumeSpec | None = None
    status: VolumeStatus | None = None


class CSIDriverSpec(Record, frozen=True):
    storage_capacity: bool | None = None


class CSIDriver(Record, frozen=True):
    metadata: Meta
    spec: CSIDriverSpec | None = None


class CSIStorageCapacity(Record, frozen=True):
    metadata: Meta
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
    node_topology: LabelSelector | None = None


class DisruptionBudgetSpec(Record, frozen=True):
    selector: LabelSelector | None = None


class PodDisruptionBudget(Record, frozen=True):
    metadata: Meta
    spec: DisruptionBudgetSpec | None = None


class Webhook(Record, frozen=True):
    name: str = ""
    namespace_selector: LabelSelector | None = None


class MutatingWebhookConfiguration(Record, frozen=True):
    metadata: Meta
    webhooks: tuple[Webhook, ...] | None = None


# -- KubeVirt and HyperConverged --------------------------------------------------------------


class DeveloperConfiguration(Record, frozen=True):
    feature_gates: tuple[str, ...] | None = None
    disabled_feature_gates: tuple[str, ...] | None = None
    cpu_allocation_ratio: int | None = msgspec.field(name="cpuAllocationRatio", default=None)
    memory_overcommit: int | None = None
    node_selectors: dict[str, str] | None = None
    use_emulation: bool | None = None


class MachineOptions(Record, frozen=True):
    disable_serial_console_log: dict[str, Any] | None = None


class SupportContainer(Record, frozen=True):
    """What the cluster sets for one kind of the launcher's helper containers."""

    type: str = ""
    resources: Resources | None = None


class Configuration(Record, frozen=True):
    permitted_host_devices: dict[str, Any] | None = None
    developer_configuration: DeveloperConfiguration | None = None
    eviction_strategy: str | None = None
    cpu_request: str | int | float | None = None
    additional_guest_memory_overhead_ratio: str | None = None
    virtual_machine_options: MachineOptions | None = None
    architecture_configuration: dict[str, Any] | None = None
    cpu_model: str | None = None
    emulated_machines: tuple[str, ...] | None = None
    live_update_configuration: dict[str, Any] | None = None
    machine_type: str | None = None
    network: dict[str, Any] | None = None
    vm_rollout_strategy: str | None = None
    support_container_resources: tuple[SupportContainer, ...] | None = None
    default_runtime_class: str | None = None
    auto_cpu_limit_namespace_label_selector: LabelSelector | None = msgspec.field(
        name="autoCPULimitNamespaceLabelSelector", default=None
    )

    @property
    def binding_plugins(self) -> dict[str, Any]:
        """The network binding plugins by name."""
        found = (self.network or {}).get("binding")
        return found if isinstance(found, dict) else {}


class KubeVirtSpec(Record, frozen=True):
    configuration: Configuration | None = None
    permitted_host_devices: dict[str, Any] | None = None
    """Not a field of KubeVirt: read only to point out a list in the wrong place."""


class KubeVirtStatus(Record, frozen=True):
    observed_kube_virt_version: str | None = None
    default_architecture: str | None = None


class KubeVirt(Record, frozen=True):
    metadata: Meta
    spec: KubeVirtSpec | None = None
    status: KubeVirtStatus | None = None


class HyperConverged(Record, frozen=True):
    metadata: Meta
    api_version: str = ""
    spec: dict[str, Any] | None = None


class HostDevice(Record, frozen=True):
    name: str = ""
    device_name: str | None = None
    claim_name: str | None = None


class MachineDevices(Record, frozen=True):
    gpus: tuple[HostDevice, ...] | None = None
    host_devices: tuple[HostDevice, ...] | None = None


class Domain(Record, frozen=True):
    devices: MachineDevices | None = None


class MachineInstanceSpec(Record, frozen=True):
    domain: Domain | None = None
    eviction_strategy: str | None = None


class MachineTemplate(Record, frozen=True):
    spec: MachineInstanceSpec | None = None


class NamedReference(Record, frozen=True):
    name: str = ""
    kind: str | None = None


class VirtualMachineSpec(Record, frozen=True):
    run_strategy: str | None = None
    running: bool | None = None
    template: MachineTemplate | None = None
    instancetype: NamedReference | None = None


class VirtualMachineStatus(Record, frozen=True):
    printable_status: str | None = None


class VirtualMachine(Record, frozen=True):
    metadata: Meta
    spec: VirtualMachineSpec | None = None
    status: VirtualMachineStatus | None = None


class MachineInstanceStatus(Record, frozen=True):
    phase: str | None = None
    node_name: str | None = None


class VirtualMachineInstance(Record, frozen=True):
    metadata: Meta
    spec: MachineInstanceSpec | None = None
    status: MachineInstanceStatus | None = None


class Instancetype(Record, frozen=True):
    """An instance type or a preference. `spec` stays plain: it is laid over a VM's plain tree."""

    metadata: Meta
    spec: dict[str, Any] | None = None


# -- dynamic resource allocation ----------------------------------------------------------------


class DeviceClassSpec(Record, frozen=True):
    extended_resource_name: str | None = None


class DeviceClass(Record, frozen=True):
    metadata: Meta
    spec: DeviceClassSpec | None = None


class ExactRequest(Record, frozen=True):
    count: int | None = None
    allocation_mode: str | None = None


class DeviceRequest(Record, frozen=True):
    """`exactly` holds the fields since v1beta2; before, they stood beside the name."""

    name: str
    exactly: ExactRequest | None = None
    first_available: tuple[Any, ...] | None = None
    count: int | None = None
    allocation_mode: str | None = None

    @property
    def many(self) -> bool:
        """More than one device may come of it."""
        return self.devices is None or self.devices > 1

    @property
    def devices(self) -> int | None:
        """How many devices it asks for; None for all that match."""
        wanted = self.exactly or self
        return None if wanted.allocation_mode == "All" else wanted.count or 1


class DeviceClaim(Record, frozen=True):
    requests: tuple[DeviceRequest, ...] | None = None


class ResourceClaimSpec(Record, frozen=True):
    devices: DeviceClaim | None = None


class ResourceClaim(Record, frozen=True):
    metadata: Meta
    spec: ResourceClaimSpec | None = None


class ClaimTemplateSpec(Record, frozen=True):
    spec: ResourceClaimSpec | None = None


class ResourceClaimTemplate(Record, frozen=True):
    metadata: Meta
    spec: ClaimTemplateSpec | None = None


def requests_of(spec: ResourceClaimSpec | None) -> tuple[DeviceRequest, ...]:
    """The requests of a claim's spec."""
    devices = spec.devices if spec else None
    return (devices.requests if devices else None) or ()
