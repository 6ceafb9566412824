"""Why an existing VM does not run: where it stands, and what our own walk says of that stage.

The walk is the one of `check`, on the VM's own stored spec, as if it were asked for now and nothing
of it existed, so that its own launcher does not stand in its way. Where both speak of the same
stage, the walk's reasons explain the words. Where only the component says no, that is told as it
is: the cause may be gone and only KubeVirt's back-off be left, or our model is wrong.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from passway.cluster.snapshot import Snapshot
from passway.cluster.traces import InstanceStatus, MachineStatus, Traces
from passway.kubevirt.configuration import configuration_of
from passway.manifest.spec import MachineSpec
from passway.model.verdict import Issue, Outcome, Param, Severity, Stage, StageResult, Verdict
from passway.preflight.absence import again
from passway.preflight.lifecycle import BLOCKS
from passway.preflight.said import Standing, State
from passway.preflight.standing import CONTROLLER, pinned, standing

RETRIED: Final = frozenset({Stage.ADMISSION, Stage.PERMISSION, Stage.QUOTA, Stage.NETWORKS})
"""What virt-controller tries again after a while, without looking whether the cause is gone."""
NOTHING: Final = "NothingTold"
VOLUMES: Final = "VolumesNotReady"
EVICTION: Final = "EvictionRefused"
UNSEEN: Final = frozenset(
    {"LauncherRefusedBySecurity", "LauncherRefusedByWebhook", "SchedulingGated"}
)
"""Causes that no stage of the walk can see."""
MODELLED: Final = RETRIED | {Stage.CLAIMS, Stage.SCHEDULING}
REFUSING: Final = frozenset({Severity.ERROR, Severity.UNKNOWN})
_SEVERITIES: Final = {NOTHING: Severity.UNKNOWN, EVICTION: Severity.WARNING}


class Agreement(StrEnum):
    """How our walk and the component's words relate."""

    AGREES = "agrees"
    CAUSE_GONE = "cause_gone"
    DIFFERS = "differs"
    UNDECIDED = "undecided"
    NOT_MODELLED = "not_modelled"
    NOTHING_SAID = "nothing_said"


@dataclass(frozen=True, slots=True)
class Explanation:
    """`issues` explain the stage where it stands, `also` is what else would stop a start now.

    `verdict` is the walk as if the VM were asked for now; of its stages those after the one where
    the VM stands are `not_reached` in `stages`.
    """

    standing: Standing
    agreement: Agreement
    issues: tuple[Issue, ...]
    also: tuple[Issue, ...]
    stages: tuple[StageResult, ...]
    verdict: Verdict
    status: str | None = None
    phase: str | None = None
    node: str | None = None


def explain(spec: MachineSpec, traces: Traces, snapshot: Snapshot) -> Explanation:
    """Where the VM stands and why. `spec` is read from its stored object."""
    _, verdict = again(spec, snapshot, traces.key)
    found = _in_drain(spec, traces, snapshot, standing(traces))
    agreement = _agreement(found, verdict)
    instance = (traces.instance.status if traces.instance else None) or InstanceStatus()
    machine = (traces.machine.status if traces.machine else None) or MachineStatus()
    pod = traces.pod.spec if traces.pod else None
    return Explanation(
        standing=found,
        agreement=agreement,
        issues=tuple(_issues(found, agreement, verdict, instance.node_name)),
        also=_errors(stage for stage in verdict.stages if stage.stage is not found.stage),
        stages=tuple(_seen(found, verdict)),
        verdict=verdict,
        status=machine.printable_status,
        phase=instance.phase,
        node=instance.node_name or (pod.node_name if pod else None),
    )


def _in_drain(spec: MachineSpec, traces: Traces, snapshot: Snapshot, found: Standing) -> Standing:
    """A running VM whose node is cordoned, and whose eviction KubeVirt refuses."""
    status = (traces.instance.status if traces.instance else None) or InstanceStatus()
    node = snapshot.nodes.get(status.node_name or "")
    if found.state is not State.RUNNING or found.stage or node is None or not node.unschedulable:
        return found
    strategy = spec.eviction_strategy or configuration_of(snapshot.kubevirt).eviction_strategy
    words = pinned(traces)
    if strategy != BLOCKS or words is None:
        return found
    return Standing(State.RUNNING, Stage.LIFECYCLE, EVICTION, (words,))


def _agreement(found: Standing, verdict: Verdict) -> Agreement:
    if found.stage is None or found.cause in {"", NOTHING}:
        return Agreement.NOTHING_SAID
    here = _at(verdict, found.stage)
    modelled = found.stage in MODELLED and found.cause not in UNSEEN
    if found.cause == VOLUMES:  # the walk knows what is stored, not how an import goes on
        modelled = any(issue.reason.startswith("Volume") for issue in here.issues)
    if not modelled:
        return Agreement.NOT_MODELLED
    if here.outcome is Outcome.FAIL:
        return Agreement.AGREES
    if here.outcome is Outcome.UNKNOWN:
        return Agreement.UNDECIDED
    return Agreement.CAUSE_GONE if found.stage in RETRIED else Agreement.DIFFERS


def _issues(
    found: Standing, agreement: Agreement, verdict: Verdict, node: str | None
) -> Iterator[Issue]:
    """The reasons for the stage where the VM stands: the walk's own, or what the words mean."""
    if found.stage is None:
        return
    ours = [issue for issue in _at(verdict, found.stage).issues if issue.severity in REFUSING]
    explained = agreement in {Agreement.AGREES, Agreement.UNDECIDED} or not found.cause
    params: dict[str, Param] = {
        "component": found.words[0].component if found.words else CONTROLLER,
        "node": node or "",
    }

    def issue(reason: str, severity: Severity, **more: Param) -> Issue:
        return Issue(
            reason, found.stage or Stage.LAUNCHER, severity, verdict.subject,
            params={**params, **more},
        )  # fmt: skip

    if found.cause and agreement is not Agreement.AGREES:
        yield issue(found.cause, _SEVERITIES.get(found.cause, Severity.ERROR))
    if explained or found.cause == NOTHING:
        yield from ours
    if agreement is Agreement.CAUSE_GONE:
        yield issue("CauseGone", Severity.WARNING)
    elif agreement is Agreement.DIFFERS:
        yield issue("WordsDiffer", Severity.WARNING)
    if found.fails:
        yield issue("StartFailed", Severity.WARNING, fails=found.fails, retry=found.retry or "")


def _seen(found: Standing, verdict: Verdict) -> Iterator[StageResult]:
    """The stages as they are of a VM that exists: some are behind it, some not reached."""
    ahead = False
    for result in verdict.stages:
        if ahead:
            yield StageResult(result.stage, Outcome.NOT_REACHED)
        elif result.stage is found.stage:
            ahead = True
            yield StageResult(result.stage, _here(found), result.issues)
        else:
            yield result


def _here(found: Standing) -> Outcome:
    if found.cause in {"", NOTHING}:
        return Outcome.UNKNOWN
    return Outcome.WARN if found.cause == EVICTION else Outcome.FAIL


def _at(verdict: Verdict, stage: Stage) -> StageResult:
    return next(result for result in verdict.stages if result.stage is stage)


def _errors(stages: Iterable[StageResult]) -> tuple[Issue, ...]:
    return tuple(
        issue for stage in stages for issue in stage.issues if issue.severity is Severity.ERROR
    )
