"""What is wrong with text that is not JSON, in Go's words.

Mirrors: encoding/json scanner.go
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn

from kubesim.golang.json import JsonSyntaxError
from kubesim.golang.text import quoted

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING_REST = re.compile(r'(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_UNFINISHED_ESCAPE = re.compile(r"u[0-9a-fA-F]*")
_UNFINISHED_NUMBER = re.compile(
    r"-?(?:0|[1-9][0-9]*)(?:(?P<point>\.)(?![0-9])|(?:\.[0-9]+)?(?P<exponent>[eE](?:[+-]|(?![+-])))(?![0-9]))"
    r"|(?P<sign>-)(?![0-9])"
)
_UNFINISHED = {"point": "after decimal point in", "exponent": "in exponent of", "sign": "in"}
_QUOTES = {"'": "'\\''", '"': "'\"'"}
_LITERALS = {"t": "true", "f": "false", "n": "null"}


class Scanner:
    """Finds the first character that Go's scanner would refuse. Runs only on text that is known to be wrong."""

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
        """What stands between brackets, from the opening one to the closing one."""
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
    """`'x'`; a byte that is no character (as `surrogateescape` decodes it) by its number."""
    if char in _QUOTES:
        return _QUOTES[char]
    if "\udc80" <= char <= "\udcff":
        return f"'\\x{ord(char) - 0xDC00:02x}'"
    return f"'{quoted(char)[1:-1]}'"
