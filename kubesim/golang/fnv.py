"""FNV-1 and FNV-1a, the short hashes that Kubernetes uses for fingerprints.

Mirrors: hash/fnv
"""

from __future__ import annotations

_FNV = {32: (0x811C9DC5, 0x01000193), 64: (0xCBF29CE484222325, 0x100000001B3)}


def fnv1a(data: bytes, bits: int) -> int:
    """FNV-1a hash of 32 or 64 bits."""
    value, prime = _FNV[bits]
    mask = (1 << bits) - 1
    for byte in data:
        value = ((value ^ byte) * prime) & mask
    return value


def fnv1_32(data: bytes) -> int:
    """FNV-1 hash of 32 bits: it multiplies first, then adds the byte."""
    value, prime = _FNV[32]
    for byte in data:
        value = ((value * prime) & 0xFFFFFFFF) ^ byte
    return value
