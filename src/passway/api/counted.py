"""A backend that counts what it answers: verdicts with their reasons, and changes of the list.

It decides nothing and changes no answer. What-if and fit are not counted: their verdicts are of
clusters and numbers that do not exist.
"""

from collections.abc import Awaitable
from typing import Any

from passway.api.metrics import Metrics
from passway.model.errors import PasswayError, PreflightFailed
from passway.model.override import override
from passway.service import documents as d
from passway.service.cluster_backend import ClusterBackend


class CountedBackend(ClusterBackend):
    """A ClusterBackend whose answers are counted in `metrics`."""

    def __init__(self, metrics: Metrics, *args: Any) -> None:
        super().__init__(*args)
        self._metrics = metrics

    @override
    async def check(self, *args: Any, **given: Any) -> tuple[d.VerdictDocument, ...]:
        found = await super().check(*args, **given)
        for verdict in found:
            self._count(verdict)
        return found

    @override
    async def create(self, *args: Any, **given: Any) -> d.MachineCreated:
        try:
            made = await super().create(*args, **given)
        except PreflightFailed as error:
            self._metrics.judged("no", [(one.reason, one.severity.value) for one in error.issues])
            raise
        if made.verdict is not None:
            self._count(made.verdict)
        return made

    @override
    async def permit(self, *args: Any, **given: Any) -> d.PermitChange:
        return await self._changed("permit", super().permit(*args, **given))

    @override
    async def unpermit(self, *args: Any, **given: Any) -> d.PermitChange:
        return await self._changed("unpermit", super().unpermit(*args, **given))

    def _count(self, verdict: d.VerdictDocument) -> None:
        self._metrics.judged(verdict.fits, [(one.reason, one.severity) for one in verdict.issues])

    async def _changed(self, action: str, change: Awaitable[d.PermitChange]) -> d.PermitChange:
        try:
            found = await change
        except PasswayError as error:
            self._metrics.changed(action, error.code)
            raise
        done = "done" if found.applied else "dry_run" if found.changed else "unchanged"
        self._metrics.changed(action, done)
        return found
