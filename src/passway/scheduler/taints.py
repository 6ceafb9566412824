"""Taints and tolerations, as the TaintToleration filter judges them.

Only NoSchedule and NoExecute keep a pod away; PreferNoSchedule does not. Source: k8s.io/api
core/v1 toleration.go and component-helpers corev1.FindMatchingUntoleratedTaint, v1.34.
"""

from collections.abc import Iterable
from typing import Final

from passway.cluster.records import Taint, Toleration

UNSCHEDULABLE: Final = Taint("node.kubernetes.io/unschedulable", "NoSchedule")
_KEEPS_AWAY: Final = frozenset({"NoSchedule", "NoExecute"})


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """An empty key with Exists tolerates every taint; an empty effect every effect."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    equal = toleration.operator in {None, "", "Equal"}
    return equal and bool(toleration.key) and (toleration.value or "") == (taint.value or "")


def untolerated(taints: Iterable[Taint], tolerations: Iterable[Toleration]) -> tuple[Taint, ...]:
    """The taints that keep a pod with these tolerations away."""
    tolerations = tuple(tolerations)
    return tuple(
        taint
        for taint in taints
        if taint.effect in _KEEPS_AWAY
        and not any(tolerates(toleration, taint) for toleration in tolerations)
    )
