"""Go's formatting of values in messages: quoted strings, slices, errors, durations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\a": "\\a", "\b": "\\b", "\f": "\\f",
            "\v": "\\v"}  # fmt: skip


def quoted(text: str) -> str:
    """`%q`: a string in double quotes, with unprintable characters escaped."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    out = []
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif char.isprintable():
            out.append(char)
        elif ord(char) < 0x80:
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")
    return '"' + "".join(out) + '"'


def printable(text: str) -> str:
    """Text with every control character escaped, and any other character that a terminal could interpret."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c == '"' else quoted(c)[1:-1] for c in text)


def quoted_bytes(data: bytes) -> str:
    """`%q` of bytes: bytes that are not valid UTF-8 are shown as hexadecimal escapes."""
    text = data.decode("utf-8", "surrogateescape")
    pieces = re.split("([\udc80-\udcff])", text)
    return '"' + "".join(_raw_byte(piece) if n % 2 else quoted(piece)[1:-1] for n, piece in enumerate(pieces)) + '"'


def _raw_byte(escaped: str) -> str:
    return f"\\x{ord(escaped) - 0xDC00:02x}"


def listed(values: Iterable[object]) -> str:
    """`%v` of a slice: `[a b c]`."""
    return f"[{' '.join(map(str, values))}]"


def aggregate(errors: Sequence[object]) -> str:
    """Several errors as one text without duplicates, in brackets if there is more than one."""
    texts = list(dict.fromkeys(str(error) for error in errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def duration(micros: int) -> str:
    """`time.Duration.String()`: 1m30s, 1.5s, 250ms, 0s."""
    if micros == 0:
        return "0s"
    sign = "-" if micros < 0 else ""
    micros = abs(micros)
    if micros < 1_000:
        return f"{sign}{micros}µs"
    if micros < 1_000_000:
        return f"{sign}{_decimal(micros, 1_000)}ms"
    minutes, rest = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    before = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{sign}{before}{_decimal(rest, 1_000_000)}s"


def _decimal(value: int, unit: int) -> str:
    whole, fraction = divmod(value, unit)
    if not fraction:
        return str(whole)
    return f"{whole}.{str(fraction).rjust(len(str(unit)) - 1, '0').rstrip('0')}"
