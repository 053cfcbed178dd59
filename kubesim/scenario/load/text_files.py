"""Reads a file of the user, or reports in one line why it cannot be read."""

from __future__ import annotations

import difflib
import os
import sys

from kubesim.errors import InputError

MAX_BYTES = 8 << 20
STANDARD_INPUT = "-"


def read_text(path: str, source: str, most: int = MAX_BYTES) -> str:
    """The text of a file. `source` is its name in errors; the path "-" is standard input; `most` is the maximum size in
    bytes."""
    return decoded(read_bytes(path, source, most), source)


def read_bytes(path: str, source: str, most: int) -> bytes:
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(most + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(most + 1)
    except FileNotFoundError:
        raise InputError(source, f"no such file{similar(path)}") from None
    except IsADirectoryError:
        raise InputError(source, "is a directory; give a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(source, f"cannot be read: {reason or error}") from None
    if len(data) > most:
        raise InputError(source, f"is larger than {most >> 20} MB, the limit for a file")
    return data


def similar(path: str) -> str:
    """A suggestion for a file that does not exist."""
    directory, name = os.path.split(path)
    try:
        near = difflib.get_close_matches(name, os.listdir(directory or "."), n=1, cutoff=0.8)
    except (OSError, ValueError):
        return ""
    return f"; did you mean {os.path.join(directory, near[0])}?" if near else ""


def decoded(data: bytes, source: str) -> str:
    if b"\0" in data:
        raise InputError(source, "is not a text file (it has zero bytes)", line=_line(data, data.index(b"\0")))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text (byte 0x{data[error.start]:02x})"
        raise InputError(source, problem, line=_line(data, error.start)) from None


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
