"""How many copies of one pod fit together, where its own rules are about its copies too.

Places them one after the other as the scheduler would allow: a copy counts for the next one, in
spreading, in anti-affinity, and as the first of a group that wants to be together. Nodes with the
same labels of interest are one group with the sum of their places, so work grows with domains.
Where the first copy decides the place of all, the most roomy domain is taken.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from passway.cluster.fold import NodeInfo
from passway.scheduler.topology import POD_AFFINITY, POD_ANTI_AFFINITY, SPREAD, Counts, Pair

Group: TypeAlias = tuple[Pair, ...]
"""The labels of interest that a set of nodes shares."""


@dataclass(frozen=True, slots=True)
class Together:
    """How many copies fit in all, and the rules that end it where nodes have places left."""

    places: int
    ended_by: tuple[str, ...] = ()


@dataclass(slots=True)
class _Spread:
    key: str
    max_skew: int
    few: bool
    counts: dict[str, int]
    least: int = 0

    def room(self, value: str) -> int | None:
        """How many more a domain takes while the fewest elsewhere are `least`."""
        if not self.few and len(self.counts) == 1:
            return None
        return max(self.max_skew + self.least - self.counts[value], 0)

    def settle(self) -> None:
        self.least = 0 if self.few else min(self.counts.values())


@dataclass(slots=True)
class _Copies:
    apart: frozenset[str]
    together: frozenset[str]
    spread: tuple[_Spread, ...]
    home: frozenset[Pair] | None = None
    taken: set[Pair] = field(default_factory=set)

    def room(self, group: Group, places: int) -> tuple[int, str]:
        """How many of the places can be taken now, and by which rule not more."""
        if self.home is not None and not self.home.issubset(group):
            return 0, POD_AFFINITY
        most, limit = places, ""
        if any(pair[0] in self.apart for pair in group):
            most, limit = int(not self.taken.intersection(group)), POD_ANTI_AFFINITY
        labels = dict(group)
        for item in self.spread:
            room = item.room(labels[item.key])
            if room is not None and room < most:
                most, limit = room, SPREAD
        return min(most, places), limit

    def take(self, group: Group, count: int) -> None:
        if self.together and self.home is None:
            self.home = frozenset(pair for pair in group if pair[0] in self.together)
        self.taken.update(pair for pair in group if pair[0] in self.apart)
        labels = dict(group)
        for item in self.spread:
            item.counts[labels[item.key]] += count


def fit_together(counts: Counts, nodes: Iterable[tuple[NodeInfo, int]]) -> Together:
    """`nodes` are feasible ones, each with the places that it has by itself."""
    copies = _copies(counts)
    keys = {*copies.apart, *copies.together, *(item.key for item in copies.spread)}
    groups: dict[Group, int] = {}
    for node, places in nodes:
        held = [(key, node.labels[key]) for key in sorted(keys) if key in node.labels]
        group = tuple(held)
        groups[group] = groups.get(group, 0) + places
    left = dict(sorted(groups.items(), key=_order(groups, copies.together)))
    total, placed = 0, -1
    ended: dict[str, None] = {}
    while left and total != placed:
        placed = total
        for item in copies.spread:
            item.settle()
        ended = {}
        for group, places in tuple(left.items()):
            count, limit = copies.room(group, places)
            if count:
                copies.take(group, count)
                total += count
            if count == places:
                del left[group]
            else:
                left[group] = places - count
                ended[limit] = None
    return Together(total, tuple(sorted(ended)) if left else ())


def _copies(counts: Counts) -> _Copies:
    own = counts.incoming
    return _Copies(
        apart=frozenset(term.topology_key for term in counts.repels(own.namespace, own.labels)),
        together=frozenset(
            term.topology_key for term in (own.affinity if counts.is_first() else ())
        ),
        spread=tuple(
            _Spread(
                own.spread[index].topology_key,
                own.spread[index].max_skew,
                len(counts.domains(index)) < (own.spread[index].min_domains or 1),
                dict(counts.domains(index)),
            )
            for index in counts.spread_over(own.labels)
        ),
    )


def _order(
    groups: Mapping[Group, int], together: frozenset[str]
) -> Callable[[tuple[Group, int]], tuple[int, Group]]:
    """The roomiest domain first, where all have to be in one; else by name."""

    def home(group: Group) -> Group:
        return tuple([pair for pair in group if pair[0] in together])

    room: dict[Group, int] = {}
    for group, places in groups.items():
        room[home(group)] = room.get(home(group), 0) + places
    return lambda item: (-room[home(item[0])] if together else 0, item[0])
