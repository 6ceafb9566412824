"""Stage 2: the permitted list, which virt-controller checks when it renders the launcher.

Absent list: nothing is checked. Present, even empty: every device of a plugin must be named, in
any of its three parts. Claims are not checked against it. Source: kubevirt
pkg/virt-controller/services/renderresources.go (validatePermittedHostDevices).
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from passway.cluster import kinds
from passway.cluster.records import KubeVirtSpec
from passway.kubevirt.permitted import permitted_of, spelling_of
from passway.model.names import nearest
from passway.model.verdict import Issue, Param, Ref, Severity, Stage
from passway.preflight.stage import Question, state

STAGE: Final = Stage.PERMISSION
FEW: Final = 3
"""So many permitted names are all told; of more, those that are close."""
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


class _Applied(msgspec.Struct, frozen=True):
    spec: KubeVirtSpec | None = None


def judge(question: Question) -> Iterator[Issue]:
    """The issues of this stage."""
    snapshot, devices = question.snapshot, question.spec.plugin_devices
    if not devices:
        return
    read = snapshot.read(kinds.KUBEVIRTS)
    if not read.known:
        yield question.issue(
            STAGE,
            Severity.UNKNOWN,
            "KubeVirtUnreadable",
            state=state(read),
            what="whether the devices are permitted",
        )
        return
    permitted = permitted_of(snapshot.kubevirt)
    if permitted is None:
        yield from _misplaced(question)
        return
    names = sorted({permit.resource_name for permit in permitted})
    few = tuple(names) if len(names) <= FEW else ()
    for device in devices:
        if device.resource_name not in names:
            yield question.issue(
                STAGE,
                Severity.ERROR,
                "DeviceNotPermitted",
                f"{device.path}.deviceName",
                (),
                resource=device.resource_name,
                near=() if few else nearest(device.resource_name, names),
                only=few,
                empty=0 if names else 1,
                **_owner(question),
            )


def _misplaced(question: Question) -> Iterator[Issue]:
    """The API server drops a list at `spec`; what was applied still shows in an annotation."""
    kubevirt = question.snapshot.kubevirt
    if kubevirt is None:
        return
    applied = (kubevirt.metadata.annotations or {}).get(LAST_APPLIED, "{}")
    try:
        spec = msgspec.json.decode(applied, type=_Applied).spec
    except msgspec.DecodeError:
        spec = None
    if any(found and found.permitted_host_devices is not None for found in (spec, kubevirt.spec)):
        yield question.issue(
            STAGE, Severity.WARNING, "PermittedListMisplaced", found="spec.permittedHostDevices"
        )


def _owner(question: Question) -> dict[str, Param]:
    """The HyperConverged object that renders the list, where there is one, and how it spells it."""
    owner = question.snapshot.hyperconverged
    if owner is None:
        return {}
    spelling = spelling_of(owner)
    return {
        "owner": Ref("HyperConverged", owner.metadata.name, owner.metadata.namespace),
        "list": ".".join(spelling.path),
        "selector": spelling.pci_selector,
    }
