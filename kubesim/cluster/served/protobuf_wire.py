"""Fields of a protobuf message as bytes."""

from __future__ import annotations


def part(field: int, content: bytes) -> bytes:
    """A message, a text, or bytes."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def number_field(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value & ((1 << 64) - 1))


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
