"""Kubernetes quantities, exact.

Owns the grammar of `resource.Quantity` (k8s.io/apimachinery/pkg/api/resource/quantity.go): signs,
decimal points, the suffixes n to E and Ki to Ei, decimal exponents, rounding away from zero below
one nano-unit, the cap of binary quantities, and the canonical form the API server prints.
A quantity is an integer of nano-units: sums and comparisons are exact, and nothing is ever a float.
Where Go's code goes astray, this does not: text without a digit ("m", "+") is refused, as CRD
schemas do, amounts of 1000E keep their suffix, and negative amounts round away from zero too.
"""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal

from passway.model.override import override

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

NANOS: Final = 10**9
MAX_LENGTH: Final = 128
MAX_EXPONENT: Final = 64
# Whatever is parsed prints as text that parses to the same again, within the limits above.
_LIMIT: Final = NANOS * 10**MAX_EXPONENT
_BINARY_CAP: Final = (2**63 - 1) * NANOS

_DECIMAL: Final = {
    "n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_DECIMAL_SUFFIX: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX: Final = {0: "", **{power: suffix for suffix, power in _BINARY.items()}}
_GRAMMAR: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE](?P<exponent>[+-]?[0-9]+))?",
)


class InvalidQuantity(ValueError):
    """The text is not a Kubernetes quantity; the message says what one looks like."""


@dataclass(frozen=True, slots=True, order=True)
class Quantity:
    """An exact amount: `nanos` nano-units. Two quantities are equal when their amounts are."""

    nanos: int
    format: Format = field(default="DecimalSI", compare=False)

    @override
    def __str__(self) -> str:
        return _canonical(self.nanos, self.format)

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, _keep(self, other))

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, _keep(self, other))

    def __mul__(self, factor: int) -> "Quantity":
        return Quantity(self.nanos * factor, self.format)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nanos, self.format)

    @property
    def value(self) -> int:
        """Whole units, rounded away from zero, like `Quantity.Value()`."""
        return _away(self.nanos, NANOS)

    @property
    def milli_value(self) -> int:
        """Thousandths, rounded away from zero, like `Quantity.MilliValue()`."""
        return _away(self.nanos, NANOS // 1000)


ZERO: Final = Quantity(0)


def _keep(left: Quantity, right: Quantity) -> Format:
    """Like Kubernetes: a sum takes the format of the first operand unless that one is zero."""
    return left.format if left.nanos else right.format


def _away(number: int, divisor: int) -> int:
    """Divides, rounding away from zero."""
    return -(-number // divisor) if number >= 0 else number // divisor


def quantity(amount: int, format: Format = "DecimalSI") -> Quantity:
    """A quantity of whole units."""
    return Quantity(amount * NANOS, format)


def milli(amount: int) -> Quantity:
    """A quantity of thousandths."""
    return Quantity(amount * (NANOS // 1000))


@lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Quantity:
    """Parses `text`; raises InvalidQuantity. Amounts below one nano-unit round away from zero."""
    match = _GRAMMAR.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None or not (match["whole"] or match["part"]):
        raise InvalidQuantity(
            f"{text[:40]!r} is not a quantity; write a number with an optional suffix "
            "(500m, 2, 16Gi, 1e3)"
        )
    digits, part = match["whole"], match["part"] or ""
    mantissa = int((digits + part) or "0")
    if match["sign"] == "-":
        mantissa = -mantissa
    suffix = match["suffix"] or ""
    if suffix in _BINARY:
        nanos = _away(mantissa * (NANOS << _BINARY[suffix]), 10 ** len(part))
        nanos = max(-_BINARY_CAP, min(nanos, _BINARY_CAP))
        # Kubernetes keeps a binary fraction below one in decimal form, which avoids surprises.
        return Quantity(nanos, "DecimalSI" if 0 < abs(nanos) < NANOS else "BinarySI")
    format: Format = "DecimalExponent" if match["exponent"] else "DecimalSI"
    power = int(match["exponent"]) if match["exponent"] else _DECIMAL[suffix]
    if power > MAX_EXPONENT:
        raise InvalidQuantity(
            f"{text[:40]!r} has an exponent above {MAX_EXPONENT}; no resource is that large"
        )
    nanos = _scaled(mantissa, power + 9 - len(part))
    if abs(nanos) > _LIMIT:
        raise InvalidQuantity(f"{text[:40]!r} is too large; no resource is that large")
    return Quantity(nanos, format)


def _scaled(mantissa: int, power: int) -> int:
    """mantissa * 10**power in nano-units, rounded away from zero."""
    if power >= 0:
        return mantissa * int(10**power)
    return _away(mantissa, int(10 ** min(-power, MAX_LENGTH + 1)))


@lru_cache(maxsize=4096)
def _canonical(nanos: int, format: Format) -> str:
    """The API server's printing: no fraction, the largest suffix that keeps the number whole."""
    if not nanos:
        return "0"
    if format == "BinarySI" and abs(nanos) >= 1024 * NANOS and nanos % NANOS == 0:
        return _binary(nanos // NANOS)
    power = -9
    while nanos % 1000 == 0 and (power < 18 or format == "DecimalExponent"):
        nanos //= 1000
        power += 3
    if format == "DecimalExponent":
        return f"{nanos}e{power}" if power else str(nanos)
    return f"{nanos}{_DECIMAL_SUFFIX[power]}"


def _binary(units: int) -> str:
    power = 0
    while units % 1024 == 0 and power < 60:
        units //= 1024
        power += 10
    return f"{units}{_BINARY_SUFFIX[power]}"
