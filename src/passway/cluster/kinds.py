"""The table of kinds: what is read of a cluster. Adding a kind is one entry.

An entry names the kind as Kubernetes does, and the record its objects become. Whatever an entry's
`record` leaves out is skipped byte by byte; kinds that are only counted or named use `Named`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from passway.cluster import records as r


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """A collection of the API, named as the API names it; `group` is empty for the core group.

    `plural` is also what `--read` and `KindUnread` say. `record` is what its objects become here.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    record: type[r.Record] = field(default=r.Named, compare=False)

    @property
    def api_version(self) -> str:
        """`apiVersion` as objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """`plural.group`, as RBAC messages and CRD names have it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _kind(
    kind: str,
    plural: str,
    group: str,
    version: str,
    record: type[r.Record],
    *,
    namespaced: bool = True,
) -> Kind:
    return Kind(group, version, kind, plural, namespaced, record)


_NETWORKS: Final = "k8s.cni.cncf.io"
_INSTANCETYPE: Final = "instancetype.kubevirt.io"
_STORAGE: Final = "storage.k8s.io"
_DRA: Final = "resource.k8s.io"

NODES: Final = _kind("Node", "nodes", "", "v1", r.Node, namespaced=False)
PODS: Final = _kind("Pod", "pods", "", "v1", r.Pod)
NAMESPACES: Final = _kind("Namespace", "namespaces", "", "v1", r.Named, namespaced=False)
QUOTAS: Final = _kind("ResourceQuota", "resourcequotas", "", "v1", r.ResourceQuota)
LIMIT_RANGES: Final = _kind("LimitRange", "limitranges", "", "v1", r.LimitRange)
VOLUME_CLAIMS: Final = _kind(
    "PersistentVolumeClaim", "persistentvolumeclaims", "", "v1", r.PersistentVolumeClaim
)
VOLUMES: Final = _kind(
    "PersistentVolume", "persistentvolumes", "", "v1", r.PersistentVolume, namespaced=False
)
PRIORITY_CLASSES: Final = _kind(
    "PriorityClass", "priorityclasses", "scheduling.k8s.io", "v1", r.PriorityClass,
    namespaced=False,
)  # fmt: skip
STORAGE_CLASSES: Final = _kind(
    "StorageClass", "storageclasses", _STORAGE, "v1", r.StorageClass, namespaced=False
)
CSI_DRIVERS: Final = _kind("CSIDriver", "csidrivers", _STORAGE, "v1", r.CSIDriver, namespaced=False)
STORAGE_CAPACITIES: Final = _kind(
    "CSIStorageCapacity", "csistoragecapacities", _STORAGE, "v1", r.CSIStorageCapacity
)
KUBEVIRTS: Final = _kind("KubeVirt", "kubevirts", "kubevirt.io", "v1", r.KubeVirt)
HYPERCONVERGEDS: Final = _kind(
    "HyperConverged", "hyperconvergeds", "hco.kubevirt.io", "v1beta1", r.HyperConverged
)
MACHINES: Final = _kind("VirtualMachine", "virtualmachines", "kubevirt.io", "v1", r.VirtualMachine)
INSTANCES: Final = _kind(
    "VirtualMachineInstance", "virtualmachineinstances", "kubevirt.io", "v1",
    r.VirtualMachineInstance,
)  # fmt: skip
ATTACHMENTS: Final = _kind(
    "NetworkAttachmentDefinition", "network-attachment-definitions", _NETWORKS, "v1", r.Named
)
CRDS: Final = _kind(
    "CustomResourceDefinition", "customresourcedefinitions", "apiextensions.k8s.io", "v1", r.Named,
    namespaced=False,
)  # fmt: skip
MUTATING_WEBHOOKS: Final = _kind(
    "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
    "admissionregistration.k8s.io", "v1", r.MutatingWebhookConfiguration, namespaced=False,
)  # fmt: skip
DEVICE_CLASSES: Final = _kind(
    "DeviceClass", "deviceclasses", _DRA, "v1", r.DeviceClass, namespaced=False
)
RUNTIME_CLASSES: Final = _kind(
    "RuntimeClass", "runtimeclasses", "node.k8s.io", "v1", r.RuntimeClass, namespaced=False
)
INSTANCETYPES: Final = _kind(
    "VirtualMachineInstancetype", "virtualmachineinstancetypes", _INSTANCETYPE, "v1beta1",
    r.Instancetype,
)  # fmt: skip
CLUSTER_INSTANCETYPES: Final = _kind(
    "VirtualMachineClusterInstancetype", "virtualmachineclusterinstancetypes", _INSTANCETYPE,
    "v1beta1", r.Instancetype, namespaced=False,
)  # fmt: skip
PREFERENCES: Final = _kind(
    "VirtualMachinePreference", "virtualmachinepreferences", _INSTANCETYPE, "v1beta1",
    r.Instancetype,
)  # fmt: skip
CLUSTER_PREFERENCES: Final = _kind(
    "VirtualMachineClusterPreference", "virtualmachineclusterpreferences", _INSTANCETYPE,
    "v1beta1", r.Instancetype, namespaced=False,
)  # fmt: skip

RESOURCE_CLAIMS: Final = _kind("ResourceClaim", "resourceclaims", _DRA, "v1", r.ResourceClaim)
CLAIM_TEMPLATES: Final = _kind(
    "ResourceClaimTemplate", "resourceclaimtemplates", _DRA, "v1", r.ResourceClaimTemplate
)

EVENTS: Final = _kind("Event", "events", "", "v1", r.Named)
"""Read about one VM when somebody asks why it does not run; not mirrored, so not one of ALL."""

ALL: Final[tuple[Kind, ...]] = (
    NODES, PODS, NAMESPACES, QUOTAS, LIMIT_RANGES, VOLUME_CLAIMS, VOLUMES,
    PRIORITY_CLASSES, RUNTIME_CLASSES, STORAGE_CLASSES,
    _kind("CSINode", "csinodes", _STORAGE, "v1", r.Named, namespaced=False),
    CSI_DRIVERS, STORAGE_CAPACITIES,
    _kind("PodDisruptionBudget", "poddisruptionbudgets", "policy", "v1", r.PodDisruptionBudget),
    MUTATING_WEBHOOKS, CRDS, KUBEVIRTS, HYPERCONVERGEDS, MACHINES, INSTANCES,
    INSTANCETYPES, CLUSTER_INSTANCETYPES, PREFERENCES, CLUSTER_PREFERENCES,
    ATTACHMENTS,
    _kind("NodeResourceTopology", "noderesourcetopologies", "topology.node.k8s.io", "v1alpha2",
         r.Named, namespaced=False),
    DEVICE_CLASSES,
    RESOURCE_CLAIMS, CLAIM_TEMPLATES,
    _kind("ResourceSlice", "resourceslices", _DRA, "v1", r.Named, namespaced=False),
)  # fmt: skip

OF_A_MACHINE: Final = frozenset({
    QUOTAS, LIMIT_RANGES, VOLUME_CLAIMS, MACHINES, INSTANCES, INSTANCETYPES, PREFERENCES,
    ATTACHMENTS, RESOURCE_CLAIMS, CLAIM_TEMPLATES,
})  # fmt: skip
"""Kinds of which a machine needs only those of one namespace, mostly its own."""

BY_KIND: Final[Mapping[tuple[str, str], Kind]] = {(kind.group, kind.kind): kind for kind in ALL}
BY_PLURAL: Final[Mapping[str, Kind]] = {kind.plural: kind for kind in ALL}


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The entry for an object's apiVersion and kind; None for a kind that is not read."""
    group, slash, _ = api_version.rpartition("/")
    return BY_KIND.get((group if slash else "", kind))
