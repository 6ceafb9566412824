"""The use cases on a live cluster: reads from the mirror, writes through the Cluster port.

Every write is planned on a snapshot, guarded by the object's resourceVersion, goes through
`changes`, as does every refusal, and is shown to the mirror at once. A conflict is an answer, never
a retry that overwrites. A dry run changes nothing, so it is no change that anybody audits.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import msgspec

from passway.cluster import kinds
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.permitted import Permit
from passway.model.errors import Conflict, PasswayError, Unavailable
from passway.model.override import override
from passway.model.verdict import Ref, Verdict
from passway.plan.permit import Change, plan_permit, plan_unpermit
from passway.preflight.stage import Question, ref
from passway.service import documents as d
from passway.service import report
from passway.service.audit import Actor
from passway.service.backend import confirmed, created
from passway.service.changes import Attempt, Changes
from passway.service.gate import CREATE_MACHINES, OPEN, Gate, writing
from passway.service.mirror import Mirror
from passway.service.ports import Cluster, Object
from passway.service.reading import Reading
from passway.service.repeats import made_before, marked
from passway.service.stored import InCluster, Stored
from passway.service.trial import trials


class ClusterBackend(Reading):
    """A Backend for one user, who is the actor of every change."""

    def __init__(
        self,
        cluster: Cluster,
        mirror: Mirror,
        changes: Changes,
        actor: Actor,
        gate: Gate = OPEN,
    ) -> None:
        self.gate = gate
        self._cluster = cluster
        self._mirror = mirror
        self._changes = changes
        self._actor = actor
        self._stored = InCluster(cluster)

    @property
    @override
    def stored(self) -> Stored:
        return self._stored

    @property
    @override
    def snapshot(self) -> Snapshot:
        return self._mirror.snapshot()

    @override
    async def trials(self, question: Question, verdict: Verdict) -> tuple[d.TrialDocument, ...]:
        await self.gate.expect(CREATE_MACHINES, question.spec.namespace)
        return await trials(self._cluster, question, verdict)

    async def permit(
        self, permit: Permit, *, dry_run: bool = False, confirm: bool = False
    ) -> d.PermitChange:
        def plan() -> Change:
            return plan_permit(self.snapshot, permit)

        wanted = Attempt("permit", None, _entry(permit.resource_name))
        return await self._apply(wanted, plan, dry_run=dry_run, confirm=confirm)

    async def unpermit(
        self,
        resource_name: str,
        *,
        selector: str | None = None,
        dry_run: bool = False,
        confirm: bool = False,
        force: bool = False,
    ) -> d.PermitChange:
        def plan() -> Change:
            return plan_unpermit(self.snapshot, resource_name, selector)

        wanted = Attempt("unpermit", None, _entry(resource_name))
        return await self._apply(wanted, plan, dry_run=dry_run, confirm=confirm, force=force)

    async def create(
        self, machine: dict[str, Any], *, dry_run: bool = False, key: str | None = None
    ) -> d.MachineCreated:
        """As the protocol says; a `key` makes that a request which is sent again makes one VM."""
        meta = machine["metadata"]
        target = ref(kinds.MACHINES, (meta["namespace"], meta["name"]))
        if key is not None:
            machine = marked(machine, self._actor.user, key)
        attempt = Attempt("create", kinds.MACHINES, target, after=machine)
        try:
            await self.admit(meta["namespace"])
            if key is not None and (before := await made_before(self._cluster, machine)):
                return _repeated(before)
            snapshot = self.snapshot
            verdict = self.admitted(machine, snapshot)
        except PasswayError as error:
            await self._refused(attempt, error, dry_run=dry_run)
            raise

        async def write() -> Object:
            made = await self._cluster.create(kinds.MACHINES, machine)
            self._mirror.apply(made)
            return made

        if dry_run:
            made = await self._cluster.create(kinds.MACHINES, machine, dry_run=True)
        else:
            attempt = replace(attempt, detail=_verdict(verdict))
            try:
                made = await self._changes.made(self._actor, attempt, write)
            except Conflict:  # another request with the key may have been faster
                if key is not None and (before := await made_before(self._cluster, machine)):
                    return _repeated(before)
                raise
        document = self.told(report.verdict(verdict, snapshot))
        return created(document, made["metadata"].get("uid"), dry_run=dry_run)

    async def _refused(self, attempt: Attempt, error: PasswayError, *, dry_run: bool) -> None:
        if not dry_run:
            await self._changes.refused(self._actor, attempt, error)

    async def _apply(
        self,
        attempt: Attempt,
        plan: Callable[[], Change],
        *,
        dry_run: bool,
        confirm: bool,
        force: bool = False,
    ) -> d.PermitChange:
        """Writes what is planned, and looks whether anything would be left to do."""
        try:
            change = plan()
            if not change.changed or dry_run:
                return report.change(change, applied=False)
            attempt = Attempt(
                attempt.action, change.kind, change.target, change.before, change.after
            )
            await self.gate.expect(writing("patch", change.kind), change.target.namespace)
            confirmed(change, confirm=confirm, force=force)
        except PasswayError as error:
            await self._refused(attempt, error, dry_run=dry_run)
            raise

        async def write() -> Object:
            return await self._written(change, plan)

        written = await self._changes.made(self._actor, attempt, write)
        version = written["metadata"].get("resourceVersion")
        return report.change(change, applied=True, resource_version=version)

    async def _written(self, change: Change, plan: Callable[[], Change]) -> Object:
        target = f"{change.kind.kind} {change.target}"
        try:
            written = await self._cluster.patch(
                change.kind,
                change.target.name,
                change.target.namespace,
                cast("dict[str, Any]", change.patch),
            )
        except Conflict as error:
            if error.code == "CONCURRENT_CHANGE":
                raise Conflict(
                    f"{target} was changed meanwhile; nothing was written",
                    code=error.code,
                    hint="look at the list again and repeat the change",
                ) from error
            raise
        self._mirror.apply(written)
        try:
            left = plan().changed
        except PasswayError as error:
            raise Unavailable(
                f"the change of {target} was written, and what became of it is not known: {error}",
                hint="look at the list",
            ) from error
        if left:
            raise Conflict(
                f"the API server took the change of {target}, and did not keep it",
                code="NOT_KEPT",
                hint="look for a webhook, or a conversion of its versions, that takes the list out",
            )
        return written


def _entry(resource_name: str) -> Ref:
    """What a change of the list is about while the object that keeps it is not known."""
    return Ref("PermittedHostDevice", resource_name)


def _repeated(before: Object) -> d.MachineCreated:
    meta = before["metadata"]
    return d.MachineCreated(
        name=meta["name"], namespace=meta["namespace"], uid=meta.get("uid"), dry_run=False,
        issues=(), verdict=None, repeated=True,
    )  # fmt: skip


def _verdict(verdict: Verdict) -> str:
    """What the preflight said, in short: the answer and the reasons."""
    reasons = sorted({issue.reason for issue in verdict.issues})
    return msgspec.json.encode({"fits": verdict.fits.value, "reasons": reasons}).decode()
