"""Which nodes a launcher may go to: node selector and affinity.

Follows kubevirt pkg/virt-controller/services (nodeselectorrenderer.go, template.go). The VMI's own
selector is laid over the cluster's and over KubeVirt's first labels, but not over those that its
features need. What KubeVirt wants to avoid is added to every term of a required node affinity,
since terms are alternatives.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from passway.kubevirt.fields import Tree, entries, flag, mapping, present, text, texts
from passway.kubevirt.surroundings import Surroundings
from passway.kubevirt.traits import has_sev, is_dedicated

SCHEDULABLE: Final = "kubevirt.io/schedulable"
CPU_MANAGER: Final = "kubevirt.io/cpumanager"
ARCHITECTURE: Final = "kubernetes.io/arch"
MACHINE: Final = "machine-type.node.kubevirt.io/"
CPU_MODEL: Final = "cpu-model.node.kubevirt.io/"
CPU_FEATURE: Final = "cpu-feature.node.kubevirt.io/"
HYPERV: Final = "hyperv.node.kubevirt.io/"
INTEL: Final = "cpu-vendor.node.kubevirt.io/Intel"
VM_ARCHITECTURE: Final = "kubevirt.io/vm-arch-"
OBSOLETE_MODEL: Final = "node-labeller.kubevirt.io/obsolete-host-model"
CROSS_ARCHITECTURE: Final = "CrossArchitectureVirtualization"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_HOST_MODELS: Final = frozenset({"host-model", "host-passthrough"})
_HYPERV_LABELS: Final = {
    "vpindex": "vpindex", "runtime": "runtime", "reset": "reset", "synic": "synic",
    "synictimer": "synictimer", "frequencies": "frequencies",
    "reenlightenment": "reenlightenment", "tlbflush": "tlbflush", "ipi": "ipi",
}  # fmt: skip


def node_selector(vmi: Tree, around: Surroundings) -> dict[str, str]:
    """The pod's nodeSelector."""
    return {**base_labels(vmi, around), **own_selector(vmi, around), **feature_labels(vmi, around)}


def base_labels(vmi: Tree, around: Surroundings) -> dict[str, str]:
    """What KubeVirt asks for unless somebody else says otherwise."""
    labels = {SCHEDULABLE: "true"}
    architecture = text(vmi, "spec", "architecture")
    if architecture and not around.gates.on(CROSS_ARCHITECTURE):
        labels[ARCHITECTURE] = architecture.lower()
    return labels


def own_selector(vmi: Tree, around: Surroundings) -> dict[str, str]:
    """The cluster's selector and the VMI's over it."""
    given = {**around.node_selectors, **texts(vmi, "spec", "nodeSelector")}
    if text(vmi, "spec", "architecture") and around.gates.on(CROSS_ARCHITECTURE):
        given.pop(ARCHITECTURE, None)
    return given


def feature_labels(vmi: Tree, around: Surroundings) -> dict[str, str]:
    """What the VMI's features need; no selector overrides these."""
    return dict.fromkeys(_features(vmi, around), "true")


def _features(vmi: Tree, around: Surroundings) -> Iterator[str]:
    if is_dedicated(vmi):
        yield CPU_MANAGER
    if around.gates.on("HypervStrictCheck"):
        yield from _hyperv(mapping(vmi, "spec", "domain", "features", "hyperv"))
    model = text(vmi, "spec", "domain", "cpu", "model")
    if model and model not in _HOST_MODELS:
        yield f"{CPU_MODEL}{model}"
    if machine := text(vmi, "spec", "domain", "machine", "type"):
        yield f"{MACHINE}{machine}"
    if model:
        yield from (f"{CPU_FEATURE}{name}" for name in _cpu_features(vmi, "", "require"))
    if present(vmi, "spec", "domain", "cpu", "realtime"):
        yield "kubevirt.io/realtime"
    yield from _security(vmi)
    architecture = text(vmi, "spec", "architecture")
    if architecture and around.gates.on(CROSS_ARCHITECTURE):
        yield f"{VM_ARCHITECTURE}{architecture}"


def _security(vmi: Tree) -> Iterator[str]:
    security = mapping(vmi, "spec", "domain", "launchSecurity")
    if has_sev(vmi):
        yield "kubevirt.io/sev"
    if flag(security, "sev", "policy", "encryptedState"):
        yield "kubevirt.io/sev-es"
    if present(security, "snp"):
        yield "kubevirt.io/sev-snp"
    if present(vmi, "spec", "domain", "launchSecurity") and (
        text(vmi, "spec", "architecture") == "s390x"
    ):
        yield "kubevirt.io/s390-pv"
    if present(security, "tdx"):
        yield "kubevirt.io/tdx"


def _hyperv(hyperv: Tree) -> Iterator[str]:
    for feature, label in _HYPERV_LABELS.items():
        if flag(hyperv, feature, "enabled"):
            yield f"{HYPERV}{label}"
    if present(hyperv, "evmcs") and flag(hyperv, "evmcs", "enabled") is not False:
        yield INTEL


def _cpu_features(vmi: Tree, *policies: str) -> Iterator[str]:
    for feature in entries(vmi, "spec", "domain", "cpu", "features"):
        if text(feature, "policy") in policies:
            yield text(feature, "name")


def avoided_labels(vmi: Tree) -> tuple[str, ...]:
    """Labels that a node must not have."""
    model = text(vmi, "spec", "domain", "cpu", "model")
    obsolete = (OBSOLETE_MODEL,) if model in {"", "host-model"} else ()
    forbidden = (f"{CPU_FEATURE}{name}" for name in _cpu_features(vmi, "forbid"))
    return (*obsolete, *forbidden)


def affinity(vmi: Tree, around: Surroundings) -> dict[str, Any]:
    """The pod's affinity: the VMI's, what KubeVirt avoids, and its preferred architecture."""
    found = dict(mapping(vmi, "spec", "affinity"))
    node: dict[str, Any] = dict(mapping(found, "nodeAffinity"))
    avoided = [{"key": label, "operator": "DoesNotExist"} for label in avoided_labels(vmi)]
    if avoided:
        node[REQUIRED] = _avoiding(mapping(node, REQUIRED), REQUIRED in node, avoided)
    architecture = text(vmi, "spec", "architecture")
    if architecture and around.gates.on(CROSS_ARCHITECTURE):
        node[PREFERRED] = [*entries(node, PREFERRED), _preferred(architecture)]
    if node:
        found["nodeAffinity"] = node
    return found


def _avoiding(required: Tree, exists: bool, avoided: list[dict[str, str]]) -> Mapping[str, Any]:
    if not exists:
        return {"nodeSelectorTerms": [{"matchExpressions": avoided}]}
    terms = [
        {**term, "matchExpressions": [*entries(term, "matchExpressions"), *avoided]}
        for term in entries(required, "nodeSelectorTerms")
    ]
    return {**required, "nodeSelectorTerms": terms}


def _preferred(architecture: str) -> dict[str, Any]:
    expression = {"key": ARCHITECTURE, "operator": "In", "values": [architecture.lower()]}
    return {"weight": 100, "preference": {"matchExpressions": [expression]}}
