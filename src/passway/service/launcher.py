"""The launcher pod of a VM, as a document: the manifest, what the scheduler counts, the overhead.

Owns the form of the pod (a v1 Pod as far as it is modelled: no images, commands or mounts) and the
words of KubeVirt's refusals to render. A refusal stands beside the pod that would come out
otherwise, as in the model. Kinds that were not read are named, since defaults stand in for them.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from passway.cluster import kinds
from passway.cluster.amounts import as_quantity
from passway.cluster.snapshot import Snapshot
from passway.kubevirt.container import Container
from passway.kubevirt.launch import Launch, Refusal
from passway.kubevirt.launcher_pod import LauncherPod
from passway.manifest.spec import MachineSpec
from passway.model.quantity import Quantity
from passway.model.reasons import render
from passway.model.verdict import Severity
from passway.preflight.stage import Question
from passway.preflight.walk import ask
from passway.service import documents as d
from passway.service import report

Tree: TypeAlias = dict[str, Any]

READ: Final = (kinds.KUBEVIRTS, kinds.NAMESPACES, kinds.QUOTAS, kinds.LIMIT_RANGES)
"""What every pod depends on beside the VM."""
_SHOWN: Final = 5
WORDS: Final[dict[str, tuple[str, str, str]]] = {
    "DeviceNotPermitted": (
        "KubeVirt creates no launcher: {names} not in permittedHostDevices",
        "spec.configuration.permittedHostDevices",
        "passway check tells which names are permitted; passway permit adds one",
    ),
    "NetworkAttachmentMissing": (
        "KubeVirt creates no launcher: it finds no network attachment {names}",
        "NetworkAttachmentDefinition",
        "create the NetworkAttachmentDefinition, or correct networkName ([namespace/]name)",
    ),
    "NetworkBindingUnknown": (
        "KubeVirt creates no launcher: it knows no network binding {names}",
        "spec.configuration.network.binding",
        "register the binding in the KubeVirt object, or use another one",
    ),
    "CpuRequestUnwritable": (
        "KubeVirt creates no launcher: the CPU request that it calculates cannot be written",
        "spec.configuration.developerConfiguration.cpuAllocationRatio",
        "set resources.requests.cpu, or another cpuAllocationRatio",
    ),
}
"""Cause -> message, what was looked at, hint."""
_HOMES: Final = {"NetworkAttachmentMissing": kinds.ATTACHMENTS}
"""Cause -> the kind that would have it, unless it is KubeVirt."""


def launcher_pod(spec: MachineSpec, snapshot: Snapshot) -> d.LauncherPod:
    """The pod that KubeVirt would create for a machine on this cluster."""
    question = ask(spec, snapshot, 1)
    pod = question.pod
    return d.LauncherPod(
        machine=report.machine_ref(spec.ref),
        pod=pod_manifest(spec, pod),
        overhead=tuple(report.overhead_part(part, amount) for part, amount in pod.overhead.items()),
        overhead_total=sum(pod.overhead.values()),
        requests={name: str(as_quantity(name, count)) for name, count in pod.requests.items()},
        error=stopped(question) or _refused(pod.launch.refusal, snapshot),
        unread={
            **{
                kind.plural: snapshot.read(kind).value
                for kind in _needed(spec, pod)
                if not snapshot.read(kind).known
            },
            **dict(_left_out(question)),
        },
    )


def stopped(question: Question) -> d.RenderError | None:
    """What keeps KubeVirt from making anything of the VM: something about what it refers to."""
    for issue in question.found():
        if issue.severity is Severity.ERROR:
            words = render(issue)
            return d.RenderError(
                code=issue.reason,
                device="",
                looked_for=(issue.path,),
                message=words.message,
                hint=words.remedy,
            )
    return None


def _left_out(question: Question) -> Iterator[tuple[str, str]]:
    """What the VM refers to and nobody read: the kind, or the field, and why."""
    for issue in question.found():
        if issue.severity is Severity.UNKNOWN:
            kind = kinds.BY_PLURAL.get(str(issue.params.get("kind")))
            if kind is None:
                yield issue.path, issue.reason
            else:
                yield kind.plural, question.snapshot.read(kind).value


def _needed(spec: MachineSpec, pod: LauncherPod) -> Iterator[kinds.Kind]:
    yield from READ
    if any(interface.attachment for interface in spec.interfaces):
        yield kinds.ATTACHMENTS
    if pod.launch.runtime_class:
        yield kinds.RUNTIME_CLASSES


def _refused(refusal: Refusal | None, snapshot: Snapshot) -> d.RenderError | None:
    """The refusal in words; none where something is only missing because nobody looked."""
    if refusal is None or not snapshot.read(_HOMES.get(refusal.cause, kinds.KUBEVIRTS)).known:
        return None
    message, looked_for, hint = WORDS[refusal.cause]
    names = [f'"{name}"' for name in refusal.subjects[:_SHOWN]]
    more = len(refusal.subjects) - len(names)
    shown = ", ".join(names) + (f" and {more} more" if more else "")
    return d.RenderError(
        code=refusal.cause,
        device=refusal.subjects[0] if refusal.subjects else "",
        looked_for=(looked_for,),
        message=message.format(names=shown),
        hint=hint,
    )


def pod_manifest(spec: MachineSpec, pod: LauncherPod) -> Tree:
    """The Pod; fields without a value are left out."""
    metadata = {
        "generateName": f"virt-launcher-{spec.ref.name}-",
        "namespace": spec.namespace,
        "labels": dict(pod.labels),
        "annotations": dict(pod.launch.annotations),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _filled(metadata),
        "spec": _filled(_spec(pod.launch)),
    }


def _spec(launch: Launch) -> Tree:
    return {
        "containers": _containers(launch.containers),
        "initContainers": _containers(launch.init_containers),
        "volumes": [
            {"name": name, "emptyDir": {"medium": "HugePages"}} for name in launch.hugepages_volumes
        ],
        "nodeSelector": dict(launch.node_selector),
        "affinity": dict(launch.affinity),
        "tolerations": list(launch.tolerations),
        "topologySpreadConstraints": list(launch.topology_spread),
        "resourceClaims": list(launch.resource_claims),
        "runtimeClassName": launch.runtime_class,
        "schedulerName": launch.scheduler,
        "priorityClassName": launch.priority_class,
    }


def _containers(containers: Iterable[Container]) -> list[Tree]:
    return [
        _filled(
            {
                "name": container.name,
                "restartPolicy": container.restart_policy,
                "resources": _filled(
                    {
                        "requests": _texts(container.requests),
                        "limits": _texts(container.limits),
                        "claims": [
                            _filled({"name": claim, "request": request})
                            for claim, request in container.claims
                        ],
                    }
                ),
            }
        )
        for container in containers
    ]


def _texts(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    return {resource: str(amount) for resource, amount in amounts.items()}


def _filled(fields: Tree) -> Tree:
    return {name: value for name, value in fields.items() if value}
