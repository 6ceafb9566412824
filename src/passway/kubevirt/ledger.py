"""The books of the compute container: what KubeVirt calculates, and what the user asked for.

Owns the one rule of kubevirt pkg/virt-controller/services/renderresources.go from which most
surprises follow: both are kept apart, and in the end the user's amounts are laid over the
calculated ones, resource by resource, for requests and limits on their own.
"""

from dataclasses import dataclass, field

from passway.kubevirt.fields import Tree, amounts
from passway.model.quantity import Quantity, quantity

Amounts = dict[str, Quantity]
ONE = quantity(1)


@dataclass(slots=True)
class Ledger:
    """`requests` and `limits` are the user's, adjusted; `counted` is KubeVirt's own."""

    requests: Amounts
    limits: Amounts
    counted_requests: Amounts = field(default_factory=dict)
    counted_limits: Amounts = field(default_factory=dict)

    def bump(self, resource: str) -> None:
        """One unit more of a device, on top of what there is, in requests and limits."""
        for counted, given in (
            (self.counted_requests, self.requests),
            (self.counted_limits, self.limits),
        ):
            held = given.get(resource) or counted.get(resource)
            counted[resource] = held + ONE if held else ONE

    def final_requests(self) -> Amounts:
        return {**self.counted_requests, **self.requests}

    def final_limits(self) -> Amounts:
        return {**self.counted_limits, **self.limits}


def opened(vmi: Tree) -> Ledger:
    """The books as they stand before anything is calculated."""
    resources = ("spec", "domain", "resources")
    return Ledger(amounts(vmi, *resources, "requests"), amounts(vmi, *resources, "limits"))
