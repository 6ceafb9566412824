"""The use cases that only read: every question that a snapshot and the objects of a VM answer.

Owns whose namespaces count, and what runs beside the event loop; every rule is the core's. Where
the snapshot and the objects come from is for its subclasses.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from passway.cluster.snapshot import Snapshot
from passway.kubevirt.hostdev import Environment
from passway.manifest.spec import MachineSpec
from passway.manifest.vm import parse_manifest
from passway.model.errors import InvalidInput, NotFound, PreflightFailed
from passway.model.reasons import SHOWN
from passway.model.verdict import Fits, Verdict
from passway.plan.what_if import Fact, Stop, concerned, suppose
from passway.preflight.drift import drift
from passway.preflight.explain import Explanation, explain
from passway.preflight.moves import moves
from passway.preflight.questions import drain, fit
from passway.preflight.redact import redact, redact_issue
from passway.preflight.references import refers
from passway.preflight.stage import Question
from passway.preflight.walk import ask, preflight
from passway.service import accounts, launcher, rendering, report
from passway.service import documents as d
from passway.service.gate import OPEN, Gate
from passway.service.machines import machines
from passway.service.manifests import one_machine, stored_machine
from passway.service.mine import my_devices
from passway.service.stored import Stored, missing

MAX_MACHINES: Final = 100
SHORT: Final = 16 * 1024
T = TypeVar("T")
Judged: TypeAlias = tuple[Question, Verdict]


class Reading(ABC):
    """Every question that a snapshot answers.

    Whose namespaces a question concerns is asked of the `gate` as soon as it is known. What it says
    is `may_see`: answers tell nothing of others; None for all.
    """

    gate: Gate = OPEN
    may_see: frozenset[str] | None = None

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The cluster as it is to be judged now."""

    @property
    @abstractmethod
    def stored(self) -> Stored:
        """Where VMs are read whole."""

    async def inventory(self) -> d.DeviceInventory:
        return report.inventory(self.snapshot)

    async def nodes(self) -> d.NodeList:
        return report.nodes(self.snapshot)

    async def machines(self, namespace: str | None = None) -> d.MachineList:
        if namespace is not None:
            await self.admit(namespace)
            return machines(self.snapshot, namespace)
        may_see = await self.gate.own()
        found = machines(self.snapshot)
        if may_see is None:
            return found
        own = tuple(item for item in found.items if item.namespace in may_see)
        return msgspec.structs.replace(found, items=own)

    async def machine(self, namespace: str, name: str) -> d.MachineDocument:
        """One VM by name; raises NotFound."""
        for item in (await self.machines(namespace)).items:
            if item.name == name:
                return item
        raise NotFound(f'there is no VM "{name}" in namespace "{namespace}"')

    async def my_devices(self, namespace: str) -> d.MyDevices:
        """The devices as a tenant of the namespace sees them."""
        await self.admit(namespace)
        return my_devices(self.snapshot, namespace)

    async def permits(self) -> d.PermitList:
        return report.permits(self.snapshot)

    async def drift(self) -> d.DriftReport:
        return report.drift(drift(self.snapshot))

    async def drain_impact(self, node: str) -> d.DrainImpact:
        return report.drain(node, drain(self.snapshot, node))

    async def audit(self, name: str | None = None) -> d.AuditList:  # noqa: ARG002 - of the port
        raise InvalidInput(
            "only a service keeps an audit",
            hint="name one with --server; passway audit verify checks its database",
        )

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
        specs = await _off_loop(text, lambda: _parsed(text, file, namespace))
        await self.admit(*sorted({spec.namespace for spec in specs}))
        snapshot, shown = self.snapshot, 1000 if expand else SHOWN
        judged = await _off_loop(text, lambda: _judged(specs, snapshot, replicas, expand=expand))
        found = tuple(
            self.told(report.verdict(self._shown(verdict), snapshot, shown))
            for _, verdict in judged
        )
        if not server_dry_run:
            return found
        told = [await self.trials(*item) for item in judged]
        return tuple(
            msgspec.structs.replace(document, server=said)
            for document, said in zip(found, told, strict=True)
        )

    @abstractmethod
    async def trials(self, question: Question, verdict: Verdict) -> tuple[d.TrialDocument, ...]:
        """What the API server says of the machine and its launcher on a dry run."""

    async def explain(self, namespace: str, name: str) -> d.ExplanationDocument:
        """Why the VM does not run, or that it does; raises NotFound."""
        await self.admit(namespace)
        traces = await self.stored.traces((namespace, name))
        snapshot = self.snapshot

        def walk() -> Explanation:
            return self._explained(explain(stored_machine(traces.document), traces, snapshot))

        found = accounts.explanation(await asyncio.to_thread(walk), traces.unread, snapshot)
        return msgspec.structs.replace(found, verdict=self.told(found.verdict))

    async def what_if(
        self,
        facts: Sequence[Fact],
        text: str | bytes | None = None,
        file: str = "",
        *,
        namespace: str = "default",
    ) -> d.WhatIfDocument:
        """As the protocol says."""
        snapshot = self.snapshot
        keys = concerned(facts, snapshot)
        stored = await self.stored.machines(keys)
        for fact in facts:
            if isinstance(fact, Stop) and fact.key not in stored:
                raise missing(fact.key)

        def judge() -> d.WhatIfDocument:
            specs = {key: stored_machine(item) for key, item in stored.items()}
            after = suppose(snapshot, facts, specs)
            asked: list[tuple[Verdict, Verdict]] = []
            if text is not None:
                pair = [
                    self.verdicts(text, file, namespace, snapshot=view)
                    for view in (snapshot, after.snapshot)
                ]
                asked = list(zip(*pair, strict=True))
            lost = {key: specs[key] for key in after.moved if key in specs}
            return accounts.what_if(after, asked, moves(lost, after.snapshot), snapshot)

        return await asyncio.to_thread(judge)

    async def fit(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.FitDocument:
        spec = await self._machine(text, file, namespace)
        snapshot = self.snapshot

        def count() -> d.FitDocument:
            found = fit(spec, snapshot)
            made = report.fit(replace(found, verdict=self._shown(found.verdict)), snapshot)
            return msgspec.structs.replace(made, verdict=self.told(made.verdict))

        return await _off_loop(text, count)

    async def render_pod(
        self, text: str | bytes, file: str, *, namespace: str = "default"
    ) -> d.LauncherPod:
        spec = await self._machine(text, file, namespace)
        snapshot = self.snapshot
        return await _off_loop(text, lambda: launcher.launcher_pod(spec, snapshot))

    async def host_devices(
        self, text: str | bytes, file: str, namespace: str, environment: Environment
    ) -> d.HostDevices:
        """What the launcher of the only machine of a manifest would give libvirt.

        Needs the cluster only for a VM with an instance type or a preference.
        """
        spec = await self._machine(text, file, namespace)
        if refers(spec):
            question = ask(spec, self.snapshot, 1)
            return await asyncio.to_thread(rendering.expanded_host_devices, question, environment)
        return await asyncio.to_thread(rendering.host_devices, spec, environment)

    async def _machine(self, text: str | bytes, file: str, namespace: str) -> MachineSpec:
        """The only machine of a manifest that the asker may ask about."""
        spec = await _off_loop(text, lambda: one_machine(text, file, namespace))
        await self.admit(spec.namespace)
        return spec

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
        view = self.snapshot if snapshot is None else snapshot
        judged = _judged(_parsed(text, file, namespace), view, replicas, expand=expand)
        return tuple(self._shown(verdict) for _, verdict in judged)

    async def admit(self, *namespaces: str) -> None:
        """Raises Forbidden where the asker may not ask about these; else it may see them."""
        self.may_see = await self.gate.see(*namespaces)

    def _shown(self, verdict: Verdict) -> Verdict:
        return verdict if self.may_see is None else redact(verdict, self.may_see)

    def told(self, document: d.VerdictDocument) -> d.VerdictDocument:
        """Without the namespaces that this service may list, where they are not the asker's."""
        may_see = self.may_see
        if may_see is None:
            return document
        read = tuple(
            msgspec.structs.replace(
                kind, namespaces=tuple(name for name in kind.namespaces if name in may_see)
            )
            for kind in document.read
        )
        return msgspec.structs.replace(document, read=read)

    def _explained(self, found: Explanation) -> Explanation:
        may_see = self.may_see
        if may_see is None:
            return found
        return replace(
            found,
            verdict=redact(found.verdict, may_see),
            issues=tuple(redact_issue(issue, may_see) for issue in found.issues),
            also=tuple(redact_issue(issue, may_see) for issue in found.also),
        )

    def admitted(self, machine: dict[str, Any], snapshot: Snapshot) -> Verdict:
        """The verdict of a machine that may be created; raises PreflightFailed for a no."""
        text = msgspec.json.encode(machine)
        verdict = self.verdicts(text, "request", "default", snapshot=snapshot)[0]
        if verdict.fits is Fits.NO:
            words = [report.issue(item) for item in verdict.issues]
            errors = [item.message for item in words if item.severity == "error"]
            raise PreflightFailed("; ".join(errors), issues=verdict.issues)
        return verdict


def _parsed(text: str | bytes, file: str, namespace: str) -> tuple[MachineSpec, ...]:
    found = parse_manifest(text, file, namespace).require()
    if len(found) > MAX_MACHINES:
        raise InvalidInput(f"{len(found)} machines in one manifest; at most {MAX_MACHINES}")
    return found


def _judged(
    specs: Iterable[MachineSpec], snapshot: Snapshot, replicas: int | None, *, expand: bool
) -> tuple[Judged, ...]:
    questions = [ask(spec, snapshot, replicas) for spec in specs]
    return tuple((question, preflight(question, expand=expand)) for question in questions)


async def _off_loop(text: str | bytes, work: Callable[[], T]) -> T:
    """A long text takes up to a second to read: in a thread, so that others are answered."""
    return work() if len(text) <= SHORT else await asyncio.to_thread(work)
