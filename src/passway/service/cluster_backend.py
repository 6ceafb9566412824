"""The use cases on a live cluster: reads from the mirror, writes through the Cluster port.

Every write is planned on a snapshot, guarded by the object's resourceVersion, audited whatever its
result, and shown to the mirror at once. A conflict is an answer, never a retry that overwrites.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from passway.cluster import kinds
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.permitted import Permit
from passway.model.errors import Conflict, PasswayError
from passway.model.override import override
from passway.model.verdict import Verdict
from passway.plan.permit import Change, plan_permit, plan_unpermit
from passway.preflight.stage import Question, ref
from passway.service import documents as d
from passway.service import report
from passway.service.audit import Audit, AuditEntry
from passway.service.backend import confirmed, created
from passway.service.gate import CREATE_MACHINES, OPEN, Gate, writing
from passway.service.mirror import Mirror
from passway.service.ports import Cluster
from passway.service.reading import Reading
from passway.service.stored import InCluster, Stored
from passway.service.trial import trials


class ClusterBackend(Reading):
    """A Backend for one user. `now` gives the time for the audit (RFC 3339, UTC)."""

    def __init__(
        self,
        cluster: Cluster,
        mirror: Mirror,
        audit: Audit,
        user: str,
        now: Callable[[], str],
        gate: Gate = OPEN,
    ) -> None:
        self.gate = gate
        self._cluster = cluster
        self._mirror = mirror
        self._audit = audit
        self._user = user
        self._now = now
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

        return await self._apply("permit", plan, dry_run=dry_run, confirm=confirm)

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

        return await self._apply("unpermit", plan, dry_run=dry_run, confirm=confirm, force=force)

    async def create(self, machine: dict[str, Any], *, dry_run: bool = False) -> d.MachineCreated:
        meta = machine["metadata"]
        target = ref(kinds.MACHINES, (meta["namespace"], meta["name"]))
        try:
            await self.admit(meta["namespace"])
            snapshot = self.snapshot
            verdict = self.admitted(machine, snapshot)
            made = await self._cluster.create(kinds.MACHINES, machine, dry_run=dry_run)
        except PasswayError as error:
            self._record("create", f"VirtualMachine {target}", None, machine, error.code)
            raise
        if not dry_run:
            self._mirror.apply(made)
            self._record("create", f"VirtualMachine {target}", None, machine, "done")
        found = created(verdict, snapshot, made["metadata"].get("uid"), dry_run=dry_run)
        return msgspec.structs.replace(found, verdict=self.told(found.verdict))

    async def _apply(
        self,
        action: str,
        plan: Callable[[], Change],
        *,
        dry_run: bool,
        confirm: bool,
        force: bool = False,
    ) -> d.PermitChange:
        """Writes what is planned, and looks whether anything would be left to do."""
        change = plan()
        if not change.changed or dry_run:
            return report.change(change, applied=False)
        target = f"{change.kind.kind} {change.target}"
        try:
            await self.gate.expect(writing("patch", change.kind), change.target.namespace)
            confirmed(change, confirm=confirm, force=force)
            written = await self._cluster.patch(
                change.kind,
                change.target.name,
                change.target.namespace,
                cast("dict[str, Any]", change.patch),
            )
        except Conflict as error:
            self._record(action, target, change.before, change.after, error.code)
            if error.code == "CONCURRENT_CHANGE":
                raise Conflict(
                    f"{target} was changed meanwhile; nothing was written",
                    code=error.code,
                    hint="look at the list again and repeat the change",
                ) from error
            raise
        except PasswayError as error:
            self._record(action, target, change.before, change.after, error.code)
            raise
        self._mirror.apply(written)
        if plan().changed:
            self._record(action, target, change.before, change.after, "NOT_KEPT")
            raise Conflict(
                f"the API server took the change of {target}, and did not keep it",
                code="NOT_KEPT",
                hint="look for a webhook, or a conversion of its versions, that takes the list out",
            )
        self._record(action, target, change.before, change.after, "done")
        version = written["metadata"].get("resourceVersion")
        return report.change(change, applied=True, resource_version=version)

    def _record(
        self,
        action: str,
        target: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        result: str,
    ) -> None:
        self._audit.record(
            AuditEntry(
                time=self._now(),
                user=self._user,
                action=action,
                target=target,
                before=_text(before),
                after=_text(after),
                result=result,
            )
        )


def _text(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
