"""Encoding of a health check: its protobuf messages, gRPC framing, and status codes.

Mirrors: grpc/health/v1/health.proto; google.golang.org/grpc codes, rpc_util.go (recvMsg)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from kubesim.errors import KubesimError

CHECK: Final = "/grpc.health.v1.Health/Check"
STATUSES: Final = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
CODES: Final = (
    "OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound", "AlreadyExists", "PermissionDenied",
    "ResourceExhausted", "FailedPrecondition", "Aborted", "OutOfRange", "Unimplemented", "Internal", "Unavailable",
    "DataLoss", "Unauthenticated",
)  # fmt: skip
_PLAIN = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")
_FRAME = struct.Struct(">BI")  # compressed flag, length
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: 8, _FIXED32: 4}


class MessageError(KubesimError):
    """An invalid message."""


def framed(message: bytes) -> bytes:
    return _FRAME.pack(0, len(message)) + message


def unframed(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(compressed flag, message) of each frame."""
    while data:
        if len(data) < _FRAME.size:
            raise MessageError("unexpected EOF")
        compressed, size = _FRAME.unpack_from(data)
        message, data = data[_FRAME.size : _FRAME.size + size], data[_FRAME.size + size :]
        if len(message) < size:
            raise MessageError("unexpected EOF")
        yield compressed, message


def request(service: str) -> bytes:
    name = service.encode("utf-8", "replace")
    return b"\x0a" + _varint(len(name)) + name if name else b""


def service_of(message: bytes) -> str:
    values = [value for number, value in _fields(message) if number == 1 and isinstance(value, bytes)]
    return values[-1].decode("utf-8", "replace") if values else ""


def response(status: str) -> bytes:
    number = STATUSES.index(status)
    return bytes([8, number]) if number else b""


def status_of(message: bytes) -> str:
    """The status's name; an unknown status has its number as name."""
    values = [value for number, value in _fields(message) if number == 1 and isinstance(value, int)]
    status = values[-1] & 0xFFFF_FFFF if values else 0
    return STATUSES[status] if status < len(STATUSES) else str(status - (status >> 31 << 32))


def code_name(number: int) -> str:
    return CODES[number] if 0 <= number < len(CODES) else f"Code({number & 0xFFFF_FFFF})"


def percent_encoded(text: str) -> str:
    """A status message as a header value."""
    return quote(text, safe=_PLAIN, errors="replace")


def percent_decoded(text: str) -> str:
    """Decode a header value; an invalid percent sequence stays unchanged."""
    return unquote_to_bytes(text.encode("latin-1")).decode("utf-8", "replace")


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(message):
        tag, at = _read_varint(message, at)
        kind = tag & 7
        if kind == _VARINT:
            number, at = _read_varint(message, at)
            yield tag >> 3, number
            continue
        if kind == _BYTES:
            size, at = _read_varint(message, at)
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise MessageError("proto: cannot parse invalid wire-format data")
        if at + size > len(message):
            raise MessageError("proto: cannot parse invalid wire-format data")
        yield tag >> 3, message[at : at + size]
        at += size


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift, byte in zip(range(0, 70, 7), message[at : at + 10], strict=False):
        value |= (byte & 0x7F) << shift
        at += 1
        if not byte & 0x80:
            return value, at
    raise MessageError("proto: cannot parse invalid wire-format data")


def _varint(value: int) -> bytes:
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])
