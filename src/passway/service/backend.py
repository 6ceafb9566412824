"""The use cases, as one Protocol, and the implementation that only reads a snapshot.

Every entry point asks a Backend and prints its documents: the command line one on dumps, on the
sample or on a service, the REST routes one on a cluster. `SnapshotBackend` adds to what reading
answers the plans of changes, and refuses to apply them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn, Protocol

from passway.cluster.snapshot import Snapshot
from passway.kubevirt.permitted import Permit
from passway.model.errors import Conflict, InvalidInput
from passway.model.override import override
from passway.model.verdict import Verdict
from passway.plan.permit import Change, plan_permit, plan_unpermit
from passway.plan.what_if import Fact
from passway.preflight.stage import Question
from passway.service import documents as d
from passway.service import report
from passway.service.reading import Reading
from passway.service.stored import AtHand, Stored


class Backend(Protocol):
    """What can be asked. `text` is a manifest; `file` is what its positions name."""

    async def inventory(self) -> d.DeviceInventory: ...
    async def nodes(self) -> d.NodeList: ...
    async def machines(self, namespace: str | None = None) -> d.MachineList: ...
    async def permits(self) -> d.PermitList: ...
    async def drift(self) -> d.DriftReport: ...
    async def drain_impact(self, node: str) -> d.DrainImpact: ...

    async def audit(self, name: str | None = None) -> d.AuditList:
        """The newest rows of the audit, of all objects or of those with a name."""
        ...

    async def explain(self, namespace: str, name: str) -> d.ExplanationDocument: ...

    async def what_if(
        self,
        facts: Sequence[Fact],
        text: str | bytes | None = None,
        file: str = "",
        *,
        namespace: str = "default",
    ) -> d.WhatIfDocument:
        """The question about a manifest, and about the VMs that drains move, on a changed cluster.

        Nothing is written.
        """
        ...

    async def check(
        self,
        text: str | bytes,
        file: str,
        *,
        namespace: str = "default",
        replicas: int | None = None,
        expand: bool = False,
        server_dry_run: bool = False,
    ) -> tuple[d.VerdictDocument, ...]:
        """The verdicts; with `server_dry_run` beside what the API server says of each."""
        ...

    async def fit(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.FitDocument: ...

    async def render_pod(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.LauncherPod: ...

    async def permit(
        self, permit: Permit, *, dry_run: bool = False, confirm: bool = False
    ) -> d.PermitChange: ...

    async def unpermit(
        self,
        resource_name: str,
        *,
        selector: str | None = None,
        dry_run: bool = False,
        confirm: bool = False,
        force: bool = False,
    ) -> d.PermitChange: ...

    async def create(self, machine: dict[str, Any], *, dry_run: bool = False) -> d.MachineCreated:
        """Creates the VM if its preflight does not say no; raises PreflightFailed otherwise."""
        ...


class SnapshotBackend(Reading):
    """Answers from one snapshot. `source` is how it is called when a write is refused.

    `objects` gives what the snapshot was made of, as plain objects, for what is read of one VM;
    `complete` says that kinds which do not occur in it have no objects.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        source: str = "a snapshot",
        objects: Callable[[], Iterable[Mapping[str, Any]]] = tuple,
        *,
        complete: bool = False,
    ) -> None:
        self._snapshot = snapshot
        self._source = source
        self._stored = AtHand(objects, complete=complete)

    @property
    @override
    def stored(self) -> Stored:
        return self._stored

    @property
    @override
    def snapshot(self) -> Snapshot:
        return self._snapshot

    @override
    async def trials(self, question: Question, verdict: Verdict) -> NoReturn:  # noqa: ARG002 - of the port
        raise InvalidInput(
            f"{self._source} cannot be asked for a dry run",
            hint="ask a cluster (--kubeconfig) or a service (--server)",
        )

    async def permit(
        self,
        permit: Permit,
        *,
        dry_run: bool = False,
        confirm: bool = False,  # noqa: ARG002
    ) -> d.PermitChange:
        return self._planned(plan_permit(self.snapshot, permit), dry_run=dry_run)

    async def unpermit(
        self,
        resource_name: str,
        *,
        selector: str | None = None,
        dry_run: bool = False,
        confirm: bool = False,  # noqa: ARG002 - of the port; nothing is written here
        force: bool = False,  # noqa: ARG002
    ) -> d.PermitChange:
        change = plan_unpermit(self.snapshot, resource_name, selector)
        return self._planned(change, dry_run=dry_run)

    async def create(self, machine: dict[str, Any], *, dry_run: bool = False) -> d.MachineCreated:
        snapshot = self.snapshot
        verdict = self.admitted(machine, snapshot)
        if not dry_run:
            self._refuse()
        return created(self.told(report.verdict(verdict, snapshot)), None, dry_run=True)

    def _planned(self, change: Change, *, dry_run: bool) -> d.PermitChange:
        if change.changed and not dry_run:
            self._refuse()
        return report.change(change, applied=False)

    def _refuse(self) -> NoReturn:
        raise InvalidInput(
            f"nothing can be changed on {self._source}",
            hint="add --dry-run to see the change, or name a service with --server",
        )


def created(verdict: d.VerdictDocument, uid: str | None, *, dry_run: bool) -> d.MachineCreated:
    """The answer to a create, with everything that did not refuse it."""
    return d.MachineCreated(
        name=verdict.machine.name,
        namespace=verdict.machine.namespace or "default",
        uid=uid,
        dry_run=dry_run,
        issues=verdict.issues,
        verdict=verdict,
    )


def confirmed(change: Change, *, confirm: bool, force: bool = False) -> None:
    """Raises Conflict while a change waits for somebody's word."""
    if change.enforcement and not confirm:
        names = ", ".join(map(str, change.refused)) or "no VM that exists now"
        raise Conflict(
            "the cluster has no permitted list, so KubeVirt checks nothing; this change switches "
            f"the check on, and it would refuse at their next start: {names}",
            code="CONFIRMATION_REQUIRED",
            hint='confirm it (--yes; in REST "confirm": true)',
        )
    if change.in_use and not force:
        raise Conflict(
            f"in use by {', '.join(map(str, change.in_use))}",
            code="IN_USE",
            hint="stop those VMs first, or insist (--force; in REST force=true): they keep running "
            "and are refused at their next start",
        )
