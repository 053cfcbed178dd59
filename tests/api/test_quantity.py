"""Quantities are exact, keep their notation, and are printed as in Kubernetes."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubesim.api.quantity import (
    BINARY_SI,
    DECIMAL_EXPONENT,
    DECIMAL_SI,
    FORMAT_WRONG,
    NUMERIC_WRONG,
    SUFFIX_WRONG,
    Quantity,
    parse_quantity,
    quantity,
)

TENS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "e3": 3, "e-3": -3}
FACTORS = {suffix: Fraction(f"1e{exponent}") for suffix, exponent in TENS.items()}
FACTORS |= {"Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30)}


def exact(amount: Quantity) -> Fraction:
    return amount.unscaled * Fraction(f"1e{amount.scale}")


written = st.builds(
    lambda sign, whole, fraction, suffix: (f"{sign}{whole}{'.' if fraction else ''}{fraction}{suffix}", suffix),
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**9),
    st.text("0123456789", max_size=6),
    st.sampled_from(sorted(FACTORS)),
)
parsed = written.map(lambda pair: parse_quantity(pair[0]))
binary = st.builds(
    lambda n, unit: Quantity(n * 1024**unit, 0, BINARY_SI), st.integers(-(10**6), 10**6), st.integers(0, 3)
)


@given(written)
def test_a_quantity_is_rounded_up_to_nanos(pair: tuple[str, str]) -> None:
    text, suffix = pair
    said = Fraction(text.removesuffix(suffix)) * FACTORS[suffix]
    rest = abs(exact(parse_quantity(text))) - abs(said)
    assert 0 <= rest < Fraction(1, 10**9)


@given(st.one_of(parsed, binary))
def test_canonical_text_is_lossless(amount: Quantity) -> None:
    again = parse_quantity(str(amount))
    assert exact(again) == exact(amount)
    assert hash(again) == hash(amount)


huge = st.builds(
    lambda number, exponent: (f"{number}e{exponent}", number * Fraction(f"1e{exponent}")),
    st.integers(-(10**40), 10**40),
    st.integers(-9, 40),
)


@given(huge, huge)
def test_large_amounts_are_exact(left: tuple[str, Fraction], right: tuple[str, Fraction]) -> None:
    one, other = parse_quantity(left[0]), parse_quantity(right[0])
    assert (exact(one), exact(other)) == (left[1], right[1])
    assert exact(one + other) == left[1] + right[1]
    assert one.cmp(other) == (left[1] > right[1]) - (left[1] < right[1])
    assert exact(parse_quantity(str(one + other))) == left[1] + right[1]


@given(st.integers(10**18, 2**63 - 1), st.integers(0, 6))
def test_values_of_the_wide_form_round_up(number: int, digits: int) -> None:
    """More than 18 digits need arbitrary precision."""
    amount = parse_quantity(f"{number}e-{digits}")
    assert amount.wide
    assert amount.value() == -(-number // 10**digits)


@given(parsed, parsed)
def test_arithmetic_and_order_are_exact(left: Quantity, right: Quantity) -> None:
    assert exact(left + right) == exact(left) + exact(right)
    assert exact(left - right) == exact(left) - exact(right)
    assert (left < right, left <= right) == (exact(left) < exact(right), exact(left) <= exact(right))
    assert (left > right, left >= right) == (exact(left) > exact(right), exact(left) >= exact(right))
    assert (left == right) == (exact(left) == exact(right))


@given(parsed.filter(lambda amount: not amount.wide and abs(exact(amount)) < 10**15))
def test_values_round_away_from_zero(amount: Quantity) -> None:
    for value, whole in ((amount.value(), exact(amount)), (amount.milli_value(), exact(amount) * 1000)):
        assert 0 <= abs(value) - abs(whole) < 1


@pytest.mark.parametrize(
    ("text", "canonical", "notation"),
    [
        ("1.5", "1500m", DECIMAL_SI),
        ("1.5Gi", "1536Mi", BINARY_SI),
        ("0.5Ki", "512", BINARY_SI),
        ("1024Ki", "1Mi", BINARY_SI),
        ("12e6", "12e6", DECIMAL_EXPONENT),
        ("1E", "1E", DECIMAL_SI),
        ("3.001n", "4n", DECIMAL_SI),
        ("0.000000000001Ki", "2n", DECIMAL_SI),  # too small for binary notation
        ("0Mi", "0", BINARY_SI),
        ("+5", "+5", DECIMAL_SI),  # taken for canonical
        ("+12Ki", "+12Ki", BINARY_SI),
        ("+8Ki", "8Ki", BINARY_SI),  # a multiple of 8 is not
        ("+123456789012Ki", "123456789012Ki", BINARY_SI),  # a value close to the limits of an int64 is not
        ("1000E", "1", DECIMAL_SI),  # no suffix is large enough
    ],
)
def test_notation(text: str, canonical: str, notation: str) -> None:
    assert (str(parse_quantity(text)), parse_quantity(text).format) == (canonical, notation)


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", FORMAT_WRONG), ("1 Mi", FORMAT_WRONG), ("1.2.3", FORMAT_WRONG), ("1x", FORMAT_WRONG), ("１", FORMAT_WRONG),
     ("1mi", SUFFIX_WRONG), ("1e", SUFFIX_WRONG), ("1e99999999999999999999", SUFFIX_WRONG), ("Pi", NUMERIC_WRONG)],
)  # fmt: skip
def test_invalid_quantities(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match="quantit") as error:
        parse_quantity(text)
    assert str(error.value) == problem


def test_zero_adopts_the_notation_of_the_addend() -> None:
    assert str(quantity("0") + quantity("1Gi")) == "1Gi"
    assert str(quantity("1Gi") + quantity("0")) == "1Gi"
    assert str(quantity("1M") + quantity("1Mi")) == "2048576"
    assert str(quantity("0.5Ki") + quantity("0.5Ki")) == "1Ki"
    assert str(quantity("1Mi") + quantity("1500m")) == "1048577500m"


def test_binary_amounts_are_capped_and_decimal_ones_overflow() -> None:
    assert str(parse_quantity("9Ei")) == str(2**63 - 1)
    assert str(parse_quantity("-9Ei")) == str(-(2**63) + 1)
    assert parse_quantity("9223372036854775808").value() == -(2**63)
    assert parse_quantity("1e400").value() == 0
    assert parse_quantity("9999999999e9").value() == 9999999999 * 10**9 - 2**64
    assert parse_quantity("9999999999999999e4").value() == 0
    assert parse_quantity("5E") + parse_quantity("5E") == parse_quantity("10E")


def test_the_two_forms_round_negative_amounts_differently() -> None:
    assert parse_quantity("-1.5").value() == -2
    assert parse_quantity("-1.5Ki").value() == -1536
    assert parse_quantity("-0.00000000005").value() == 1


def test_large_exponents_are_cheap() -> None:
    huge, tiny = parse_quantity("1e2000000000"), parse_quantity("1e-2000000000")
    assert tiny < huge
    assert str(tiny) == "1e-9"
    assert -huge < tiny


def test_numbers_of_json_and_yaml() -> None:
    assert [str(quantity(value)) for value in (2, 0.5, 1000.0, 0.00001, " 1Gi ")] == ["2", "500m", "1k", "10u", "1Gi"]


def test_the_wide_form_has_a_zero_and_a_largest_binary_amount() -> None:
    zero = parse_quantity("0e-20")
    assert (zero.wide, str(zero), zero.value()) == (True, "0", 0)
    largest = parse_quantity("10Ei")
    assert largest.value() == 2**63 - 1
    assert largest.milli_value() == -1000  # it overflows, as upstream's does


def test_repr_is_readable() -> None:
    assert repr(quantity("1Gi")) == "Quantity('1Gi')"
