"""HPACK: header fields as HTTP/2 writes them. Reading knows all of it; what we write ourselves is never compressed.

Mirrors: RFC 7541
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kubesim.errors import KubesimError

TABLE_SIZE: Final = 4096  # of the dynamic table, unless somebody asks for less
_ENTRY_OVERHEAD = 32

Field = tuple[str, str]


class CompressionError(KubesimError):
    """A block of header fields that cannot be read. The connection is of no use after that."""


_STATIC: Final[tuple[Field, ...]] = tuple(
    (name, value)
    for name, _, value in (
        entry.partition("=")
        for entry in """
:authority|:method=GET|:method=POST|:path=/|:path=/index.html|:scheme=http|:scheme=https|:status=200|:status=204
:status=206|:status=304|:status=400|:status=404|:status=500|accept-charset|accept-encoding=gzip, deflate
accept-language|accept-ranges|accept|access-control-allow-origin|age|allow|authorization|cache-control
content-disposition|content-encoding|content-language|content-length|content-location|content-range|content-type|cookie
date|etag|expect|expires|from|host|if-match|if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified
link|location|max-forwards|proxy-authenticate|proxy-authorization|range|referer|refresh|retry-after|server|set-cookie
strict-transport-security|transfer-encoding|user-agent|vary|via|www-authenticate
""".strip()
        .replace("\n", "|")
        .split("|")
    )
)

# The Huffman code is canonical: which bytes have how many bits says it all. Longest of all is the end of the string.
_BITS: Final[dict[int, bytes]] = {
    5: b"012aceiost",
    6: b" %-./3456789=A_bdfghlmnpru",
    7: b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz",
    8: b"&*,;XZ",
    10: b'!"()?',
    11: b"'+|",
    12: b"#>",
    13: b"\0$@[]~",
    14: b"^}",
    15: b"<`{",
    19: b"\\\xc3\xd0",
    20: b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2",
    21: b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6",
    22: bytes.fromhex("8184858688929a9ca0a3a4a9aaadb2b5b9babbbdbec4c6e4e8e9"),
    23: bytes.fromhex("0187898a8b8c8d8f93959697989b9d9ea5a6a8aeafb4b6b7bcbfc5e7ef"),
    24: b"\t\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed",
    25: b"\xc7\xcf\xea\xeb",
    26: b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff",
    27: b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe",
    28: bytes.fromhex("020304050607080b0c0e0f1011121314151718191a1b1c1d1e1f7fdcf9"),
    30: b"\n\r\x16",
}  # fmt: skip


def _codes() -> dict[tuple[int, int], int]:
    """(bits, code) -> byte."""
    codes, code, before = {}, 0, 0
    for bits, symbols in _BITS.items():
        code <<= bits - before
        before = bits
        for symbol in symbols:
            codes[bits, code] = symbol
            code += 1
    return codes


_CODES: Final = _codes()
_LONGEST = max(_BITS)
_LONGEST_PADDING = 7


def huffman_decoded(data: bytes) -> bytes:
    decoded, bits, code = bytearray(), 0, 0
    for byte in data:
        for shift in range(7, -1, -1):
            bits, code = bits + 1, code << 1 | byte >> shift & 1
            symbol = _CODES.get((bits, code))
            if symbol is not None:
                decoded.append(symbol)
                bits = code = 0
            elif bits >= _LONGEST:
                raise CompressionError("a Huffman code that stands for nothing")
    if bits > _LONGEST_PADDING or code != (1 << bits) - 1:
        raise CompressionError("a string is not padded with the end of its Huffman code")
    return bytes(decoded)


class Decoder:
    """Of one direction of a connection: the dynamic table goes on from block to block."""

    def __init__(self) -> None:
        self._table: list[Field] = []  # latest first
        self._limit = TABLE_SIZE

    def decode(self, block: bytes) -> list[Field]:
        fields: list[Field] = []
        reader = _Reader(block)
        while reader.rest:
            first = reader.peek()
            if first & 0x80:
                fields.append(self._entry(reader.integer(7)))
            elif first & 0xE0 == 0x20:
                self._resize(reader.integer(5))
            elif first & 0x40:
                fields.append(self._literal(reader, reader.integer(6)))
                self._table.insert(0, fields[-1])
                self._evict()
            else:  # not to be kept, or never
                fields.append(self._literal(reader, reader.integer(4)))
        return fields

    def _literal(self, reader: _Reader, index: int) -> Field:
        name = self._entry(index)[0] if index else reader.string()
        return name, reader.string()

    def _entry(self, index: int) -> Field:
        if 1 <= index <= len(_STATIC):
            return _STATIC[index - 1]
        at = index - len(_STATIC) - 1
        if not 0 <= at < len(self._table):
            raise CompressionError(f"there is no header field with the number {index}")
        return self._table[at]

    def _resize(self, limit: int) -> None:
        if limit > TABLE_SIZE:
            raise CompressionError(f"a table of {limit} bytes is larger than agreed")
        self._limit = limit
        self._evict()

    def _evict(self) -> None:
        size = sum(len(name) + len(value) + _ENTRY_OVERHEAD for name, value in self._table)
        while size > self._limit:
            name, value = self._table.pop()
            size -= len(name) + len(value) + _ENTRY_OVERHEAD


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def rest(self) -> int:
        return len(self._data) - self._at

    def peek(self) -> int:
        return self._take(1, keep=True)[0]

    def _take(self, count: int, *, keep: bool = False) -> bytes:
        if count > self.rest:
            raise CompressionError("a block of header fields ends too soon")
        taken = self._data[self._at : self._at + count]
        self._at += 0 if keep else count
        return taken

    def integer(self, bits: int) -> int:
        """With a prefix of so many bits."""
        most = (1 << bits) - 1
        value = self._take(1)[0] & most
        if value < most:
            return value
        for shift in range(0, 28, 7):  # more would be no length of ours
            byte = self._take(1)[0]
            value += (byte & 0x7F) << shift
            if not byte & 0x80:
                return value
        raise CompressionError("a number is too large")

    def string(self) -> str:
        is_huffman = self.peek() & 0x80
        data = self._take(self.integer(7))
        return (huffman_decoded(data) if is_huffman else data).decode("latin-1")


def encode(fields: Iterable[Field]) -> bytes:
    """Every field as it is, without a place in any table."""
    return b"".join(b"\0" + _string(name) + _string(value) for name, value in fields)


def _string(text: str) -> bytes:
    data = text.encode("latin-1", "replace")
    return _integer(len(data), 7) + data


def _integer(value: int, bits: int) -> bytes:
    most = (1 << bits) - 1
    if value < most:
        return bytes([value])
    written, value = bytearray([most]), value - most
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
