"""What-if facts as object events: a drain, a stop, a permit, a node that comes.

Owns what each fact changes in the objects of a cluster; what follows from that is judged by the
same walk as ever, on the snapshot with the events laid over it. A drain cordons the node and takes
away what an eviction takes away: a VM whose eviction KubeVirt refuses stays. Where the replacements
of other pods go is not foreseen. VMs are told by their specs, which come in.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

import msgspec

from passway.cluster import kinds, records
from passway.cluster.fold import NodeInfo, fold_node
from passway.cluster.overlay import ObjectEvent, overlaid
from passway.cluster.snapshot import Key, Snapshot
from passway.kubevirt.permitted import KUBEVIRT, Permit, permits_in, spelling_of
from passway.manifest.spec import MachineSpec
from passway.model.errors import InvalidInput
from passway.model.quantity import InvalidQuantity
from passway.plan.permit import Change, listing_of, plan_permit
from passway.preflight.absence import launchers, stopped
from passway.preflight.questions import Impact, drain
from passway.preflight.walk import ask

MAX_FACTS: Final = 100
STAYS: Final = "blocks"
QUOTAS: Final = kinds.QUOTAS.plural


@dataclass(frozen=True, slots=True)
class Drain:
    """A node is cordoned, and its pods are evicted."""

    node: str


@dataclass(frozen=True, slots=True)
class Stop:
    """A VM stops."""

    key: Key


@dataclass(frozen=True, slots=True)
class Allow:
    """An entry of the permitted list."""

    permit: Permit


@dataclass(frozen=True, slots=True)
class AddNode:
    """A node as it would report; one of that name is replaced."""

    node: records.Node


Fact: TypeAlias = Drain | Stop | Allow | AddNode


@dataclass(frozen=True, slots=True)
class Supposed:
    """What a fact came to. `impacts` are the VMs of a drain, `others` its other pods."""

    fact: Fact
    changed: bool
    impacts: tuple[Impact, ...] = ()
    others: int = 0


@dataclass(frozen=True, slots=True)
class After:
    """The cluster after all facts, and what each came to."""

    snapshot: Snapshot
    supposed: tuple[Supposed, ...] = ()

    @property
    def moved(self) -> tuple[Key, ...]:
        """The VMs that lost their node by a drain, and were not stopped on purpose."""
        lost = {
            (impact.machine.namespace or "", impact.machine.name)
            for found in self.supposed
            for impact in found.impacts
            if impact.effect != STAYS
        }
        ended = {found.fact.key for found in self.supposed if isinstance(found.fact, Stop)}
        return tuple(sorted(lost - ended))


def concerned(facts: Iterable[Fact], snapshot: Snapshot) -> tuple[Key, ...]:
    """The VMs whose specs are needed: those that stop, and those on nodes that are drained."""
    found: set[Key] = set()
    for fact in facts:
        if isinstance(fact, Stop):
            found.add(fact.key)
        elif isinstance(fact, Drain):
            pods = snapshot.pods_on(fact.node)
            found.update((pod.namespace, pod.machine) for pod in pods if pod.machine)
    return tuple(sorted(found))


def suppose(snapshot: Snapshot, facts: Sequence[Fact], specs: Mapping[Key, MachineSpec]) -> After:
    """The cluster after the facts, in their order. Raises NotFound, Conflict and InvalidInput."""
    if len(facts) > MAX_FACTS:
        raise InvalidInput(f"{len(facts)} changes at once; at most {MAX_FACTS}")
    supposed: list[Supposed] = []
    for fact in facts:
        events, found = _events(fact, snapshot, specs)
        supposed.append(found)
        snapshot = overlaid(snapshot, events)
    return After(snapshot, tuple(supposed))


def _events(
    fact: Fact, snapshot: Snapshot, specs: Mapping[Key, MachineSpec]
) -> tuple[list[ObjectEvent], Supposed]:
    match fact:
        case Drain():
            return _drained(fact, snapshot, specs)
        case Stop():
            events = _gone(fact.key, snapshot, specs)
            return events, Supposed(fact, bool(events))
        case Allow():
            change = plan_permit(snapshot, fact.permit)
            events = list(_permitted(change, snapshot)) if change.changed else []
            return events, Supposed(fact, change.changed)
        case AddNode():
            return [_added(fact.node)], Supposed(fact, changed=True)
        case _:
            assert_never(fact)


def _drained(
    fact: Drain, snapshot: Snapshot, specs: Mapping[Key, MachineSpec]
) -> tuple[list[ObjectEvent], Supposed]:
    impacts = drain(snapshot, fact.node)
    node = snapshot.nodes[fact.node]
    cordoned: NodeInfo = msgspec.structs.replace(node, unschedulable=True)
    events = [ObjectEvent(kinds.NODES, ("", fact.node), cordoned)]
    others = [pod.key for pod in snapshot.pods_on(fact.node) if not pod.machine]
    events += [ObjectEvent(kinds.PODS, key) for key in others]
    for impact in impacts:
        if impact.effect != STAYS:
            key = (impact.machine.namespace or "", impact.machine.name)
            shares = any(held[0] == key[0] for held in snapshot.objects.get(QUOTAS, ()))
            changed = overlaid(snapshot, events) if shares else snapshot
            events += _gone(key, changed, specs)
    return events, Supposed(fact, changed=True, impacts=impacts, others=len(others))


def _gone(key: Key, snapshot: Snapshot, specs: Mapping[Key, MachineSpec]) -> list[ObjectEvent]:
    """The events of a VM that stops; without its spec, of its launchers alone."""
    spec = specs.get(key)
    if spec is None:
        return [ObjectEvent(kinds.PODS, pod.key) for pod in launchers(snapshot, key)]
    return list(stopped(ask(spec, snapshot, 1), key))


def _permitted(change: Change, snapshot: Snapshot) -> Iterable[ObjectEvent]:
    """The object that keeps the list, and KubeVirt's own where HyperConverged renders it."""
    listing = dict(change.after or {})
    owner, kubevirt = snapshot.hyperconverged, snapshot.kubevirt
    if owner is not None:
        spelling = spelling_of(owner)
        spec = _laid(dict(owner.spec or {}), spelling.path[1:], listing)
        kept = msgspec.structs.replace(owner, spec=spec)
        yield ObjectEvent(kinds.HYPERCONVERGEDS, _key_of(owner.metadata), kept)
        rendered = [entry for entry in permits_in(listing, spelling) if not entry.disabled]
        listing = listing_of(rendered, KUBEVIRT)
    if kubevirt is not None:
        before = kubevirt.spec or records.KubeVirtSpec()
        configuration = msgspec.structs.replace(
            before.configuration or records.Configuration(), permitted_host_devices=listing
        )
        after = msgspec.structs.replace(before, configuration=configuration)
        kept_too = msgspec.structs.replace(kubevirt, spec=after)
        yield ObjectEvent(kinds.KUBEVIRTS, _key_of(kubevirt.metadata), kept_too)


def _laid(tree: dict[str, object], path: tuple[str, ...], value: object) -> dict[str, object]:
    """The tree with a value at a path."""
    first, *rest = path
    inner = tree.get(first)
    below = dict(inner) if isinstance(inner, dict) else {}
    return {**tree, first: _laid(below, tuple(rest), value) if rest else value}


def _key_of(meta: records.Meta) -> Key:
    return (meta.namespace or "default", meta.name)


def _added(node: records.Node) -> ObjectEvent:
    try:
        info = fold_node(node)
    except InvalidQuantity as error:
        raise InvalidInput(f"Node {node.metadata.name}: {error}") from None
    return ObjectEvent(kinds.NODES, ("", info.name), info)
