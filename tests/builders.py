"""Builders: the smallest objects that mean something, with what a test cares about laid over them.

`cluster(...)` folds plain objects into a snapshot in which every kind was read; `machine(...)`
parses a VM as any entry point would. Nothing here judges.
"""

import json
from collections.abc import Iterable
from typing import Any

from passway.cluster import kinds
from passway.cluster.dump import decode_object
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Read, Snapshot
from passway.cluster.state import ClusterState
from passway.kubevirt.launcher_pod import LauncherPod, render_launcher
from passway.kubevirt.vmi import cluster_settings, mutated
from passway.manifest.spec import MachineSpec
from passway.manifest.vm import parse_manifest
from passway.model.verdict import Verdict
from passway.preflight.walk import check

Object = dict[str, Any]

GPU = "nvidia.com/GA102GL_A10"
T4 = "nvidia.com/TU104GL_TESLA_T4"
VF = "intel.com/sriov_vfio"


def state(
    objects: Iterable[Object], *, unread: Iterable[Kind] = (), forbidden: Iterable[Kind] = ()
) -> ClusterState:
    """A state in which every kind was read, except those named."""
    made = ClusterState()
    for kind in kinds.ALL:
        made.mark(kind, Read.READ)
    for obj in objects:
        decoded = decode_object(obj)
        assert decoded is not None, obj
        made.apply(*decoded)
    for kind in unread:
        made.mark(kind, Read.UNREAD)
    for kind in forbidden:
        made.mark(kind, Read.FORBIDDEN)
    return made


def cluster(
    *objects: Object, unread: Iterable[Kind] = (), forbidden: Iterable[Kind] = ()
) -> Snapshot:
    """A snapshot of these objects and the namespace `default`."""
    return state((namespace("default"), *objects), unread=unread, forbidden=forbidden).snapshot()


def ask(vm: Object, *objects: Object, **options: Any) -> Verdict:
    """The verdict for a VM on a cluster of these objects and a KubeVirt without a list."""
    replicas = options.pop("replicas", None)
    expand = options.pop("expand", False)
    return check(machine(vm), cluster(*objects, **options), replicas=replicas, expand=expand)


def machine(vm: Object) -> MachineSpec:
    """The spec of a VM object, through the same parser as everything else."""
    return parse_manifest(json.dumps(vm), "vm.json").require()[0]


def launcher(
    spec: MachineSpec, snapshot: Snapshot, functions: dict[str, int] | None = None
) -> LauncherPod:
    """The launcher pod of a machine, after KubeVirt's defaults."""
    vmi = mutated(spec, cluster_settings(snapshot.kubevirt)).vmi
    return render_launcher(spec, vmi, snapshot, functions or {})


def reasons(verdict: Verdict) -> list[str]:
    """The reasons of a verdict, without the note that devices pin a VM."""
    return [issue.reason for issue in verdict.issues if issue.reason != "PinnedToNode"]


def obj(
    api_version: str, kind: str, name: str, namespace: str | None = None, **rest: Any
) -> Object:
    meta = {"name": name, "namespace": namespace, **rest.pop("meta", {})}
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {key: value for key, value in meta.items() if value is not None},
        **rest,
    }


def namespace(name: str) -> Object:
    return obj("v1", "Namespace", name)


def node(
    name: str,
    devices: dict[str, int] | None = None,
    *,
    labels: dict[str, str] | None = None,
    taints: list[Object] | None = None,
    unschedulable: bool = False,
    capacity: dict[str, str] | None = None,
    **allocatable: str,
) -> Object:
    """A node that KubeVirt can use: 64 CPUs, 256Gi, 110 pods, and the devices."""
    amounts = {
        "cpu": "64", "memory": "256Gi", "pods": "110", "ephemeral-storage": "400Gi",
        "devices.kubevirt.io/kvm": "1k", "devices.kubevirt.io/tun": "1k",
        "devices.kubevirt.io/vhost-net": "1k",
        **{key.replace("_", "-"): value for key, value in allocatable.items()},
        **{key: str(count) for key, count in (devices or {}).items()},
    }  # fmt: skip
    return obj(
        "v1", "Node", name,
        meta={
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubevirt.io/schedulable": "true",
                "kubevirt.io/cpumanager": "false",
                "machine-type.node.kubevirt.io/q35": "true",
                **(labels or {}),
            }
        },
        spec={"taints": taints or [], "unschedulable": unschedulable},
        status={
            "capacity": {**amounts, **(capacity or {})},
            "allocatable": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    )  # fmt: skip


def pod(
    name: str,
    node_name: str | None = None,
    requests: dict[str, str] | None = None,
    *,
    namespace: str = "default",
    machine: str | None = None,
    phase: str = "Running",
    meta: Object | None = None,
    **spec: Any,
) -> Object:
    """A pod with one container; `machine` makes it the launcher of that VM."""
    owners = [{"kind": "VirtualMachineInstance", "name": machine, "uid": "u"}] if machine else None
    return obj(
        "v1", "Pod", name, namespace,
        meta={"ownerReferences": owners, **(meta or {})},
        spec={
            "nodeName": node_name,
            "containers": [{"resources": {"requests": requests or {}}}],
            **spec,
        },
        status={"phase": phase},
    )  # fmt: skip


def kubevirt(
    permitted: Object | None = None,
    *,
    gates: Iterable[str] = ("HostDevices", "CPUManager"),
    disabled: Iterable[str] = (),
    version: str | None = "v1.9.0",
    meta: Object | None = None,
    **configuration: Any,
) -> Object:
    """The KubeVirt object; without `permitted` its list is absent."""
    return obj(
        "kubevirt.io/v1", "KubeVirt", "kubevirt", "kubevirt",
        meta={"resourceVersion": "7", **(meta or {})},
        spec={
            "configuration": {
                **({"permittedHostDevices": permitted} if permitted is not None else {}),
                "developerConfiguration": {
                    "featureGates": list(gates),
                    "disabledFeatureGates": list(disabled),
                    **configuration.pop("developer", {}),
                },
                **configuration,
            }
        },
        status={"observedKubeVirtVersion": version} if version else {},
    )  # fmt: skip


def pci(selector: str, resource: str, **rest: Any) -> Object:
    return {"pciVendorSelector": selector, "resourceName": resource, **rest}


def vm(
    name: str = "vm",
    *,
    namespace: str | None = "default",
    gpus: Iterable[str] = (),
    host_devices: Iterable[str] = (),
    sriov: Iterable[str] = (),
    cpu: Object | None = None,
    memory: Object | None = None,
    domain: Object | None = None,
    devices: Object | None = None,
    run_strategy: str = "Always",
    **instance: Any,
) -> Object:
    """A VM with two cores and 4Gi; `sriov` names network attachments."""
    networks: list[Object] = [{"name": "default", "pod": {}}]
    interfaces: list[Object] = [{"name": "default", "masquerade": {}}]
    for index, attachment in enumerate(sriov):
        networks.append({"name": f"net{index}", "multus": {"networkName": attachment}})
        interfaces.append({"name": f"net{index}", "sriov": {}})
    made = {
        "interfaces": interfaces,
        **_listed("gpus", "gpu", gpus),
        **_listed("hostDevices", "dev", host_devices),
        **(devices or {}),
    }
    spec = {
        "domain": {
            "cpu": cpu or {"cores": 2},
            "memory": memory or {"guest": "4Gi"},
            "devices": made,
            **(domain or {}),
        },
        "networks": networks,
        **instance,
    }
    return obj(
        "kubevirt.io/v1", "VirtualMachine", name, namespace,
        spec={"runStrategy": run_strategy, "template": {"spec": spec}},
    )  # fmt: skip


def vmi(name: str, namespace: str = "default", *, phase: str = "Running", **spec: Any) -> Object:
    return obj(
        "kubevirt.io/v1", "VirtualMachineInstance", name, namespace,
        spec={"domain": {}, **spec}, status={"phase": phase},
    )  # fmt: skip


def quota(
    name: str,
    hard: dict[str, str],
    used: dict[str, str] | None = None,
    *,
    namespace: str = "default",
    status: bool = True,
    **spec: Any,
) -> Object:
    return obj(
        "v1", "ResourceQuota", name, namespace,
        spec={"hard": hard, **spec},
        status={"hard": hard, "used": used or dict.fromkeys(hard, "0")} if status else {},
    )  # fmt: skip


def attachment(name: str, resource: str | None = VF, namespace: str = "default") -> Object:
    annotations = {"k8s.v1.cni.cncf.io/resourceName": resource} if resource else None
    return obj(
        "k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", name, namespace,
        meta={"annotations": annotations},
    )  # fmt: skip


def injector() -> Object:
    return obj(
        "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
        "network-resources-injector-config",
    )  # fmt: skip


def _listed(field: str, prefix: str, resources: Iterable[str]) -> Object:
    entries = [
        {"name": f"{prefix}{index}", "deviceName": resource}
        for index, resource in enumerate(resources)
    ]
    return {field: entries} if entries else {}


def instancetype(
    name: str,
    *,
    namespace: str | None = None,
    guest: int = 4,
    memory: str = "8Gi",
    gpus: Iterable[str] = (),
    host_devices: Iterable[str] = (),
    cpu: Object | None = None,
    **spec: Any,
) -> Object:
    """An instance type of the cluster, or of a namespace; four vCPUs and 8Gi."""
    return obj(
        "instancetype.kubevirt.io/v1beta1",
        f"Virtual{'Machine' if namespace else 'MachineCluster'}Instancetype", name, namespace,
        spec={
            "cpu": {"guest": guest, **(cpu or {})},
            "memory": {"guest": memory},
            **_listed("gpus", "gpu", gpus),
            **_listed("hostDevices", "dev", host_devices),
            **spec,
        },
    )  # fmt: skip


def preference(name: str, *, namespace: str | None = None, **spec: Any) -> Object:
    """A preference of the cluster, or of a namespace."""
    return obj(
        "instancetype.kubevirt.io/v1beta1",
        f"Virtual{'Machine' if namespace else 'MachineCluster'}Preference", name, namespace,
        spec=spec,
    )  # fmt: skip


def referring(
    instancetype: str | Object | None = None,
    preference: str | Object | None = None,
    *,
    domain: Object | None = None,
    **options: Any,
) -> Object:
    """A VM with neither CPU nor memory of its own; a text is the name of the referred object."""
    made = vm(**options)
    inner = made["spec"]["template"]["spec"]["domain"]
    del inner["cpu"], inner["memory"]
    inner.update(domain or {})
    for field, matcher in (("instancetype", instancetype), ("preference", preference)):
        if matcher is not None:
            made["spec"][field] = {"name": matcher} if isinstance(matcher, str) else matcher
    return made
