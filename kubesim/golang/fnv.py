"""FNV-1a, the hash that Kubernetes uses where a short fingerprint will do.

Mirrors: hash/fnv
"""

from __future__ import annotations

_FNV = {32: (0x811C9DC5, 0x01000193), 64: (0xCBF29CE484222325, 0x100000001B3)}


def fnv1a(data: bytes, bits: int) -> int:
    """FNV-1a of 32 or 64 bits."""
    value, prime = _FNV[bits]
    mask = (1 << bits) - 1
    for byte in data:
        value = ((value ^ byte) * prime) & mask
    return value
