"""The sample cluster as Kubernetes objects, built from a few readable tables.

Twelve nodes, three GPU models, SR-IOV pools, hugepages, a plugin that lost its devices, a tainted
GPU pool, a permitted resource that no node has and an advertised one that nobody permitted, a
waiting VM, and a namespace whose quota is used up. Every object carries the label
`passway.dev/sample=true`. The moment it shows is fixed, so its ages never change.
"""

from dataclasses import dataclass, field
from typing import Any, Final

Object = dict[str, Any]

AT: Final = "2026-06-12T09:30:00Z"
CREATED: Final = "2026-05-02T08:00:00Z"
SAMPLE: Final = {"passway.dev/sample": "true"}
A10: Final = "nvidia.com/GA102GL_A10"
T4: Final = "nvidia.com/TU104GL_TESLA_T4"
VGPU: Final = "nvidia.com/NVIDIA_A10-24Q"
SRIOV_FAST: Final = "intel.com/sriov_fast"
SRIOV_STORAGE: Final = "intel.com/sriov_storage"
QAT: Final = "intel.com/QAT_4XXX_VF"
GIB: Final = 1024
UNSCHEDULABLE: Final = (
    "0/12 nodes are available: 1 node(s) had untolerated taint {dedicated: ml}, 1 node(s) were "
    "unschedulable, 3 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 7 "
    f"Insufficient {A10}. preemption: 0/12 nodes are available: 12 Preemption is not helpful for "
    "scheduling."
)


@dataclass(frozen=True, slots=True)
class SampleNode:
    """A node: `memory` in GiB, `devices` allocatable (or (capacity, allocatable))."""

    name: str
    cpus: int
    memory: int
    devices: dict[str, int | tuple[int, int]] = field(default_factory=dict)
    hugepages_1gi: int = 0
    taint: str | None = None
    cpu_manager: bool = False
    cordoned: bool = False
    pool: str = "general"


@dataclass(frozen=True, slots=True)
class SampleMachine:
    """A VM: `memory` in GiB; `node` None and `running` means that it waits."""

    namespace: str
    name: str
    cpus: int
    memory: int
    node: str | None = None
    gpus: tuple[str, ...] = ()
    host_devices: tuple[str, ...] = ()
    network: str | None = None
    functions: dict[str, int] = field(default_factory=dict)
    hugepages: bool = False
    running: bool = True
    eviction: str | None = "None"


NODES: Final = (
    SampleNode("control-1", 8, 32, taint="node-role.kubernetes.io/control-plane:NoSchedule"),
    SampleNode("control-2", 8, 32, taint="node-role.kubernetes.io/control-plane:NoSchedule"),
    SampleNode("control-3", 8, 32, taint="node-role.kubernetes.io/control-plane:NoSchedule"),
    SampleNode("worker-1", 64, 256),
    SampleNode("worker-2", 64, 256, hugepages_1gi=64, cpu_manager=True),
    SampleNode("gpu-a10-1", 64, 512, {A10: 4}, pool="gpu"),
    SampleNode("gpu-a10-2", 64, 512, {A10: 4}, hugepages_1gi=16, cpu_manager=True, pool="gpu"),
    SampleNode("gpu-t4-1", 48, 256, {T4: 2}, taint="dedicated=ml:NoSchedule", pool="gpu"),
    SampleNode("gpu-t4-2", 48, 256, {T4: (5, 0)}, pool="gpu"),
    SampleNode("gpu-vgpu-1", 64, 512, {VGPU: 2}, pool="gpu"),
    SampleNode("net-1", 48, 192, {SRIOV_FAST: 4, SRIOV_STORAGE: 8, QAT: 16}, pool="network"),
    SampleNode("net-2", 48, 192, {SRIOV_FAST: 0}, cordoned=True, pool="network"),
)

MACHINES: Final = (
    SampleMachine("ml", "train-1", 16, 128, "gpu-a10-1", gpus=(A10, A10)),
    SampleMachine("ml", "train-2", 16, 128, "gpu-a10-1", gpus=(A10,)),
    SampleMachine("ml", "notebook", 8, 64, "gpu-a10-2", gpus=(A10,), eviction="LiveMigrate"),
    SampleMachine("ml", "infer-t4", 8, 32, "gpu-t4-1", gpus=(T4,)),
    SampleMachine("ml", "train-big", 32, 256, gpus=(A10,) * 4),
    SampleMachine("design", "cad-1", 8, 32, "gpu-vgpu-1", gpus=(VGPU,)),
    SampleMachine("design", "cad-2", 8, 32, "gpu-vgpu-1", gpus=(VGPU,)),
    SampleMachine("design", "archive", 4, 16, gpus=("nvidia.com/GP104GL_TESLA_P4",), running=False),
    SampleMachine(
        "telco", "edge-1", 4, 8, "net-1", network="fast", functions={SRIOV_FAST: 1}, eviction=None
    ),
    SampleMachine(
        "telco", "edge-2", 4, 8, "net-1", network="fast", functions={SRIOV_FAST: 1}, eviction=None
    ),
    SampleMachine("telco", "core-1", 8, 48, "worker-2", hugepages=True, eviction=None),
    SampleMachine("web", "shop-1", 4, 16, "worker-1", eviction=None),
)


def sample_objects() -> list[Object]:
    """The whole cluster, as `kubectl get -o json` would print its objects."""
    return [
        *(_object("v1", "Namespace", name) for name in ("default", "ml", "design", "telco", "web")),
        *map(_node, NODES),
        *(made for machine in MACHINES for made in _machine(machine)),
        *_other_pods(),
        _kubevirt(),
        *_networks(),
        *_quotas(),
        *_events(),
        _object("scheduling.k8s.io/v1", "PriorityClass", "production", value=100000),
        _object("storage.k8s.io/v1", "StorageClass", "standard", provisioner="csi.example.com"),
    ]


def _object(
    api_version: str, kind: str, name: str, namespace: str | None = None, **rest: Any
) -> Object:
    metadata: Object = {"name": name, "labels": dict(SAMPLE), "creationTimestamp": CREATED}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **rest}


def _node(node: SampleNode) -> Object:
    worker = not node.name.startswith("control")
    capacity = {
        "cpu": str(node.cpus),
        "memory": f"{node.memory}Gi",
        "ephemeral-storage": "400Gi",
        "pods": "110",
        "hugepages-1Gi": f"{node.hugepages_1gi}Gi",
        "hugepages-2Mi": "0",
    }
    if worker:
        capacity |= {f"devices.kubevirt.io/{name}": "1k" for name in ("kvm", "tun", "vhost-net")}
    allocatable = {**capacity, "memory": f"{node.memory - node.hugepages_1gi - 2}Gi"}
    for resource, units in node.devices.items():
        whole, healthy = units if isinstance(units, tuple) else (units, units)
        capacity[resource], allocatable[resource] = str(whole), str(healthy)
    made = _object("v1", "Node", node.name, spec=_node_spec(node), status={
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": AT}],
    })  # fmt: skip
    made["metadata"]["labels"] |= {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": node.name,
        "node.example.com/pool": node.pool if worker else "control-plane",
    }
    if worker:
        made["metadata"]["labels"] |= {
            "kubevirt.io/schedulable": "true",
            "kubevirt.io/cpumanager": str(node.cpu_manager).lower(),
            "machine-type.node.kubevirt.io/q35": "true",
        }
    return made


def _node_spec(node: SampleNode) -> Object:
    spec: Object = {}
    if node.taint:
        key, _, effect = node.taint.partition(":")
        key, _, value = key.partition("=")
        spec["taints"] = [{"key": key, "effect": effect} | ({"value": value} if value else {})]
    if node.cordoned:
        spec["unschedulable"] = True
        spec.setdefault("taints", []).append(
            {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
        )
    return spec


def _machine(machine: SampleMachine) -> list[Object]:
    instance = _instance_spec(machine)
    place = {"name": machine.name, "namespace": machine.namespace}
    made = [
        _object("kubevirt.io/v1", "VirtualMachine", **place, spec={
            "runStrategy": "Always" if machine.running else "Halted",
            "template": {"spec": instance},
        }, status={"printableStatus": _status(machine), **_waiting(machine)}),
    ]  # fmt: skip
    if machine.running:
        phase = "Running" if machine.node else "Scheduling"
        status = {"phase": phase, **_waiting(machine)}
        status |= {"nodeName": machine.node} if machine.node else {}
        running = _object(
            "kubevirt.io/v1", "VirtualMachineInstance", **place, spec=instance, status=status
        )
        running["metadata"]["uid"] = _uid(machine)
        made += [running, _launcher(machine)]
    return made


def _waiting(machine: SampleMachine) -> Object:
    """The conditions of a VM, a VMI or a launcher for which the scheduler finds no node."""
    if machine.node or not machine.running:
        return {}
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                 "message": UNSCHEDULABLE, "lastTransitionTime": CREATED}  # fmt: skip
    return {"conditions": [condition]}


def _events() -> list[Object]:
    """What the scheduler said last."""
    waiting = [machine for machine in MACHINES if machine.running and not machine.node]
    return [
        _object(
            "v1", "Event", f"{_launcher_name(machine)}.18a1", machine.namespace,
            involvedObject={"apiVersion": "v1", "kind": "Pod", "namespace": machine.namespace,
                            "name": _launcher_name(machine)},
            reason="FailedScheduling", message=UNSCHEDULABLE, type="Warning",
            reportingComponent="default-scheduler", count=12, lastTimestamp=AT,
        )
        for machine in waiting
    ]  # fmt: skip


def _uid(machine: SampleMachine) -> str:
    return f"{machine.namespace}-{machine.name}"


def _launcher_name(machine: SampleMachine) -> str:
    return f"virt-launcher-{machine.name}-7xk2p"


def _status(machine: SampleMachine) -> str:
    if not machine.running:
        return "Stopped"
    return "Running" if machine.node else "ErrorUnschedulable"


def _instance_spec(machine: SampleMachine) -> Object:
    devices: Object = {"interfaces": [{"name": "default", "masquerade": {}}]}
    networks: list[Object] = [{"name": "default", "pod": {}}]
    for field_name, asked in (("gpus", machine.gpus), ("hostDevices", machine.host_devices)):
        if asked:
            devices[field_name] = [
                {"name": f"{field_name[:3]}{index}", "deviceName": name}
                for index, name in enumerate(asked)
            ]
    if machine.network:
        devices["interfaces"].append({"name": machine.network, "sriov": {}})
        networks.append({"name": machine.network, "multus": {"networkName": machine.network}})
    memory: Object = {"guest": f"{machine.memory}Gi"}
    if machine.hugepages:
        memory["hugepages"] = {"pageSize": "1Gi"}
    spec: Object = {
        "domain": {"cpu": {"cores": machine.cpus}, "memory": memory, "devices": devices},
        "networks": networks,
    }
    if machine.eviction:
        spec["evictionStrategy"] = machine.eviction
    return spec


def _launcher(machine: SampleMachine) -> Object:
    """The launcher pod as KubeVirt 1.9 sizes it."""
    passthrough = bool(machine.gpus or machine.host_devices or machine.network)
    overhead = 240 + 8 + 32 + 8 * machine.cpus + (1024 if passthrough else 0)
    guest = machine.memory * GIB
    requests = {
        "cpu": f"{machine.cpus * 100}m",
        "memory": f"{overhead if machine.hugepages else guest + overhead}Mi",
        "ephemeral-storage": "50M",
        **{f"devices.kubevirt.io/{name}": "1" for name in ("kvm", "tun", "vhost-net")},
    }
    if machine.hugepages:
        requests["hugepages-1Gi"] = f"{machine.memory}Gi"
    for name in (*machine.gpus, *machine.host_devices):
        requests[name] = str(int(requests.get(name, "0")) + 1)
    requests |= {name: str(count) for name, count in machine.functions.items()}
    spec: Object = {
        "containers": [{"name": "compute", "resources": {"requests": requests}}],
        "initContainers": [
            {
                "name": "guest-console-log",
                "restartPolicy": "Always",
                "resources": {"requests": {"cpu": "5m", "memory": "35M"}},
            }
        ],
    }
    if machine.node:
        spec["nodeName"] = machine.node
    status = {"phase": "Running" if machine.node else "Pending", **_waiting(machine)}
    made = _object(
        "v1", "Pod", _launcher_name(machine), machine.namespace, spec=spec, status=status
    )
    made["metadata"]["labels"] |= {
        "kubevirt.io": "virt-launcher", "vm.kubevirt.io/name": machine.name,
        "kubevirt.io/created-by": _uid(machine),
    }  # fmt: skip
    made["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstance",
            "name": machine.name,
            "uid": _uid(machine),
            "controller": True,
        }
    ]
    return made


def _other_pods() -> list[Object]:
    """Pods that are no launchers and still hold what a VM may want."""

    def pod(name: str, namespace: str, node: str, requests: Object) -> Object:
        containers = [{"name": "main", "resources": {"requests": requests}}]
        return _object(
            "v1", "Pod", name, namespace,
            spec={"nodeName": node, "containers": containers}, status={"phase": "Running"},
        )  # fmt: skip

    return [
        pod("probe-6c5d9f4b7-x2lqn", "telco", "net-1", {"cpu": "1", SRIOV_FAST: "2"}),
        pod("prometheus-0", "web", "worker-1", {"cpu": "4", "memory": "32Gi"}),
        pod("batch-9k4mz", "ml", "gpu-a10-2", {"cpu": "8", "memory": "64Gi", A10: "1"}),
    ]


def _kubevirt() -> Object:
    def pci(selector: str, name: str) -> Object:
        return {
            "pciVendorSelector": selector,
            "resourceName": name,
            "externalResourceProvider": True,
        }

    permitted = {
        "pciHostDevices": [
            pci("10DE:2236", A10),
            pci("10DE:1EB8", T4),
            pci("10DE:1BB3", "nvidia.com/GP104GL_TESLA_P4"),
        ],
        "mediatedDevices": [{"mdevNameSelector": "NVIDIA A10-24Q", "resourceName": VGPU}],
    }
    made = _object(
        "kubevirt.io/v1", "KubeVirt", "kubevirt", "kubevirt",
        spec={
            "configuration": {
                "permittedHostDevices": permitted,
                "developerConfiguration": {"featureGates": ["HostDevices", "CPUManager"]},
            }
        },
        status={"observedKubeVirtVersion": "v1.9.0", "phase": "Deployed"},
    )  # fmt: skip
    made["metadata"]["resourceVersion"] = "1"
    return made


def _networks() -> list[Object]:
    def attachment(name: str, namespace: str, resource: str | None) -> Object:
        made = _object(
            "k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", name, namespace,
            spec={"config": '{"cniVersion": "1.0.0", "type": "sriov"}'},
        )  # fmt: skip
        if resource:
            made["metadata"]["annotations"] = {"k8s.v1.cni.cncf.io/resourceName": resource}
        return made

    return [
        _object(
            "apiextensions.k8s.io/v1", "CustomResourceDefinition",
            "network-attachment-definitions.k8s.cni.cncf.io",
        ),
        _object(
            "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
            "network-resources-injector-config",
            webhooks=[{"name": "network-resources-injector-config.k8s.io"}],
        ),
        attachment("fast", "telco", SRIOV_FAST),
        attachment("storage", "telco", SRIOV_STORAGE),
        attachment("plain", "telco", None),
    ]  # fmt: skip


def _quotas() -> list[Object]:
    def quota(name: str, namespace: str, hard: Object, used: Object) -> Object:
        return _object(
            "v1", "ResourceQuota", name, namespace,
            spec={"hard": hard}, status={"hard": hard, "used": used},
        )  # fmt: skip

    return [
        quota("gpus", "design", {f"requests.{A10}": "1", f"requests.{VGPU}": "2"},
              {f"requests.{A10}": "0", f"requests.{VGPU}": "2"}),
        quota("compute", "web", {"requests.memory": "64Gi", "requests.cpu": "16"},
              {"requests.memory": "48Gi", "requests.cpu": "4800m"}),
    ]  # fmt: skip
