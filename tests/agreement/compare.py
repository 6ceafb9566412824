"""Does Passway say what happened? Pure: an outcome and a verdict in, disagreements out.

KubeVirt and Kubernetes stop at the first thing that is wrong, Passway tells all: the verdict must
have an error where the VM ended, and none at a stage that the VM passed before.
"""

from typing import Final

from tests.agreement.real import Outcome
from tests.agreement.scenario import Scenario

from passway.model.errors import InvalidManifest
from passway.model.verdict import Fits, Severity, Stage, Verdict

Said = Verdict | InvalidManifest
"""What Passway says: a verdict, or that the manifest is none."""

ORDER: Final = (
    Stage.ADMISSION, Stage.PERMISSION, Stage.NETWORKS, Stage.LAUNCHER, Stage.QUOTA,
    Stage.SCHEDULING,
)  # fmt: skip
"""The order in which they really come: KubeVirt renders the launcher, then the API server looks
whether the pod is valid, then the quota is asked.
"""


INSTANCES: Final = "virtualmachineinstances.kubevirt.io"


def errors(verdict: Said, stage: Stage) -> list[str]:
    """The reasons for which a stage says no."""
    if isinstance(verdict, InvalidManifest):
        return []
    return [
        issue.reason
        for result in verdict.stages
        if result.stage is stage
        for issue in result.issues
        if issue.severity is Severity.ERROR
    ]


def decided(scenario: Scenario, outcome: Outcome, verdict: Said) -> str:
    """The stage that decided, by what happened; `fits` where the VM would run.

    Where functions are asked for by nobody, the pod is bound and the launcher fails on the node;
    an empty pool shows as a failure of the scheduler. Both are the networks' doing.
    """
    if outcome.stage == "bound":
        return "networks" if without_functions(scenario) else "fits"
    if outcome.stage == "scheduling" and not without_functions(scenario):
        return "networks" if errors(verdict, Stage.NETWORKS) else "scheduling"
    if outcome.stage == "launcher" and errors(verdict, Stage.QUOTA):
        return "quota"
    return outcome.stage


def without_functions(scenario: Scenario) -> bool:
    """KubeVirt leaves the functions to the injector, and there is none."""
    developer = scenario.configuration["developerConfiguration"]
    networks = scenario.vm["spec"]["template"]["spec"]["networks"]
    left = "ExternalNetResourceInjection" not in developer["disabledFeatureGates"]
    return left and not scenario.injector and any("multus" in network for network in networks)


def is_combination(verdict: Said) -> bool:
    """No node does, although each single thing asked for is found on some node."""
    if isinstance(verdict, InvalidManifest):
        return False
    fails = [set(node.fails) for node in verdict.nodes]
    return bool(fails) and all(fails) and not set.intersection(*fails)


def disagreements(scenario: Scenario, outcome: Outcome, verdict: Said) -> list[str]:
    """Empty where Passway said what happened."""
    if isinstance(verdict, InvalidManifest):
        said = [issue.reason for issue in verdict.issues]
        return [] if outcome.stage == "admission" else [f"{said}; the VM got to {outcome}"]
    found = [
        f"unknown: {issue.stage} {issue.reason} {dict(issue.params)}"
        for issue in verdict.issues
        if issue.severity is Severity.UNKNOWN
    ]
    if outcome.stage == "bound":
        return found + _bound(scenario, outcome, verdict)
    if outcome.stage == "quota" and INSTANCES in outcome.words:
        # The quota counts VMIs: that is found out before anything is rendered.
        passed = [Stage.ADMISSION]
    else:
        passed = _passed(scenario, outcome)
    here = {Stage(outcome.stage), *_together(outcome)}
    for stage in passed:
        # An empty pool is found out by the scheduler, wherever it is told.
        told = [reason for reason in errors(verdict, stage) if not reason.startswith("VfPool")]
        if told:
            found.append(f"{stage.value} says {told}; the VM got to {outcome}")
    if not any(errors(verdict, stage) for stage in here):
        found.append(f"{outcome.stage} says nothing; the VM got to {outcome}")
    if outcome.stage == "scheduling":
        found += _nodes(outcome, verdict)
        told = any(issue.reason == "FitsByEviction" for issue in verdict.issues)
        if told != outcome.evicts:
            found.append(f"eviction: ours {told}, the scheduler's {outcome.evicts}")
    return found


def _passed(scenario: Scenario, outcome: Outcome) -> list[Stage]:
    """The stages that the VM got through."""
    before = ORDER[: ORDER.index(Stage(outcome.stage))]
    left = _together(outcome)
    if without_functions(scenario):  # the node finds that out, long after
        left = {*left, Stage.NETWORKS}
    return [stage for stage in before if stage not in left]


def _together(outcome: Outcome) -> set[Stage]:
    """Other stages that may tell it: networks an empty pool, quota what a LimitRange made."""
    match outcome.stage:
        case "scheduling":
            return {Stage.NETWORKS}
        case "launcher":
            return {Stage.QUOTA}
        case _:
            return set()


def _bound(scenario: Scenario, outcome: Outcome, verdict: Verdict) -> list[str]:
    found = []
    if without_functions(scenario):
        others = [stage for stage in ORDER if stage is not Stage.NETWORKS]
        if not errors(verdict, Stage.NETWORKS):
            found.append("nobody asks for the functions, and the networks stage is content")
        found += [f"{s.value} says {errors(verdict, s)}" for s in others if errors(verdict, s)]
    elif verdict.fits is not Fits.YES:
        told = [issue.reason for issue in verdict.issues if issue.severity is not Severity.WARNING]
        found.append(f"the VM was bound, and the verdict is {verdict.fits.value}: {told}")
    return found + _nodes(outcome, verdict)


def _nodes(outcome: Outcome, verdict: Verdict) -> list[str]:
    ours = frozenset(node.name for node in verdict.nodes if not node.fails)
    if outcome.feasible is None or ours == outcome.feasible:
        return []
    told = {node.name: node.fails for node in verdict.nodes if node.name in ours ^ outcome.feasible}
    return [f"feasible: ours {sorted(ours)}, the scheduler's {sorted(outcome.feasible)} ({told})"]
