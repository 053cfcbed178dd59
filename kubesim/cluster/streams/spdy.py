"""SPDY/3.1 as kubectl uses it: streams with headers and bidirectional data on one connection.

The server side, without flow control, which Kubernetes clients never used. `SpdyConnection` works on bytes, independent
of the transport, and passes data to callbacks.

Mirrors: github.com/moby/spdystream (connection.go, spdy/read.go, spdy/write.go)
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping

_NAMES = """
    options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow
    authorization cache-control connection content-base content-encoding content-language content-length
    content-location content-md5 content-range content-type date etag expect expires from host if-match
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade
    user-agent vary via warning www-authenticate method get status
""".split()  # noqa: SIM905
_MORE = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset="
    "iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = b"".join(struct.pack(">I", len(name)) + name.encode() for name in (*_NAMES, *_MORE)) + _REST.encode()

_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _HEADERS, _WINDOW_UPDATE = 1, 2, 3, 4, 6, 7, 8, 9
_VERSION, _FIN, _PROTOCOL_ERROR = 0x8003, 1, 1
MAX_HEADERS = 64 * 1024
MAX_STREAMS = 1000
PIECE = 32 * 1024  # data bytes per frame

Headers = Mapping[str, str]


class SpdyError(ValueError):
    """Invalid SPDY/3.1, or a limit exceeded: the connection is closed."""


class SpdyStream:
    """A stream opened by the client. `on_data` gets the received bytes, empty ones at the end."""

    def __init__(self, connection: SpdyConnection, identifier: int, headers: Headers) -> None:
        self.headers = headers
        self.on_data: Callable[[bytes], None] | None = None
        self.on_reset: Callable[[], None] = lambda: None
        self.identifier = identifier
        self._connection = connection
        self._waiting: list[bytes] = []
        self._ended = False

    def listen(self, on_data: Callable[[bytes], None]) -> None:
        """Set the callback; data that arrived before is passed too."""
        self.on_data = on_data
        waiting, self._waiting = self._waiting, []
        for data in waiting:
            on_data(data)

    def received(self, data: bytes) -> None:
        if self.on_data is None:
            self._waiting.append(data)
        else:
            self.on_data(data)

    def write(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE):
            self._connection.send_data(self.identifier, data[start : start + PIECE])

    def end(self) -> None:
        """Close the server's side of the stream."""
        if not self._ended:
            self._ended = True
            self._connection.send_data(self.identifier, b"", fin=True)

    def reset(self) -> None:
        self._connection.forget(self.identifier)


class SpdyConnection:
    """A connection. `opened` is called with each new stream, after the reply."""

    def __init__(self, write: Callable[[bytes], None], opened: Callable[[SpdyStream], None]) -> None:
        self._write = write
        self._opened = opened
        self._streams: dict[int, SpdyStream] = {}
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> None:
        """Process received bytes. Raises SpdyError."""
        self._buffer += data
        while len(self._buffer) >= 8:
            first, rest = struct.unpack_from(">II", self._buffer)
            length = rest & 0xFFFFFF
            if len(self._buffer) < 8 + length:
                return
            payload = bytes(self._buffer[8 : 8 + length])
            del self._buffer[: 8 + length]
            if not first & 0x80000000:
                self._data(first & 0x7FFFFFFF, rest >> 24, payload)
            elif first >> 16 == _VERSION:
                self._control(first & 0xFFFF, rest >> 24, payload)
            else:
                raise SpdyError(f"SPDY version {first >> 16 & 0x7FFF} is not 3")

    def _data(self, identifier: int, flags: int, payload: bytes) -> None:
        stream = self._streams.get(identifier)
        if stream is None:
            return
        if payload:
            stream.received(payload)
        if flags & _FIN:
            stream.received(b"")

    def _control(self, kind: int, flags: int, payload: bytes) -> None:
        try:
            if kind == _SYN_STREAM:
                self._syn_stream(flags, payload)
            elif kind == _RST_STREAM:
                (identifier,) = struct.unpack_from(">I", payload)
                stream = self._streams.pop(identifier, None)
                if stream is not None:
                    stream.on_reset()
            elif kind == _PING:
                self._send_control(_PING, 0, payload)
            elif kind == _HEADERS:
                self._headers(payload[4:])  # decoded anyway, to keep the compression state
                if flags & _FIN:
                    self._data(struct.unpack_from(">I", payload)[0], _FIN, b"")
        except struct.error:
            raise SpdyError(f"a frame of type {kind} is too short") from None

    def _syn_stream(self, flags: int, payload: bytes) -> None:
        (identifier,) = struct.unpack_from(">I", payload)
        headers = self._headers(payload[10:])
        if identifier in self._streams or len(self._streams) >= MAX_STREAMS:
            self._send_control(_RST_STREAM, 0, struct.pack(">II", identifier, _PROTOCOL_ERROR))
            return
        stream = self._streams[identifier] = SpdyStream(self, identifier, headers)
        empty = self._deflate.compress(struct.pack(">I", 0)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        self._send_control(_SYN_REPLY, 0, struct.pack(">I", identifier) + empty)
        self._opened(stream)
        if flags & _FIN:
            stream.received(b"")

    def _headers(self, packed: bytes) -> dict[str, str]:
        try:
            text = self._inflate.decompress(packed, MAX_HEADERS)
        except zlib.error as error:
            raise SpdyError(f"headers that cannot be unpacked: {error}") from None
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"headers of more than {MAX_HEADERS} bytes")
        words = list(_strings(text))
        return dict(zip(words[::2], words[1::2], strict=True))

    def forget(self, identifier: int) -> None:
        if self._streams.pop(identifier, None) is not None:
            self._send_control(_RST_STREAM, 0, struct.pack(">II", identifier, _PROTOCOL_ERROR))

    def done_with(self, stream: SpdyStream) -> None:
        """Remove a stream that both sides have closed."""
        self._streams.pop(stream.identifier, None)

    def send_data(self, identifier: int, data: bytes, *, fin: bool = False) -> None:
        if identifier in self._streams:
            self._write(struct.pack(">II", identifier, (fin << 24) | len(data)) + data)

    def _send_control(self, kind: int, flags: int, payload: bytes) -> None:
        self._write(struct.pack(">HHI", _VERSION, kind, flags << 24 | len(payload)) + payload)


def _strings(text: bytes) -> Iterator[str]:
    """Names and values, each with a length prefix; names are lower case."""
    (count,) = struct.unpack_from(">I", text)
    offset = 4
    for _ in range(min(count, len(text)) * 2):
        (length,) = struct.unpack_from(">I", text, offset)
        offset += 4
        if offset + length > len(text):
            raise SpdyError("a header that is longer than its frame")
        yield text[offset : offset + length].decode("latin-1")
        offset += length
