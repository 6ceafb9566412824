"""What pods on other nodes decide about a node: (anti-)affinity and spreading, per topology domain.

Owns the counts that kube-scheduler makes before it filters: pods of each domain that a rule is
about. They come down to rules of one label each, so that judging a node stays a look-up. A pod can
be added or taken away, for nominated pods, evictions and copies. Source: kube-scheduler
plugins/interpodaffinity/filtering.go and plugins/podtopologyspread/filtering.go, v1.36.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from passway.cluster.fold import FoldedPod, NodeInfo
from passway.cluster.labels import matches_selector
from passway.cluster.records import PodAffinityTerm, TopologySpreadConstraint
from passway.scheduler.terms import Namespaces, Terms, is_empty, reaches, selects

POD_AFFINITY: Final = "podAffinity"
POD_ANTI_AFFINITY: Final = "podAntiAffinity"
OTHERS_ANTI_AFFINITY: Final = "existingPodAntiAffinity"
SPREAD: Final = "topologySpreadConstraints"

Pair: TypeAlias = tuple[str, str]
"""A topology key and one of its values."""
Eligible: TypeAlias = Callable[[TopologySpreadConstraint, NodeInfo], bool]


@dataclass(frozen=True, slots=True)
class Incoming:
    """The pod that is to be placed. `spread` are the constraints that can refuse a node."""

    namespace: str
    labels: Mapping[str, str]
    affinity: Terms = ()
    anti_affinity: Terms = ()
    spread: tuple[TopologySpreadConstraint, ...] = ()

    @property
    def looks_at_pods(self) -> bool:
        """It has a rule about other pods."""
        return bool(self.affinity or self.anti_affinity or self.spread)


@dataclass(frozen=True, slots=True)
class Rule:
    """A node must not have one of the `blocked` values of the label `key`, if any only `allowed`.

    `room` says how many copies each value takes one after the other; `None` for any number.
    """

    criterion: str
    key: str
    required: bool = False
    allowed: frozenset[str] | None = None
    blocked: frozenset[str] = frozenset()
    room: "Callable[[str], int | None] | None" = field(default=None, compare=False)

    def admits(self, labels: Mapping[str, str]) -> bool:
        """Whether a node with these labels meets it."""
        value = labels.get(self.key)
        if value is None:
            return not self.required
        return value not in self.blocked and (self.allowed is None or value in self.allowed)

    @property
    def may_yield(self) -> bool:
        """A copy elsewhere can make it admit a value that is blocked now: spreading may, alone."""
        return self.criterion == SPREAD and self.room is not None

    def copies(self, labels: Mapping[str, str]) -> int | None:
        """How many copies a node with these labels takes, if the rule limits that."""
        value = labels.get(self.key)
        return None if self.room is None or value is None else self.room(value)


class Counts:
    """How many pods the rules of an incoming pod find in each domain, and whose rules find it."""

    def __init__(self, incoming: Incoming, namespaces: Namespaces, others: Namespaces) -> None:
        """`namespaces` is for the incoming pod's affinity, `others` for all anti-affinity."""
        self.incoming = incoming
        self._namespaces, self._others = namespaces, others
        self._affinity: Counter[Pair] = Counter()
        self._anti: Counter[Pair] = Counter()
        self._theirs: Counter[Pair] = Counter()
        self._spread: tuple[dict[str, int], ...] = tuple({} for _ in incoming.spread)
        self._eligible: tuple[frozenset[str], ...] = tuple(frozenset() for _ in incoming.spread)

    def open(self, nodes: Iterable[NodeInfo], eligible: Eligible) -> None:
        """The domains of each spread constraint: those of nodes that have all of the keys."""
        constraints = self.incoming.spread
        keys = [item.topology_key for item in constraints]
        found = [node for node in nodes if all(key in node.labels for key in keys)]
        counted = [[node for node in found if eligible(item, node)] for item in constraints]
        self._eligible = tuple(frozenset(node.name for node in nodes) for nodes in counted)
        self._spread = tuple(
            {node.labels[key]: 0 for node in nodes}
            for key, nodes in zip(keys, counted, strict=True)
        )

    def copy(self) -> "Counts":
        """The same, to be changed on its own."""
        made = Counts(self.incoming, self._namespaces, self._others)
        made._affinity, made._anti = self._affinity.copy(), self._anti.copy()
        made._theirs, made._eligible = self._theirs.copy(), self._eligible
        made._spread = tuple(dict(item) for item in self._spread)
        return made

    # -- which pods count -----------------------------------------------------------------------

    def attracts(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """A pod that all affinity terms together are about."""
        own = self.incoming
        return bool(own.affinity) and all(
            reaches(term, own.namespace, namespace, self._namespaces) and selects(term, labels)
            for term in own.affinity
        )

    def repels(self, namespace: str, labels: Mapping[str, str]) -> list[PodAffinityTerm]:
        """The anti-affinity terms that are about such a pod."""
        own = self.incoming
        return [
            term
            for term in own.anti_affinity
            if reaches(term, own.namespace, namespace, self._others) and selects(term, labels)
        ]

    def repelled_by(self, namespace: str, terms: Terms) -> list[PodAffinityTerm]:
        """The terms of a pod in that namespace that keep the incoming pod away."""
        own = self.incoming
        return [
            term
            for term in terms
            if reaches(term, namespace, own.namespace, self._others) and selects(term, own.labels)
        ]

    # -- counting -------------------------------------------------------------------------------

    def add(self, pod: FoldedPod, node: NodeInfo, times: int = 1) -> None:
        """A pod on a node; -1 `times` for one that goes."""
        if pod.anti_affinity:
            self.add_guard(pod, node, times)
        if self.incoming.looks_at_pods:
            self.add_seen(pod, pod.label_map(), node, times)

    def add_guard(self, pod: FoldedPod, node: NodeInfo, times: int = 1) -> None:
        """What the pod's own anti-affinity says about the incoming one."""
        for term in self.repelled_by(pod.namespace, pod.anti_affinity):
            _shift(self._theirs, term.topology_key, node.labels, times)

    def add_seen(
        self, pod: FoldedPod, labels: Mapping[str, str], node: NodeInfo, times: int = 1
    ) -> None:
        """What the incoming pod's rules find in the pod."""
        if self.attracts(pod.namespace, labels):
            for term in self.incoming.affinity:
                _shift(self._affinity, term.topology_key, node.labels, times)
        for term in self.repels(pod.namespace, labels):
            _shift(self._anti, term.topology_key, node.labels, times)
        if pod.namespace == self.incoming.namespace and not pod.deletion:
            for index in self.spread_over(labels):
                self._shift_spread(index, node, times)

    def spread_over(self, labels: Mapping[str, str]) -> list[int]:
        """The spread constraints that count a pod with these labels.

        An empty selector counts none, although it selects every pod (kubernetes
        countPodsMatchSelector).
        """
        return [
            index
            for index, item in enumerate(self.incoming.spread)
            if item.label_selector is not None
            and not is_empty(item.label_selector)
            and matches_selector(item.label_selector, labels)
        ]

    def _shift_spread(self, index: int, node: NodeInfo, times: int) -> None:
        if node.name in self._eligible[index]:
            value = node.labels[self.incoming.spread[index].topology_key]
            self._spread[index][value] += times

    # -- rules ----------------------------------------------------------------------------------

    def rules(self) -> tuple[Rule, ...]:
        """What it comes down to for a node."""
        spread = [self._spread_rule(index) for index in range(len(self._spread))]
        return (*self._affinity_rules(), *self._anti_rules(), *self._their_rules(), *spread)

    def is_first(self) -> bool:
        """No pod is where its affinity looks, and it would be the first of its kind itself."""
        own = self.incoming
        return not self._affinity and self.attracts(own.namespace, own.labels)

    def _affinity_rules(self) -> list[Rule]:
        keys = _keys(self.incoming.affinity)
        if self.is_first():
            return [Rule(POD_AFFINITY, key, required=True) for key in keys]
        return [
            Rule(POD_AFFINITY, key, required=True, allowed=_values(self._affinity, key))
            for key in keys
        ]

    def _anti_rules(self) -> list[Rule]:
        own = self.incoming
        apart = {term.topology_key for term in self.repels(own.namespace, own.labels)}
        return [
            Rule(
                POD_ANTI_AFFINITY,
                key,
                blocked=_values(self._anti, key),
                room=(lambda _: 1) if key in apart else None,
            )
            for key in _keys(own.anti_affinity)
        ]

    def _their_rules(self) -> list[Rule]:
        keys = sorted({key for key, _ in self._theirs})
        return [Rule(OTHERS_ANTI_AFFINITY, key, blocked=_values(self._theirs, key)) for key in keys]

    def _spread_rule(self, index: int) -> Rule:
        item, counts = self.incoming.spread[index], self._spread[index]
        least = self.least(index)
        most = item.max_skew + least - self.counts_itself(index)
        return Rule(
            SPREAD,
            item.topology_key,
            required=True,
            blocked=frozenset([value for value, count in counts.items() if count > most]),
            room=self._room(index) if index in self.spread_over(self.incoming.labels) else None,
        )

    def counts_itself(self, index: int) -> int:
        """1 where the constraint selects the incoming pod too."""
        selector = self.incoming.spread[index].label_selector
        return int(selector is not None and matches_selector(selector, self.incoming.labels))

    def least(self, index: int) -> int:
        """The fewest pods of any domain; 0 where there are fewer domains than `minDomains`."""
        counts = self._spread[index]
        few = len(counts) < (self.incoming.spread[index].min_domains or 1)
        return 0 if few else min(counts.values())

    def domains(self, index: int) -> Mapping[str, int]:
        """How many pods each domain of a spread constraint has."""
        return self._spread[index]

    def _room(self, index: int) -> Callable[[str], int | None]:
        """How many copies a domain takes while nothing is added to the others."""
        item, counts = self.incoming.spread[index], self._spread[index]
        few = len(counts) < (item.min_domains or 1)
        lowest = sorted(counts, key=counts.__getitem__)[:2]

        def room(value: str) -> int | None:
            others = [counts[other] for other in lowest if other != value]
            if not few and not others:
                return None
            least = 0 if few else others[0]
            return max(item.max_skew + least - counts.get(value, 0), 0)

        return room


def _keys(terms: Terms) -> list[str]:
    return list(dict.fromkeys(term.topology_key for term in terms))


def _values(counts: Counter[Pair], key: str) -> frozenset[str]:
    return frozenset(
        [value for (held, value), count in counts.items() if held == key and count > 0]
    )


def _shift(counts: Counter[Pair], key: str, labels: Mapping[str, str], times: int) -> None:
    value = labels.get(key)
    if value is not None:
        counts[key, value] += times
        if not counts[key, value]:
            del counts[key, value]
