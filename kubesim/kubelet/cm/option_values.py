"""Parsers for policy options, compatible with Go's strconv."""

from __future__ import annotations

import re

from kubesim.golang.text import quoted

_TRUE, _FALSE = ("1", "t", "T", "true", "TRUE", "True"), ("0", "f", "F", "false", "FALSE", "False")
_MOST = (1 << 63) - 1


def parse_bool(text: str) -> bool:
    """Raises ValueError with strconv.ParseBool's message."""
    if text not in _TRUE and text not in _FALSE:
        raise ValueError(f"strconv.ParseBool: parsing {quoted(text)}: invalid syntax")
    return text in _TRUE


def atoi(text: str) -> int:
    """Raises ValueError with strconv.Atoi's message."""
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError(f"strconv.Atoi: parsing {quoted(text)}: invalid syntax")
    number = int(text)
    if not -_MOST - 1 <= number <= _MOST:
        raise ValueError(f"strconv.Atoi: parsing {quoted(text)}: value out of range")
    return number
