"""What the version of the running KubeVirt, and HyperConverged, mean for an answer."""

import pytest
from tests.builders import GPU, ask, cluster, kubevirt, machine, node, obj, vm

from passway.model.reasons import render
from passway.model.verdict import Fits, Outcome, Severity, Stage
from passway.preflight.redact import redact
from passway.preflight.walk import check

NODE = node("a", {GPU: 1})


def told(verdict, *reasons):
    return [issue for issue in verdict.issues if issue.reason in reasons]


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("v1.9.0", None),
        ("v1.9.0-rc.1", None),
        ("v1.9.7", None),
        ("v1.5.0", None),
        (None, None),
        ("v1.10.0", "KubeVirtNewerThanModel"),
        ("v1.10.0-alpha.0-57-gd923fdb81", "KubeVirtNewerThanModel"),
        ("v2.0.1", "KubeVirtNewerThanModel"),
        ("20260822_d923fdb81", "KubeVirtReleaseUnknown"),
        ("20260822", "KubeVirtReleaseUnknown"),
        ("devel", "KubeVirtReleaseUnknown"),
        ("latest", "KubeVirtReleaseUnknown"),
    ],
)
def test_a_release_beyond_the_model_is_a_warning(version, reason):
    verdict = ask(vm(gpus=[GPU]), kubevirt(version=version), NODE)
    assert verdict.fits is Fits.YES
    found = told(verdict, "KubeVirtNewerThanModel", "KubeVirtReleaseUnknown")
    assert [issue.reason for issue in found] == [reason] * (reason is not None)
    for issue in found:
        assert (issue.stage, issue.severity) == (Stage.ADMISSION, Severity.WARNING)
        assert version in render(issue).message
        assert "1.9" in render(issue).message
    admission = next(stage for stage in verdict.stages if stage.stage is Stage.ADMISSION)
    assert admission.outcome is (Outcome.WARN if reason else Outcome.PASS)


def test_the_warning_changes_no_answer():
    for version in ("v1.9.0", "v1.10.0", "devel"):
        assert ask(vm(gpus=[GPU, GPU]), kubevirt(version=version), NODE).fits is Fits.NO


CLAIMED = vm(
    devices={"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]},
    resourceClaims=[{"name": "c", "resourceClaimName": "k"}],
)
OWNER = obj("hco.kubevirt.io/v1beta1", "HyperConverged", "kubevirt-hyperconverged", "hco", spec={})


def message(*objects, disabled=("GPUsWithDRA",)):
    verdict = ask(CLAIMED, kubevirt(disabled=disabled), NODE, *objects)
    return [render(issue).message for issue in told(verdict, "FeatureGateOff")]


def test_a_gate_that_hyperconverged_keeps_off_is_told_as_that():
    (alone,), (owned,) = message(), message(OWNER)
    assert owned == (
        f"{alone}; hco/kubevirt-hyperconverged keeps it off, unless its annotation "
        "kubevirt.kubevirt.io/jsonpatch says otherwise"
    )
    assert message(OWNER, disabled=()) == []


def test_a_gate_that_nobody_disables_is_not_its_doing():
    verdict = ask(vm(host_devices=["a/b"]), kubevirt(gates=[]), NODE, OWNER)
    (issue,) = told(verdict, "FeatureGateOff")
    assert "owner" not in issue.params


def test_a_tenant_is_not_told_the_object_of_another_namespace():
    snapshot = cluster(kubevirt(disabled=["GPUsWithDRA"]), NODE, OWNER)
    verdict = redact(check(machine(CLAIMED), snapshot), frozenset({"default"}))
    (issue,) = told(verdict, "FeatureGateOff")
    assert "hco" not in render(issue).message
