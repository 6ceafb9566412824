"""A container of the launcher pod, as far as the scheduler and a quota see it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from passway.cluster import records
from passway.model.quantity import Quantity, quantity

ALWAYS: Final = "Always"
LARGEST: Final = quantity(2**63 - 1)
"""Amounts are counted in 64 bits; whoever asks for more asks for this."""


@dataclass(frozen=True, slots=True)
class Container:
    """`claims` are (claim, request); an init container that always restarts is a sidecar."""

    name: str
    requests: Mapping[str, Quantity] = field(default_factory=dict)
    limits: Mapping[str, Quantity] = field(default_factory=dict)
    claims: tuple[tuple[str, str], ...] = ()
    restart_policy: str | None = None

    def record(self) -> records.Container:
        """The wire form, for the rules that sum up pods."""
        return records.Container(
            resources=records.Resources(_texts(self.requests), _texts(self.limits)),
            restart_policy=self.restart_policy,
        )


def _texts(amounts: Mapping[str, Quantity]) -> records.Amounts:
    return {resource: str(min(amount, LARGEST)) for resource, amount in amounts.items()}
