"""What keeps suitable nodes from taking the VM: rules, labels, taints, cordons, combinations.

Reached only when every single need is met by some node. Cordons and taints of nodes that have
everything are told first, since lifting them is enough; otherwise the nearest misses show which
combination fails.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster.amounts import HUGEPAGES, as_quantity, is_device
from passway.cluster.records import Taint
from passway.kubevirt.gates import gates_of
from passway.kubevirt.node_rules import ARCHITECTURE, CPU_MANAGER, MACHINE
from passway.model.verdict import Issue, NodeResult, Severity, Shortage, Stage
from passway.preflight import relations, supply, volumes
from passway.preflight.placement import Scene, walk
from passway.preflight.stage import Question
from passway.preflight.volume_claims import claimed
from passway.scheduler.filters import (
    AVOIDED,
    CORDON,
    NODE_AFFINITY,
    NODE_SELECTOR,
    STATES,
    TAINTS,
    TOPOLOGY,
    VOLUMES,
    Demand,
    fails,
)
from passway.scheduler.taints import UNSCHEDULABLE, untolerated

STAGE: Final = Stage.SCHEDULING
NEAR_MISSES: Final = 50
_RELATIONS: Final = frozenset({*TOPOLOGY, VOLUMES})
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def judge(question: Question, scene: Scene, nodes: tuple[NodeResult, ...]) -> Iterator[Issue]:
    """The issues, given that no node of the walk takes the VM and no single need is unmet."""
    general = (*_unlabelled(question), *_unmatched(question, scene))
    yield from general
    if general:
        return
    kept_away = [node for node in nodes if STATES.issuperset(node.fails)]
    related = [node for node in nodes if _RELATIONS.issuperset(node.fails)]
    if kept_away:
        yield from _states(question, kept_away)
    if related:
        bound = tuple(node.name for node in related if VOLUMES in node.fails)
        yield from volumes.elsewhere(question, bound)
        yield from relations.judge(question, scene, related)
    if not kept_away and not related:
        closest = _closest(question, scene, nodes)
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "NoNodeHasAll",
            nodes=tuple(node.name for node in nodes),
            near_misses=tuple(_shortage(question, scene, node) for node in closest),
            holders=supply.holders_on(question.snapshot, _taken(question, closest)),
        )


def _unlabelled(question: Question) -> Iterator[Issue]:
    """Labels that KubeVirt asks for and no node of the cluster has."""
    snapshot = question.snapshot
    missing = {
        key: value
        for key, value in question.pod.node_labels.items()
        if not any(node.labels.get(key) == value for node in snapshot.nodes.values())
    }
    for key, value in missing.items():
        if key.startswith(MACHINE) and ARCHITECTURE in missing:
            continue  # machine types belong to an architecture
        if key == CPU_MANAGER:
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "NoCpuManager",
                question.spec.vmi_field("domain.cpu.dedicatedCpuPlacement"),
                gate_off=int(
                    snapshot.kubevirt is not None
                    and not gates_of(snapshot.kubevirt).on("CPUManager")
                ),
            )
        else:
            yield question.issue(STAGE, Severity.ERROR, "LabelMissing", label=f"{key}={value}")


def _unmatched(question: Question, scene: Scene) -> Iterator[Issue]:
    """Rules of the VM that no node of the cluster matches."""
    demand = scene.demand
    rules = {
        "nodeSelector": (NODE_SELECTOR, Demand({}, node_selector=demand.node_selector)),
        f"affinity.nodeAffinity.{_REQUIRED}": (
            NODE_AFFINITY,
            Demand({}, node_affinity=demand.node_affinity),
        ),
    }
    nodes = question.snapshot.nodes.values()
    for path, (rule, alone) in rules.items():
        if rule in demand.criteria() and all(rule in fails(alone, node, {}) for node in nodes):
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "NodeNotMatched",
                question.spec.vmi_field(path),
                rule=_rule(question, scene, rule),
            )


def _states(question: Question, nodes: list[NodeResult]) -> Iterator[Issue]:
    cordoned = tuple(node.name for node in nodes if CORDON in node.fails)
    if cordoned:
        yield question.issue(STAGE, Severity.ERROR, "NodeUnschedulable", nodes=cordoned)
    tainted = tuple(node.name for node in nodes if TAINTS in node.fails)
    if tainted:
        taints = {taint for name in tainted for taint in _taints(question, name)}
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "UntoleratedTaint",
            question.spec.vmi_field("tolerations"),
            tainted,
            taints=tuple(sorted(taint.text() for taint in taints)),
            tolerations=_close_tolerations(question, taints),
            free=supply.devices_on(question.snapshot, question.pod.requests, tainted),
        )


def _taints(question: Question, node: str) -> list[Taint]:
    taints = untolerated(question.snapshot.nodes[node].taints, question.pod.tolerations)
    return [taint for taint in taints if taint.key != UNSCHEDULABLE.key]


def _close_tolerations(question: Question, taints: set[Taint]) -> tuple[str, ...]:
    """Tolerations that name a taint's key and still do not match it."""
    keys = {taint.key for taint in taints}
    return tuple(
        f"{toleration.key}={toleration.value or ''}:{toleration.effect or ''}"
        for toleration in question.pod.tolerations
        if toleration.key in keys
    )


def _closest(
    question: Question, scene: Scene, nodes: tuple[NodeResult, ...]
) -> tuple[NodeResult, ...]:
    """The nodes that come closest, and those that have another of the wanted resources."""
    snapshot, demand = question.snapshot, scene.demand
    others = {
        name
        for resource in demand.requests
        if _held(resource)
        for name in snapshot.advertisers.get(resource, ())
    }
    if demand.node_selector:
        matching = Demand({}, node_selector=demand.node_selector)
        others |= {name for name, node in snapshot.nodes.items() if not fails(matching, node, {})}
    rest = sorted(others - {node.name for node in nodes})
    walked = (*nodes, *walk(snapshot, scene, rest).nodes)
    return tuple(sorted(walked, key=lambda node: (len(node.fails), node.name))[:NEAR_MISSES])


def _taken(question: Question, nodes: tuple[NodeResult, ...]) -> Iterator[tuple[str, str]]:
    """(node, resource) where the node would have enough if nobody held any of it."""
    for node in nodes:
        allocatable = question.snapshot.nodes[node.name].allocatable
        for resource, wanted in question.pod.requests.items():
            lacks = _held(resource) and resource in node.fails
            if lacks and allocatable.get(resource, 0) >= wanted:
                yield node.name, resource


def _held(resource: str) -> bool:
    """Few pods hold such a resource, so that they can be named."""
    return is_device(resource) or resource.startswith(HUGEPAGES)


def _shortage(question: Question, scene: Scene, node: NodeResult) -> Shortage:
    has = tuple(
        f"{resource} ({_free(question, node.name, resource)})"
        for resource in sorted(question.pod.requests)
        if resource not in node.fails and _held(resource)
    )
    lacks = tuple(_lack(question, scene, node.name, fail) for fail in node.fails)
    return Shortage(node.name, has, lacks)


def _free(question: Question, node: str, resource: str) -> str:
    snapshot = question.snapshot
    free = as_quantity(resource, max(snapshot.free(node, resource), 0))
    of = as_quantity(resource, snapshot.nodes[node].allocatable.get(resource, 0))
    return f"{free} free of {of}"


def _lack(question: Question, scene: Scene, node: str, criterion: str) -> str:
    wanted = question.pod.requests.get(criterion)
    if wanted is not None:
        needed = as_quantity(criterion, wanted)
        return f"{criterion} ({_free(question, node, criterion)}, {needed} needed)"
    if criterion == TAINTS:
        return f"taint {', '.join(taint.text() for taint in _taints(question, node))}"
    return _rule(question, scene, criterion)


def _rule(question: Question, scene: Scene, criterion: str) -> str:
    if criterion == NODE_SELECTOR:
        pairs = sorted(question.pod.node_selector.items())
        return f"nodeSelector {', '.join(f'{key}={value}' for key, value in pairs)}"
    if criterion.startswith(AVOIDED):
        return f"no label {criterion.removeprefix(AVOIDED)}"
    if criterion == VOLUMES:
        names = sorted(item.name for item in claimed(question))
        return f"where its volumes can be used ({', '.join(names)})"
    if criterion in TOPOLOGY:
        return relations.rules_text(scene, criterion)
    return "the required node affinity" if criterion == NODE_AFFINITY else criterion
