"""The three places where KubeVirt calculates in double precision, and back to exact numbers.

CPU by the allocation ratio, memory limits by the namespace's ratio and the overhead by the
cluster's are products and quotients of float64 there; their rounding is part of the answer, so it
is repeated here and nowhere else. What goes in and comes out is text, an integer or a Quantity.
"""

import re
from math import isfinite
from typing import Final

from passway.model.quantity import NANOS, Quantity, parse_quantity

_DOUBLE: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
LARGEST: Final = 2**63 - 1
_LEAST_PRINTED: Final = 1e-4
"""Go's %g writes anything smaller with an exponent."""


class Unprintable(ValueError):
    """KubeVirt would write text that is no quantity, and crash on it."""


def parse_double(text: str) -> float | None:
    """A number like Go's ParseFloat reads it; None for what it refuses, and for infinity."""
    if not _DOUBLE.fullmatch(text):
        return None
    found = float(text)
    return found if isfinite(found) else None


def share(amount: int, factor: float) -> int:
    """amount x factor, cut to a whole number of at most 64 bits."""
    try:
        product = int(amount * factor)
    except OverflowError:
        product = LARGEST if factor > 0 else -LARGEST
    return max(-LARGEST, min(product, LARGEST))


def cpu_share(count: int, ratio: int) -> Quantity:
    """`count` CPUs by the allocation ratio; raises Unprintable.

    Source: kubevirt pkg/virt-controller/services/renderresources.go (WithoutDedicatedCPU), which
    prints the quotient (in thousandths below one) and parses it, rounding up to nano-CPUs.
    """
    value = count / ratio
    if value >= 1:
        return parse_quantity(repr(value))
    thousandths = value * 1000
    if thousandths < _LEAST_PRINTED:
        raise Unprintable(f"{thousandths!r}m")
    return parse_quantity(f"{thousandths!r}m")


def exact_share(count: int, ratio: int) -> Quantity:
    """The same without KubeVirt's detour, for where that ends in a crash."""
    return Quantity(-(-count * NANOS // ratio))
