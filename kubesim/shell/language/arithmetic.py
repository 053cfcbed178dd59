"""`$((expression))`: integer arithmetic with C's operators and 64 bits.

A name that is unset or not a number is 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from kubesim.shell.limits import NESTING

_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|<<=|>>=|\*\*|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|[-+*/%&|^<>=!~?:(),])"
)
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", "<=", ">", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_STRENGTH = {operator: strength for strength, level in enumerate(_LEVELS) for operator in level}
_LONGEST_NUMBER = 1000  # digits
_DEPTH_LIMIT = NESTING  # nesting of parentheses and of names that contain expressions

Variables = dict[str, str]


class ArithmeticFault(Exception):
    """An invalid expression, with ash's message."""


def evaluate(text: str, variables: Variables) -> int:
    """The value of an expression; assignments in it change variables."""
    tokens = _tokens(text)
    if not tokens:
        return 0
    evaluation = _Evaluation(tokens, variables)
    value = evaluation.expression(0)
    if evaluation.position < len(tokens):
        raise ArithmeticFault("arithmetic syntax error")
    return value


@lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[str, ...]:
    tokens: list[str] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ArithmeticFault("arithmetic syntax error")
        tokens.append(match[1])
        position = match.end()
    return tuple(tokens)


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise ArithmeticFault("divide by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


_BINARY: dict[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "<<": lambda a, b: _wrap(a << (b & 63)),
    ">>": lambda a, b: a >> (b & 63),
    "+": lambda a, b: _wrap(a + b),
    "-": lambda a, b: _wrap(a - b),
    "*": lambda a, b: _wrap(a * b),
    "/": _divide,
    "%": lambda a, b: a - b * _divide(a, b),
}


class _Evaluation:
    """One pass over the tokens. `live` is off in a branch of `?:`, `&&` or `||` that is not evaluated."""

    def __init__(self, tokens: tuple[str, ...], variables: Variables) -> None:
        self._tokens = tokens
        self._variables = variables
        self._live = True
        self._depth = 0
        self.position = 0

    def _peek(self, ahead: int = 0) -> str:
        index = self.position + ahead
        return self._tokens[index] if index < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        if not token:
            raise ArithmeticFault("arithmetic syntax error")
        self.position += 1
        return token

    def expression(self, depth: int) -> int:
        """Parse a whole expression, commas included."""
        if depth > _DEPTH_LIMIT:
            raise ArithmeticFault("expression recursion loop detected")
        previous, self._depth = self._depth, depth
        value = self._assignment()
        while self._peek() == ",":
            self.position += 1
            value = self._assignment()
        self._depth = previous
        return value

    def _assignment(self) -> int:
        name, operator = self._peek(), self._peek(1)
        if operator not in _ASSIGNING or not (name[:1].isalpha() or name.startswith("_")):
            return self._conditional()
        self.position += 2
        value = self._assignment()
        if operator != "=" and self._live:
            value = _BINARY[operator[:-1]](self._value_of(name), value)
        self._assign(name, value)
        return value

    def _assign(self, name: str, value: int) -> None:
        if self._live:
            self._variables[name] = str(value)

    def _conditional(self) -> int:
        condition = self._binary(0)
        if self._peek() != "?":
            return condition
        self.position += 1
        positive = self._guarded(bool(condition), self._assignment)
        if self._next() != ":":
            raise ArithmeticFault("arithmetic syntax error")
        negative = self._guarded(not condition, self._assignment)
        return positive if condition else negative

    def _guarded(self, live: bool, operand: Callable[[], int]) -> int:
        outer, self._live = self._live, self._live and live
        value = operand()
        self._live = outer
        return value

    def _binary(self, weakest: int) -> int:
        """Parse operands joined by operators of at least this precedence."""
        left = self._unary()
        while (strength := _STRENGTH.get(operator := self._peek(), -1)) >= weakest:
            self.position += 1
            if operator == "&&":
                right = self._guarded_operand(left != 0, strength)
                left = int(left != 0 and right != 0)
            elif operator == "||":
                right = self._guarded_operand(left == 0, strength)
                left = int(left != 0 or right != 0)
            else:
                right = self._binary(strength + 1)
                left = _BINARY[operator](left, right) if self._live else 0
        return left

    def _guarded_operand(self, live: bool, strength: int) -> int:
        return self._guarded(live, lambda: self._binary(strength + 1))

    def _unary(self) -> int:
        token = self._next()
        if token == "-":
            return _wrap(-self._unary())
        if token == "+":
            return self._unary()
        if token == "!":
            return int(self._unary() == 0)
        if token == "~":
            return ~self._unary()
        if token in ("++", "--"):
            name = self._next()
            value = self._value_of(name) + (1 if token == "++" else -1)
            self._assign(name, value)
            return value
        return self._power(self._primary(token))

    def _power(self, base: int) -> int:
        if self._peek() != "**":
            return base
        self.position += 1
        exponent = self._unary()
        if exponent < 0:
            raise ArithmeticFault("exponent less than 0")
        return _wrap(pow(base, exponent, 1 << 64))

    def _primary(self, token: str) -> int:
        if token == "(":
            value = self.expression(self._depth + 1)
            if self._next() != ")":
                raise ArithmeticFault("arithmetic syntax error")
            return value
        if token[0].isdigit():
            return _number(token)
        if not (token[0].isalpha() or token[0] == "_"):
            raise ArithmeticFault("arithmetic syntax error")
        value = self._value_of(token)
        if self._peek() in ("++", "--"):
            self._assign(token, value + (1 if self._next() == "++" else -1))
        return value

    def _value_of(self, name: str) -> int:
        text = self._variables.get(name, "").strip()
        if not text:
            return 0
        if text.lstrip("-").isdigit():
            return _decimal(text)
        return 0


def _number(token: str) -> int:
    if token[:2] in ("0x", "0X"):
        return _wrap(int(token[-16:].lstrip("xX"), 16))
    if token[0] == "0" and len(token) > 1:
        try:
            return _wrap(int(token[-22:], 8))
        except ValueError:
            raise ArithmeticFault("arithmetic syntax error") from None
    return _decimal(token)


def _decimal(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise ArithmeticFault("Numerical result out of range")
    return _wrap(int(text))
