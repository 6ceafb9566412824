"""What every stage gets and gives.

A stage is a function from a Question to issues; it reads the spec, the predicted launcher pod and
the snapshot, and nothing else. The helpers here build issues with the manifest's position, and say
*unknown* for kinds that were not read.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from passway.cluster import kinds
from passway.cluster.amounts import HUGEPAGES
from passway.cluster.kinds import Kind
from passway.cluster.snapshot import Read, Snapshot
from passway.kubevirt.launcher_pod import LauncherPod
from passway.kubevirt.settings import Settings
from passway.kubevirt.vmi import Mutated
from passway.manifest.spec import MachineSpec
from passway.model.verdict import Issue, Param, Ref, Severity, Stage, Unlisted


@dataclass(frozen=True, slots=True)
class Finding:
    """What will be an issue: found before there is a launcher to ask about."""

    reason: str
    severity: Severity
    path: str
    params: Mapping[str, Param]


@dataclass(frozen=True, slots=True)
class Question:
    """Would `replicas` of this machine get running now?

    `settings` are KubeVirt's here, `mutated` is the VMI under them, `pod` its launcher. `spec` has
    in it what the VM refers to; `findings` say what became of that.
    """

    spec: MachineSpec
    settings: Settings
    mutated: Mutated
    pod: LauncherPod
    snapshot: Snapshot
    replicas: int = 1
    findings: tuple[Finding, ...] = ()

    def issue(
        self,
        stage: Stage,
        severity: Severity,
        reason: str,
        path: str = "",
        nodes: tuple[str, ...] = (),
        **params: Param,
    ) -> Issue:
        """An issue about this machine, with the place of `path` in the manifest."""
        path = self.spec.written(path)
        return Issue(
            reason=reason,
            stage=stage,
            severity=severity,
            subject=self.spec.ref,
            path=path,
            params=params,
            nodes=nodes,
            position=self.spec.position(path) if path else None,
        )

    def found(self) -> Iterator[Issue]:
        """The findings, as issues of the stage of admission."""
        for item in self.findings:
            yield self.issue(
                Stage.ADMISSION, item.severity, item.reason, item.path, (), **item.params
            )

    def path_of(self, resource: str) -> str:
        """The manifest's field that asks for a resource; empty where none does by itself."""
        for device in self.spec.plugin_devices:
            if device.resource_name == resource:
                return f"{device.path}.deviceName"
        if resource.startswith(HUGEPAGES):
            return self.spec.vmi_field("domain.memory.hugepages.pageSize")
        paths = {"cpu": "domain.cpu", "memory": "domain.memory"}
        return self.spec.vmi_field(paths[resource]) if resource in paths else ""

    def read(self, kind: Kind) -> Read:
        """What is known of a kind, as far as this machine needs it."""
        own = self.spec.namespace if kind in kinds.OF_A_MACHINE else None
        return self.snapshot.read(kind, own)

    def unread(
        self, stage: Stage, kind: Kind, what: str, namespace: str | None = None
    ) -> Iterator[Issue]:
        """An unknown issue if the kind was not read; `what` is what depends on it.

        `namespace`: where the objects are that matter, if not where the machine is.
        """
        read = self.snapshot.read(kind, namespace) if namespace else self.read(kind)
        if not read.known:
            yield self.issue(
                stage,
                Severity.UNKNOWN,
                "KindUnread",
                kind=kind.plural,
                state=state(read, self.snapshot.within.get(kind.plural, ())),
                what=what,
            )


Judge: TypeAlias = Callable[[Question], Iterator[Issue]]


def state(read: Read, within: Collection[str] = ()) -> Unlisted:
    """The words for a kind that was not read, or only in some namespaces."""
    if within:
        return Unlisted("may not be listed in all namespaces", tuple(sorted(within)))
    return Unlisted("may not be listed" if read is Read.FORBIDDEN else "were not read")


def ref(kind: Kind, key: tuple[str, str]) -> Ref:
    """A reference to an object by its key in the snapshot."""
    return Ref(kind.kind, key[1], key[0] or None)
