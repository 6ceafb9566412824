"""Overlays: the cluster as it would be, made of a snapshot and a list of object events.

Owns nothing but the event and its application: the events go through the same state as those of a
watch, so that every index follows. What was read of a kind stays as it was: an object that is laid
over a kind that nobody could read does not make it known.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from passway.cluster.kinds import Kind
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
