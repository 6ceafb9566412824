"""Other pods in the way: what is told where affinity or spreading refuses otherwise good nodes.

Owns the words' facts: which pods, in which domains, how many in each. Judges nothing itself.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from passway.cluster import kinds
from passway.cluster.fold import FoldedPod
from passway.cluster.records import LabelSelector, PodAffinityTerm
from passway.model.verdict import Issue, NodeResult, Ref, Severity, Some, Stage
from passway.preflight.neighbours import seen
from passway.preflight.placement import Scene
from passway.preflight.stage import Question
from passway.preflight.supply import TOLD, holder_of
from passway.scheduler.filters import TOPOLOGY
from passway.scheduler.terms import Terms
from passway.scheduler.topology import (
    OTHERS_ANTI_AFFINITY,
    POD_AFFINITY,
    POD_ANTI_AFFINITY,
    SPREAD,
)

STAGE: Final = Stage.SCHEDULING


def judge(question: Question, scene: Scene, nodes: Iterable[NodeResult]) -> Iterator[Issue]:
    """`nodes` fail nothing but rules about other pods."""
    failing = {rule: tuple(node.name for node in nodes if rule in node.fails) for rule in TOPOLOGY}
    if failing[POD_AFFINITY]:
        yield from _affinity(question, scene, failing[POD_AFFINITY])
    if failing[POD_ANTI_AFFINITY]:
        yield _anti_affinity(question, scene, failing[POD_ANTI_AFFINITY])
    if failing[OTHERS_ANTI_AFFINITY]:
        yield _others(question, scene, failing[OTHERS_ANTI_AFFINITY])
    if failing[SPREAD]:
        yield from _spread(question, scene, failing[SPREAD])


def _affinity(question: Question, scene: Scene, nodes: tuple[str, ...]) -> Iterator[Issue]:
    """Pods that were not read may be the ones that it wants: then nothing is decided."""
    unread = tuple(question.unread(STAGE, kinds.PODS, "the pods that its podAffinity wants"))
    yield from unread
    if unread:
        return
    counts = scene.neighbours.counts
    terms = counts.incoming.affinity
    found = [
        (pod, domain)
        for pod, labels, node in seen(counts.incoming, question.snapshot)
        if counts.attracts(pod.namespace, labels)
        for domain in _domains(terms, node.labels)
    ]
    yield question.issue(
        STAGE,
        Severity.ERROR,
        "PodAffinityUnmet",
        question.spec.vmi_field("affinity.podAffinity"),
        nodes,
        rule=_rules(terms),
        nowhere=int(not found),
        domains=_sorted(domain for _, domain in found),
        pods=_pods(pod for pod, _ in found),
        missing=_missing(question, nodes, [term.topology_key for term in terms]),
    )


def _anti_affinity(question: Question, scene: Scene, nodes: tuple[str, ...]) -> Issue:
    counts, known = scene.neighbours.counts, question.snapshot.nodes
    terms = counts.incoming.anti_affinity
    there = {domain for name in nodes for domain in _domains(terms, known[name].labels)}
    found = [
        (pod, domain)
        for pod, labels, node in seen(counts.incoming, question.snapshot)
        for domain in _domains(counts.repels(pod.namespace, labels), node.labels)
        if domain in there
    ]
    return question.issue(
        STAGE,
        Severity.ERROR,
        "PodAntiAffinityConflict",
        question.spec.vmi_field("affinity.podAntiAffinity"),
        nodes,
        rule=_rules(terms),
        domains=_sorted(domain for _, domain in found),
        pods=_pods(pod for pod, _ in found),
    )


def _others(question: Question, scene: Scene, nodes: tuple[str, ...]) -> Issue:
    counts, snapshot = scene.neighbours.counts, question.snapshot
    nominated = [pod for pods in scene.neighbours.nominated.values() for pod in pods]
    there = {
        f"{key}={value}" for name in nodes for key, value in snapshot.nodes[name].labels.items()
    }
    here = [
        (pod, domain)
        for pod in (*snapshot.guarded.values(), *nominated)
        if (node := snapshot.nodes.get(pod.node or pod.nominated_node or "")) is not None
        for domain in _domains(counts.repelled_by(pod.namespace, pod.anti_affinity), node.labels)
        if domain in there
    ]
    return question.issue(
        STAGE,
        Severity.ERROR,
        "KeptAwayByPods",
        nodes=nodes,
        pods=_pods(pod for pod, _ in here),
        domains=_sorted(domain for _, domain in here),
    )


def _spread(question: Question, scene: Scene, nodes: tuple[str, ...]) -> Iterator[Issue]:
    counts = scene.neighbours.counts
    known = question.snapshot.nodes
    for index, item in enumerate(counts.incoming.spread):
        key, domains = item.topology_key, counts.domains(index)
        most = item.max_skew + counts.least(index) - counts.counts_itself(index)
        away = tuple(
            name
            for name in nodes
            if key not in known[name].labels or domains.get(known[name].labels[key], 0) > most
        )
        if not away:
            continue
        full = sorted(domains.items(), key=lambda domain: (-domain[1], domain[0]))
        yield question.issue(
            STAGE,
            Severity.ERROR,
            "SpreadExceeded",
            question.spec.vmi_field("topologySpreadConstraints"),
            away,
            key=key,
            max_skew=item.max_skew,
            rule=selector_text(item.label_selector),
            counts=Some(tuple(f"{value}: {count}" for value, count in full[:TOLD]), len(full)),
            min_domains=item.min_domains or 0 if len(domains) < (item.min_domains or 1) else 0,
            missing=_missing(question, away, [key]),
        )


def rules_text(scene: Scene, criterion: str) -> str:
    """A rule in a few words, for a near miss."""
    own = scene.neighbours.counts.incoming
    if criterion == POD_AFFINITY:
        return f"beside pods with {_rules(own.affinity)}"
    if criterion == POD_ANTI_AFFINITY:
        return f"away from pods with {_rules(own.anti_affinity)}"
    if criterion == SPREAD:
        return f"spread over {', '.join(item.topology_key for item in own.spread)}"
    return "the podAntiAffinity of pods that run there"


def _rules(terms: Terms) -> str:
    return " and ".join(
        f"{selector_text(term.label_selector)} in the same {term.topology_key}" for term in terms
    )


def selector_text(selector: LabelSelector | None) -> str:
    """`app=db, tier in [x]`, as kubectl prints it; an empty one selects all, none selects none."""
    if selector is None:
        return "no labels"
    pairs = [f"{key}={value}" for key, value in sorted((selector.match_labels or {}).items())]
    words = [item.text() for item in selector.match_expressions or ()]
    return ", ".join([*pairs, *words]) or "any labels"


def _domains(terms: Iterable[PodAffinityTerm], labels: dict[str, str]) -> list[str]:
    keys = dict.fromkeys(term.topology_key for term in terms)
    return [f"{key}={labels[key]}" for key in keys if key in labels]


def _missing(question: Question, nodes: tuple[str, ...], keys: list[str]) -> tuple[str, ...]:
    """The labels that some of the nodes do not have at all."""
    known = question.snapshot.nodes
    return tuple(
        key for key in dict.fromkeys(keys) if any(key not in known[name].labels for name in nodes)
    )


def _sorted(words: Iterable[str]) -> Some:
    found = sorted(set(words))
    return Some(tuple(found[:TOLD]), len(found))


def _pods(pods: Iterable[FoldedPod]) -> Some:
    found: list[Ref] = sorted({holder_of(pod) for pod in pods})
    return Some(tuple(found[:TOLD]), len(found))
