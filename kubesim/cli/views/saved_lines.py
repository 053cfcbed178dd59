"""Reads the lines of a saved run. The file of a killed run may end anywhere."""

from __future__ import annotations

import json
import zlib

from kubesim.errors import InputError
from kubesim.scenario.load.text_files import decoded, read_bytes

MOST_BYTES = 1 << 30  # limit for a saved run, also after decompression
_GZIP = b"\x1f\x8b"
_HEADER = b'{"type": "run", '


def is_saved_run(path: str) -> bool:
    """Whether the file is from `kubesim run --save`, possibly compressed."""
    try:
        with open(path, "rb") as file:
            begin = file.read(len(_HEADER))
    except (OSError, ValueError):
        return False
    return begin == _HEADER or begin.startswith(_GZIP)


def read_saved_lines(path: str) -> list[str]:
    """The lines, without an incomplete last one. Raises InputError."""
    data = read_bytes(path, path, MOST_BYTES)
    if data.startswith(_GZIP):
        data = _decompressed(data, path)
    whole, newline, rest = data.rpartition(b"\n")
    lines = decoded(whole, path).split("\n") if newline else []
    if rest.strip() and _is_json(rest):
        lines.append(decoded(rest, path))
    return lines


def _decompressed(data: bytes, path: str) -> bytes:
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        out = stream.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise InputError(path, f"damaged gzip: {error}") from None
    if stream.unconsumed_tail:
        raise InputError(path, f"is larger than {MOST_BYTES >> 20} MB, the limit for a file")
    return out


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
