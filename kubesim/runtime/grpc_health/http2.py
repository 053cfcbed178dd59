"""HTTP/2 in clear text with prior knowledge, as far as small calls need it.

`Http2` is one side of a connection. It is given what was received and tells what it means; what has to be said in
return (acknowledgements, room for more) it puts with the rest that waits to be sent.

Mirrors: RFC 9113
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import Final

from kubesim.errors import KubesimError
from kubesim.frozen import frozen
from kubesim.runtime.grpc_health.hpack import CompressionError, Decoder, Field, encode

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MOST_BYTES: Final = 16384  # of a frame, unless more is agreed
ROOM: Final = 65535  # for the data of a stream; what we hear is short, and nobody is given more
_MOST_HEADER_BYTES: Final = 4 * MOST_BYTES


class Kind(IntEnum):
    """Of a frame; others are passed over."""

    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


_OF_STREAM = (Kind.DATA, Kind.HEADERS, Kind.RST_STREAM, Kind.CONTINUATION)
_OF_CONNECTION = (Kind.SETTINGS, Kind.PING, Kind.GOAWAY)
_ACK, _END_STREAM, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_NO_PUSH = struct.pack(">HI", 2, 0)
_HEAD = struct.Struct(">HBBBI")  # a length of three bytes, kind, flags, stream
_NUMBER = struct.Struct(">I")
_STREAM_BITS = 0x7FFF_FFFF

ERROR_CODES: Final = (
    "NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT", "STREAM_CLOSED",
    "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR", "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED",
)  # fmt: skip


class ProtocolError(KubesimError):
    """What was received is not HTTP/2, or not what may come now."""


@frozen
class Settings:
    """The other side said how it wants to be spoken to."""


@frozen
class Headers:
    stream: int
    fields: tuple[Field, ...]
    ended: bool


@frozen
class Data:
    stream: int
    content: bytes
    ended: bool


@frozen
class Reset:
    stream: int
    code: str


@frozen
class GoAway:
    """Streams beyond the last one were not looked at."""

    last_stream: int
    code: str
    debug: bytes


Event = Settings | Headers | Data | Reset | GoAway


@frozen
class _Frame:
    kind: int
    flags: int
    stream: int
    payload: bytes

    @property
    def content(self) -> bytes:
        """Without padding."""
        if not self.flags & _PADDED:
            return self.payload
        padding = self.payload[0] if self.payload else 0
        if padding >= len(self.payload):
            raise ProtocolError("a frame with more padding than it has bytes")
        return self.payload[1 : len(self.payload) - padding]

    def number(self, at: int = 0) -> int:
        if len(self.payload) < at + _NUMBER.size:
            raise ProtocolError(f"a frame of kind {self.kind} that is too short")
        found: int = _NUMBER.unpack_from(self.payload, at)[0]
        return found


class Http2:
    """One side of a connection."""

    def __init__(self, *, is_client: bool) -> None:
        self._sending = bytearray(PREFACE if is_client else b"")
        self._preface = b"" if is_client else PREFACE  # what of it has still to be received
        self._received = bytearray()
        self._decoder = Decoder()
        self._block: tuple[int, bool, bytearray] | None = None  # stream, is it ended, its header fields so far
        self._send(Kind.SETTINGS, 0, _NO_PUSH if is_client else b"")

    # -- sending ------------------------------------------------------------------------------------------------

    def to_send(self) -> bytes:
        """What waits to be sent, once."""
        data = bytes(self._sending)
        self._sending.clear()
        return data

    def send_headers(self, stream: int, fields: Iterable[Field], *, end: bool = False) -> None:
        chunks = _chunks(encode(fields))
        for number, chunk in enumerate(chunks, 1):
            kind = Kind.HEADERS if number == 1 else Kind.CONTINUATION
            flags = _END_HEADERS * (number == len(chunks)) | _END_STREAM * (end and number == 1)
            self._send(kind, stream, chunk, flags)

    def send_data(self, stream: int, content: bytes, *, end: bool = False) -> None:
        """It fits into the room that a stream has at the beginning: nobody waits for more."""
        chunks = _chunks(content)
        for number, chunk in enumerate(chunks, 1):
            self._send(Kind.DATA, stream, chunk, _END_STREAM * (end and number == len(chunks)))

    def _send(self, kind: Kind, stream: int, payload: bytes, flags: int = 0) -> None:
        size = len(payload)
        self._sending += _HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload

    # -- receiving ----------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> Iterator[Event]:
        """Raises a ProtocolError where it is of no use to go on."""
        self._received += data
        if self._preface:
            part = bytes(self._received[: len(self._preface)])
            if not self._preface.startswith(part):
                raise ProtocolError("a client that speaks no HTTP/2")
            self._preface = self._preface[len(part) :]
            del self._received[: len(part)]
        while (frame := self._next_frame()) is not None:
            yield from self._events(frame)

    def _next_frame(self) -> _Frame | None:
        if len(self._received) < _HEAD.size:
            return None
        high, low, kind, flags, stream = _HEAD.unpack_from(self._received)
        end = _HEAD.size + (high << 8 | low)
        if end > _HEAD.size + MOST_BYTES:
            raise ProtocolError("frame too large")
        if len(self._received) < end:
            return None
        payload = bytes(self._received[_HEAD.size : end])
        del self._received[:end]
        return _Frame(kind, flags, stream & _STREAM_BITS, payload)

    def _events(self, frame: _Frame) -> Iterator[Event]:
        self._check(frame)
        is_ack = bool(frame.flags & _ACK)
        match frame.kind:
            case Kind.DATA:
                if frame.payload:
                    self._send(Kind.WINDOW_UPDATE, 0, _NUMBER.pack(len(frame.payload)))
                yield Data(frame.stream, frame.content, bool(frame.flags & _END_STREAM))
            case Kind.HEADERS | Kind.CONTINUATION:
                yield from self._headers(frame)
            case Kind.RST_STREAM:
                yield Reset(frame.stream, _error_code(frame.number()))
            case Kind.SETTINGS if not is_ack:
                self._send(Kind.SETTINGS, 0, b"", _ACK)
                yield Settings()
            case Kind.PING if not is_ack:
                self._send(Kind.PING, 0, frame.payload, _ACK)
            case Kind.GOAWAY:
                yield GoAway(frame.number() & _STREAM_BITS, _error_code(frame.number(4)), frame.payload[8:])

    def _check(self, frame: _Frame) -> None:
        kind, stream = frame.kind, frame.stream
        if (kind == Kind.CONTINUATION) != (self._block is not None):
            raise ProtocolError("header fields that are interrupted, or never began")
        is_misplaced = (kind in _OF_STREAM and not stream) or (kind in _OF_CONNECTION and stream)
        if is_misplaced or (self._block is not None and stream != self._block[0]):
            raise ProtocolError(f"a frame of kind {kind} for stream {stream}")
        if kind == Kind.PUSH_PROMISE:
            raise ProtocolError("a promise that nobody asked for")

    def _headers(self, frame: _Frame) -> Iterator[Headers]:
        if self._block is None:
            begun = bytearray(frame.content[5:] if frame.flags & _PRIORITY else frame.content)
            self._block = (frame.stream, bool(frame.flags & _END_STREAM), begun)
        else:
            self._block[2].extend(frame.payload)
        stream, ended, block = self._block
        if len(block) > _MOST_HEADER_BYTES:
            raise ProtocolError("too many header fields")
        if frame.flags & _END_HEADERS:
            self._block = None
            try:
                fields = self._decoder.decode(bytes(block))
            except CompressionError as error:
                raise ProtocolError(str(error)) from error
            yield Headers(stream, tuple(fields), ended)


def _chunks(data: bytes) -> list[bytes]:
    return [data[at : at + MOST_BYTES] for at in range(0, len(data), MOST_BYTES)]


def _error_code(number: int) -> str:
    return ERROR_CODES[number] if number < len(ERROR_CODES) else f"unknown error code 0x{number:x}"
