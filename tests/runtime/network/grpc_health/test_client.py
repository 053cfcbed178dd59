"""The health client with misbehaving servers: its errors are those of grpc-go. The server with good and bad clients."""

from __future__ import annotations

import struct
from enum import IntEnum

import pytest
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, ResponseReceived
from hpack import Encoder

from kubesim.runtime.network.grpc_health import wire
from kubesim.runtime.network.grpc_health.client import HealthCall
from kubesim.runtime.network.grpc_health.http2 import header_fields
from kubesim.runtime.network.grpc_health.server import HealthServer
from kubesim.runtime.network.node_network import ConnectError, GrpcStatusError

END_STREAM, END_HEADERS = 1, 4
MAX_FRAME = 16384
GRPC = [(":status", "200"), ("content-type", "application/grpc")]


class Kind(IntEnum):
    DATA = 0
    HEADERS = 1
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


def frame(kind: Kind | int, payload: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def encode(*fields: tuple[str, str]) -> bytes:
    return Encoder().encode(fields)


def headers(*fields: tuple[str, str], end: bool = False) -> bytes:
    return frame(Kind.HEADERS, encode(*fields), END_HEADERS | END_STREAM * end, 1)


def data(content: bytes, *, end: bool = False) -> bytes:
    return frame(Kind.DATA, content, END_STREAM * end, 1)


SETTINGS, ACKNOWLEDGED = frame(Kind.SETTINGS), frame(Kind.SETTINGS, flags=1)
HEADERS = headers(*GRPC)
SERVING = data(wire.framed(wire.response("SERVING")))
FINE = headers(("grpc-status", "0"), end=True)


def called(*received: bytes, closed: bool = True) -> HealthCall:
    call = HealthCall("10.0.0.7:50051", "", 1_000_000)
    assert call.to_send().startswith(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
    for each in received:
        call.receive(each)
    if closed:
        call.broke("EOF")
    return call


def status_error(*received: bytes) -> tuple[str, str]:
    outcome = called(SETTINGS, *received).outcome
    assert isinstance(outcome, GrpcStatusError)
    return outcome.code, outcome.message


def test_the_request_waits_for_the_settings_of_the_server() -> None:
    call = called(closed=False)
    assert (call.is_connected, call.to_send()) == (False, b"")
    call.receive(SETTINGS[:5])
    assert call.to_send() == b""
    call.receive(SETTINGS[5:])
    assert call.is_connected
    assert call.to_send().removeprefix(ACKNOWLEDGED)[3] == Kind.HEADERS
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
def test_a_server_without_http2_is_not_connected(received: list[bytes]) -> None:
    assert isinstance(called(*received).outcome, ConnectError)


def test_a_response_may_arrive_in_any_chunks() -> None:
    whole = SETTINGS + HEADERS + SERVING + FINE
    for size in (1, 7, len(whole)):
        pieces = [whole[at : at + size] for at in range(0, len(whole), size)]
        assert called(*pieces).outcome == "SERVING"


def test_the_status_of_a_service() -> None:
    for message, status in ((b"", "UNKNOWN"), (b"\x08\x03", "SERVICE_UNKNOWN"), (b"\x08\x07", "7")):
        assert called(SETTINGS, HEADERS, data(wire.framed(message)), FINE).outcome == status
    more = b"\x12\x02ab\x19" + bytes(8) + b"\x25" + bytes(4) + b"\x08\x02"  # fields of a later version
    assert called(SETTINGS, HEADERS, data(wire.framed(more)), FINE).outcome == "NOT_SERVING"


NO_STREAM = "Received frame with invalid header: Stream ID must be non-zero for DataFrame"
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
        ([frame(Kind.DATA, b"", 0, 0)], "Unavailable", f"error reading from server: {NO_STREAM}"),
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
            "error reading from server: Flow control window shrunk below 0",
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


def test_a_call_that_was_not_processed_may_be_repeated() -> None:
    for unseen in (frame(Kind.GOAWAY, bytes(8)), frame(Kind.RST_STREAM, struct.pack(">I", 7), 0, 1)):
        assert called(SETTINGS, unseen).is_unprocessed
    assert not called(SETTINGS, frame(Kind.GOAWAY, struct.pack(">II", 1, 0))).is_unprocessed


def test_a_draining_server_still_answers() -> None:
    drains = frame(Kind.GOAWAY, struct.pack(">II", 2**31 - 1, 0)) + frame(Kind.PING, bytes(8))
    call = called(SETTINGS + drains, closed=False)
    assert call.to_send().removeprefix(ACKNOWLEDGED)[3] == Kind.HEADERS
    call.receive(HEADERS + SERVING + frame(Kind.GOAWAY, struct.pack(">II", 1, 0)) + FINE)
    assert call.outcome == "SERVING"


def test_a_response_counts_whatever_follows_it() -> None:
    assert (
        called(SETTINGS + HEADERS + SERVING + FINE + data(b"more") + frame(Kind.SETTINGS, stream=1)).outcome
        == "SERVING"
    )


@pytest.mark.parametrize(
    "received",
    [
        frame(Kind.DATA, bytes(MAX_FRAME + 1), 0, 1),
        frame(Kind.DATA, b"early", 0, 1),
        frame(Kind.HEADERS, b"\xff\xff", END_HEADERS, 1),
        frame(Kind.CONTINUATION, b"", END_HEADERS, 1),
        frame(Kind.RST_STREAM, b"\0", 0, 1),
        frame(Kind.PUSH_PROMISE, bytes(4) + encode(*GRPC), END_HEADERS, 1),
    ],
)
def test_a_broken_protocol_ends_the_connection(received: bytes) -> None:
    code, message = status_error(received)
    assert (code, message[:27]) == ("Unavailable", "error reading from server: ")


# -- the other side -------------------------------------------------------------------------------------------------


def answered(*services: str, known: dict[str, str]) -> list[str | tuple[str, str]]:
    """Each in a separate call; client and server are connected directly."""
    outcomes: list[str | tuple[str, str]] = []
    for service in services:
        call, server = HealthCall("h", service, 1_000_000), HealthServer(known.get)
        while call.outcome is None:
            call.receive(server.receive(call.to_send()))
        assert not isinstance(call.outcome, ConnectError)
        outcome = call.outcome
        outcomes.append((outcome.code, outcome.message) if isinstance(outcome, GrpcStatusError) else str(outcome))
    return outcomes


def test_client_and_server_together() -> None:
    long = "x" * 40_000
    known = {"": "SERVING", long: "NOT_SERVING", "ü": "SERVICE_UNKNOWN"}
    received = answered("", long, "ü", "else", known=known)
    assert received == ["SERVING", "NOT_SERVING", "SERVICE_UNKNOWN", ("NotFound", "unknown service")]


def nobody(service: str) -> None:
    return None


def client() -> H2Connection:
    side = H2Connection()
    side.initiate_connection()
    return side


def asking(path: str) -> list[tuple[str, str]]:
    return [(":method", "POST"), (":scheme", "http"), (":authority", "h"), (":path", path)]


def test_a_server_rejects_other_methods_and_invalid_messages() -> None:
    server, side = HealthServer(nobody), client()
    side.send_headers(1, asking("/a%b/C"), end_stream=True)
    side.send_headers(3, asking(wire.CHECK))
    side.send_data(3, b"\0\0\0\0\1\x0f", end_stream=True)
    answers = side.receive_data(server.receive(side.data_to_send()))
    refused = [header_fields(event.headers) for event in answers if isinstance(event, ResponseReceived)]
    assert [(fields["grpc-status"], fields["grpc-message"]) for fields in refused] == [
        ("12", "unknown service a%25b"),
        ("13", "proto: cannot parse invalid wire-format data"),
    ]
    assert not server.is_closed


def test_the_message_of_a_status_is_percent_encoded() -> None:
    assert wire.percent_encoded("a%\nü") == "a%25%0A%C3%BC"
    assert wire.percent_decoded("a%25%0A%C3%BC") == "a%\nü"


def test_a_server_closes_the_connection_of_a_client_without_http2() -> None:
    server = HealthServer(nobody)
    server.receive(b"GET / HTTP/1.1\r\n\r\n")
    assert server.is_closed


def test_a_server_forgets_cancelled_calls_and_rejects_long_ones() -> None:
    server, side = HealthServer({"": "SERVING"}.get), client()
    side.send_headers(1, asking(wire.CHECK))
    side.reset_stream(1, 8)
    side.receive_data(server.receive(side.data_to_send() + data(b"late", end=True)))
    side.send_headers(5, asking(wire.CHECK), end_stream=True)
    side.reset_stream(5, 8)
    side.receive_data(server.receive(side.data_to_send()))
    assert not server.is_closed
    side.send_headers(7, asking(wire.CHECK))
    server.receive(side.data_to_send() + frame(Kind.DATA, bytes(MAX_FRAME), 0, 7) * 5)
    assert server.is_closed


def test_a_connection_supports_many_calls() -> None:
    server, side = HealthServer({"x" * 10_000: "SERVING"}.get), client()
    for stream in range(1, 41, 2):
        side.send_headers(stream, asking(wire.CHECK))
        side.send_data(stream, wire.framed(wire.request("x" * 10_000)), end_stream=True)
        answers = side.receive_data(server.receive(side.data_to_send()))
        assert not any(isinstance(event, ConnectionTerminated) for event in answers)
    assert not server.is_closed
