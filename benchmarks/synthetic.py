"""A synthetic cluster of any size, object by object, as JSON text.

Pods look like real launchers in what costs time (labels, annotations, environment, volumes,
managed fields), so that decoding skips what it would skip in life.
"""

import json
from collections.abc import Iterator
from typing import Any

GPU = "nvidia.com/GA102GL_A10"
RESOURCES = (GPU, "nvidia.com/TU104GL_TESLA_T4", "intel.com/sriov_fast")
PLUMBING = {f"devices.kubevirt.io/{name}": "1k" for name in ("kvm", "tun", "vhost-net")}


def nodes(count: int, with_gpu: int) -> Iterator[dict[str, Any]]:
    """`with_gpu` of the nodes have eight GPUs; all have what a KubeVirt node shows."""
    for index in range(count):
        amounts = {
            "cpu": "96", "memory": "512Gi", "pods": "110", "ephemeral-storage": "400Gi",
            "hugepages-1Gi": "0", "hugepages-2Mi": "0", **PLUMBING,
        }  # fmt: skip
        if index < with_gpu:
            amounts[GPU] = "8"
        labels = {f"cpu-feature.node.kubevirt.io/feature-{number}": "true" for number in range(60)}
        labels |= {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": f"node-{index:05}",
            "kubevirt.io/schedulable": "true",
            "machine-type.node.kubevirt.io/q35": "true",
            "topology.kubernetes.io/zone": f"zone-{index % 3}",
        }
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": f"node-{index:05}", "labels": labels, "resourceVersion": "1"},
            "spec": {},
            "status": {
                "capacity": amounts,
                "allocatable": amounts,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        }


def pods(count: int, node_count: int, with_gpu: int) -> Iterator[dict[str, Any]]:
    """Launchers, spread over the nodes; on GPU nodes the first six hold a GPU each."""
    for index in range(count):
        node, rank = index % node_count, index // node_count
        requests = {
            "cpu": "400m", "memory": "5000Mi", "ephemeral-storage": "50M",
            **dict.fromkeys(PLUMBING, "1"),
        }  # fmt: skip
        if node < with_gpu and rank < 6:
            requests[GPU] = "1"
        yield pod(index, f"node-{node:05}", requests)


def pod(index: int, node: str, requests: dict[str, str]) -> dict[str, Any]:
    name = f"vm-{index:06}"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"virt-launcher-{name}-7xk2p",
            "namespace": f"team-{index % 400:03}",
            "resourceVersion": str(index),
            "uid": f"00000000-0000-4000-8000-{index:012}",
            "creationTimestamp": "2026-06-01T08:00:00Z",
            "labels": {
                "kubevirt.io": "virt-launcher",
                "kubevirt.io/created-by": f"00000000-0000-4000-9000-{index:012}",
                "vm.kubevirt.io/name": name,
            },
            "annotations": {f"kubevirt.io/note-{number}": "x" * 200 for number in range(8)},
            "ownerReferences": [
                {
                    "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
                    "name": name, "uid": "u", "controller": True,
                }
            ],
            "managedFields": [{"fieldsV1": {f"f:field-{number}": {} for number in range(80)}}],
        },
        "spec": {
            "nodeName": node,
            "priority": 0,
            "containers": [
                {
                    "name": "compute",
                    "env": [{"name": f"E{number}", "value": "v" * 30} for number in range(25)],
                    "resources": {"requests": requests, "limits": {}},
                    "volumeMounts": [
                        {"name": f"volume-{number}", "mountPath": "/x"} for number in range(12)
                    ],
                }
            ],
            "initContainers": [
                {
                    "name": "guest-console-log",
                    "restartPolicy": "Always",
                    "resources": {"requests": {"cpu": "5m", "memory": "35M"}},
                }
            ],
            "volumes": [{"name": f"volume-{number}", "emptyDir": {}} for number in range(12)],
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-06-01T08:00:00Z"}
                for kind in ("Ready", "PodScheduled", "Initialized", "ContainersReady")
            ],
            "containerStatuses": [{"name": "compute", "imageID": "sha256:" + "0" * 64}],
        },
    }  # fmt: skip


def kubevirt() -> dict[str, Any]:
    entries = [{"pciVendorSelector": "10DE:2236", "resourceName": GPU}]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "spec": {"configuration": {"permittedHostDevices": {"pciHostDevices": entries}}},
        "status": {"observedKubeVirtVersion": "v1.9.0"},
    }


def machine(gpus: int) -> str:
    devices = {"gpus": [{"name": f"gpu{n}", "deviceName": GPU} for n in range(gpus)]}
    spec = {
        "domain": {
            "cpu": {"cores": 8}, "memory": {"guest": "32Gi"}, "devices": devices if gpus else {},
        }
    }  # fmt: skip
    return json.dumps(
        {
            "apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachine",
            "metadata": {"name": "new", "namespace": "team-000"},
            "spec": {"runStrategy": "Always", "template": {"spec": spec}},
        }
    )
