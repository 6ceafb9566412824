"""The use cases, as one Protocol, and the implementation that only reads a snapshot.

Every entry point asks a Backend and prints its documents: the command line one on dumps, on the
sample or on a service, the REST routes one on a cluster. `Reading` answers what
needs no writing; `SnapshotBackend` adds the plans of changes and refuses to apply them.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, NoReturn, Protocol, TypeVar, cast

import msgspec

from passway.cluster.snapshot import Snapshot
from passway.kubevirt.hostdev import Environment
from passway.kubevirt.permitted import Permit
from passway.manifest.spec import MachineSpec
from passway.manifest.vm import parse_manifest
from passway.model.errors import Conflict, Forbidden, InvalidInput, NotFound, PreflightFailed
from passway.model.override import override
from passway.model.reasons import SHOWN
from passway.model.verdict import Fits, Verdict
from passway.plan.permit import Change, plan_permit, plan_unpermit
from passway.preflight.drift import drift
from passway.preflight.questions import drain, fit
from passway.preflight.redact import redact
from passway.preflight.references import refers
from passway.preflight.walk import ask, check
from passway.service import documents as d
from passway.service import launcher, rendering, report
from passway.service.machines import machines
from passway.service.mine import my_devices

MAX_MACHINES: Final = 100
SHORT: Final = 16 * 1024
T = TypeVar("T")


class Backend(Protocol):
    """What can be asked. `text` is a manifest; `file` is what its positions name."""

    async def inventory(self) -> d.DeviceInventory: ...
    async def nodes(self) -> d.NodeList: ...
    async def machines(self, namespace: str | None = None) -> d.MachineList: ...
    async def permits(self) -> d.PermitList: ...
    async def drift(self) -> d.DriftReport: ...
    async def drain_impact(self, node: str) -> d.DrainImpact: ...

    async def check(
        self,
        text: str | bytes,
        file: str,
        *,
        namespace: str = "default",
        replicas: int | None = None,
        expand: bool = False,
    ) -> tuple[d.VerdictDocument, ...]: ...

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


class Reading(ABC):
    """Every question that a snapshot answers.

    `may_see`: the namespaces that the asker is confined to; None for all. Machines of others are
    refused, and answers tell nothing of them.
    """

    may_see: frozenset[str] | None = None

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The cluster as it is to be judged now."""

    async def inventory(self) -> d.DeviceInventory:
        return report.inventory(self.snapshot)

    async def nodes(self) -> d.NodeList:
        return report.nodes(self.snapshot)

    async def machines(self, namespace: str | None = None) -> d.MachineList:
        if namespace is not None:
            self.admit(namespace)
        found = machines(self.snapshot, namespace)
        if self.may_see is None or namespace is not None:
            return found
        own = tuple(item for item in found.items if item.namespace in self.may_see)
        return msgspec.structs.replace(found, items=own)

    async def machine(self, namespace: str, name: str) -> d.MachineDocument:
        """One VM by name; raises NotFound."""
        for item in (await self.machines(namespace)).items:
            if item.name == name:
                return item
        raise NotFound(f'there is no VM "{name}" in namespace "{namespace}"')

    async def my_devices(self, namespace: str) -> d.MyDevices:
        """The devices as a tenant of the namespace sees them."""
        self.admit(namespace)
        return my_devices(self.snapshot, namespace)

    async def permits(self) -> d.PermitList:
        return report.permits(self.snapshot)

    async def drift(self) -> d.DriftReport:
        return report.drift(drift(self.snapshot))

    async def drain_impact(self, node: str) -> d.DrainImpact:
        return report.drain(node, drain(self.snapshot, node))

    async def check(
        self,
        text: str | bytes,
        file: str,
        *,
        namespace: str = "default",
        replicas: int | None = None,
        expand: bool = False,
    ) -> tuple[d.VerdictDocument, ...]:
        snapshot, shown = self.snapshot, 1000 if expand else SHOWN

        def judge() -> tuple[d.VerdictDocument, ...]:
            found = self.verdicts(text, file, namespace, replicas, expand=expand, snapshot=snapshot)
            return tuple(report.verdict(verdict, snapshot, shown) for verdict in found)

        return await _off_loop(text, judge)

    async def fit(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.FitDocument:
        snapshot = self.snapshot

        def count() -> d.FitDocument:
            spec = one_machine(text, file, namespace)
            self.admit(spec.namespace)
            found = fit(spec, snapshot)
            return report.fit(replace(found, verdict=self._shown(found.verdict)), snapshot)

        return await _off_loop(text, count)

    async def render_pod(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.LauncherPod:
        snapshot = self.snapshot

        def made() -> d.LauncherPod:
            spec = one_machine(text, file, namespace)
            self.admit(spec.namespace)
            return launcher.launcher_pod(spec, snapshot)

        return await _off_loop(text, made)

    def host_devices(
        self, text: str | bytes, file: str, namespace: str, environment: Environment
    ) -> d.HostDevices:
        """What the launcher of the only machine of a manifest would give libvirt.

        Needs the cluster only for a VM with an instance type or a preference.
        """
        spec = one_machine(text, file, namespace)
        self.admit(spec.namespace)
        if refers(spec):
            return rendering.expanded_host_devices(ask(spec, self.snapshot, 1), environment)
        return rendering.host_devices(spec, environment)

    def verdicts(
        self,
        text: str | bytes,
        file: str,
        namespace: str,
        replicas: int | None = None,
        *,
        expand: bool = False,
        snapshot: Snapshot | None = None,
    ) -> tuple[Verdict, ...]:
        """One verdict for each machine of the manifest; raises InvalidManifest with all faults."""
        found = parse_manifest(text, file, namespace).require()
        if len(found) > MAX_MACHINES:
            raise InvalidInput(f"{len(found)} machines in one manifest; at most {MAX_MACHINES}")
        for spec in found:
            self.admit(spec.namespace)
        view = self.snapshot if snapshot is None else snapshot
        return tuple(
            self._shown(check(spec, view, replicas=replicas, expand=expand)) for spec in found
        )

    def admit(self, namespace: str) -> None:
        """Raises Forbidden for a namespace that the asker is not confined to."""
        if self.may_see is not None and namespace not in self.may_see:
            raise Forbidden(
                f'namespace "{namespace}" is not one of yours',
                hint=f"yours are: {', '.join(sorted(self.may_see)) or 'none'}",
            )

    def _shown(self, verdict: Verdict) -> Verdict:
        return verdict if self.may_see is None else redact(verdict, self.may_see)

    def admitted(self, machine: dict[str, Any], snapshot: Snapshot) -> Verdict:
        """The verdict of a machine that may be created; raises PreflightFailed for a no."""
        text = msgspec.json.encode(machine)
        verdict = self.verdicts(text, "request", "default", snapshot=snapshot)[0]
        if verdict.fits is Fits.NO:
            words = [report.issue(item) for item in verdict.issues]
            errors = [item.message for item in words if item.severity == "error"]
            raise PreflightFailed("; ".join(errors), issues=verdict.issues)
        return verdict


class SnapshotBackend(Reading):
    """Answers from one snapshot. `source` is how it is called when a write is refused."""

    def __init__(self, snapshot: Snapshot, source: str = "a snapshot") -> None:
        self._snapshot = snapshot
        self._source = source

    @property
    @override
    def snapshot(self) -> Snapshot:
        return self._snapshot

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
        return created(verdict, snapshot, None, dry_run=True)

    def _planned(self, change: Change, *, dry_run: bool) -> d.PermitChange:
        if change.changed and not dry_run:
            self._refuse()
        return report.change(change, applied=False)

    def _refuse(self) -> NoReturn:
        raise InvalidInput(
            f"nothing can be changed on {self._source}",
            hint="add --dry-run to see the change, or name a service with --server",
        )


async def _off_loop(text: str | bytes, work: Callable[[], T]) -> T:
    """A long text takes up to a second to read: in a thread, so that others are answered."""
    return work() if len(text) <= SHORT else await asyncio.to_thread(work)


def one_machine(text: str | bytes, file: str, namespace: str) -> MachineSpec:
    """The only machine of a manifest."""
    found = parse_manifest(text, file, namespace).require()
    if len(found) != 1:
        raise InvalidInput(f"{file} holds {len(found)} machines; this question takes one")
    return found[0]


def machine_object(text: str | bytes, file: str, namespace: str) -> dict[str, Any]:
    """The only object of a manifest, which must be a VirtualMachine, to be created as it is."""
    spec = one_machine(text, file, namespace)
    if spec.ref.kind != "VirtualMachine":
        raise InvalidInput(f"{file} holds a {spec.ref.kind}; only a VirtualMachine can be created")
    machine = cast("dict[str, Any]", spec.document.plain())
    if not machine["metadata"].get("name"):
        raise InvalidInput("metadata.name: a VM that is created here needs a name of its own")
    return {**machine, "metadata": {**machine["metadata"], "namespace": spec.namespace}}


def created(
    verdict: Verdict, snapshot: Snapshot, uid: str | None, *, dry_run: bool
) -> d.MachineCreated:
    """The answer to a create, with everything that did not refuse it."""
    return d.MachineCreated(
        name=verdict.subject.name,
        namespace=verdict.subject.namespace or "default",
        uid=uid,
        dry_run=dry_run,
        issues=report.issues(verdict.issues),
        verdict=report.verdict(verdict, snapshot),
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
