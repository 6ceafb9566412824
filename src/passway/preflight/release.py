"""What the running release means for admission: how far the model goes, and who keeps a gate off.

A KubeVirt that is newer than the modelled release, or that names none, is judged as if it were that
release, and the answer says so: a warning, since nothing is known to be wrong. Gates that
HyperConverged lists as disabled (every Beta gate that it does not enable) come back after each
change of the KubeVirt object, so advice to change that object would be wrong there.
Only an annotation with a patch of that object changes it.
Source: hyperconverged-cluster-operator controllers/handlers/kubevirt.go.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from passway.kubevirt.gates import MODELLED, gates_of, observed, version_of
from passway.model.verdict import Issue, Param, Ref, Severity, Stage
from passway.preflight.stage import Question

STAGE: Final = Stage.ADMISSION
PATCH: Final = "kubevirt.kubevirt.io/jsonpatch"
_FOLLOWED: Final = ".".join(map(str, MODELLED))


def judge(question: Question) -> Iterator[Issue]:
    """A warning where the release is beyond the model, or cannot be told."""
    kubevirt = question.snapshot.kubevirt
    version, text = version_of(kubevirt), observed(kubevirt)
    if version is None and text:
        yield question.issue(
            STAGE, Severity.WARNING, "KubeVirtReleaseUnknown", version=text, modelled=_FOLLOWED
        )
    if version is not None and version > MODELLED:
        yield question.issue(
            STAGE, Severity.WARNING, "KubeVirtNewerThanModel", version=text, modelled=_FOLLOWED
        )


def kept_off(question: Question, params: Mapping[str, Param]) -> dict[str, Param]:
    """The HyperConverged object that lists an issue's gate as disabled, if one does."""
    owner = question.snapshot.hyperconverged
    if owner is None or params.get("gate") not in gates_of(question.snapshot.kubevirt).disabled:
        return {}
    return {
        "owner": Ref("HyperConverged", owner.metadata.name, owner.metadata.namespace),
        "annotation": PATCH,
    }
