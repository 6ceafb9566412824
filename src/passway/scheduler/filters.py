"""One node against one launcher pod: which criteria it meets and how many copies it could take.

Owns the filters of the default profile that decide feasibility for a launcher: cordon, taints,
node selector, required node affinity, resources (all of the pod's needs together, on what is free
now), volumes, and what `topology` makes of affinity and spreading. It keeps every criterion's
answer instead of stopping at the first, so that a refusal can say which combination fails.
Left out: host ports, which no launcher has, and device claims.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import Final

from passway.cluster.fold import NodeInfo
from passway.cluster.labels import matches_labels
from passway.cluster.records import NodeSelector, Toleration, TopologySpreadConstraint
from passway.scheduler.selectors import matches_node
from passway.scheduler.taints import UNSCHEDULABLE, untolerated
from passway.scheduler.topology import (
    OTHERS_ANTI_AFFINITY,
    POD_AFFINITY,
    POD_ANTI_AFFINITY,
    SPREAD,
    Rule,
)
from passway.scheduler.volumes import Volumes

CORDON: Final = "schedulable"
TAINTS: Final = "taints"
NODE_SELECTOR: Final = "nodeSelector"
NODE_AFFINITY: Final = "nodeAffinity"
VOLUMES: Final = "volumes"
AVOIDED: Final = "!"
STATES: Final = frozenset({CORDON, TAINTS})
TOPOLOGY: Final = (POD_AFFINITY, POD_ANTI_AFFINITY, OTHERS_ANTI_AFFINITY, SPREAD)


@dataclass(frozen=True, slots=True)
class Demand:
    """What a pod asks of a node.

    `requests` are the scheduler's integers (cpu in thousandths), above zero, as it skips the rest.
    `labels` are required node labels that are criteria of their own (`key=value`). `avoided` are
    labels that a node must not have; they are told (`!key`) only where they decide, since hardly
    any node has one. `rules` are what pods that are there already decide, and own copies.
    """

    requests: Mapping[str, int]
    labels: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    node_affinity: NodeSelector | None = None
    tolerations: tuple[Toleration, ...] = ()
    volumes: Volumes = field(default_factory=Volumes)
    avoided: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    def criteria(self) -> tuple[str, ...]:
        """The names of all criteria, in the order in which they are shown."""
        rules = (
            *((NODE_SELECTOR,) if self.node_selector else ()),
            *((NODE_AFFINITY,) if self.node_affinity else ()),
            *((VOLUMES,) if self.volumes else ()),
            *dict.fromkeys(rule.criterion for rule in self.rules),
        )
        labels = tuple(f"{key}={value}" for key, value in self.labels.items())
        return (CORDON, TAINTS, *labels, *rules, *self.requests)


def places(
    demand: Demand, nodes: Sequence[NodeInfo], free: Sequence[dict[str, int]]
) -> list[tuple[int, str]]:
    """How many copies each node takes one after the other, and what then runs out; 0 for none.

    `free` is what each of the `nodes` has free. It goes resource by resource over all nodes: a
    walk asks this of hundreds of nodes. What copies are to each other is left to `alone`.
    """
    names = tuple(demand.requests)
    columns = [
        list(map(dict.get, free, repeat(name), repeat(0)))
        if wanted == 1
        else [amounts.get(name, 0) // wanted for amounts in free]
        for name, wanted in demand.requests.items()
    ]
    suspects = _suspects(demand, nodes)
    found: list[tuple[int, str]] = []
    for index, counts in enumerate(zip(*columns, strict=True)):
        most = min(counts)
        limit = names[counts.index(most)]
        if most < 1 or (index in suspects and _kept_away(demand, nodes[index])):
            most = 0
        found.append((most, limit))
    return found


def alone(demand: Demand, node: NodeInfo, found: tuple[int, str]) -> tuple[int, str]:
    """The same, if copies that count in the pod's own rules all went to this node."""
    most, limit = found
    for rule in demand.rules:
        copies = rule.copies(node.labels)
        if copies is not None and copies < most:
            most, limit = copies, rule.criterion
    return most, limit


def _suspects(demand: Demand, nodes: Sequence[NodeInfo]) -> Container[int]:
    """Where in `nodes` those are that may fail something beside amounts: few, as a rule."""
    if demand.node_selector or demand.node_affinity or demand.volumes or demand.rules:
        return range(len(nodes))
    labels = [node.labels for node in nodes]
    found = {index for index, node in enumerate(nodes) if node.taints or node.unschedulable}
    for key, value in demand.labels.items():
        told = list(map(dict.get, labels, repeat(key)))
        if told.count(value) < len(told):
            found.update([index for index, other in enumerate(told) if other != value])
    for key in demand.avoided:
        if any(map(dict.__contains__, labels, repeat(key))):
            found.update([index for index, held in enumerate(labels) if key in held])
    return found


def fails(demand: Demand, node: NodeInfo, free: Mapping[str, int]) -> list[str]:
    """The criteria that the node fails, in the order of `criteria()`."""
    return _kept_away(demand, node) + [
        resource for resource, wanted in demand.requests.items() if free.get(resource, 0) < wanted
    ]


def _kept_away(demand: Demand, node: NodeInfo) -> list[str]:
    """The criteria that have nothing to do with amounts."""
    found: list[str] = []
    away = untolerated(node.taints, demand.tolerations) if node.taints else ()
    # The taint that follows a cordon is one with it, and keeps pods away without it too.
    cordon = [taint for taint in away if taint.key == UNSCHEDULABLE.key]
    if cordon or (node.unschedulable and untolerated((UNSCHEDULABLE,), demand.tolerations)):
        found.append(CORDON)
    if len(away) > len(cordon):
        found.append(TAINTS)
    for key, value in demand.labels.items():
        if node.labels.get(key) != value:
            found.append(f"{key}={value}")
    found += [f"{AVOIDED}{key}" for key in demand.avoided if key in node.labels]
    if demand.node_selector and not matches_labels(demand.node_selector, node.labels):
        found.append(NODE_SELECTOR)
    if demand.node_affinity and not matches_node(demand.node_affinity, node.name, node.labels):
        found.append(NODE_AFFINITY)
    if demand.volumes and not demand.volumes.admits(node):
        found.append(VOLUMES)
    if demand.rules:
        failed = [rule.criterion for rule in demand.rules if not rule.admits(node.labels)]
        found += dict.fromkeys(failed)
    return found


def is_wanted(demand: Demand, node: NodeInfo) -> bool:
    """The node meets the pod's node selector and required node affinity, whatever else."""
    labels = node.labels
    return (
        demand.labels.items() <= labels.items()
        and demand.node_selector.items() <= labels.items()
        and labels.keys().isdisjoint(demand.avoided)
        and (demand.node_affinity is None or matches_node(demand.node_affinity, node.name, labels))
    )


def counts_for(demand: Demand, constraint: TopologySpreadConstraint, node: NodeInfo) -> bool:
    """The node is one of those that a spread constraint looks at (its two policies)."""
    if constraint.node_affinity_policy != "Ignore" and not is_wanted(demand, node):
        return False
    return constraint.node_taints_policy != "Honor" or not untolerated(
        node.taints, demand.tolerations
    )
