"""A dry run beside a verdict: what the API server says of the VM and of its launcher.

Owns which objects are sent, what the API server wants of them beyond what preflight renders (images
and the security settings that KubeVirt gives a launcher), and how its words compare with ours. What
only the API server can know (webhooks of others, policies, Pod Security) is never a disagreement.
Source of the security settings: kubevirt pkg/virt-controller/services/template.go, v1.9, without
the gate Root.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from posixpath import dirname
from typing import Any, Final, Literal

from passway.cluster import kinds
from passway.cluster.kinds import Kind
from passway.kubevirt.fields import entries, mapping, text
from passway.kubevirt.launcher_pod import before_admission
from passway.manifest.spec import MachineSpec
from passway.model.errors import Forbidden
from passway.model.verdict import Ref, Severity, Stage, Verdict
from passway.preflight.stage import Question
from passway.preflight.utterances import MODELLED_SPEAKERS, speaker_of
from passway.service import documents as d
from passway.service import launcher, report
from passway.service.ports import Cluster, Object, Trial

QEMU: Final = 107
IMAGE: Final = "passway.invalid/dry-run"
PLURALS: Final = {
    "VirtualMachine": "virtualmachines",
    "VirtualMachineInstance": "virtualmachineinstances",
    "VirtualMachineInstanceReplicaSet": "virtualmachineinstancereplicasets",
    "VirtualMachinePool": "virtualmachinepools",
    "KubevirtMachineTemplate": "kubevirtmachinetemplates",
}
TAKEN: Final = frozenset(
    {"InstancetypeMissing", "PreferenceMissing", "InferenceFailed", "KubeVirtMissing"}
)
"""What our stage of admission refuses although KubeVirt's webhooks take it."""
COUNTED: Final = "count/virtualmachine"
_OF_SERVER: Final = (
    "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
)  # fmt: skip


async def trials(
    cluster: Cluster, question: Question, verdict: Verdict
) -> tuple[d.TrialDocument, ...]:
    """What the server says of both objects; nothing is created."""
    return (
        await _tried(cluster, *machine_object(question.spec), _refuses_machine(verdict)),
        await _tried(cluster, kinds.PODS, launcher_object(question), _refuses_pod(verdict)),
    )


async def _tried(cluster: Cluster, kind: Kind, obj: Object, ours: bool | None) -> d.TrialDocument:
    meta = obj["metadata"]
    name = meta.get("name") or f"{meta.get('generateName', '')}…"
    ref = report.machine_ref(Ref(kind.kind, name, meta["namespace"]))
    try:
        trial = await cluster.trial(kind, obj)
    except Forbidden as error:
        return d.TrialDocument(
            object=ref, outcome="not_tried", agreement="not_tried", reason=error.code,
            message=str(error),
        )  # fmt: skip
    by = None if trial.accepted else speaker_of(trial.message)
    return d.TrialDocument(
        object=ref,
        outcome="accepted" if trial.accepted else "refused",
        agreement=_agreement(trial, by, ours),
        by=by,
        reason=trial.reason or None,
        message=trial.message or None,
        causes=tuple(
            d.CauseDocument(field=cause.field, reason=cause.reason, message=cause.message)
            for cause in trial.causes
        ),
        warnings=trial.warnings,
    )


def _agreement(
    trial: Trial, by: str | None, ours: bool | None
) -> Literal["agrees", "differs", "not_modelled"]:
    """`ours`: whether our walk refuses what the server looks at; None: not to be compared."""
    if ours is None or (by is not None and not ours and not by.startswith(MODELLED_SPEAKERS)):
        return "not_modelled"
    return "agrees" if ours is not trial.accepted else "differs"


def _refuses_machine(verdict: Verdict) -> bool | None:
    refused = any(
        (issue.stage is Stage.ADMISSION and issue.reason not in TAKEN)
        or str(issue.params.get("key", "")).startswith(COUNTED)
        for issue in verdict.issues
        if issue.severity is Severity.ERROR
    )
    return _comparable(verdict, Stage.ADMISSION, refused=refused)


def _refuses_pod(verdict: Verdict) -> bool | None:
    refused = any(
        issue.stage is Stage.QUOTA and not str(issue.params.get("key", "")).startswith(COUNTED)
        for issue in verdict.issues
        if issue.severity is Severity.ERROR
    )
    return _comparable(verdict, Stage.QUOTA, refused=refused)


def _comparable(verdict: Verdict, stage: Stage, *, refused: bool) -> bool | None:
    """Ours is about all replicas, the server's about one; and an unknown says nothing."""
    unknown = any(
        issue.stage is stage and issue.severity is Severity.UNKNOWN for issue in verdict.issues
    )
    if not refused and unknown:
        return None
    return None if refused and verdict.replicas > 1 else refused


# -- the objects ----------------------------------------------------------------------------------


def machine_object(spec: MachineSpec) -> tuple[Kind, Object]:
    """The object of the manifest, as somebody would create it, and its kind."""
    document: Any = spec.document.plain()
    kind = spec.ref.kind
    group, _, version = str(document.get("apiVersion")).rpartition("/")
    given = document.get("metadata") or {}
    meta = {name: value for name, value in given.items() if name not in _OF_SERVER}
    made = {name: value for name, value in document.items() if name != "status"}
    made["metadata"] = {**meta, "namespace": spec.namespace}
    return Kind(group, version, kind, PLURALS[kind]), made


def launcher_object(question: Question) -> Object:
    """The launcher, complete enough to be judged by everybody who judges pods."""
    sent = before_admission(question.spec, question.mutated.vmi, question.snapshot)
    pod = launcher.pod_manifest(question.spec, replace(question.pod, launch=sent))
    spec = pod["spec"]
    for field in ("containers", "initContainers"):
        for container in spec.get(field, ()):
            container |= {"image": IMAGE, "securityContext": _security(container["name"])}
    spec["securityContext"] = {"runAsUser": QEMU, "runAsGroup": QEMU, "fsGroup": QEMU,
                               "runAsNonRoot": True}  # fmt: skip
    spec["restartPolicy"] = "Never"
    spec["automountServiceAccountToken"] = False
    disks = [*spec.get("volumes", ()), *_host_disks(question.mutated.vmi)]
    return {**pod, "spec": {**spec, **({"volumes": disks} if disks else {})}}


def _security(container: str) -> Object:
    capabilities: Object = {"drop": ["ALL"]}
    if container == "compute":
        capabilities["add"] = ["NET_BIND_SERVICE"]
    return {"allowPrivilegeEscalation": False, "runAsUser": QEMU, "runAsNonRoot": True,
            "capabilities": capabilities}  # fmt: skip


def _host_disks(vmi: Mapping[str, Any]) -> Iterator[Object]:
    """Disks of the node, which Pod Security looks at."""
    for volume in entries(mapping(vmi, "spec"), "volumes"):
        path = text(volume, "hostDisk", "path")
        if path:
            yield {"name": text(volume, "name"), "hostPath": {"path": dirname(path) or "/"}}
