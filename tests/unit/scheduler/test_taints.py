"""Taints and tolerations, row by row as Kubernetes judges them."""

import pytest

from passway.cluster.records import Taint, Toleration
from passway.scheduler.taints import tolerates, untolerated

GPU = Taint("nvidia.com/gpu", "NoSchedule", "true")
BARE = Taint("nvidia.com/gpu", "NoSchedule")


@pytest.mark.parametrize(
    ("toleration", "taint", "expected"),
    [
        pytest.param({"operator": "Exists"}, GPU, True, id="no key: every taint"),
        pytest.param({"key": "", "operator": "Exists"}, GPU, True, id="empty key: every taint"),
        pytest.param({"operator": "Exists", "effect": "NoSchedule"}, GPU, True, id="of an effect"),
        pytest.param({"operator": "Exists", "effect": "NoExecute"}, GPU, False, id="of another"),
        pytest.param({"key": GPU.key, "operator": "Exists"}, GPU, True, id="key exists"),
        pytest.param({"operator": "Exists", "effect": ""}, GPU, True, id="an empty effect"),
        pytest.param({"key": "other", "operator": "Exists"}, GPU, False, id="another key"),
        pytest.param({"key": "nvidia.com", "operator": "Exists"}, GPU, False, id="part of the key"),
        pytest.param({"key": GPU.key, "value": "true"}, GPU, True, id="no operator is Equal"),
        pytest.param({"key": GPU.key, "operator": "", "value": "true"}, GPU, True, id="empty"),
        pytest.param({"key": GPU.key, "operator": "Equal", "value": "true"}, GPU, True, id="equal"),
        pytest.param({"key": GPU.key, "operator": "Equal", "value": "True"}, GPU, False, id="case"),
        pytest.param({"key": GPU.key, "operator": "Equal"}, GPU, False, id="no value"),
        pytest.param({"key": GPU.key, "operator": "Equal"}, BARE, True, id="no value on both"),
        pytest.param({"key": GPU.key, "value": ""}, BARE, True, id="an empty value is none"),
        pytest.param({"key": GPU.key, "value": "true"}, BARE, False, id="a value against none"),
        pytest.param(
            {"key": GPU.key, "value": "true", "effect": "NoSchedule"}, GPU, True, id="all three"
        ),
        pytest.param(
            {"key": GPU.key, "value": "true", "effect": "NoExecute"}, GPU, False, id="wrong effect"
        ),
        pytest.param({"operator": "Equal", "value": "true"}, GPU, False, id="Equal without a key"),
        pytest.param({}, BARE, False, id="nothing at all"),
        pytest.param({"key": GPU.key, "operator": "exists"}, GPU, False, id="unknown operator"),
        pytest.param({"key": GPU.key, "operator": "In", "value": "true"}, GPU, False, id="no such"),
    ],
)  # fmt: skip
def test_whether_a_toleration_tolerates_a_taint(toleration, taint, expected):
    assert tolerates(Toleration(**toleration), taint) is expected


@pytest.mark.parametrize(
    ("effect", "keeps_away"),
    [("NoSchedule", True), ("NoExecute", True), ("PreferNoSchedule", False), ("", False)],
)
def test_which_effects_keep_a_pod_away(effect, keeps_away):
    taint = Taint("k", effect)
    assert untolerated([taint], []) == ((taint,) if keeps_away else ())


def test_every_taint_needs_a_toleration_and_one_is_enough():
    taints = [Taint("a", "NoSchedule"), Taint("b", "NoExecute"), Taint("c", "NoSchedule")]
    tolerations = (Toleration(key=key, operator="Exists") for key in "xca")
    assert untolerated(iter(taints), tolerations) == (taints[1],)
    assert untolerated(taints, [Toleration(operator="Exists")]) == ()
    assert untolerated([], []) == ()


def test_a_taint_is_written_as_kubectl_writes_it():
    assert GPU.text() == "nvidia.com/gpu=true:NoSchedule"
    assert BARE.text() == "nvidia.com/gpu:NoSchedule"
