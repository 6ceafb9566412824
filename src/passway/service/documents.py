"""Documents: what every surface prints, and what REST and `-o json` are, field by field.

Owns the published shapes (`apiVersion: passway.dev/v1alpha1`) and nothing else: they are made by
`service.report` from values of the core, and read back by the command line from a service. Fields
are only ever added. Amounts are Kubernetes quantities as text where they can have a unit, and
integers where they count devices.
"""

from typing import Any, Final, Literal

import msgspec

from passway.service.audit import AuditEntry, Head

API_VERSION: Final = "passway.dev/v1alpha1"


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all documents."""


class MachineRef(Document, frozen=True, kw_only=True):
    kind: str
    name: str
    namespace: str | None = None


class OverheadPart(Document, frozen=True, kw_only=True):
    """Memory that KubeVirt adds to the guest's, and for what."""

    part: str
    bytes: int
    why: str = ""


class IssueDocument(Document, frozen=True, kw_only=True):
    """One finding with its words. `path` is the field in the manifest, with its place.

    `overhead`: what KubeVirt adds to the guest's memory, where the finding is about an amount that
    holds it (of all replicas together).
    """

    reason: str
    stage: str
    severity: Literal["error", "warning", "unknown"]
    message: str
    remedy: str
    docs: str
    subject: MachineRef | None = None
    path: str | None = None
    file: str | None = None
    line: int | None = None
    column: int | None = None
    nodes: tuple[str, ...] = ()
    overhead: tuple[OverheadPart, ...] = ()


class StageDocument(Document, frozen=True, kw_only=True):
    """`not_reached` is said only of an existing VM, which stands at an earlier stage."""

    stage: str
    outcome: Literal["pass", "warn", "fail", "unknown", "not_checked", "not_reached"]


class NodeVerdict(Document, frozen=True, kw_only=True):
    """Which criteria a node meets and fails, and how many copies it could take."""

    name: str
    meets: tuple[str, ...]
    fails: tuple[str, ...]
    places: int = 0


class NodeGroupDocument(Document, frozen=True, kw_only=True):
    """Nodes that lack the same resource, told as a number."""

    count: int
    fails: tuple[str, ...]


class CauseDocument(Document, frozen=True, kw_only=True):
    """One of the causes of a refusal, as the API server lists them."""

    field: str
    reason: str
    message: str


class TrialDocument(Document, frozen=True, kw_only=True):
    """What the API server said of an object on a dry run; nothing was created.

    `by`: who refused, as far as the words tell. `agreement`: whether our walk says the same of
    what the API server looks at (`not_modelled`: a webhook, a policy or Pod Security refused,
    which no walk can know). Not tried: what right is missing is in `message`.
    """

    object: MachineRef
    outcome: Literal["accepted", "refused", "not_tried"]
    agreement: Literal["agrees", "differs", "not_modelled", "not_tried"]
    by: str | None = None
    reason: str | None = None
    message: str | None = None
    causes: tuple[CauseDocument, ...] = ()
    warnings: tuple[str, ...] = ()


class KindRead(Document, frozen=True, kw_only=True):
    """What was known of a kind when the verdict was made.

    `age_seconds`: since the API server last said that it is so, by a list, an event or a bookmark;
    null where the source is no API server. `namespaces`: those that could be listed of a kind that
    may not be listed in all of them.
    """

    kind: str
    read: Literal["read", "empty", "unread", "forbidden"]
    resource_version: str | None = None
    age_seconds: int | None = None
    namespaces: tuple[str, ...] = ()


class VerdictDocument(Document, frozen=True, kw_only=True):
    """Would this machine get running now, with all its devices?

    `server`: what the API server says of the VM and of its launcher, if it was asked.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["Verdict"] = "Verdict"
    machine: MachineRef
    fits: Literal["yes", "no", "unknown"]
    replicas: int
    places: int
    issues: tuple[IssueDocument, ...]
    stages: tuple[StageDocument, ...]
    nodes: tuple[NodeVerdict, ...]
    node_groups: tuple[NodeGroupDocument, ...]
    server: tuple[TrialDocument, ...] = ()
    read: tuple[KindRead, ...] = ()


class VerdictList(Document, frozen=True, kw_only=True):
    """One verdict for each machine of a manifest; each is judged alone."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["VerdictList"] = "VerdictList"
    items: tuple[VerdictDocument, ...]


class FitNode(Document, frozen=True, kw_only=True):
    name: str
    places: int


class FitDocument(Document, frozen=True, kw_only=True):
    """How many more of one machine fit; `limits` names what ends it and on how many nodes."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["Fit"] = "Fit"
    machine: MachineRef
    places: int
    by_nodes: int
    by_quota: int | None
    limits: dict[str, int]
    nodes: tuple[FitNode, ...]
    verdict: VerdictDocument


class Amount(Document, frozen=True, kw_only=True):
    """One resource on one node; free = allocatable - used, and may be negative."""

    resource_name: str
    capacity: int
    allocatable: int
    used: int
    free: int


class Hugepages(Document, frozen=True, kw_only=True):
    """Pages of one size on one node, as quantities of bytes."""

    page_size: str
    allocatable: str
    free: str


class NodeDocument(Document, frozen=True, kw_only=True):
    name: str
    ready: bool
    schedulable: bool
    kubevirt_schedulable: bool
    cpu_manager: bool
    taints: tuple[str, ...]
    devices: tuple[Amount, ...]
    kubevirt_devices: tuple[Amount, ...]
    hugepages: tuple[Hugepages, ...]
    cpu_free: str
    memory_free: str
    machines: int
    created: str | None = None


class NodeList(Document, frozen=True, kw_only=True):
    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["NodeList"] = "NodeList"
    at: str | None = None
    items: tuple[NodeDocument, ...]


class PermitDocument(Document, frozen=True, kw_only=True):
    """An entry of the permitted list, and how many nodes advertise its name."""

    kind: Literal["pci", "mediated", "usb"]
    resource_name: str
    selector: str
    external_resource_provider: bool
    nodes: int


class PermitList(Document, frozen=True, kw_only=True):
    """`enforced` is false when the list is absent (nothing is checked), null when not known."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["PermitList"] = "PermitList"
    enforced: bool | None
    owner: MachineRef | None
    items: tuple[PermitDocument, ...]


class ResourceDocument(Document, frozen=True, kw_only=True):
    """One device resource over all nodes. `kind` is a hint: how a VM would ask for it."""

    resource_name: str
    kind: Literal["gpu", "host-device", "sriov"]
    capacity: int
    advertised: int
    used: int
    free: int
    permitted: bool | None
    selectors: tuple[str, ...]
    nodes: tuple[str, ...]
    holders: tuple[str, ...]


class PoolDocument(Document, frozen=True, kw_only=True):
    """A pool of virtual functions and the network attachments that take from it."""

    resource_name: str
    networks: tuple[str, ...]
    capacity: int
    advertised: int
    used: int
    free: int
    nodes: tuple[str, ...]


class PoolList(Document, frozen=True, kw_only=True):
    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["PoolList"] = "PoolList"
    items: tuple[PoolDocument, ...]


class DeviceInventory(Document, frozen=True, kw_only=True):
    """Everything about devices on one cluster. `unread`: kinds that were not read, with why."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["DeviceInventory"] = "DeviceInventory"
    at: str | None
    resources: tuple[ResourceDocument, ...]
    nodes: tuple[NodeDocument, ...]
    permitted: tuple[PermitDocument, ...] | None
    feature_gates: dict[str, bool] | None
    kubevirt_version: str | None
    multus_installed: bool | None
    sriov_pools: tuple[PoolDocument, ...]
    kind_hints: dict[str, Literal["gpu", "host-device", "sriov"]]
    unread: dict[str, str]


class MachineDocument(Document, frozen=True, kw_only=True):
    """A VM (or a VMI without one). `holds`: device units of its running launcher."""

    namespace: str
    name: str
    status: str
    run_strategy: str | None
    node: str | None
    devices: tuple[str, ...]
    holds: dict[str, int]
    created: str | None = None


class MachineList(Document, frozen=True, kw_only=True):
    """`unread`: kinds that it depends on and that were not read, with why."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["MachineList"] = "MachineList"
    at: str | None = None
    items: tuple[MachineDocument, ...]
    unread: dict[str, str] = {}


class DriftReport(Document, frozen=True, kw_only=True):
    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["DriftReport"] = "DriftReport"
    issues: tuple[IssueDocument, ...]


class ImpactDocument(Document, frozen=True, kw_only=True):
    """What a drain does to one VM. `room`: other nodes with enough free, its rules left aside."""

    namespace: str
    name: str
    effect: Literal["stops", "migrates", "blocks", "external"]
    devices: tuple[str, ...]
    eviction_strategy: str
    room: tuple[str, ...]


class DrainImpact(Document, frozen=True, kw_only=True):
    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["DrainImpact"] = "DrainImpact"
    node: str
    items: tuple[ImpactDocument, ...]


class WordsDocument(Document, frozen=True, kw_only=True):
    """What a component says of one object, letter by letter; `count`: how often, `time`: last."""

    component: str
    about: MachineRef
    reason: str
    message: str
    time: str | None = None
    count: int = 1


class ExplanationDocument(Document, frozen=True, kw_only=True):
    """Why an existing VM does not run: where it stands, who says so, and what our walk says of it.

    `agreement`: whether the walk finds what the component says (`agrees`), finds nothing any more
    while KubeVirt still waits for its next try (`cause_gone`), finds nothing although it should
    (`differs`), could not decide (`undecided`), knows nothing of that kind (`not_modelled`), or
    nobody says anything (`nothing_said`). `issues` are our reasons for that stage; `also` is what
    else would stop a start now. `verdict` is the walk as if the VM were asked for now, and nothing
    of it existed. `unread`: kinds of traces that were not read, with why.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["Explanation"] = "Explanation"
    machine: MachineRef
    state: Literal["running", "stopped", "waiting", "failing"]
    status: str | None
    phase: str | None
    node: str | None
    stage: str | None
    said: tuple[WordsDocument, ...]
    agreement: Literal[
        "agrees", "cause_gone", "differs", "undecided", "not_modelled", "nothing_said"
    ]
    issues: tuple[IssueDocument, ...]
    also: tuple[IssueDocument, ...]
    stages: tuple[StageDocument, ...]
    verdict: VerdictDocument
    unread: dict[str, str] = {}


class SuppositionDocument(Document, frozen=True, kw_only=True):
    """One change of a what-if. `target`: the node, the VM or the resource.

    Of a drain: what it does to each VM, and how many other pods leave, whose replacements are
    not foreseen.
    """

    change: Literal["drain", "stop", "permit", "add-node"]
    target: str
    changed: bool
    impacts: tuple[ImpactDocument, ...] = ()
    other_pods: int = 0


class ComparisonDocument(Document, frozen=True, kw_only=True):
    """The same question before and after; `resolved` and `added` are the findings that differ."""

    machine: MachineRef
    before: VerdictDocument
    after: VerdictDocument
    resolved: tuple[IssueDocument, ...]
    added: tuple[IssueDocument, ...]


class MoveDocument(Document, frozen=True, kw_only=True):
    """A VM that loses its node. `node`: where it goes in an arrangement of all of them."""

    machine: MachineRef
    node: str | None
    verdict: VerdictDocument


class WhatIfDocument(Document, frozen=True, kw_only=True):
    """The same questions on a changed cluster; nothing was changed.

    `asked`: the machines of the manifest. `moved`: the VMs that drains would stop or move, each
    asked about again; `together` says whether there is a place for all of them at once.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["WhatIf"] = "WhatIf"
    changes: tuple[SuppositionDocument, ...]
    asked: tuple[ComparisonDocument, ...]
    moved: tuple[MoveDocument, ...]
    together: Literal["yes", "no", "unknown"] | None


class UsbDocument(Document, frozen=True, kw_only=True):
    """A USB device; `id` is `vendor:product-bus:device`."""

    id: str
    device_path: str


class DiscoveredDevice(Document, frozen=True, kw_only=True):
    """One entry of a plugin. `id` is what the kubelet counts; for PCI and mdev an IOMMU group."""

    id: str
    health: Literal["Healthy"]
    numa_node: int | None = None
    pci_address: str | None = None
    uuid: str | None = None
    usb: tuple[UsbDocument, ...] = ()


class PluginDocument(Document, frozen=True, kw_only=True):
    """A device plugin and, but for USB, what its Allocate gives when all ids are asked for."""

    resource_name: str
    kind: Literal["pci", "mdev", "usb"]
    devices: tuple[DiscoveredDevice, ...]
    env: dict[str, str] = {}
    device_nodes: tuple[str, ...] = ()
    allocate_error: str | None = None


class DiscoveryReport(Document, frozen=True, kw_only=True):
    """What KubeVirt's device plugins on a host would advertise."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["DiscoveryReport"] = "DiscoveryReport"
    items: tuple[PluginDocument, ...]
    issues: tuple[IssueDocument, ...] = ()


class PermitChange(Document, frozen=True, kw_only=True):
    """A change of the permitted list: what it does, and whether it was written."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["PermitChange"] = "PermitChange"
    changed: bool
    applied: bool
    target: MachineRef
    diff: str
    enforcement: bool
    refused: tuple[MachineRef, ...]
    in_use: tuple[MachineRef, ...]
    resource_version: str | None = None


class MachineCreated(Document, frozen=True, kw_only=True):
    """A VM that was created (or would be, with `dry_run`), with what its preflight said.

    `repeated`: it had been created before, by a request with the same Idempotency-Key; then there
    was no preflight.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["MachineCreated"] = "MachineCreated"
    name: str
    namespace: str
    uid: str | None
    dry_run: bool
    issues: tuple[IssueDocument, ...]
    verdict: VerdictDocument | None
    repeated: bool = False


class RenderError(Document, frozen=True, kw_only=True):
    """Why KubeVirt would fail. `device` is where it stands in the spec; empty for the whole VM.

    `looked_for`: the variables, files or fields that were read for it.
    """

    code: str
    device: str
    looked_for: tuple[str, ...]
    message: str
    hint: str


class HostDeviceElement(Document, frozen=True, kw_only=True):
    """A libvirt `<hostdev>` element; `device` is where its device stands in the spec."""

    device: str | None
    xml: str


class HostDevices(Document, frozen=True, kw_only=True):
    """What the launcher would give libvirt; with an `error` there are no elements."""

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["HostDevices"] = "HostDevices"
    machine: MachineRef
    elements: tuple[HostDeviceElement, ...]
    error: RenderError | None = None


class LauncherPod(Document, frozen=True, kw_only=True):
    """The pod that would run a VM: a v1 Pod as far as the scheduler and quotas look at it.

    `requests` are the pod's as the scheduler sums them up. With an `error` KubeVirt creates no
    pod, and this is the one that it would create otherwise. `unread`: kinds (or
    references of the VM) that the pod depends on and that were not read, with why.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["LauncherPod"] = "LauncherPod"
    machine: MachineRef
    pod: dict[str, Any]
    overhead: tuple[OverheadPart, ...]
    overhead_total: int
    requests: dict[str, str]
    error: RenderError | None = None
    unread: dict[str, str] = {}


class DevicePreflight(Document, frozen=True, kw_only=True):
    """`ok` is false exactly when an issue has severity error."""

    ok: bool
    issues: tuple[IssueDocument, ...]


class ReasonDocument(Document, frozen=True, kw_only=True):
    reason: str
    title: str
    message: str
    remedy: str
    docs: str


class ReasonList(Document, frozen=True, kw_only=True):
    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["ReasonList"] = "ReasonList"
    items: tuple[ReasonDocument, ...]


class MyDevice(Document, frozen=True, kw_only=True):
    """What a tenant may know of a resource: whether some is free, and the own quota."""

    resource_name: str
    available: Literal["free", "none", "unknown"]
    permitted: bool | None
    quota_hard: str | None = None
    quota_used: str | None = None


class MyDevices(Document, frozen=True, kw_only=True):
    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["MyDevices"] = "MyDevices"
    namespace: str
    items: tuple[MyDevice, ...]


class AuditList(Document, frozen=True, kw_only=True):
    """A page of the audit, the newest row first.

    `next` is the `before` of the page that follows; absent on the last one. `head` is the end of
    the chain as this replica has seen it.
    """

    api_version: str = msgspec.field(name="apiVersion", default=API_VERSION)
    kind: Literal["AuditList"] = "AuditList"
    items: tuple[AuditEntry, ...]
    next: int | None = None
    head: Head | None = None


class Problem(Document, frozen=True, kw_only=True):
    """`application/problem+json` (RFC 9457), with `code` and, where there are any, `issues`."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    hint: str | None = None
    issues: tuple[IssueDocument, ...] = ()


PUBLISHED: Final[tuple[type[Document], ...]] = (
    VerdictDocument, VerdictList, FitDocument, NodeList, PermitList, PoolList, DeviceInventory,
    MachineList, DriftReport, DrainImpact, PermitChange, MachineCreated, ReasonList,
    HostDevices, LauncherPod, ExplanationDocument, WhatIfDocument, AuditList,
)  # fmt: skip
"""The documents with a published JSON Schema."""
