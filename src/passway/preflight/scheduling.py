"""Stage 6: would the scheduler find a node, now, for all of the VM's needs together?

Tells the one thing that is in the way: a need that no node meets, too few places for the
replicas, a taint or cordon on otherwise suitable nodes, or that no single node has everything.
Rules that are not judged yet (pod affinity, spreading) are unknown.
"""

from collections.abc import Iterator
from typing import Final

from passway.cluster import kinds
from passway.cluster.fold import FoldedPod
from passway.cluster.labels import matches_selector
from passway.model.verdict import Issue, NodeResult, Severity, Stage
from passway.preflight import obstacles, shortage, supply, volumes
from passway.preflight.networks import functions
from passway.preflight.placement import Placement, keeps_itself_away, own_anti_affinity
from passway.preflight.stage import Question

STAGE: Final = Stage.SCHEDULING


def judge(question: Question, placement: Placement) -> Iterator[Issue]:
    """The issues of this stage."""
    yield from question.unread(STAGE, kinds.NODES, "the nodes")
    if not question.snapshot.read(kinds.NODES).known:
        return
    yield from _unjudged(question)
    yield from volumes.judge(question)
    if placement.places >= question.replicas:
        yield from _fits(question)
    elif placement.feasible:
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "NotEnoughPlaces",
            nodes=tuple(node.name for node in placement.feasible),
            wanted=question.replicas,
            places=placement.places,
            limits=tuple(sorted(placement.limits)),
        )
    else:
        yield from _refused(question, placement)


def _fits(question: Question) -> Iterator[Issue]:
    yield from question.unread(STAGE, kinds.PODS, "the units in use")
    if question.spec.cpu.numa_passthrough:
        path = question.spec.vmi_field("domain.cpu.numa.guestMappingPassthrough")
        yield question.issue(STAGE, Severity.WARNING, "NumaNotVisible", path)


def _refused(question: Question, placement: Placement) -> Iterator[Issue]:
    unmet = shortage.unmet(question, placement.nodes)
    for resource in unmet:
        yield from shortage.explain(question, resource)
    pools = functions(question.spec, question.snapshot)
    if any(resource not in pools for resource in unmet):
        return
    # An empty pool is told by the networks stage: here the rest is judged without it.
    nodes = [
        NodeResult(node.name, node.meets, tuple(fail for fail in node.fails if fail not in unmet))
        for node in placement.nodes
    ]
    if all(node.fails for node in nodes) and (nodes or not unmet):
        yield from obstacles.judge(question, tuple(nodes))


def _unjudged(question: Question) -> Iterator[Issue]:
    pod, spec = question.pod, question.spec
    affinity = pod.affinity.pod_affinity
    rules = {
        "affinity.podAffinity": bool(affinity and affinity.required),
        "affinity.podAntiAffinity": len(own_anti_affinity(question)) > keeps_itself_away(question),
        "topologySpreadConstraints": pod.spread,
    }
    for path in (spec.vmi_field(path) for path, present in rules.items() if present):
        yield question.issue(STAGE, Severity.UNKNOWN, "RuleNotEvaluated", path, rule=path)
    guards = {
        supply.holder_of(guard)
        for guard in question.snapshot.guarded.values()
        if _may_guard(guard, question)
    }
    if guards:
        yield question.issue(
            STAGE, Severity.UNKNOWN, "PodRuleNotEvaluated", pods=tuple(sorted(guards))
        )


def _may_guard(guard: FoldedPod, question: Question) -> bool:
    """A running pod's anti-affinity might match the launcher."""
    return any(
        term.label_selector is not None
        and matches_selector(term.label_selector, question.pod.labels)
        and (
            term.namespace_selector is not None
            or question.pod.namespace in (term.namespaces or (guard.namespace,))
        )
        for term in guard.anti_affinity
    )
