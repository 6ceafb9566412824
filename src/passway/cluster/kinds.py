"""The table of kinds: what is read of a cluster. Adding a kind is one entry.

An entry names the kind as Kubernetes does, and the record its objects become. Whatever an entry's
`record` leaves out is skipped byte by byte; kinds that are only counted or named use `Named`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from passway.cluster import records as r


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind as the API names it; `plural` is also what `--read` and `KindUnread` say."""

    kind: str
    plural: str
    group: str
    version: str
    record: type[r.Record]
    namespaced: bool = True

    @property
    def resource(self) -> str:
        """`plural.group`, as RBAC and kubectl write it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


_NETWORKS: Final = "k8s.cni.cncf.io"
_INSTANCETYPE: Final = "instancetype.kubevirt.io"
_DRA: Final = "resource.k8s.io"

NODES: Final = Kind("Node", "nodes", "", "v1", r.Node, namespaced=False)
PODS: Final = Kind("Pod", "pods", "", "v1", r.Pod)
NAMESPACES: Final = Kind("Namespace", "namespaces", "", "v1", r.Named, namespaced=False)
QUOTAS: Final = Kind("ResourceQuota", "resourcequotas", "", "v1", r.ResourceQuota)
LIMIT_RANGES: Final = Kind("LimitRange", "limitranges", "", "v1", r.LimitRange)
VOLUME_CLAIMS: Final = Kind(
    "PersistentVolumeClaim", "persistentvolumeclaims", "", "v1", r.PersistentVolumeClaim
)
VOLUMES: Final = Kind(
    "PersistentVolume", "persistentvolumes", "", "v1", r.PersistentVolume, namespaced=False
)
KUBEVIRTS: Final = Kind("KubeVirt", "kubevirts", "kubevirt.io", "v1", r.KubeVirt)
HYPERCONVERGEDS: Final = Kind(
    "HyperConverged", "hyperconvergeds", "hco.kubevirt.io", "v1beta1", r.HyperConverged
)
MACHINES: Final = Kind("VirtualMachine", "virtualmachines", "kubevirt.io", "v1", r.VirtualMachine)
INSTANCES: Final = Kind(
    "VirtualMachineInstance", "virtualmachineinstances", "kubevirt.io", "v1",
    r.VirtualMachineInstance,
)  # fmt: skip
ATTACHMENTS: Final = Kind(
    "NetworkAttachmentDefinition", "network-attachment-definitions", _NETWORKS, "v1", r.Named
)
CRDS: Final = Kind(
    "CustomResourceDefinition", "customresourcedefinitions", "apiextensions.k8s.io", "v1", r.Named,
    namespaced=False,
)  # fmt: skip
MUTATING_WEBHOOKS: Final = Kind(
    "MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
    "admissionregistration.k8s.io", "v1", r.MutatingWebhookConfiguration, namespaced=False,
)  # fmt: skip
DEVICE_CLASSES: Final = Kind(
    "DeviceClass", "deviceclasses", _DRA, "v1", r.DeviceClass, namespaced=False
)

ALL: Final[tuple[Kind, ...]] = (
    NODES, PODS, NAMESPACES, QUOTAS, LIMIT_RANGES, VOLUME_CLAIMS, VOLUMES,
    Kind("PriorityClass", "priorityclasses", "scheduling.k8s.io", "v1", r.PriorityClass,
         namespaced=False),
    Kind("RuntimeClass", "runtimeclasses", "node.k8s.io", "v1", r.RuntimeClass, namespaced=False),
    Kind("StorageClass", "storageclasses", "storage.k8s.io", "v1", r.StorageClass,
         namespaced=False),
    Kind("CSINode", "csinodes", "storage.k8s.io", "v1", r.Named, namespaced=False),
    Kind("CSIStorageCapacity", "csistoragecapacities", "storage.k8s.io", "v1", r.Named),
    Kind("PodDisruptionBudget", "poddisruptionbudgets", "policy", "v1", r.PodDisruptionBudget),
    MUTATING_WEBHOOKS, CRDS, KUBEVIRTS, HYPERCONVERGEDS, MACHINES, INSTANCES,
    Kind("VirtualMachineInstancetype", "virtualmachineinstancetypes", _INSTANCETYPE, "v1beta1",
         r.Instancetype),
    Kind("VirtualMachineClusterInstancetype", "virtualmachineclusterinstancetypes", _INSTANCETYPE,
         "v1beta1", r.Instancetype, namespaced=False),
    Kind("VirtualMachinePreference", "virtualmachinepreferences", _INSTANCETYPE, "v1beta1",
         r.Named),
    Kind("VirtualMachineClusterPreference", "virtualmachineclusterpreferences", _INSTANCETYPE,
         "v1beta1", r.Named, namespaced=False),
    ATTACHMENTS,
    Kind("NodeResourceTopology", "noderesourcetopologies", "topology.node.k8s.io", "v1alpha2",
         r.Named, namespaced=False),
    DEVICE_CLASSES,
    Kind("ResourceClaim", "resourceclaims", _DRA, "v1", r.Named),
    Kind("ResourceClaimTemplate", "resourceclaimtemplates", _DRA, "v1", r.Named),
    Kind("ResourceSlice", "resourceslices", _DRA, "v1", r.Named, namespaced=False),
)  # fmt: skip

BY_KIND: Final[Mapping[tuple[str, str], Kind]] = {(kind.group, kind.kind): kind for kind in ALL}
BY_PLURAL: Final[Mapping[str, Kind]] = {kind.plural: kind for kind in ALL}


def kind_of(api_version: str, kind: str) -> Kind | None:
    """The entry for an object's apiVersion and kind; None for a kind that is not read."""
    group, slash, _ = api_version.rpartition("/")
    return BY_KIND.get((group if slash else "", kind))
