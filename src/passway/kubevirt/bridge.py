"""A manifest's machine as a defaulted VMI, until the full model of the defaults does it.

Owns the few defaults that the launcher depends on: architecture, machine type, CPU model and
topology, CPU request, guest memory, the network, and the annotations that KubeVirt's webhook adds.
Follows kubevirt pkg/defaults/defaults.go; whatever else the webhook fills in changes no launcher.
"""

from collections.abc import Mapping
from typing import Any, Final

from passway.cluster.records import Configuration
from passway.kubevirt.compute import EVEN_PARITY
from passway.kubevirt.fields import Tree, amount, amounts, flag, present, text
from passway.kubevirt.gates import Gates
from passway.kubevirt.traits import vcpus
from passway.manifest.spec import MachineSpec
from passway.model.quantity import InvalidQuantity, Quantity, milli, parse_quantity

DEFAULT_ARCHITECTURE: Final = "amd64"
MACHINES: Final = {"amd64": "q35", "arm64": "virt", "s390x": "s390-ccw-virtio"}
TOPOLOGY: Final = "kubevirt.io/pci-topology-version"
DEFAULT_CPU_REQUEST: Final = milli(100)


def defaulted(
    spec: MachineSpec,
    configuration: Configuration,
    gates: Gates,
    kubevirt_annotations: Mapping[str, str],
) -> dict[str, Any]:
    """The VMI; a new tree that shares nothing with the manifest."""
    given = spec.vmi.plain()
    tree: dict[str, Any] = given if isinstance(given, dict) else {}
    domain = _inner(tree, "domain")
    if not text(tree, "architecture"):
        tree["architecture"] = DEFAULT_ARCHITECTURE
    machine = _inner(domain, "machine")
    if not text(machine, "type"):
        machine["type"] = MACHINES.get(text(tree, "architecture"), "")
    _default_resources(domain, configuration)
    _default_cpu(domain, configuration)
    _default_memory(domain)
    _default_network(tree, domain)
    vmi = {
        "metadata": {
            "name": spec.ref.name,
            "namespace": spec.namespace,
            "labels": dict(spec.labels),
            "annotations": dict(spec.annotations),
        },
        "spec": tree,
    }
    vmi["metadata"]["annotations"] |= webhook_annotations(vmi, gates, kubevirt_annotations)
    return vmi


def webhook_annotations(
    vmi: Tree, gates: Gates, kubevirt_annotations: Mapping[str, str]
) -> dict[str, str]:
    """What the mutating webhook adds to the VMI's annotations."""
    found = {}
    if text(vmi, "spec", "architecture") != "s390x":
        found[TOPOLOGY] = "v3"
    isolates = flag(vmi, "spec", "domain", "cpu", "isolateEmulatorThread")
    if isolates and gates.on("AlignCPUs") and EVEN_PARITY in kubevirt_annotations:
        found[EVEN_PARITY] = kubevirt_annotations[EVEN_PARITY]
    return found


def _inner(tree: dict[str, Any], name: str) -> dict[str, Any]:
    """The mapping of that name, made where there is none."""
    found = tree.get(name)
    if not isinstance(found, dict):
        found = tree[name] = {}
    return found


def _default_resources(domain: dict[str, Any], configuration: Configuration) -> None:
    resources = _inner(domain, "resources")
    requests = _inner(resources, "requests")
    if present(resources, "limits", "cpu"):
        requests.setdefault("cpu", resources["limits"]["cpu"])
    default = _quantity(configuration.cpu_request)
    dedicated = flag(domain, "cpu", "dedicatedCpuPlacement")
    if default is not None and default != DEFAULT_CPU_REQUEST and not dedicated:
        requests.setdefault("cpu", str(default))


def _default_cpu(domain: dict[str, Any], configuration: Configuration) -> None:
    cpu = _inner(domain, "cpu")
    if not text(cpu, "model"):
        cpu["model"] = configuration.cpu_model or "host-model"
    if vcpus({"spec": {"domain": domain}}):
        return
    given = [amounts(domain, "resources", kind).get("cpu") for kind in ("limits", "requests")]
    found = next((item for item in given if item is not None), None)
    cpu |= {"sockets": max(found.value, 1) if found else 1, "cores": 1, "threads": 1}


def _default_memory(domain: dict[str, Any]) -> None:
    """Guest memory from the request, else the limit, else one huge page."""
    memory = _inner(domain, "memory")
    if present(memory, "guest"):
        return
    for path in (("resources", "requests"), ("resources", "limits")):
        given = amount(domain, *path, "memory")
        if given is not None and given.nanos:
            memory["guest"] = str(given)
            return
    if page := text(memory, "hugepages", "pageSize"):
        memory["guest"] = page


def _default_network(tree: dict[str, Any], domain: dict[str, Any]) -> None:
    devices = _inner(domain, "devices")
    if flag(devices, "autoattachPodInterface") is False:
        return
    if not devices.get("interfaces") and not tree.get("networks"):
        devices["interfaces"] = [{"name": "default", "bridge": {}}]
        tree["networks"] = [{"name": "default", "pod": {}}]


def _quantity(written: object) -> Quantity | None:
    try:
        return None if written is None else parse_quantity(str(written))
    except InvalidQuantity:
        return None
