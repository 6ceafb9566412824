"""Values of the core -> documents. The one place where a verdict or a snapshot becomes output.

Pure: everything is computed from what is passed in. Lists are sorted, so the same snapshot gives
the same bytes. Positions, words and remedies come from the issue and the registry of reasons.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

from passway.cluster import kinds
from passway.cluster.amounts import HUGEPAGES, KUBEVIRT_DEVICES, as_quantity, is_device
from passway.cluster.fold import NodeInfo
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.gates import gates_of
from passway.kubevirt.node_rules import CPU_MANAGER, SCHEDULABLE
from passway.kubevirt.overhead import MIB, WHY
from passway.kubevirt.permitted import Permit, permitted_of
from passway.model.reasons import REASONS, SHOWN, render
from passway.model.verdict import Holding, Issue, Param, Part, Ref, StageResult, Verdict
from passway.plan.permit import Change
from passway.preflight import networks, supply
from passway.preflight.questions import Fit, Impact
from passway.service import documents as d

Hint = Literal["gpu", "host-device", "sriov"]
PARTS: Final = "parts"
"""The param of an issue that says what an amount is made of."""
GPU_VENDORS: Final = ("10DE:", "1002:")
GPU_DOMAINS: Final = frozenset({"nvidia.com", "amd.com", "gpu.intel.com"})


def machine_ref(subject: Ref) -> d.MachineRef:
    return d.MachineRef(kind=subject.kind, name=subject.name, namespace=subject.namespace)


def issue(found: Issue, shown: int = SHOWN) -> d.IssueDocument:
    """`shown`: how many items of a list the message names."""
    words, position = render(found, shown), found.position
    return d.IssueDocument(
        reason=found.reason,
        stage=found.stage.value,
        severity=found.severity.value,
        message=words.message,
        remedy=words.remedy,
        docs=words.docs,
        subject=machine_ref(found.subject) if found.subject else None,
        path=found.path or None,
        file=position.file if position else None,
        line=position.line if position else None,
        column=position.column if position else None,
        nodes=found.nodes,
        overhead=_overhead(found.params.get(PARTS, ())),
    )


def _overhead(parts: Param) -> tuple[d.OverheadPart, ...]:
    listed = parts if isinstance(parts, tuple) else ()
    return tuple(
        overhead_part(part.name, part.amount.value) for part in listed if isinstance(part, Part)
    )


def overhead_part(name: str, amount: int) -> d.OverheadPart:
    return d.OverheadPart(part=name, bytes=amount, why=WHY[name])


def issues(found: Iterable[Issue], shown: int = SHOWN) -> tuple[d.IssueDocument, ...]:
    return tuple(issue(item, shown) for item in found)


def age_s(snapshot: Snapshot, kind: Kind) -> int | None:
    """Seconds since the source last said that this is so; None where no moment is known."""
    confirmed = snapshot.confirmed.get(kind.plural)
    if confirmed is None or snapshot.at is None:
        return None
    passed = datetime.fromisoformat(snapshot.at) - datetime.fromisoformat(confirmed)
    return max(round(passed.total_seconds()), 0)


def read(snapshot: Snapshot) -> tuple[d.KindRead, ...]:
    """What was read of each kind, by its plural."""
    return tuple(
        d.KindRead(
            kind=kind.plural,
            read=snapshot.read(kind).value,
            resource_version=snapshot.versions.get(kind.plural),
            age_seconds=age_s(snapshot, kind),
            namespaces=tuple(sorted(snapshot.within.get(kind.plural, ()))),
        )
        for kind in sorted(kinds.ALL, key=lambda kind: kind.plural)
    )


def count(snapshot: Snapshot, kind: Kind) -> int:
    """How many objects of the kind there are; of pods, those that have not ended."""
    if kind is kinds.PODS:
        return sum(map(len, snapshot.places.values()))
    return len(snapshot.nodes if kind is kinds.NODES else snapshot.objects.get(kind.plural, ()))


def verdict(found: Verdict, snapshot: Snapshot, shown: int = SHOWN) -> d.VerdictDocument:
    """`snapshot` is the one that the verdict was made of."""
    return d.VerdictDocument(
        machine=machine_ref(found.subject),
        fits=found.fits.value,
        replicas=found.replicas,
        places=found.places or 0,
        issues=issues(found.issues, shown),
        stages=stages(found.stages),
        nodes=tuple(
            d.NodeVerdict(name=node.name, meets=node.meets, fails=node.fails, places=node.places)
            for node in found.nodes
        ),
        node_groups=tuple(
            d.NodeGroupDocument(count=group.count, fails=group.fails) for group in found.groups
        ),
        read=read(snapshot),
    )


def fit(found: Fit, snapshot: Snapshot) -> d.FitDocument:
    return d.FitDocument(
        machine=machine_ref(found.verdict.subject),
        places=found.places,
        by_nodes=found.by_nodes,
        by_quota=found.by_quota,
        limits=dict(found.limits),
        nodes=tuple(
            d.FitNode(name=node.name, places=node.places)
            for node in found.verdict.nodes
            if node.places
        ),
        verdict=verdict(found.verdict, snapshot),
    )


def stages(found: Iterable[StageResult]) -> tuple[d.StageDocument, ...]:
    return tuple(
        d.StageDocument(stage=item.stage.value, outcome=item.outcome.value) for item in found
    )


def reasons() -> d.ReasonList:
    return d.ReasonList(
        items=tuple(
            d.ReasonDocument(
                reason=name,
                title=reason.title,
                message=reason.message,
                remedy=reason.remedy,
                docs=reason.docs,
            )
            for name, reason in sorted(REASONS.items())
        )
    )


# -- inventory ------------------------------------------------------------------------------------


def inventory(snapshot: Snapshot) -> d.DeviceInventory:
    known = snapshot.read(kinds.KUBEVIRTS).known
    kubevirt = snapshot.kubevirt
    permitted = permitted_of(kubevirt)
    status = kubevirt.status if kubevirt else None
    resources = tuple(_resource(snapshot, name) for name in _resources(snapshot))
    return d.DeviceInventory(
        at=snapshot.at,
        resources=resources,
        nodes=nodes(snapshot).items,
        permitted=None if permitted is None else tuple(_permit(snapshot, p) for p in permitted),
        feature_gates=gates_of(kubevirt).listing() if known and kubevirt else None,
        kubevirt_version=status.observed_kube_virt_version if status else None,
        multus_installed=networks.multus_installed(snapshot),
        sriov_pools=pools(snapshot).items,
        kind_hints={resource.resource_name: resource.kind for resource in resources},
        unread={
            kind.plural: snapshot.read(kind).value
            for kind in kinds.ALL
            if not snapshot.read(kind).known
        },
    )


def nodes(snapshot: Snapshot) -> d.NodeList:
    return d.NodeList(
        at=snapshot.at,
        items=tuple(_node(snapshot, snapshot.nodes[name]) for name in sorted(snapshot.nodes)),
    )


def _node(snapshot: Snapshot, node: NodeInfo) -> d.NodeDocument:
    names = sorted({*node.capacity, *node.allocatable})
    return d.NodeDocument(
        name=node.name,
        ready=node.ready,
        schedulable=not node.unschedulable,
        kubevirt_schedulable=node.labels.get(SCHEDULABLE) == "true",
        cpu_manager=node.labels.get(CPU_MANAGER) == "true",
        taints=tuple(sorted(taint.text() for taint in node.taints)),
        devices=tuple(_amount(snapshot, node, name) for name in names if is_device(name)),
        kubevirt_devices=tuple(
            _amount(snapshot, node, name) for name in names if name.startswith(KUBEVIRT_DEVICES)
        ),
        hugepages=tuple(
            d.Hugepages(
                page_size=name.removeprefix(HUGEPAGES),
                allocatable=str(as_quantity(name, node.allocatable.get(name, 0))),
                free=str(as_quantity(name, snapshot.free(node.name, name))),
            )
            for name in names
            if name.startswith(HUGEPAGES)
        ),
        cpu_free=str(as_quantity("cpu", snapshot.free(node.name, "cpu"))),
        memory_free=str(as_quantity("memory", snapshot.free(node.name, "memory") // MIB * MIB)),
        machines=sum(1 for pod in snapshot.pods_on(node.name) if pod.machine),
        created=node.created,
    )


def _amount(snapshot: Snapshot, node: NodeInfo, resource: str) -> d.Amount:
    return d.Amount(
        resource_name=resource,
        capacity=node.capacity.get(resource, 0),
        allocatable=node.allocatable.get(resource, 0),
        used=snapshot.used(node.name, resource),
        free=snapshot.free(node.name, resource),
    )


def _resources(snapshot: Snapshot) -> list[str]:
    """Everything advertised or permitted, sorted."""
    permitted = permitted_of(snapshot.kubevirt) or ()
    return sorted({*snapshot.devices(), *(permit.resource_name for permit in permitted)})


def _resource(snapshot: Snapshot, name: str) -> d.ResourceDocument:
    permitted = permitted_of(snapshot.kubevirt)
    entries = [permit for permit in permitted or () if permit.resource_name == name]
    totals = _resource_totals(snapshot, name)
    known = snapshot.read(kinds.KUBEVIRTS).known
    return d.ResourceDocument(
        resource_name=name,
        kind=_hint(snapshot, name, entries),
        capacity=sum(item.capacity for item in totals),
        advertised=sum(item.allocatable for item in totals),
        used=sum(item.used for item in totals),
        free=sum(max(item.free, 0) for item in totals),
        permitted=None if not known else permitted is None or bool(entries),
        selectors=tuple(f"{permit.kind} {permit.selector}" for permit in entries),
        nodes=tuple(sorted(snapshot.advertisers.get(name, ()))),
        holders=tuple(
            sorted(
                {
                    str(item.holder)
                    for item in supply.holders(snapshot, name).items
                    if isinstance(item, Holding)
                }
            )
        ),
    )


def _hint(snapshot: Snapshot, name: str, entries: list[Permit]) -> Hint:
    """How a VM would ask for the resource; a guess for the form, never a rule."""
    if name in networks.pools(snapshot):
        return "sriov"
    for permit in entries:
        if permit.kind == "mediated" or permit.selector.startswith(GPU_VENDORS):
            return "gpu"
        return "host-device"
    return "gpu" if name.partition("/")[0] in GPU_DOMAINS else "host-device"


def _permit(snapshot: Snapshot, permit: Permit) -> d.PermitDocument:
    return d.PermitDocument(
        kind=permit.kind,
        resource_name=permit.resource_name,
        selector=permit.selector,
        external_resource_provider=permit.external,
        nodes=len(snapshot.advertisers.get(permit.resource_name, ())),
    )


def permits(snapshot: Snapshot) -> d.PermitList:
    permitted = permitted_of(snapshot.kubevirt)
    keeper: Ref | None = None
    if snapshot.hyperconverged:
        meta = snapshot.hyperconverged.metadata
        keeper = Ref("HyperConverged", meta.name, meta.namespace)
    elif snapshot.kubevirt:
        meta = snapshot.kubevirt.metadata
        keeper = Ref("KubeVirt", meta.name, meta.namespace)
    known = snapshot.read(kinds.KUBEVIRTS).known and snapshot.kubevirt is not None
    return d.PermitList(
        enforced=permitted is not None if known else None,
        owner=machine_ref(keeper) if keeper else None,
        items=tuple(_permit(snapshot, permit) for permit in permitted or ()),
    )


def pools(snapshot: Snapshot) -> d.PoolList:
    items = []
    for name, attachments in sorted(networks.pools(snapshot).items()):
        found = _resource_totals(snapshot, name)
        items.append(
            d.PoolDocument(
                resource_name=name,
                networks=tuple(map(str, attachments)),
                capacity=sum(item.capacity for item in found),
                advertised=sum(item.allocatable for item in found),
                used=sum(item.used for item in found),
                free=sum(max(item.free, 0) for item in found),
                nodes=tuple(sorted(snapshot.advertisers.get(name, ()))),
            )
        )
    return d.PoolList(items=tuple(items))


def _resource_totals(snapshot: Snapshot, name: str) -> list[d.Amount]:
    return [
        _amount(snapshot, snapshot.nodes[node], name)
        for node in sorted(snapshot.advertisers.get(name, ()))
    ]


# -- changes and effects --------------------------------------------------------------------------


def change(found: Change, *, applied: bool, resource_version: str | None = None) -> d.PermitChange:
    return d.PermitChange(
        changed=found.changed,
        applied=applied,
        target=machine_ref(found.target),
        diff=found.diff(),
        enforcement=found.enforcement,
        refused=tuple(machine_ref(item) for item in found.refused),
        in_use=tuple(machine_ref(item) for item in found.in_use),
        resource_version=resource_version,
    )


def drift(found: tuple[Issue, ...]) -> d.DriftReport:
    return d.DriftReport(issues=issues(found))


def drain(node: str, found: tuple[Impact, ...]) -> d.DrainImpact:
    return d.DrainImpact(
        node=node,
        items=tuple(map(impact, found)),
    )


def impact(item: Impact) -> d.ImpactDocument:
    return d.ImpactDocument(
        namespace=item.machine.namespace or "default",
        name=item.machine.name,
        effect=item.effect,
        devices=item.devices,
        eviction_strategy=item.strategy,
        room=item.room,
    )
