"""The metrics of the service, in a registry of its own.

Owns every name, help text and label, and that no label takes values without bound: routes are
templates, reasons those of the registry, codes those that our errors have. What the cluster's
state says is read when somebody asks (`cluster_metrics`); how it gets out is `server`'s.
"""

import asyncio
import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from passway import __version__
from passway.api.cluster_metrics import ClusterCollector
from passway.model.errors import ERRORS, NotSynced
from passway.model.reasons import REASONS
from passway.model.verdict import Severity
from passway.preflight.drift import drift
from passway.service.audit import Audit
from passway.service.mirror import Mirror

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
OTHER: Final = "other"
DRIFT_S: Final = 60.0
_BUCKETS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
_MOST_CODES: Final = 64
_FROM_ZERO: Final = (*(error.kind.code for error in ERRORS), "AUDIT_UNAVAILABLE")
"""Codes that count from 0 on: an increase from nothing is none for Prometheus."""
_FITS: Final = frozenset({"yes", "no", "unknown"})


class Metrics:
    """What is counted. One for each application; nothing of it is global."""

    def __init__(self, mirror: Mirror, audit: Audit) -> None:
        self._mirror = mirror
        self._codes: set[str] = set()
        self.registry: Final = CollectorRegistry()
        own = self.registry
        self.requests: Final = Histogram(
            "passway_http_request_duration_seconds",
            "Time from the head of a request to the end of its answer.",
            ("route", "method", "status"), buckets=_BUCKETS, registry=own,
        )  # fmt: skip
        self.in_flight: Final = Gauge(
            "passway_http_requests_in_flight", "Requests that are being worked on.", registry=own
        )
        self._problems = Counter(
            "passway_problems", "Requests that ended in a problem, by its code.",
            ("code",), registry=own,
        )  # fmt: skip
        self._verdicts = Counter(
            "passway_verdicts", "Verdicts that were given, by their answer.",
            ("fits",), registry=own,
        )  # fmt: skip
        self._reasons = Counter(
            "passway_verdict_reasons", "Findings in the verdicts that were given.",
            ("reason", "severity"), registry=own,
        )  # fmt: skip
        self._changes = Counter(
            "passway_permit_changes",
            "Changes of the permitted list: done, unchanged, dry_run or the code of an error.",
            ("action", "result"), registry=own,
        )  # fmt: skip
        self._drift = Gauge(
            "passway_drift_findings",
            "Where permitted, advertised and asked-for devices differ, as of the last minute.",
            ("severity",), registry=own,
        )  # fmt: skip
        for code in _FROM_ZERO:
            self._problems.labels(self._code(code))
        build = Gauge(
            "passway_build_info", "1, with the versions as labels.",
            ("version", "python"), registry=own,
        )  # fmt: skip
        build.labels(__version__, platform.python_version()).set(1)
        ProcessCollector(registry=own)
        own.register(ClusterCollector(mirror, audit))

    def exposition(self) -> bytes:
        """All of it in the text format."""
        return generate_latest(self.registry)

    def certificate(self, expires: Callable[[], float]) -> None:
        """There is TLS; `expires` says until when the certificate in use is valid."""
        Gauge(
            "passway_tls_certificate_expiry_timestamp_seconds",
            "When the certificate in use ends, in seconds since 1970.",
            registry=self.registry,
        ).set_function(expires)

    def problem(self, code: str) -> None:
        self._problems.labels(self._code(code)).inc()

    def judged(self, fits: str, findings: Iterable[tuple[str, str]]) -> None:
        """A verdict was given; `findings` are pairs of reason and severity."""
        self._verdicts.labels(fits if fits in _FITS else OTHER).inc()
        for reason, severity in findings:
            known = reason if reason in REASONS else OTHER
            self._reasons.labels(known, severity).inc()

    def changed(self, action: str, result: str) -> None:
        """A change of the permitted list was asked for, with this result."""
        self._changes.labels(action, self._code(result)).inc()

    def look_for_drift(self) -> None:
        """Counts the findings of now; while the cluster is not known there are none to count."""
        with suppress(NotSynced):
            found = [issue.severity for issue in drift(self._mirror.snapshot())]
            for severity in Severity:
                self._drift.labels(severity.value).set(found.count(severity))

    async def follow_drift(self) -> None:
        """Looks for drift now and then; in a thread, since it looks at every node."""
        while True:
            await asyncio.to_thread(self.look_for_drift)
            await asyncio.sleep(DRIFT_S)

    def _code(self, code: str) -> str:
        """Codes come from our own errors; the bound holds whatever they do."""
        if len(self._codes) < _MOST_CODES:
            self._codes.add(code)
        return code if code in self._codes else OTHER
