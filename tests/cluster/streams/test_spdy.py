"""SPDY/3.1, frame by frame: received and sent bytes."""

from __future__ import annotations

import struct
import zlib

import pytest

from kubesim.cluster.streams.spdy import DICTIONARY, SpdyConnection, SpdyError, SpdyStream


class Client:
    """The client, with its own compression state."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, int, bytes]] = []
        self.opened: list[SpdyStream] = []
        self.connection = SpdyConnection(self._take, self.opened.append)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def _take(self, frame: bytes) -> None:
        first, rest = struct.unpack_from(">II", frame)
        self.answers.append((first, rest >> 24, frame[8:]))

    def control(self, kind: int, payload: bytes, flags: int = 0) -> bytes:
        return struct.pack(">HHI", 0x8003, kind, flags << 24 | len(payload)) + payload

    def syn(self, identifier: int, flags: int = 0, **headers: str) -> bytes:
        words = [word for pair in headers.items() for word in pair]
        text = struct.pack(">I", len(headers)) + b"".join(struct.pack(">I", len(w)) + w.encode() for w in words)
        packed = self._deflate.compress(text) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        return self.control(1, struct.pack(">IIBB", identifier, 0, 0, 0) + packed, flags)

    def data(self, identifier: int, text: bytes, fin: bool = False) -> bytes:
        return struct.pack(">II", identifier, fin << 24 | len(text)) + text


def test_the_dictionary_equals_that_of_the_protocol() -> None:
    assert zlib.adler32(DICTIONARY) == 0xE3C6A7C2


def test_a_stream_is_accepted_and_carries_data_in_both_directions() -> None:
    client = Client()
    for byte in client.syn(1, streamtype="stdin") + client.data(1, b"ab") + client.data(1, b"c", fin=True):
        client.connection.feed(bytes((byte,)))  # in chunks of any size
    (stream,) = client.opened
    assert stream.headers == {"streamtype": "stdin"}
    got: list[bytes] = []
    stream.listen(got.append)
    assert got == [b"ab", b"c", b""]
    stream.write(b"out")
    stream.end()
    stream.end()
    (reply, _, _), *rest = client.answers
    assert reply == 0x80030002
    assert rest == [(1, 0, b"out"), (1, 1, b"")]


def test_headers_of_all_streams_share_one_compression() -> None:
    client = Client()
    for number in (1, 3, 5):
        client.connection.feed(client.syn(number, streamtype="data", port="80", requestid=str(number)))
    assert [stream.headers["requestid"] for stream in client.opened] == ["1", "3", "5"]


def test_a_ping_is_answered_and_a_duplicate_stream_is_reset() -> None:
    client = Client()
    client.connection.feed(client.control(6, b"\0\0\0\7"))
    client.connection.feed(client.syn(1) + client.syn(1))
    kinds = [first & 0xFFFF for first, _, _ in client.answers]
    assert kinds == [6, 2, 3]


@pytest.mark.parametrize(
    "data",
    [
        struct.pack(">HHI", 0x8002, 1, 0),
        struct.pack(">HHI", 0x8003, 1, 2) + b"ab",
        struct.pack(">HHI", 0x8003, 1, 14) + b"\0\0\0\1" + b"x" * 10,
        Client().control(3, b"a"),
    ],
)
def test_invalid_spdy_closes_the_connection(data: bytes) -> None:
    with pytest.raises(SpdyError):
        Client().connection.feed(data)


def test_headers_that_decompress_to_too_much_close_the_connection() -> None:
    client = Client()
    with pytest.raises(SpdyError, match="headers of more than"):
        client.connection.feed(client.syn(1, x="a" * 100_000))
