"""The client of a health check: what to send, and what to make of the answer, in grpc-go's words.

A connection counts as one only when the server has spoken HTTP/2 itself. Until then whatever goes wrong means that
there is none, and gRPC dials again for as long as it has time; after that it is the call which fails.

Mirrors: google.golang.org/grpc internal/transport/http2_client.go, stream.go (RecvMsg of a call with one answer)
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from kubesim.api.gotext import quoted
from kubesim.api.timestamps import MILLISECOND
from kubesim.runtime.grpc_health import wire
from kubesim.runtime.grpc_health.http2 import ROOM, Data, Event, GoAway, Headers, Http2, ProtocolError, Reset, Settings
from kubesim.runtime.network import ConnectError, GrpcStatusError, NetworkError

USER_AGENT: Final = "kube-probe/1.36 grpc-go/1.79.3"
_STREAM = 1
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
    """One call on a connection of its own. It is over when there is an `outcome`: a status, or what went wrong."""

    def __init__(self, authority: str, service: str, timeout: int) -> None:
        self._http2 = Http2(is_client=True)
        self._authority = authority
        self._message = wire.framed(wire.request(service))
        self._timeout = timeout
        self.is_connected = False
        self.is_unprocessed = False  # the server says that it did not look at it: it may be called again
        self.outcome: str | NetworkError | None = None
        self._answer: bytearray | None = None  # from the first header fields on
        self._encoding = ""
        self._went_away = ""

    def to_send(self) -> bytes:
        return self._http2.to_send()

    def receive(self, data: bytes) -> None:
        try:
            for event in self._http2.receive(data):
                if self.outcome is None:
                    self._hear(event)
        except ProtocolError as error:
            self.broke(str(error))

    def broke(self, problem: str) -> None:
        """The connection ended."""
        if self.outcome is not None:
            return
        if not self.is_connected:
            self.outcome = ConnectError(f"error reading server preface: {problem}")
            return
        text = f"error reading from server: {problem}"
        if self._went_away:
            why = f"connection error: desc = {quoted(text)}"
            text = f"closing transport due to: {why}, received prior goaway: {self._went_away}"
        self._fail("Unavailable", text)

    def _fail(self, code: str, message: str) -> None:
        self.outcome = GrpcStatusError(code, message)

    def _hear(self, event: Event) -> None:
        if not self.is_connected:
            if not isinstance(event, Settings):
                raise ProtocolError("its first frame says no settings")
            self.is_connected = True
            self._ask()
            return
        match event:  # no other stream was ever opened
            case GoAway():
                self._hear_go_away(event)
            case Reset():
                self._hear_reset(event.code)
            case Headers():
                self._hear_headers(event)
            case Data():
                self._hear_data(event)

    def _ask(self) -> None:
        fields = [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", wire.CHECK),
            (":authority", self._authority),
            ("content-type", "application/grpc"),
            ("user-agent", USER_AGENT),
            ("te", "trailers"),
            ("grpc-timeout", f"{max(self._timeout // MILLISECOND, 1)}m"),
        ]
        self._http2.send_headers(_STREAM, fields)
        self._http2.send_data(_STREAM, self._message, end=True)

    def _hear_go_away(self, event: GoAway) -> None:
        debug = f", debug data: {quoted(event.debug.decode(errors='replace'))}" if event.debug else ""
        self._went_away = f"code: {event.code}{debug}"
        if event.last_stream < _STREAM:
            self.is_unprocessed = True
            self._fail("Unavailable", "the connection is draining")

    def _hear_reset(self, code: str) -> None:
        self.is_unprocessed = code == "REFUSED_STREAM"
        status = _OF_RESET.get(code, "Unknown" if code.startswith("unknown") else "Internal")
        self._fail(status, f"stream terminated by RST_STREAM with error code: {code}")

    def _hear_headers(self, event: Headers) -> None:
        fields = dict(event.fields)
        is_first = self._answer is None
        if not is_first and not event.ended:
            self._fail("Internal", "a HEADERS frame cannot appear in the middle of a stream")
        elif is_first and not _is_grpc(fields.get("content-type", "")):
            self._hear_no_grpc(fields, event.ended)
        elif event.ended:
            self._end(fields)
        else:
            self._answer = bytearray()
            self._encoding = fields.get("grpc-encoding", "")

    def _hear_no_grpc(self, fields: dict[str, str], ended: bool) -> None:
        kind = fields.get("content-type")
        missing = "malformed header: missing HTTP content-type"
        about_kind = missing if kind is None else f"transport: received unexpected content-type {quoted(kind)}"
        status = fields.get(":status", "")
        if not status.isdigit():
            self._fail("Internal", f"malformed header: missing HTTP status; {about_kind}")
        elif 100 <= (number := int(status)) < 200 and not ended:
            pass  # more will come
        else:
            told = f"unexpected HTTP status code received from server: {number} ({_phrase(number)}); {about_kind}"
            self._fail(_OF_HTTP_STATUS.get(number, "Unknown"), told)

    def _hear_data(self, event: Data) -> None:
        if self._answer is None:
            raise ProtocolError("an answer without header fields")
        self._answer += event.content
        if len(self._answer) > ROOM:
            raise ProtocolError("an answer that is larger than there was room for")
        if event.ended:
            self._fail("Internal", "server closed the stream without sending trailers")

    def _end(self, fields: dict[str, str]) -> None:
        """Trailers: only now is it known how the call went."""
        code = _status_code(fields.get("grpc-status", "2"))
        if code is None:
            self._fail("Unknown", f"transport: malformed grpc-status: {fields['grpc-status']}")
        elif code:
            self._fail(wire.code_name(code), wire.percent_decoded(fields.get("grpc-message", "")))
        else:
            self._end_well(bytes(self._answer or b""))

    def _end_well(self, answer: bytes) -> None:
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


def _status_code(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,9}", text) else None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
