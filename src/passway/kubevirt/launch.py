"""The launcher pod that KubeVirt would render for a defaulted VMI.

Pure: the VMI with KubeVirt's defaults and its surroundings in, the pod as the scheduler sees it
out. Where KubeVirt would refuse to render, `refusals` say why, and the pod is still what it
would be otherwise, so that everything else about it can be judged. Source: kubevirt
pkg/virt-controller/services/template.go (renderLaunchManifest), main of 2026-08-22.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from passway.kubevirt import compute, devices
from passway.kubevirt.container import Container
from passway.kubevirt.fields import Tree, at, entries, text
from passway.kubevirt.ledger import opened
from passway.kubevirt.node_rules import affinity, node_selector
from passway.kubevirt.overhead import memory_overhead
from passway.kubevirt.pod_annotations import pod_annotations
from passway.kubevirt.sidecars import init_containers, main_containers
from passway.kubevirt.surroundings import Surroundings
from passway.kubevirt.traits import binding_names, has_hugepages
from passway.model.quantity import quantity

Cause: TypeAlias = Literal[
    "DeviceNotPermitted",
    "NetworkAttachmentMissing",
    "NetworkBindingUnknown",
    "CpuRequestUnwritable",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why KubeVirt does not render the pod; `subjects` are the names that the cause is about."""

    cause: Cause
    subjects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """The rendered pod. `overhead`: part -> bytes; lists and rules keep the API's own form."""

    containers: tuple[Container, ...]
    init_containers: tuple[Container, ...]
    overhead: Mapping[str, int]
    node_selector: Mapping[str, str]
    affinity: Mapping[str, Any]
    tolerations: tuple[Tree, ...]
    topology_spread: tuple[Tree, ...]
    resource_claims: tuple[Tree, ...]
    annotations: Mapping[str, str]
    hugepages_volumes: tuple[str, ...] = ()
    runtime_class: str = ""
    scheduler: str = ""
    priority_class: str = ""
    refusals: tuple[Refusal, ...] = ()

    @property
    def refusal(self) -> Refusal | None:
        """The one that KubeVirt tells: it stops at the first."""
        return self.refusals[0] if self.refusals else None

    @property
    def overhead_bytes(self) -> int:
        return sum(self.overhead.values())


def render(vmi: Tree, around: Surroundings, architecture: str = "amd64") -> Launch:
    """The launcher; `architecture` is the cluster's, for a VMI that has none."""
    parts = memory_overhead(
        vmi,
        around.configuration,
        text(vmi, "spec", "architecture") or architecture,
        around.gates.version,
    )
    container, writable = _compute(vmi, around, sum(parts.values()))
    return Launch(
        containers=(container, *main_containers(vmi, around)),
        init_containers=init_containers(vmi, around),
        overhead=parts,
        node_selector=node_selector(vmi, around),
        affinity=affinity(vmi, around),
        tolerations=entries(vmi, "spec", "tolerations"),
        topology_spread=entries(vmi, "spec", "topologySpreadConstraints"),
        resource_claims=_resource_claims(vmi),
        annotations=pod_annotations(vmi, around, sum(parts.values())),
        hugepages_volumes=("hugepages", "hugetblfs-dir") if has_hugepages(vmi) else (),
        runtime_class=around.configuration.default_runtime_class or "",
        scheduler=text(vmi, "spec", "schedulerName"),
        priority_class=text(vmi, "spec", "priorityClassName"),
        refusals=tuple(_refusals(vmi, around, writable=writable)),
    )


def _compute(vmi: Tree, around: Surroundings, overhead: int) -> tuple[Container, bool]:
    """The compute container, and whether KubeVirt can write its CPU request."""
    ledger = opened(vmi)
    compute.add_storage(ledger)
    devices.limit_own_devices(ledger, vmi, around)
    compute.add_memory_request(ledger, vmi, around.overcommit)
    writable = compute.add_cpu(ledger, vmi, around)
    compute.add_overhead(ledger, vmi, quantity(overhead, "BinarySI"))
    compute.add_memory_limit(ledger, vmi, around)
    devices.add_devices(ledger, vmi, around)
    claims = devices.claims(vmi, around)
    made = Container("compute", ledger.final_requests(), ledger.final_limits(), claims)
    return made, writable


def _refusals(vmi: Tree, around: Surroundings, *, writable: bool) -> Iterator[Refusal]:
    """Every reason not to render, in KubeVirt's order."""
    missing = tuple(devices.missing_attachments(vmi, around))
    if missing:
        yield Refusal("NetworkAttachmentMissing", missing[:1])
    unpermitted = tuple(devices.unpermitted(vmi, around))
    if unpermitted:
        yield Refusal("DeviceNotPermitted", unpermitted)
    if not writable:
        yield Refusal("CpuRequestUnwritable")
    plugins = around.configuration.binding_plugins
    unknown = tuple(name for name in binding_names(vmi) if name not in plugins)
    if unknown:
        yield Refusal("NetworkBindingUnknown", unknown[:1])


def _resource_claims(vmi: Tree) -> tuple[Tree, ...]:
    """The pod's claims: the VMI's, with the fields that a pod knows."""
    fields = ("name", "resourceClaimName", "resourceClaimTemplateName")
    return tuple(
        {field: at(claim, field) for field in fields if at(claim, field) is not None}
        for claim in entries(vmi, "spec", "resourceClaims")
    )
