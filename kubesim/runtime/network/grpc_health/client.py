"""The client of a health check: encodes the request and decodes the response, with grpc-go's error messages.

A connection is established when the server has sent HTTP/2. Before that, any error is a connection error, and gRPC
dials again until its timeout; afterwards an error fails the call.

Mirrors: google.golang.org/grpc internal/transport/http2_client.go, stream.go (RecvMsg of a call with one answer)
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, Event, ResponseReceived, StreamReset, TrailersReceived
from h2.exceptions import ProtocolError

from kubesim.api.timestamps import MILLISECOND
from kubesim.golang.text import quoted
from kubesim.runtime.network.grpc_health import wire
from kubesim.runtime.network.grpc_health.http2 import STREAM, ClientConnection, header_fields
from kubesim.runtime.network.node_network import ConnectError, GrpcStatusError, NetworkError

USER_AGENT: Final = "kube-probe/1.36 grpc-go/1.79.3"
_HEADERS_GO_ON: Final = "Trailers must have END_STREAM set"  # message of h2
_OF_RESET = {
    "FLOW_CONTROL_ERROR": "ResourceExhausted",
    "REFUSED_STREAM": "Unavailable",
    "CANCEL": "Canceled",
    "ENHANCE_YOUR_CALM": "ResourceExhausted",
    "INADEQUATE_SECURITY": "PermissionDenied",
}
_OF_HTTP_STATUS = {
    400: "Internal",
    401: "Unauthenticated",
    403: "PermissionDenied",
    404: "Unimplemented",
    429: "Unavailable",
    502: "Unavailable",
    503: "Unavailable",
    504: "Unavailable",
}


class HealthCall:
    """One call on its own connection. It has ended when `outcome` is set: a status or an error."""

    def __init__(self, authority: str, service: str, timeout: int) -> None:
        headers = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", wire.CHECK),
            (":authority", authority),
            ("content-type", "application/grpc"),
            ("user-agent", USER_AGENT),
            ("te", "trailers"),
            ("grpc-timeout", f"{max(timeout // MILLISECOND, 1)}m"),
        ]
        self._http2 = ClientConnection(headers, wire.framed(wire.request(service)))
        self.is_unprocessed = False  # the server did not process the call: a retry is allowed
        self.outcome: str | NetworkError | None = None
        self._answer: bytearray | None = None  # set by the first header fields
        self._encoding = ""
        self._goaway = ""

    @property
    def is_connected(self) -> bool:
        return self._http2.is_connected

    def to_send(self) -> bytes:
        return self._http2.to_send()

    def receive(self, data: bytes) -> None:
        try:
            for event in self._http2.receive(data):
                self._handle(event)
                if self.outcome is not None:
                    return
        except ProtocolError as error:
            if str(error) == _HEADERS_GO_ON:
                self._fail("Internal", "a HEADERS frame cannot appear in the middle of a stream")
            self.broke(str(error))

    def broke(self, problem: str) -> None:
        """The connection was closed."""
        if self.outcome is not None:
            return
        if not self.is_connected:
            self.outcome = ConnectError(f"error reading server preface: {problem}")
            return
        text = f"error reading from server: {problem}"
        if self._goaway:
            why = f"connection error: desc = {quoted(text)}"
            text = f"closing transport due to: {why}, received prior goaway: {self._goaway}"
        self._fail("Unavailable", text)

    def _fail(self, code: str, message: str) -> None:
        self.outcome = GrpcStatusError(code, message)

    def _handle(self, event: Event) -> None:
        match event:
            case ConnectionTerminated():
                self._handle_goaway(event)
            case StreamReset():
                self._handle_reset(event.error_code)
            case ResponseReceived():
                self._handle_headers(header_fields(event.headers), ended=event.stream_ended is not None)
            case TrailersReceived():
                self._handle_trailers(header_fields(event.headers))
            case DataReceived():
                self._handle_data(event)

    def _handle_goaway(self, event: ConnectionTerminated) -> None:
        data = event.additional_data
        debug = f", debug data: {quoted(data.decode(errors='replace'))}" if data else ""
        self._goaway = f"code: {_code_name(event.error_code)}{debug}"
        if (event.last_stream_id or 0) < STREAM:
            self.is_unprocessed = True
            self._fail("Unavailable", "the connection is draining")

    def _handle_reset(self, number: ErrorCodes | int | None) -> None:
        code = _code_name(number)
        self.is_unprocessed = code == "REFUSED_STREAM"
        status = _OF_RESET.get(code, "Unknown" if code.startswith("unknown") else "Internal")
        self._fail(status, f"stream terminated by RST_STREAM with error code: {code}")

    def _handle_headers(self, fields: dict[str, str], *, ended: bool) -> None:
        if not _is_grpc(fields.get("content-type", "")):
            self._handle_no_grpc(fields)
        elif ended:
            self._handle_trailers(fields)
        else:
            self._answer = bytearray()
            self._encoding = fields.get("grpc-encoding", "")

    def _handle_no_grpc(self, fields: dict[str, str]) -> None:
        kind = fields.get("content-type")
        missing = "malformed header: missing HTTP content-type"
        about_kind = missing if kind is None else f"transport: received unexpected content-type {quoted(kind)}"
        status = fields.get(":status", "")
        if not status.isdigit():
            self._fail("Internal", f"malformed header: missing HTTP status; {about_kind}")
            return
        number = int(status)
        problem = f"unexpected HTTP status code received from server: {number} ({_phrase(number)}); {about_kind}"
        self._fail(_OF_HTTP_STATUS.get(number, "Unknown"), problem)

    def _handle_data(self, event: DataReceived) -> None:
        assert self._answer is not None, "h2 rejects data before header fields"
        self._answer += event.data
        if event.stream_ended is not None:
            self._fail("Internal", "server closed the stream without sending trailers")

    def _handle_trailers(self, fields: dict[str, str]) -> None:
        """The trailers contain the status of the call."""
        code = _status_code(fields.get("grpc-status", "2"))
        if code is None:
            self._fail("Unknown", f"transport: malformed grpc-status: {fields['grpc-status']}")
        elif code:
            self._fail(wire.code_name(code), wire.percent_decoded(fields.get("grpc-message", "")))
        else:
            self._complete(bytes(self._answer or b""))

    def _complete(self, answer: bytes) -> None:
        try:
            messages = list(wire.unframed(answer))
            if not messages:
                problem = "cardinality violation: received no response message from non-server-streaming RPC"
            elif messages[0][0]:
                known = self._encoding not in ("", "identity")
                missing = f"Decompressor is not installed for grpc-encoding {quoted(self._encoding)}"
                problem = f"grpc: {missing if known else 'compressed flag set with identity or empty encoding'}"
            elif len(messages) > 1:
                problem = (
                    "cardinality violation: expected <EOF> for non server-streaming RPCs, but received another message"
                )
            else:
                self.outcome = wire.status_of(messages[0][1])
                return
        except wire.MessageError as error:
            problem = (
                f"grpc: failed to unmarshal the received message: {error}" if "proto" in str(error) else str(error)
            )
        self._fail("Internal", problem)


def _is_grpc(content_type: str) -> bool:
    return content_type == "application/grpc" or content_type.startswith(("application/grpc+", "application/grpc;"))


def _code_name(code: ErrorCodes | int | None) -> str:
    return code.name if isinstance(code, ErrorCodes) else f"unknown error code {code:#x}"


def _status_code(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,9}", text) else None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
