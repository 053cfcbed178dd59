"""Quantity: an exact amount of a resource, such as `500m`, `1.5Gi` or `12e6`.

Every number in `resources`, `overhead` and `allocatable` is a quantity. A quantity remembers its notation, and its
original text if that is nearly canonical; results of arithmetic have the canonical text. Upstream has two
representations, which round negative amounts and overflow differently: a 64-bit integer with a decimal exponent, or a
big decimal for amounts that do not fit. `wide` marks the second.

Mirrors: apimachinery/pkg/api/resource/quantity.go, amount.go, math.go, scale_int.go, suffix.go
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from kubesim.golang.json import format_float

DECIMAL_EXPONENT: Final = "DecimalExponent"
BINARY_SI: Final = "BinarySI"
DECIMAL_SI: Final = "DecimalSI"

NANO: Final = -9
MILLI: Final = -3

_SPLIT = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
FORMAT_WRONG: Final = f"quantities must match the regular expression '{_SPLIT}'"
NUMERIC_WRONG: Final = "unable to parse numeric part of quantity"
SUFFIX_WRONG: Final = "unable to parse quantity's suffix"

# The syntax of upstream's scanner. Unlike the expression in upstream's error text, it allows missing digits.
_SCANNER = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIX = {exponent // 10: suffix for suffix, exponent in _BINARY.items()}

_INT64_MAX = 2**63 - 1
_INT64_MIN = -(2**63)
_INT64_DIGITS = 18


class Quantity:
    """`unscaled * 10**scale` in some notation; `kept` is the original text, if upstream keeps it. Immutable, because a
    cache shares the instances.
    """

    __slots__ = ("_text", "format", "kept", "scale", "unscaled", "wide")

    def __init__(
        self, unscaled: int = 0, scale: int = 0, notation: str = "", *, wide: bool = False, text: str = ""
    ) -> None:
        self.unscaled = unscaled
        self.scale = scale
        self.format = notation
        self.wide = wide
        self.kept = text
        self._text = text

    @property
    def is_zero(self) -> bool:
        return self.unscaled == 0

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def value(self) -> int:
        """The amount as an int64, rounded up."""
        return self.unscaled if self.scale == 0 and not self.wide else self.scaled_value(0)

    def milli_value(self) -> int:
        return self.scaled_value(MILLI)

    def scaled_value(self, scale: int) -> int:
        """The amount in units of `10**scale`, rounded up, as an int64 that may overflow in the same way as
        upstream's."""
        shift = self.scale - scale
        if self.wide:
            return _wide_scaled_value(self.unscaled, shift)
        if shift < 0:
            return _divide_away_from_zero(self.unscaled, -shift)
        return _shift_up_int64(self.unscaled, shift)

    def cmp(self, other: Quantity) -> int:
        """-1, 0 or 1: compares exactly, however far apart the amounts are."""
        if self.scale >= other.scale:
            return _compare(self.unscaled, self.scale - other.scale, other.unscaled)
        return -_compare(other.unscaled, other.scale - self.scale, self.unscaled)

    def __add__(self, other: Quantity) -> Quantity:
        """The sum. A zero adopts the notation of the other quantity."""
        return self._plus(other.unscaled, other)

    def __sub__(self, other: Quantity) -> Quantity:
        return self._plus(-other.unscaled, other)

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.scale, self.format, wide=self.wide)

    def _plus(self, unscaled: int, other: Quantity) -> Quantity:
        notation = other.format if self.unscaled == 0 else self.format
        wide = self.wide or other.wide
        if unscaled == 0:
            return Quantity(self.unscaled, self.scale, notation, wide=wide)
        if self.unscaled == 0:
            return Quantity(unscaled, other.scale, notation, wide=wide)
        scale, left, right = self.scale, self.unscaled, unscaled
        if scale > other.scale:
            scale, left = other.scale, left * _power(scale - other.scale)
        elif scale < other.scale:
            right *= _power(other.scale - scale)
        return Quantity(
            left + right, scale, notation, wide=wide or not (_fits(left) and _fits(right) and _fits(left + right))
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.cmp(other) == 0

    def __lt__(self, other: Quantity) -> bool:
        return self.cmp(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.cmp(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.cmp(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.cmp(other) >= 0

    def __hash__(self) -> int:
        amount, times = _without_factors(self.unscaled, 10)
        return hash((amount, self.scale + times if amount else 0))

    def __str__(self) -> str:
        if not self._text:
            self._text = _canonical(self)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"


ZERO: Final = Quantity()


@lru_cache(maxsize=65536, typed=True)
def quantity(value: str | int | float) -> Quantity:
    """Convert a JSON or YAML value to a quantity."""
    if isinstance(value, str):
        return parse_quantity(value.strip())
    # In Go's number format, which avoids an exponent where possible, because an exponent would change the notation.
    return parse_quantity(format_float(value) if isinstance(value, float) else str(value))


@lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Quantity:
    """Parse a quantity; raises a ValueError with upstream's message."""
    found = _SCANNER.fullmatch(text)
    if not text or not found:
        raise ValueError(FORMAT_WRONG)
    if text == "0":
        return Quantity(0, 0, DECIMAL_SI, text=text)
    negative, digits, fraction, suffix = found[1] == "-", found[2] or "0", found[3] or "", found[4]
    exponent, notation = _interpret(suffix)
    if notation == BINARY_SI:
        narrow = not fraction and 14 - len(digits) - exponent * 3 // 10 >= 0
        factor, scale = 1 << exponent, -len(fraction)
    else:
        narrow = len(digits) + len(fraction) <= _INT64_DIGITS
        factor, scale = 1, exponent - len(fraction)
    if narrow and scale >= NANO:
        amount = int(digits + fraction)
        kept = text if _good_as_it_is(digits + fraction, amount, scale, notation) else ""
        return Quantity((-amount if negative else amount) * factor, scale, notation, text=kept)
    if not any("0" <= char <= "9" for char in text.removesuffix(suffix)):
        raise ValueError(NUMERIC_WRONG)
    return _wide_quantity(negative, int(digits + fraction) * factor, scale, notation)


def _interpret(suffix: str) -> tuple[int, str]:
    """The exponent of a suffix (of 2 for BinarySI, else of 10) and its notation."""
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], DECIMAL_SI
    if suffix in _BINARY:
        return _BINARY[suffix], BINARY_SI
    found = _EXPONENT.fullmatch(suffix)
    if not found or not _fits(int(found[1])):
        raise ValueError(SUFFIX_WRONG)
    return _wrap(int(found[1]), 32), DECIMAL_EXPONENT


def _good_as_it_is(digits: str, amount: int, scale: int, notation: str) -> bool:
    """Whether upstream keeps the text. Upstream only guesses whether it is canonical: `1.500`, `+5` and `05` are also
    kept.
    """
    if notation == BINARY_SI:
        return amount & 0x07 != 0
    return scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _wide_quantity(negative: bool, amount: int, scale: int, notation: str) -> Quantity:
    """A big or very precise amount: rounded up to nanos; a binary one is capped at the largest int64."""
    if amount:
        amount = _divide_away_from_zero(amount, NANO - scale) if scale < NANO else amount * _power(scale - NANO)
        scale = NANO
    if notation == BINARY_SI:
        if _compare(_INT64_MAX, -scale, amount) < 0:
            amount, scale = _INT64_MAX, 0
        elif amount and _compare(1, -scale, amount) > 0:
            notation = DECIMAL_SI
    return Quantity(-amount if negative else amount, scale, notation, wide=True)


def _canonical(amount: Quantity) -> str:
    """The canonical text: no fraction, no loss of precision, and the largest possible exponent."""
    if amount.is_zero:
        return "0"
    notation = amount.format or DECIMAL_EXPONENT
    if notation == BINARY_SI:
        whole = _whole(amount)
        if whole is not None and not -1024 < whole < 1024:
            mantissa, times = _without_factors(whole, 1024)
            return f"{mantissa}{_BINARY_SUFFIX.get(times, '')}"
        notation = DECIMAL_SI
    mantissa, times = _without_factors(amount.unscaled, 10)
    exponent = amount.scale + times
    mantissa *= _power(exponent % 3)
    exponent -= exponent % 3
    if notation == DECIMAL_SI:
        # Beyond the largest suffix, upstream drops the exponent: `1000E` becomes `1`.
        return f"{mantissa}{_DECIMAL_SUFFIX.get(exponent, '')}"
    return f"{mantissa}e{exponent}" if exponent else str(mantissa)


def _whole(amount: Quantity) -> int | None:
    """The exact amount, or None if it has a fraction."""
    whole, rest = divmod(amount.unscaled * _power(max(0, amount.scale)), _power(max(0, -amount.scale)))
    return None if rest else whole


def _without_factors(amount: int, factor: int) -> tuple[int, int]:
    times = 0
    while amount and amount % factor == 0:
        amount //= factor
        times += 1
    return amount, times


def _compare(left: int, shift: int, right: int) -> int:
    """-1, 0 or 1 for `left * 10**shift` compared with `right`; computes the power only if it can matter."""
    if left and shift:
        if left.bit_length() - 1 + 3 * shift >= right.bit_length():
            return 1 if left > 0 else -1
        left *= _power(shift)
    return (left > right) - (left < right)


def _divide_away_from_zero(amount: int, digits: int) -> int:
    """`amount / 10**digits`, rounded away from zero."""
    if digits > amount.bit_length():
        return (amount > 0) - (amount < 0)
    quotient = -(-abs(amount) // _power(digits))
    return -quotient if amount < 0 else quotient


def _shift_up_int64(amount: int, digits: int) -> int:
    """`amount * 10**digits`. Beyond int64 it wraps for the powers that upstream multiplies in one step; others result
    in 0."""
    if digits == 0 or amount == 0:
        return amount
    if digits <= 19 and _fits(result := amount * _power(digits)):
        return result
    return _wrap(amount * _power(digits)) if digits in (1, 2, 3, 6, 9) and amount != _INT64_MIN else 0


def _wide_scaled_value(amount: int, shift: int) -> int:
    """`amount * 10**shift` as an int64. A negative amount with a remainder rounds one higher than in the narrow
    representation.
    """
    if amount == 0:
        return 0
    if shift >= 0:
        # On amd64, Go converts a float beyond int64 to the smallest int64.
        return _wrap(_wrap(amount) * (_power(shift) if shift < 19 else _INT64_MIN))
    if amount < _INT64_MAX and -shift < 19:
        narrow, divisor = _wrap(amount), _power(-shift)
        quotient, rest = divmod(abs(narrow), divisor)
        return (-quotient if narrow < 0 else quotient) + (1 if rest else 0)
    quotient, rest = divmod(amount, _power(-shift))
    return _wrap(_wrap(quotient) + (1 if rest else 0))


def _power(digits: int) -> int:
    return int(10**digits)


def _fits(amount: int) -> bool:
    return _INT64_MIN <= amount <= _INT64_MAX


def _wrap(amount: int, bits: int = 64) -> int:
    """The low bits of a number as a signed integer."""
    half = 1 << (bits - 1)
    return (amount + half) % (1 << bits) - half
