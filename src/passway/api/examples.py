"""Examples of requests, for the OpenAPI document; each is accepted on the sample cluster."""

from typing import Any, Final

T4: Final = "nvidia.com/TU104GL_TESLA_T4"
A10: Final = "nvidia.com/GA102GL_A10"
QAT: Final = "intel.com/QAT_4XXX_VF"

MACHINE: Final[dict[str, Any]] = {
    "name": "train-7",
    "namespace": "ml",
    "image": "quay.io/containerdisks/fedora:43",
    "cpus": 8,
    "memory": 16384,
    "devices": [{"name": "gpu", "device_name": A10}],
}
SRIOV_MACHINE: Final[dict[str, Any]] = {
    "name": "edge-7",
    "namespace": "telco",
    "image": "quay.io/containerdisks/fedora:43",
    "cpus": 4,
    "memory": 8192,
    "interfaces": [{"name": "storage", "network_type": {"sriov": {"name": "storage"}}}],
}
PREFLIGHT: Final[dict[str, Any]] = {
    "devices": [{"device_name": A10}],
    "sriov_networks": ["telco/fast"],
    "namespace": "ml",
    "dedicated_cpus": True,
    "hugepages": "1Gi",
    "cpus": 4,
    "memory": 8192,
}
PCI: Final[dict[str, Any]] = {
    "kind": "pci",
    "resource_name": QAT,
    "pci_vendor_selector": "8086:4941",
    "external_resource_provider": True,
}
MEDIATED: Final[dict[str, Any]] = {
    "kind": "mediated",
    "resource_name": "nvidia.com/NVIDIA_A10-8Q",
    "mdev_name_selector": "NVIDIA A10-8Q",
}
USB: Final[dict[str, Any]] = {
    "kind": "usb",
    "resource_name": "kubevirt.io/storage",
    "vendor": "046d",
    "product": "08e5",
    "dry_run": True,
}
MANIFEST: Final[dict[str, Any]] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "train-8", "namespace": "ml"},
    "spec": {
        "runStrategy": "Always",
        "template": {
            "spec": {
                "domain": {
                    "cpu": {"cores": 4},
                    "memory": {"guest": "8Gi"},
                    "devices": {"gpus": [{"name": "gpu", "deviceName": A10}]},
                }
            }
        },
    },
}
MANIFEST_TEXT: Final = f"""\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: train-9
  namespace: ml
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        cpu: {{cores: 4}}
        memory: {{guest: 8Gi}}
        devices:
          gpus:
            - name: gpu
              deviceName: {A10}
"""
RENDER_XML: Final[dict[str, Any]] = {
    "manifest": MANIFEST_TEXT,
    "env": {"PCI_RESOURCE_NVIDIA_COM_GA102GL_A10": "0000:65:00.0"},
}
RENDER_XML_OBJECT: Final[dict[str, Any]] = {"manifest": MANIFEST}
WHAT_IF: Final[dict[str, Any]] = {
    "changes": [{"stop": "train-1", "namespace": "ml"}],
    "manifest": MANIFEST,
    "namespace": "ml",
}
WHAT_IF_DRAIN: Final[dict[str, Any]] = {
    "changes": [
        {"add_node": {"metadata": {"name": "gpu-a10-3"}, "status": {"allocatable": {A10: "4"}}}},
        {"drain": "gpu-a10-1"},
    ],
}
