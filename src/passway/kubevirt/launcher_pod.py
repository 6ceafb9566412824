"""The launcher pod as preflight judges it: amounts in the scheduler's integers, and node rules.

Owns the way from a manifest's machine and a snapshot to that view: KubeVirt's defaults, its
rendering, what admission adds, and the sums by the pod rule of `cluster.amounts`. Where KubeVirt
would refuse to render, the stages of the walk say so from their own sources; the view is then of
the pod that would come out otherwise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from passway.cluster import kinds
from passway.cluster.amounts import HUGEPAGES, KUBEVIRT_DEVICES, PODS, pod_requests
from passway.cluster.records import (
    Affinity,
    LimitRange,
    LimitRangeItem,
    Named,
    NodeSelector,
    ResourceQuota,
    RuntimeClass,
    Toleration,
    TopologySpreadConstraint,
)
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.admitted import completed, injected, limits_spec, pod_spec, with_defaults
from passway.kubevirt.devices import EXTERNAL_INJECTION, attachment_key
from passway.kubevirt.fields import Tree, mapping, present, text
from passway.kubevirt.launch import Launch, render
from passway.kubevirt.node_rules import (
    avoided_labels,
    base_labels,
    feature_labels,
    own_selector,
)
from passway.kubevirt.pod_labels import pod_labels
from passway.kubevirt.surroundings import Surroundings, surroundings
from passway.kubevirt.traits import networks
from passway.manifest.spec import MachineSpec

POOL: Final = "k8s.v1.cni.cncf.io/resourceName"
CAPPED: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
"""Resources whose limits a quota can cap."""
_NATIVE_RANKS: Final = {"cpu": 0, "memory": 1, "ephemeral-storage": 3, PODS: 6}


@dataclass(frozen=True, slots=True)
class LauncherPod:
    """The pod that would run the VM. Amounts are the scheduler's integers (cpu in thousandths).

    `overhead` says what KubeVirt adds to the guest's memory: part -> bytes. `node_labels` are those
    that KubeVirt asks for, `node_selector` what the cluster and the VM ask for on top; `affinity`
    is the VM's own, and `avoided_labels` what KubeVirt adds to it. `limits` holds what a quota on
    limits counts, and `launch` the whole pod.
    """

    namespace: str
    requests: Mapping[str, int]
    launch: Launch
    overhead: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    node_labels: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Affinity = field(default_factory=Affinity)
    avoided_labels: tuple[str, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[TopologySpreadConstraint, ...] = ()
    priority_class: str | None = None
    limits: Mapping[str, int] = field(default_factory=dict)

    @property
    def node_affinity(self) -> NodeSelector | None:
        return self.affinity.node_affinity.required if self.affinity.node_affinity else None


def render_launcher(
    spec: MachineSpec, vmi: Tree, snapshot: Snapshot, functions: Mapping[str, int]
) -> LauncherPod:
    """The launcher of a VM on this cluster.

    `vmi` is its VMI with KubeVirt's defaults, `functions` are the VFs of its networks by resource.
    They are counted whoever adds them, KubeVirt or the injector's webhook; whether that is there is
    judged elsewhere.
    """
    around = _around(spec, vmi, snapshot)
    launch = render(vmi, around)
    if around.gates.on(EXTERNAL_INJECTION):
        launch = injected(launch, functions)
    launch = with_defaults(launch, limit_items(snapshot, spec.namespace))
    overhead = _runtime_overhead(launch.runtime_class, snapshot)
    limits = dict(pod_requests(limits_spec(launch, overhead)))
    labels, selector = _node_rules(vmi, around)
    return LauncherPod(
        namespace=spec.namespace,
        requests=_ordered(dict(pod_requests(pod_spec(launch, overhead))), launch),
        launch=launch,
        overhead=launch.overhead,
        labels=pod_labels(spec.ref.kind, spec.ref.name, spec.labels, vmi),
        node_labels=labels,
        node_selector=selector,
        affinity=msgspec.convert(dict(mapping(vmi, "spec", "affinity")), Affinity),
        avoided_labels=avoided_labels(vmi),
        tolerations=tuple(msgspec.convert(list(launch.tolerations), list[Toleration])),
        spread=tuple(msgspec.convert(list(launch.topology_spread), list[TopologySpreadConstraint])),
        priority_class=spec.priority_class,
        limits={resource: limits[resource] for resource in CAPPED & limits.keys()},
    )


def before_admission(spec: MachineSpec, vmi: Tree, snapshot: Snapshot) -> Launch:
    """The launcher as virt-controller sends it: without what admission adds on its way."""
    return render(vmi, _around(spec, vmi, snapshot))


def limit_items(snapshot: Snapshot, namespace: str) -> tuple[LimitRangeItem, ...]:
    """The rules of the namespace's LimitRanges, in the order of their names."""
    return tuple([item for _, item in named_limit_items(snapshot, namespace)])


def named_limit_items(snapshot: Snapshot, namespace: str) -> Iterator[tuple[str, LimitRangeItem]]:
    """(name of the LimitRange, rule)."""
    found = snapshot.all(kinds.LIMIT_RANGES, LimitRange)
    for key in sorted(key for key in found if key[0] == namespace):
        spec = found[key].spec
        for item in (spec.limits if spec else None) or ():
            yield key[1], completed(item)


def _around(spec: MachineSpec, vmi: Tree, snapshot: Snapshot) -> Surroundings:
    quotas = snapshot.all(kinds.QUOTAS, ResourceQuota)
    hard = [quota.spec.hard or {} for key, quota in quotas.items()
            if key[0] == spec.namespace and quota.spec]  # fmt: skip
    around = surroundings(
        snapshot.kubevirt,
        namespace_labels=_labels_of(snapshot, spec.namespace),
        quota_keys=frozenset().union(*hard),
    )
    if around.gates.on(EXTERNAL_INJECTION):
        return around
    return replace(around, attachments=_pools(vmi, snapshot, spec.namespace))


def _labels_of(snapshot: Snapshot, namespace: str) -> Mapping[str, str]:
    found = snapshot.all(kinds.NAMESPACES, Named).get(("", namespace))
    return (found.metadata.labels if found else None) or {}


def _pools(vmi: Tree, snapshot: Snapshot, namespace: str) -> dict[str, str]:
    """`namespace/name` -> pool of the attachments that the VMI's networks name."""
    known = snapshot.all(kinds.ATTACHMENTS, Named)
    found = {}
    for network in networks(vmi):
        if present(network, "multus"):
            key = attachment_key(text(network, "multus", "networkName"), namespace)
            if key in known:
                found["/".join(key)] = (known[key].metadata.annotations or {}).get(POOL, "")
    return found


def _runtime_overhead(name: str, snapshot: Snapshot) -> Mapping[str, str | int | float] | None:
    """The overhead of the cluster's default runtime class."""
    if not name:
        return None
    found = snapshot.all(kinds.RUNTIME_CLASSES, RuntimeClass).get(("", name))
    return found.overhead.pod_fixed if found and found.overhead else None


def _node_rules(vmi: Tree, around: Surroundings) -> tuple[dict[str, str], dict[str, str]]:
    """The pod's nodeSelector in two parts: KubeVirt's labels, and everybody else's pairs."""
    features = feature_labels(vmi, around)
    selector = own_selector(vmi, around)
    base = base_labels(vmi, around)
    labels = {key: value for key, value in base.items() if key not in selector}
    others = {key: value for key, value in selector.items() if key not in features}
    return {**labels, **features}, others


def _ordered(requests: Mapping[str, int], launch: Launch) -> dict[str, int]:
    """In the order in which they are told: CPU, memory, pages, storage, devices, KubeVirt's own."""
    listed = {name: index for index, name in enumerate(launch.containers[0].requests)}
    last = len(listed)
    return dict(
        sorted(requests.items(), key=lambda item: (_rank(item[0]), listed.get(item[0], last)))
    )


def _rank(resource: str) -> int:
    if resource in _NATIVE_RANKS:
        return _NATIVE_RANKS[resource]
    if resource.startswith(HUGEPAGES):
        return 2
    return 5 if resource.startswith(KUBEVIRT_DEVICES) else 4
