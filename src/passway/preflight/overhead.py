"""KubeVirt's share of the launcher's memory, for issues about memory: the sum, and part by part.

Users size a quota by the guest's memory and are refused by what KubeVirt adds to it, so the issue
says what that is made of. Only where the overhead is in the amount: with `overcommitGuestOverhead`
KubeVirt leaves it out of the request, though not out of the limit.
Source: kubevirt pkg/virt-controller/services/renderresources.go (WithMemoryOverhead).
"""

from passway.kubevirt.container import ALWAYS
from passway.model.quantity import Quantity, quantity
from passway.model.verdict import Param, Part
from passway.preflight.stage import Question


def share(question: Question, *, of_request: bool, machines: int = 1) -> dict[str, Param]:
    """The params `overhead` and `parts` of so many launchers; none where it does not count."""
    overcommits = question.spec.plain("domain.resources.overcommitGuestOverhead") is True
    if of_request and overcommits:
        return {}
    parts = tuple(
        Part(name, quantity(amount * machines, "BinarySI"))
        for name, amount in question.pod.overhead.items()
    )
    total = sum((part.amount for part in parts), Quantity(0, "BinarySI"))
    return {"overhead": total, "parts": parts}


def helpers(question: Question, *, of_request: bool, machines: int = 1) -> tuple[Part, ...]:
    """What the containers beside the guest's, which run as long, ask of memory."""
    launch = question.pod.launch
    sidecars = [item for item in launch.init_containers if item.restart_policy == ALWAYS]
    return tuple(
        Part(item.name, amount * machines)
        for item in (*launch.containers[1:], *sidecars)
        if (amount := (item.requests if of_request else item.limits).get("memory"))
    )
