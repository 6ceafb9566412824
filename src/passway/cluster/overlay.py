"""Overlays: the cluster as it would be, made of a snapshot and a list of object events.

Owns nothing but the event and its application: the events go through the same state as those of a
watch, so that every index follows. What was read of a kind stays as it was: an object that is laid
over a kind that nobody could read does not make it known.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from passway.cluster.kinds import PODS, Kind
from passway.cluster.snapshot import Key, Snapshot
from passway.cluster.state import ClusterState


@dataclass(frozen=True, slots=True)
class ObjectEvent:
    """An object as it would be. `kept`: what a state keeps of it; None where it would be gone."""

    kind: Kind
    key: Key
    kept: Any = None


def overlaid(snapshot: Snapshot, events: Iterable[ObjectEvent]) -> Snapshot:
    """The snapshot after the events, in their order; the same one where there are none."""
    events = tuple(events)
    if not events:
        return snapshot
    state = ClusterState.of(snapshot)
    for event in events:
        state.put(event.kind, event.key, event.kept)
    return state.snapshot(snapshot.at)


class Draft:
    """A cluster to try things on: events are laid over it, and taken back in reverse.

    Cheaper than an overlay for each step, which would index all pods anew. Only for pods that are
    new, and for objects that are kept whole.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._state = ClusterState.of(snapshot)
        self._at = snapshot.at
        self._undo: list[list[ObjectEvent]] = []

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as it is tried now."""
        return self._state.snapshot(self._at)

    def push(self, events: Sequence[ObjectEvent]) -> None:
        """Lays events over it."""
        before = self.snapshot.objects
        self._undo.append(
            [
                ObjectEvent(
                    event.kind,
                    event.key,
                    None
                    if event.kind is PODS
                    else before.get(event.kind.plural, {}).get(event.key),
                )
                for event in reversed(events)
            ]
        )
        self._put(events)

    def pop(self) -> None:
        """Takes the last events back."""
        self._put(self._undo.pop())

    def _put(self, events: Iterable[ObjectEvent]) -> None:
        for event in events:
            self._state.put(event.kind, event.key, event.kept)
