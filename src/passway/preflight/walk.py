"""The walk: every stage, in order, even after a failure.

Owns the order of the stages and the rule from their issues to the verdict. Stages that have no
source here (kubelet and host, until something reports about hosts) are `not_checked`,
which never changes the answer.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passway.cluster.snapshot import Snapshot
from passway.kubevirt.launcher_pod import LauncherPod, render_launcher
from passway.manifest.spec import MachineSpec
from passway.model.verdict import Issue, Outcome, Stage, StageResult, Verdict, fits_of, outcome_of
from passway.preflight import (
    admission,
    claims,
    launcher,
    lifecycle,
    networks,
    permission,
    quota,
    scheduling,
)
from passway.preflight.placement import place
from passway.preflight.stage import Judge, Question

JUDGES: Final[Mapping[Stage, Judge]] = MappingProxyType(
    {
        Stage.ADMISSION: admission.judge,
        Stage.PERMISSION: permission.judge,
        Stage.QUOTA: quota.judge,
        Stage.NETWORKS: networks.judge,
        Stage.CLAIMS: claims.judge,
        Stage.LAUNCHER: launcher.judge,
        Stage.LIFECYCLE: lifecycle.judge,
    }
)
STAGES: Final = tuple(stage for stage in Stage if stage is not Stage.MANIFEST)


def launcher_of(spec: MachineSpec, snapshot: Snapshot) -> LauncherPod:
    """The launcher pod of a machine on this cluster, its virtual functions included."""
    return render_launcher(spec, snapshot, networks.functions(spec, snapshot))


def preflight(
    spec: MachineSpec,
    pod: LauncherPod,
    snapshot: Snapshot,
    *,
    replicas: int | None = None,
    expand: bool = False,
) -> Verdict:
    """Would this machine get running now, with all its devices?

    `replicas` (the manifest's own number by default) asks for that many at once. Nodes that lack
    the rarest resource are one folded group unless `expand`.
    """
    question = Question(spec, pod, snapshot, spec.replicas if replicas is None else replicas)
    placement = place(question, expand=expand)
    found: dict[Stage, tuple[Issue, ...]] = {
        stage: tuple(judge(question)) for stage, judge in JUDGES.items()
    }
    found[Stage.SCHEDULING] = tuple(scheduling.judge(question, placement))
    stages = tuple(_result(stage, found.get(stage)) for stage in STAGES)
    return Verdict(
        subject=spec.ref,
        fits=fits_of(issue for stage in stages for issue in stage.issues),
        stages=stages,
        nodes=placement.nodes,
        groups=placement.groups,
        replicas=question.replicas,
        places=placement.places,
        limits=placement.limits,
    )


def check(
    spec: MachineSpec, snapshot: Snapshot, *, replicas: int | None = None, expand: bool = False
) -> Verdict:
    """`preflight` on the launcher that KubeVirt would make of the machine."""
    return preflight(spec, launcher_of(spec, snapshot), snapshot, replicas=replicas, expand=expand)


def _result(stage: Stage, issues: tuple[Issue, ...] | None) -> StageResult:
    if issues is None:
        return StageResult(stage, Outcome.NOT_CHECKED)
    return StageResult(stage, outcome_of(issues), issues)
