"""The walk: every stage, in order, even after a failure.

Owns the order of the stages and the rule from their issues to the verdict. Stages that have no
source here (kubelet and host, until something reports about hosts) are `not_checked`,
which never changes the answer.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from passway.cluster.snapshot import Snapshot
from passway.kubevirt.launcher_pod import render_launcher
from passway.kubevirt.vmi import cluster_settings, mutated
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
    references,
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


def ask(spec: MachineSpec, snapshot: Snapshot, replicas: int | None = None) -> Question:
    """The question about a machine: what it refers to is applied, and its launcher is made.

    `replicas` (the manifest's own number by default) asks for that many at once.
    """
    expanded = references.expand(spec, snapshot)
    settings = cluster_settings(snapshot.kubevirt)
    made = mutated(expanded.spec, settings)
    functions = networks.functions(expanded.spec, snapshot)
    pod = render_launcher(expanded.spec, made.vmi, snapshot, functions)
    count = spec.replicas if replicas is None else replicas
    return Question(expanded.spec, settings, made, pod, snapshot, count, expanded.findings)


def preflight(question: Question, *, expand: bool = False) -> Verdict:
    """Would this machine get running now, with all its devices?

    Nodes that lack the rarest resource are one folded group unless `expand`.
    """
    placement = place(question, expand=expand)
    found: dict[Stage, tuple[Issue, ...]] = {
        stage: tuple(judge(question)) for stage, judge in JUDGES.items()
    }
    found[Stage.SCHEDULING] = tuple(scheduling.judge(question, placement))
    stages = tuple(_result(stage, found.get(stage)) for stage in STAGES)
    return Verdict(
        subject=question.spec.ref,
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
    """The verdict on a machine and the launcher that KubeVirt would make of it."""
    return preflight(ask(spec, snapshot, replicas), expand=expand)


def _result(stage: Stage, issues: tuple[Issue, ...] | None) -> StageResult:
    if issues is None:
        return StageResult(stage, Outcome.NOT_CHECKED)
    return StageResult(stage, outcome_of(issues), issues)
