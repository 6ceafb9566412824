"""Rules on affinity, topology spread constraints and tolerations: what KubeVirt checks itself.

It leaves most of tolerations, and the newer fields of constraints, to the API server, which refuses
the launcher pod. Source: kubevirt pkg/virt-api/.../admitters/vmi-create-admitter.go
(validateSpecAffinity, validateSpecTopologySpreadConstraints), v1.9.0.
"""

from collections.abc import Iterator
from typing import Final

from passway.kubevirt import placement_rules
from passway.kubevirt.admission.cause import Cause, invalid
from passway.kubevirt.admission.subject import Subject
from passway.kubevirt.fields import entries, mapping

AFFINITY: Final = "spec.affinity"
SPREAD: Final = "spec.topologySpreadConstraints"
TOLERATIONS: Final = "spec.tolerations"


def affinity(subject: Subject) -> Iterator[Cause]:
    """Each term; KubeVirt leaves the word `affinity` out of its fields."""
    for fault in placement_rules.affinity(
        mapping(subject.spec, "affinity"), AFFINITY, strict=False
    ):
        field = fault.path.replace(AFFINITY, "spec", 1)
        yield invalid(fault.rule, field, fault.path, **fault.params)


def spread(subject: Subject) -> Iterator[Cause]:
    """Each constraint by itself, and no two for the same key and action."""
    constraints = entries(subject.spec, "topologySpreadConstraints")
    for fault in placement_rules.spread(constraints, SPREAD, strict=False):
        yield invalid(fault.rule, fault.path, **fault.params)


def tolerations(subject: Subject) -> Iterator[Cause]:
    """Operators and effects, which the schema lists."""
    found = entries(subject.spec, "tolerations")
    for fault in placement_rules.tolerations(found, TOLERATIONS, strict=False):
        yield invalid(fault.rule, fault.path, **fault.params)
