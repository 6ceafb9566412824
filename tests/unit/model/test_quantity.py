"""Quantities against what k8s.io/apimachinery's quantity.go answers for the same text."""

import time

import pytest

from passway.model.quantity import (
    NANOS,
    ZERO,
    InvalidQuantity,
    Quantity,
    milli,
    parse_quantity,
    quantity,
)


@pytest.mark.parametrize(
    ("text", "canonical", "format"),
    [
        ("0", "0", "DecimalSI"),
        ("-0", "0", "DecimalSI"),
        ("0Ki", "0", "BinarySI"),
        ("1", "1", "DecimalSI"),
        ("+1", "1", "DecimalSI"),
        ("-1", "-1", "DecimalSI"),
        (".5", "500m", "DecimalSI"),
        ("5.", "5", "DecimalSI"),
        ("00012", "12", "DecimalSI"),
        ("1.500", "1500m", "DecimalSI"),
        ("1.5", "1500m", "DecimalSI"),
        ("1000m", "1", "DecimalSI"),
        ("1000k", "1M", "DecimalSI"),
        ("1500u", "1500u", "DecimalSI"),
        ("10000n", "10u", "DecimalSI"),
        ("1024", "1024", "DecimalSI"),
        ("1E", "1E", "DecimalSI"),
        ("1Ki", "1Ki", "BinarySI"),
        ("1024Ki", "1Mi", "BinarySI"),
        ("1536Mi", "1536Mi", "BinarySI"),
        ("1.5Gi", "1536Mi", "BinarySI"),
        ("0.5Gi", "512Mi", "BinarySI"),
        ("0.5Ki", "512", "BinarySI"),
        ("1.1Ki", "1126400m", "BinarySI"),
        ("-2Gi", "-2Gi", "BinarySI"),
        ("1Ei", "1Ei", "BinarySI"),
        ("0.0001Ki", "102400u", "DecimalSI"),
        ("-0.0001Ki", "-102400u", "DecimalSI"),
        ("1e3", "1e3", "DecimalExponent"),
        ("1E3", "1e3", "DecimalExponent"),
        ("1e+4", "10e3", "DecimalExponent"),
        ("12e-1", "1200e-3", "DecimalExponent"),
        ("4e0", "4", "DecimalExponent"),
        ("1e21", "1e21", "DecimalExponent"),
    ],
)
def test_the_canonical_form_is_what_the_api_server_prints(text, canonical, format):
    parsed = parse_quantity(text)
    assert (str(parsed), parsed.format) == (canonical, format)


@pytest.mark.parametrize(
    ("text", "nanos"),
    [("1n", 1), ("0.1n", 1), ("1.1n", 2), ("-0.1n", -1), ("1e-20", 1), ("-1e-20", -1),
     ("0.0000000001", 1), ("0.00n", 0), ("0e-100", 0), ("1e-99999999999999999999", 1),
     ("0.00000000000000001Ki", 1)],
)  # fmt: skip
def test_what_is_below_one_nano_unit_rounds_away_from_zero(text, nanos):
    assert parse_quantity(text).nanos == nanos


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7Ei", 7 * 2**60),
        ("8Ei", 2**63 - 1),
        ("9999999999999Ti", 2**63 - 1),
        ("-8Ei", -(2**63) + 1),
        ("9223372036854775808", 2**63),
    ],
)
def test_only_binary_quantities_are_capped(text, value):
    assert parse_quantity(text).value == value


@pytest.mark.parametrize(
    "text",
    ["", "1.2.3", "1Kib", " 1", "1 ", "i", "e3", "1ee3", "0x10", "\uff11", "1\n", "inf", "NaN",
     "1_0", "1,5", "--1", "+-1", "+", "-", ".", "-.", "m", "Ki", "1K", "1ki", "1e", "1e+", "1e1.5",
     "1m3", "1mi", "1 Gi", "1e65", "9" * 70, "1e64E", "x" * 200],
)  # fmt: skip
def test_text_that_is_not_a_quantity_is_refused_with_an_example(text):
    with pytest.raises(InvalidQuantity, match=r"not a quantity; write|no resource is that large"):
        parse_quantity(text)


@pytest.mark.parametrize(
    "text", ["9" * 5_000_000, "1e" + "9" * 100, "1e999999999", "1e-" + "9" * 100_000, "9" * 127]
)
def test_huge_text_is_refused_quickly_and_not_repeated_whole(text):
    start = time.perf_counter()
    with pytest.raises(InvalidQuantity) as refused:
        parse_quantity(text)
    assert time.perf_counter() - start < 0.5
    assert len(str(refused.value)) < 200


def test_the_largest_amount_still_prints_as_text_that_parses():
    largest = parse_quantity("1e64")
    assert str(largest) == "10e63"
    assert parse_quantity(str(largest)) == largest


@pytest.mark.parametrize(
    ("text", "value", "milli_value"),
    [
        ("1", 1, 1000),
        ("1500m", 2, 1500),
        ("1n", 1, 1),
        ("-1500m", -2, -1500),
        ("-1n", -1, -1),
        ("0", 0, 0),
        ("1.1Ki", 1127, 1126400),
        ("1000001u", 2, 1001),
    ],
)
def test_whole_units_and_thousandths_round_away_from_zero(text, value, milli_value):
    parsed = parse_quantity(text)
    assert (parsed.value, parsed.milli_value) == (value, milli_value)


def test_quantities_are_equal_when_their_amounts_are():
    assert parse_quantity("1Ki") == parse_quantity("1024") == parse_quantity("1.024e3")
    assert len({parse_quantity("1Ki"), parse_quantity("1024")}) == 1
    assert parse_quantity("999m") < parse_quantity("1") < parse_quantity("1.0001")


def test_a_sum_keeps_the_format_of_the_first_operand_unless_that_is_zero():
    assert str(parse_quantity("1Gi") + parse_quantity("1024")) == "1048577Ki"
    assert str(parse_quantity("1024") + parse_quantity("1Gi")) == "1073742848"
    assert str(ZERO + parse_quantity("1Gi")) == "1Gi"
    assert str(parse_quantity("2Gi") - parse_quantity("1Gi")) == "1Gi"
    assert str(ZERO - parse_quantity("1Gi")) == "-1Gi"


def test_multiples_and_negatives_keep_the_format():
    assert str(parse_quantity("512Mi") * 2) == "1Gi"
    assert str(-parse_quantity("512Mi")) == "-512Mi"


def test_a_binary_amount_past_all_suffixes_stays_in_exbibytes():
    assert str(quantity(2**71, "BinarySI")) == "2048Ei"
    assert str(quantity(10**21)) == "1000E"


def test_quantities_are_made_from_whole_units_and_thousandths():
    assert quantity(3) == Quantity(3 * NANOS)
    assert quantity(1024, "BinarySI").format == "BinarySI"
    assert str(milli(250)) == "250m"
