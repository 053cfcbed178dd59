"""What our client makes of servers that answer badly, in the words of grpc-go; how both sides understand HTTP/2."""

from __future__ import annotations

import struct

import pytest

from kubesim.runtime.grpc_health import wire
from kubesim.runtime.grpc_health.client import HealthCall
from kubesim.runtime.grpc_health.hpack import encode
from kubesim.runtime.grpc_health.http2 import MOST_BYTES, PREFACE, Data, Headers, Http2, Kind, ProtocolError
from kubesim.runtime.grpc_health.server import HealthServer
from kubesim.runtime.network import ConnectError, GrpcStatusError

END_STREAM, END_HEADERS, PADDED, PRIORITY = 1, 4, 8, 32
GRPC = [(":status", "200"), ("content-type", "application/grpc")]


def frame(kind: Kind | int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def headers(*fields: tuple[str, str], end: bool = False) -> bytes:
    return frame(Kind.HEADERS, encode(fields), END_HEADERS | END_STREAM * end, 1)


def data(content: bytes, *, end: bool = False) -> bytes:
    return frame(Kind.DATA, content, END_STREAM * end, 1)


SETTINGS = frame(Kind.SETTINGS)
HEADERS = headers(*GRPC)
SERVING = data(wire.framed(wire.response("SERVING")))
FINE = headers(("grpc-status", "0"), end=True)


def called(*received: bytes, closed: bool = True) -> HealthCall:
    call = HealthCall("10.0.0.7:50051", "", 1_000_000)
    assert call.to_send().startswith(PREFACE)
    for each in received:
        call.receive(each)
    if closed:
        call.broke("EOF")
    return call


def status_error(*received: bytes) -> tuple[str, str]:
    outcome = called(SETTINGS, *received).outcome
    assert isinstance(outcome, GrpcStatusError)
    return outcome.code, outcome.message


def test_nothing_is_asked_before_the_server_has_spoken() -> None:
    call = called(closed=False)
    assert (call.is_connected, call.to_send()) == (False, b"")
    call.receive(SETTINGS[:5])
    assert call.to_send() == b""
    call.receive(SETTINGS[5:])
    assert call.is_connected
    assert wire.CHECK.encode() in call.to_send()
    assert call.outcome is None


@pytest.mark.parametrize(
    "received",
    [
        [],
        [b"HTTP/1.1 400 Bad Request\r\n\r\n"],
        [b"-ERR unknown command 'PRI'\r\n"],
        [frame(Kind.PING, b"12345678"), frame(Kind.GOAWAY, bytes(8))],
        [frame(Kind.SETTINGS, stream=1)],
        [headers(*GRPC)],
    ],
)
def test_who_speaks_no_http2_is_not_connected_to(received: list[bytes]) -> None:
    assert isinstance(called(*received).outcome, ConnectError)


def test_an_answer_may_come_in_any_pieces() -> None:
    whole = SETTINGS + HEADERS + SERVING + FINE
    for size in (1, 7, len(whole)):
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        assert called(*pieces).outcome == "SERVING"


def test_the_status_of_a_service() -> None:
    for message, status in ((b"", "UNKNOWN"), (b"\x08\x03", "SERVICE_UNKNOWN"), (b"\x08\x07", "7")):
        assert called(SETTINGS, HEADERS, data(wire.framed(message)), FINE).outcome == status
    more = b"\x12\x02ab\x19" + bytes(8) + b"\x25" + bytes(4) + b"\x08\x02"  # fields that a later version may have
    assert called(SETTINGS, HEADERS, data(wire.framed(more)), FINE).outcome == "NOT_SERVING"


CUT_OFF = "error reading from server: EOF"
CALM = 'received prior goaway: code: ENHANCE_YOUR_CALM, debug data: "calm"'
NO_KIND = "malformed header: missing HTTP content-type"
NO_GRPC = 'transport: received unexpected content-type "text/html"'
UNREADABLE = "grpc: failed to unmarshal the received message: proto: cannot parse invalid wire-format data"
UNEXPECTED = "unexpected HTTP status code received from server:"


@pytest.mark.parametrize(
    ("received", "code", "message"),
    [
        ([], "Unavailable", CUT_OFF),
        ([HEADERS, SERVING], "Unavailable", CUT_OFF),
        ([frame(Kind.DATA, b"", 0, 0)], "Unavailable", "error reading from server: a frame of kind 0 for stream 0"),
        (
            [frame(Kind.GOAWAY, struct.pack(">II", 1, 11) + b"calm")],
            "Unavailable",
            f'closing transport due to: connection error: desc = "{CUT_OFF}", {CALM}',
        ),
        ([frame(Kind.GOAWAY, bytes(8))], "Unavailable", "the connection is draining"),
        (
            [frame(Kind.RST_STREAM, struct.pack(">I", 8), 0, 1)],
            "Canceled",
            "stream terminated by RST_STREAM with error code: CANCEL",
        ),
        (
            [frame(Kind.RST_STREAM, struct.pack(">I", 1), 0, 1)],
            "Internal",
            "stream terminated by RST_STREAM with error code: PROTOCOL_ERROR",
        ),
        (
            [headers((":status", "404"), ("content-type", "text/html"))],
            "Unimplemented",
            f"{UNEXPECTED} 404 (Not Found); {NO_GRPC}",
        ),
        (
            [headers((":status", "100")), headers((":status", "403"), end=True)],
            "PermissionDenied",
            f"{UNEXPECTED} 403 (Forbidden); {NO_KIND}",
        ),
        ([headers(("x", "y"))], "Internal", f"malformed header: missing HTTP status; {NO_KIND}"),
        ([HEADERS, HEADERS], "Internal", "a HEADERS frame cannot appear in the middle of a stream"),
        (
            [HEADERS, *[data(bytes(16_000))] * 5],
            "Unavailable",
            "error reading from server: an answer that is larger than there was room for",
        ),
        ([HEADERS, data(b"", end=True)], "Internal", "server closed the stream without sending trailers"),
        ([headers(*GRPC, ("grpc-status", "5"), ("grpc-message", "no%20such%2"), end=True)], "NotFound", "no such%2"),
        ([headers(*GRPC, ("grpc-status", "99"), end=True)], "Code(99)", ""),
        ([headers(*GRPC, end=True)], "Unknown", ""),
        ([headers(*GRPC, ("grpc-status", "fine"), end=True)], "Unknown", "transport: malformed grpc-status: fine"),
        (
            [HEADERS, FINE],
            "Internal",
            "cardinality violation: received no response message from non-server-streaming RPC",
        ),
        (
            [HEADERS, SERVING, SERVING, FINE],
            "Internal",
            "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message",
        ),
        ([HEADERS, data(b"\0\0\0\0\5\x08"), FINE], "Internal", "unexpected EOF"),
        ([HEADERS, data(b"\0\0"), FINE], "Internal", "unexpected EOF"),
        ([HEADERS, data(wire.framed(b"\x0f")), FINE], "Internal", UNREADABLE),
        ([HEADERS, data(wire.framed(b"\x12\x09x")), FINE], "Internal", UNREADABLE),
        ([HEADERS, data(wire.framed(b"\x08\x80")), FINE], "Internal", UNREADABLE),
        ([HEADERS, data(wire.framed(b"\x08" + b"\xff" * 10 + b"\1")), FINE], "Internal", UNREADABLE),
        ([headers((":status", "499"))], "Unknown", f"{UNEXPECTED} 499 (); {NO_KIND}"),
        (
            [headers(*GRPC, ("grpc-encoding", "zstd")), data(b"\1\0\0\0\0"), FINE],
            "Internal",
            'grpc: Decompressor is not installed for grpc-encoding "zstd"',
        ),
        ([HEADERS, data(b"\1\0\0\0\0"), FINE], "Internal", "grpc: compressed flag set with identity or empty encoding"),
    ],
)
def test_how_a_call_fails(received: list[bytes], code: str, message: str) -> None:
    assert status_error(*received) == (code, message)


def test_a_call_that_was_not_looked_at_may_be_made_again() -> None:
    for unseen in (frame(Kind.GOAWAY, bytes(8)), frame(Kind.RST_STREAM, struct.pack(">I", 7), 0, 1)):
        assert called(SETTINGS, unseen).is_unprocessed
    assert not called(SETTINGS, frame(Kind.GOAWAY, struct.pack(">II", 1, 0))).is_unprocessed


# -- HTTP/2 ---------------------------------------------------------------------------------------------------------


def test_header_fields_with_padding_priority_and_continuations() -> None:
    block = encode(GRPC)
    begun = frame(Kind.HEADERS, b"\3" + bytes(5) + block[:4] + bytes(3), PADDED | PRIORITY | END_STREAM, 1)
    side = Http2(is_client=True)
    assert list(side.receive(begun + frame(Kind.CONTINUATION, block[4:9], 0, 1))) == []
    rest = frame(Kind.CONTINUATION, block[9:], END_HEADERS, 1)
    assert list(side.receive(rest)) == [Headers(1, tuple(GRPC), True)]


def test_what_has_to_be_said_in_return() -> None:
    side = Http2(is_client=True)
    side.to_send()
    padded = frame(Kind.DATA, b"\2hello" + bytes(2), PADDED, 1)
    [_, received] = side.receive(SETTINGS + frame(Kind.PING, b"12345678") + padded)
    assert received == Data(1, b"hello", False)
    room = frame(Kind.WINDOW_UPDATE, struct.pack(">I", 8))
    assert side.to_send() == frame(Kind.SETTINGS, b"", 1) + frame(Kind.PING, b"12345678", 1) + room
    acknowledged = frame(Kind.SETTINGS, b"", 1) + frame(Kind.PING, b"12345678", 1)
    assert list(side.receive(acknowledged + frame(99, b"?") + frame(Kind.WINDOW_UPDATE, bytes(4)))) == []
    assert side.to_send() == b""


@pytest.mark.parametrize(
    "received",
    [
        frame(Kind.DATA, bytes(MOST_BYTES + 1), 0, 1),
        frame(Kind.DATA, b"\5abc", PADDED, 1),
        frame(Kind.DATA, b"", PADDED, 1),
        frame(Kind.HEADERS, b"", 0, 1) + frame(Kind.DATA, b"", 0, 1),
        frame(Kind.HEADERS, b"", 0, 1) + frame(Kind.CONTINUATION, b"", END_HEADERS, 3),
        frame(Kind.HEADERS, b"\xff\xff", END_HEADERS, 1),
        frame(Kind.HEADERS, b"", 0, 1) + frame(Kind.CONTINUATION, bytes(MOST_BYTES), 0, 1) * 5,
        frame(Kind.CONTINUATION, b"", END_HEADERS, 1),
        frame(Kind.RST_STREAM, b"\0", 0, 1),
        frame(Kind.PUSH_PROMISE, bytes(4), END_HEADERS, 1),
    ],
)
def test_what_is_no_http2(received: bytes) -> None:
    with pytest.raises(ProtocolError):
        list(Http2(is_client=True).receive(received))


# -- the other side -------------------------------------------------------------------------------------------------


def answered(*services: str, known: dict[str, str]) -> list[str | tuple[str, str]]:
    """Each by a call of its own, client and server wired to each other."""
    outcomes: list[str | tuple[str, str]] = []
    for service in services:
        call, server = HealthCall("h", service, 1_000_000), HealthServer(known.get)
        while call.outcome is None:
            call.receive(server.receive(call.to_send()))
        assert not isinstance(call.outcome, ConnectError)
        outcome = call.outcome
        outcomes.append((outcome.code, outcome.message) if isinstance(outcome, GrpcStatusError) else str(outcome))
    return outcomes


def test_the_two_understand_each_other() -> None:
    long = "x" * 40_000
    known = {"": "SERVING", long: "NOT_SERVING", "ü": "SERVICE_UNKNOWN"}
    heard = answered("", long, "ü", "else", known=known)
    assert heard == ["SERVING", "NOT_SERVING", "SERVICE_UNKNOWN", ("NotFound", "unknown service")]


def nobody(service: str) -> None:
    return None


def test_a_server_refuses_what_is_no_check() -> None:
    server, side = HealthServer(nobody), Http2(is_client=True)
    with pytest.raises(ProtocolError, match="a client that speaks no HTTP/2"):
        HealthServer(nobody).receive(b"GET / HTTP/1.1\r\n\r\n")
    side.send_headers(1, [(":path", "/a%\nb/C")], end=True)
    side.send_headers(3, [(":path", wire.CHECK)])
    side.send_data(3, b"\0\0\0\0\1\x0f", end=True)
    said = list(side.receive(server.receive(side.to_send())))
    refused = [dict(event.fields) for event in said if isinstance(event, Headers)]
    assert [(fields["grpc-status"], fields["grpc-message"]) for fields in refused] == [
        ("12", "unknown service a%25%0Ab"),
        ("13", "proto: cannot parse invalid wire-format data"),
    ]


def test_a_server_forgets_calls_that_are_taken_back_and_hears_of_no_end_of_data() -> None:
    server, side = HealthServer({"": "SERVING"}.get), Http2(is_client=True)
    side.send_headers(1, [(":path", wire.CHECK)])
    taken_back = side.to_send() + frame(Kind.RST_STREAM, struct.pack(">I", 8), 0, 1)
    server.receive(taken_back + data(b"late", end=True))
    side.send_headers(3, [(":path", wire.CHECK)])
    side.send_data(3, bytes(70_000))
    with pytest.raises(ProtocolError, match="too large"):
        server.receive(side.to_send())
