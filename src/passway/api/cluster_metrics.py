"""What the mirror and the audit say of themselves, as metrics, at the moment of the question.

Owns which of it is told: how each kind was read and how old that is, how many objects there are,
and the end of the audit's chain. No name of an object, node or namespace becomes a label.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from passway.cluster import kinds
from passway.cluster.snapshot import Read, Snapshot
from passway.model.errors import NotSynced
from passway.model.override import override
from passway.service import report
from passway.service.audit import Audit
from passway.service.mirror import Mirror

_SYNCED: Final = "passway_cluster_synced"
_STATE: Final = "passway_cluster_kind_state"
_AGE: Final = "passway_cluster_state_age_seconds"
_OBJECTS: Final = "passway_cluster_objects"


class ClusterCollector(Collector):
    """Reads the mirror's snapshot and the audit's head, and changes neither."""

    def __init__(self, mirror: Mirror, audit: Audit) -> None:
        self._mirror = mirror
        self._audit = audit

    @override
    def collect(self) -> Iterator[Metric]:
        try:
            snapshot = self._mirror.snapshot()
        except NotSynced:
            snapshot = None
        yield GaugeMetricFamily(
            _SYNCED, "1 once every kind has been read, 0 before.", float(snapshot is not None)
        )
        yield from _kinds(snapshot)
        yield from self._head()

    def _head(self) -> Iterator[Metric]:
        entries = CounterMetricFamily(
            "passway_audit_entries", "Rows in the audit's chain, as far as this process has seen."
        )
        chain = GaugeMetricFamily(
            "passway_audit_head_info", "1, with the hash of the newest row.", labels=("hash",)
        )
        head = getattr(self._audit, "head", None)
        if head is not None:
            entries.add_metric((), head.sequence)
            chain.add_metric((head.hash,), 1)
        yield entries
        yield chain


def _kinds(snapshot: Snapshot | None) -> Iterator[Metric]:
    state = GaugeMetricFamily(_STATE, "1 for how the kind was read.", labels=("kind", "state"))
    age = GaugeMetricFamily(
        _AGE, "Seconds since the API server last said that the kind is so.", labels=("kind",)
    )
    objects = GaugeMetricFamily(
        _OBJECTS, "Objects of the kind; of pods, those that have not ended.", labels=("kind",)
    )
    for kind in kinds.ALL if snapshot else ():
        assert snapshot is not None  # noqa: S101 - said above
        read, seconds = snapshot.read(kind), report.age_s(snapshot, kind)
        for one in Read:
            state.add_metric((kind.plural, one.value), float(read is one))
        objects.add_metric((kind.plural,), report.count(snapshot, kind))
        if seconds is not None:
            age.add_metric((kind.plural,), seconds)
    yield state
    yield age
    yield objects
