"""Laws of quantities: printing loses nothing, sums are exact, order is the order of amounts."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from passway.model.quantity import NANOS, Quantity, parse_quantity

SUFFIXES = {
    "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000), "": Fraction(1),
    "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9), "T": Fraction(10**12),
    "P": Fraction(10**15), "E": Fraction(10**18), "Ki": Fraction(2**10), "Mi": Fraction(2**20),
    "Gi": Fraction(2**30), "Ti": Fraction(2**40), "Pi": Fraction(2**50), "Ei": Fraction(2**60),
}  # fmt: skip

digits = st.text("0123456789", min_size=1, max_size=24)
numbers = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "+", "-"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(".{}".format)),
)
exponents = st.builds("{}{}".format, st.sampled_from(["e", "E"]), st.integers(-40, 39))
texts = st.builds("{}{}".format, numbers, st.one_of(st.sampled_from(list(SUFFIXES)), exponents))
parsed = texts.map(parse_quantity)


def exact(text: str) -> Fraction:
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if suffix and text.endswith(suffix):
            return Fraction(text.removesuffix(suffix)) * SUFFIXES[suffix]
    return Fraction(text)


def away(amount: Fraction) -> int:
    size = abs(amount)
    whole = -(-size.numerator // size.denominator)
    return whole if amount >= 0 else -whole


@given(parsed)
def test_printing_and_parsing_again_changes_neither_amount_nor_text(one):
    again = parse_quantity(str(one))
    assert again == one
    assert str(again) == str(one)


@given(parsed)
def test_the_format_survives_printing_where_the_text_shows_it(one):
    shown = "BinarySI" if str(one).endswith("i") else "DecimalSI"
    if "e" in str(one):
        shown = "DecimalExponent"
    assert parse_quantity(str(one)).format == shown
    if shown != "DecimalSI":
        assert one.format == shown


@given(texts)
def test_an_amount_is_exact_up_to_one_nano_unit_and_never_nearer_to_zero(text):
    amount, cap = exact(text), Fraction(2**63 - 1)
    if text.endswith("i"):
        amount = max(-cap, min(amount, cap))
    assert parse_quantity(text).nanos == away(amount * NANOS)


@given(parsed, parsed, parsed)
def test_sums_are_exact(one, two, three):
    assert Fraction((one + two).nanos) == Fraction(one.nanos) + Fraction(two.nanos)
    assert (one + two) + three == one + (two + three)
    assert one + two == two + one
    assert one - two == one + -two
    assert one + two - two == one
    assert one * 3 == one + one + one


@given(parsed, parsed)
def test_order_is_the_order_of_amounts(one, two):
    assert (one < two) == (one.nanos < two.nanos)
    assert (one == two) == (one.nanos == two.nanos)
    assert (one <= two) == (not two < one)
    if one == two:
        assert hash(one) == hash(two)


@given(st.integers(-(10**30), 10**30))
def test_units_and_thousandths_round_away_from_zero(nanos):
    one = Quantity(nanos)
    assert one.value == away(Fraction(nanos, NANOS))
    assert one.milli_value == away(Fraction(nanos, NANOS // 1000))
