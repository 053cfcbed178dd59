"""JSON reader and writer that behave like Go's: numbers keep their spelling, errors have Go's messages.

A number is read as a `Number`, its original text: `1e6` and `1000000` are different quantities.

Mirrors: encoding/json scanner.go, encode.go
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring
from types import NoneType
from typing import Any, NoReturn

from kubesim.golang.text import quoted

Json = Any


class Number(str):
    """A JSON number in its original spelling."""

    __slots__ = ()


class InOrder(dict[str, "Json"]):
    """An object that represents a Go struct: its keys are written in their order, not sorted."""

    __slots__ = ()


class JsonSyntaxError(ValueError):
    """Invalid JSON; the message is Go's."""


_HTML_CHARACTERS = "<>&\u2028\u2029"
_HTML = re.compile(f"[{_HTML_CHARACTERS}]")
_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)
_NOT_PLAIN = re.compile(r"[^ -~]")
_SPACE = re.compile(r"[ \t\r\n]*")
_STRING_REST = re.compile(r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_KINDS = {
    bool: "bool",
    Number: "number",
    int: "number",
    float: "number",
    str: "string",
    list: "array",
    NoneType: "null",
}
_UNFINISHED_ESCAPE = re.compile(r"u[0-9a-fA-F]*")
_UNFINISHED_NUMBER = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:(?P<point>\.)(?![0-9])|(?:\.[0-9]+)?(?P<exponent>[eE](?:[+-]|(?![+-])))(?![0-9]))"
    r"|(?P<sign>-)(?![0-9])"
)
_UNFINISHED = {"point": "after decimal point in", "exponent": "in exponent of", "sign": "in"}
_QUOTES = {"'": "'\\''", '"': "'\"'"}
_SURROGATES = re.compile(
    r"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<half>\\u[dD][89a-fA-F]..)"
)  # a backslash, a surrogate pair, a lone surrogate
_LITERALS = {"t": "true", "f": "false", "n": "null"}


def kind_of(value: object) -> str:
    """The name of a JSON value's type in Go's errors."""
    return _KINDS.get(type(value), "object")


def loads(text: str) -> Json:
    """Parse one JSON value."""
    try:
        return json.loads(
            text, parse_int=Number, parse_float=Number, parse_constant=_reject, object_pairs_hook=_merge_duplicates
        )
    except (ValueError, RecursionError):
        explain(text)


def whole_characters(text: str) -> str:
    """JSON text with every unpaired surrogate escape replaced by U+FFFD, as Go reads it."""
    return _SURROGATES.sub(_whole, text) if "\\u" in text else text


def _whole(found: re.Match[str]) -> str:
    return "\\ufffd" if found["half"] else found[0]


def explain(text: str) -> NoReturn:
    """Raise Go's error for invalid JSON text."""
    try:
        _Scanner(text).explain()
    except RecursionError:
        raise JsonSyntaxError("exceeded max depth") from None


def _reject(name: str) -> NoReturn:
    raise ValueError(name)


def _merge_duplicates(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Decode duplicate keys into the same value, like Go: objects are merged, for other values the last one wins."""
    out: dict[str, Json] = {}
    for key, value in pairs:
        old = out.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            value = _merge_duplicates([*old.items(), *value.items()])
        out[key] = value
    return out


def dumps(value: Json) -> str:
    """Compact text, keys sorted (but see `InOrder`), with HTML's special characters escaped."""
    if isinstance(value, str):
        return str(value) if isinstance(value, Number) else quote(value)
    if isinstance(value, dict):
        keys = value if isinstance(value, InOrder) else sorted(value)
        return "{" + ",".join([f"{_key(key)}:{dumps(value[key])}" for key in keys]) + "}"
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return format_float(value)
    return "[" + ",".join([dumps(item) for item in value]) + "]"


def dumps_in_order(value: Json, *, indent: int | None = None) -> str:
    """Like `dumps`, but keys keep their order: for structs, which have no floats and no `Number`s."""
    text = (_COMPACT if indent is None else json.JSONEncoder(indent=indent, ensure_ascii=False)).encode(value)
    for char in _HTML_CHARACTERS:
        if char in text:
            text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def printable_json(value: Json, indent: int | None = None) -> str:
    """JSON text in Python's spacing, with the characters escaped that a terminal could interpret."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return text if text.isprintable() else _NOT_PLAIN.sub(_escaped_unless_printable, text)


def _escaped_unless_printable(found: re.Match[str]) -> str:
    char = found.group()
    return char if char == "\n" or char.isprintable() else json.dumps(char)[1:-1]


@lru_cache(maxsize=4096)
def _key(text: str) -> str:
    return quote(text)


def quote(text: str) -> str:
    """A JSON string literal; `<`, `>`, `&` and the two line separators are escaped, too."""
    out = encode_basestring(text)
    return _HTML.sub(_escape, out) if _HTML.search(out) else out


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def format_float(value: float) -> str:
    """Format a float like JavaScript: with an exponent only if it is very small or very large."""
    if value != value or value in (float("inf"), float("-inf")):
        name = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        raise ValueError(f"json: unsupported value: {name}")
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    mantissa, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
    digits = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{digits}e{exponent[0]}{exponent[1:]}"


class _Scanner:
    """Finds the first character that Go's scanner would reject. Only for text that is known to be invalid."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def explain(self) -> NoReturn:
        self.value()
        self.space()
        self.fail("after top-level value")

    def fail(self, context: str) -> NoReturn:
        if self.at >= len(self.text):
            raise JsonSyntaxError("unexpected end of JSON input")
        raise JsonSyntaxError(f"invalid character {_quote_char(self.text[self.at])} {context}")

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def space(self) -> None:
        found = _SPACE.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def value(self) -> None:
        self.space()
        char = self.peek()
        if char == "{":
            self.items(self.member, "}", "object key:value pair")
        elif char == "[":
            self.items(self.value, "]", "array element")
        elif char == '"':
            self.string()
        elif char in _LITERALS:
            self.literal(_LITERALS[char])
        elif char and char in "-0123456789":
            self.number()
        else:
            self.fail("looking for beginning of value")

    def items(self, item: Callable[[], None], end: str, what: str) -> None:
        """Scan the items of an object or array, from the opening bracket to the closing one."""
        self.at += 1
        self.space()
        if self.peek() != end:
            item()
            self.space()
            while self.peek() == ",":
                self.at += 1
                item()
                self.space()
        if self.peek() != end:
            self.fail(f"after {what}")
        self.at += 1

    def member(self) -> None:
        self.space()
        if self.peek() != '"':
            self.fail("looking for beginning of object key string")
        self.string()
        self.space()
        if self.peek() != ":":
            self.fail("after object key")
        self.at += 1
        self.value()

    def string(self) -> None:
        found = _STRING_REST.match(self.text, self.at + 1)
        self.at = found.end() if found else self.at + 1
        char = self.peek()
        if char == '"':
            self.at += 1
        elif char == "\\":
            begun = _UNFINISHED_ESCAPE.match(self.text, self.at + 1)
            self.at = begun.end() if begun else self.at + 1
            self.fail("in \\u hexadecimal character escape" if begun else "in string escape code")
        else:
            self.fail("in string literal")

    def literal(self, word: str) -> None:
        for expected in word:
            if self.peek() != expected:
                self.fail(f"in literal {word} (expecting {_quote_char(expected)})")
            self.at += 1

    def number(self) -> None:
        begun = _UNFINISHED_NUMBER.match(self.text, self.at)
        found = begun or _NUMBER.match(self.text, self.at)
        self.at = found.end() if found else self.at
        if begun and begun.lastgroup:
            self.fail(f"{_UNFINISHED[begun.lastgroup]} numeric literal")


def _quote_char(char: str) -> str:
    """`'x'`; an invalid byte (as `surrogateescape` decodes it) as a hexadecimal escape."""
    if char in _QUOTES:
        return _QUOTES[char]
    if "\udc80" <= char <= "\udcff":
        return f"'\\x{ord(char) - 0xDC00:02x}'"
    return f"'{quoted(char)[1:-1]}'"
