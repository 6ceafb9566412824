"""One object of a known kind -> MachineSpec and its faults.

Knows where each kind keeps the VMI spec, its labels and the VM-level fields. The name of an object
with generateName is completed with as many characters as the API server would add.
"""

from dataclasses import dataclass, replace
from typing import Final

from passway.manifest import views
from passway.manifest.cursor import Cursor
from passway.manifest.devices import devices
from passway.manifest.fields import check
from passway.manifest.findings import Findings
from passway.manifest.nodes import MappingNode
from passway.manifest.spec import MachineSpec
from passway.model.names import InvalidName, dns_label, dns_subdomain
from passway.model.verdict import Issue, Ref


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a kind keeps things: the steps to the VM (None if there is none) and to the VMI."""

    vm: tuple[str, ...] | None
    vmi: tuple[str, ...]
    replicas: bool = False


_POOL_VM: Final = ("spec", "virtualMachineTemplate")
_CLUSTER_VM: Final = ("spec", "template", "spec", "virtualMachineTemplate")

LAYOUTS: Final = {
    "VirtualMachine": Layout((), ("spec", "template")),
    "VirtualMachineInstance": Layout(None, ()),
    "VirtualMachineInstanceReplicaSet": Layout(None, ("spec", "template"), replicas=True),
    "VirtualMachinePool": Layout(_POOL_VM, (*_POOL_VM, "spec", "template"), replicas=True),
    "KubevirtMachineTemplate": Layout(_CLUSTER_VM, (*_CLUSTER_VM, "spec", "template")),
}
KINDS: Final = tuple(LAYOUTS)

_SUFFIX: Final = "xxxxx"
_MATCHERS: Final = {
    "instancetype": ("VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"),
    "preference": ("VirtualMachinePreference", "VirtualMachineClusterPreference"),
}
"""Field -> the kind in the namespace and the kind of the cluster, which is the default."""


def read_machine(
    document: MappingNode, kind: str, namespace: str
) -> tuple[MachineSpec, list[Issue]]:
    """The machine of an object of one of KINDS, as far as it can be read, and all its faults."""
    findings = Findings(document)
    findings.faults.extend(check(document, kind))
    root = Cursor(document)
    layout = LAYOUTS[kind]
    ref = _reference(root, kind, namespace, findings)
    instance = root.at(*layout.vmi)
    vmi = instance.at("spec")
    node = vmi.node
    run_strategy, instancetype, preference = _vm_fields(root, layout, ref, findings)
    spec = MachineSpec(
        ref=ref,
        document=document,
        vmi=node if node is not None else MappingNode(*_place(document)),
        vmi_path=vmi.path,
        labels=instance.at("metadata", "labels").texts(),
        annotations=instance.at("metadata", "annotations").texts(),
        replicas=_replicas(root.at("spec", "replicas"), findings) if layout.replicas else 1,
        run_strategy=run_strategy,
        instancetype=instancetype,
        preference=preference,
    )
    return viewed(spec, vmi, findings), findings.faults


def viewed(spec: MachineSpec, vmi: Cursor, findings: Findings) -> MachineSpec:
    """The machine with all views of a VMI spec."""
    return replace(
        spec,
        devices=devices(vmi, findings),
        interfaces=views.interfaces(vmi, findings),
        cpu=views.cpu(vmi),
        memory=views.memory(vmi),
        requests=vmi.at("domain", "resources", "requests").quantities(),
        limits=vmi.at("domain", "resources", "limits").quantities(),
        node_selector=vmi.at("nodeSelector").texts(),
        claims=views.claims(vmi, findings),
        volumes=views.volumes(vmi, findings),
        eviction_strategy=vmi.at("evictionStrategy").text(),
        priority_class=vmi.at("priorityClassName").text(),
    )


def _place(document: MappingNode) -> tuple[str, int, int]:
    return document.file, document.line, document.column


def _reference(root: Cursor, kind: str, namespace: str, findings: Findings) -> Ref:
    place, prefix = root.at("metadata", "name"), root.at("metadata", "generateName")
    name = place.text() or ""
    if not name and prefix.text() is not None:
        place, name = prefix, f"{prefix.text()}{_SUFFIX}"
    own_namespace = root.at("metadata", "namespace")
    try:
        if name:
            dns_subdomain(name)
        elif not place.misread:
            findings.add("MissingField", "metadata.name", field="metadata.name")
    except InvalidName as error:
        findings.add("InvalidValue", place.path, problem=str(error))
    try:
        dns_label(own_namespace.text() or namespace)
    except InvalidName as error:
        findings.add("InvalidValue", own_namespace.path, problem=str(error))
    return Ref(kind, name, own_namespace.text() or namespace)


def _replicas(place: Cursor, findings: Findings) -> int:
    replicas = place.whole()
    if replicas is None:
        return 1
    if replicas < 0:
        findings.add("InvalidValue", place.path, problem=f"replicas cannot be {replicas}")
    return max(replicas, 0)


def _vm_fields(
    root: Cursor, layout: Layout, ref: Ref, findings: Findings
) -> tuple[str | None, Ref | None, Ref | None]:
    if layout.vm is None:
        return None, None, None
    vm = root.at(*layout.vm, "spec")
    return (
        _run_strategy(vm, findings),
        _matcher(vm.at("instancetype"), "instancetype", ref, findings),
        _matcher(vm.at("preference"), "preference", ref, findings),
    )


def _run_strategy(vm: Cursor, findings: Findings) -> str | None:
    strategy, running = vm.at("runStrategy"), vm.at("running").flag()
    if strategy.present and running is not None:
        problem = "running and runStrategy exclude each other; keep runStrategy"
        findings.add("InvalidValue", strategy.path, problem=problem)
    if strategy.text() is not None or running is None:
        return strategy.text()
    return "Always" if running else "Halted"


def _matcher(place: Cursor, field: str, ref: Ref, findings: Findings) -> Ref | None:
    """The reference; None also where KubeVirt infers the name from a volume.

    KubeVirt takes the kind in any case, in the singular or plural (pkg/instancetype/find).
    """
    namespaced, cluster = _MATCHERS[field]
    written = place.at("kind").text()
    folded = (written or cluster).lower().removesuffix("s")
    if folded not in {namespaced.lower(), cluster.lower()}:
        problem = (
            f'"{(written or "")[:80]}" is no kind for {field}; write {namespaced} or {cluster}'
        )
        findings.add("InvalidValue", place.at("kind").path, problem=problem)
        return None
    name = place.at("name").text()
    if name is None:
        return None
    if folded == cluster.lower():
        return Ref(cluster, name)
    return Ref(namespaced, name, ref.namespace)
