"""The server of health checks on one connection, for simulated containers that speak gRPC.

Mirrors: google.golang.org/grpc server.go (handleStream), health/server.go (Check)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError, StreamClosedError

from kubesim.runtime.network.grpc_health import wire
from kubesim.runtime.network.grpc_health.http2 import header_fields

Check = Callable[[str], str | None]  # the status of a service; None if unknown

_HEADERS: Final = ((":status", "200"), ("content-type", "application/grpc"))


class HealthServer:
    """After a client's protocol error `is_closed` is true: send the bytes of `receive`, then close the connection."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self._h2 = H2Connection(H2Configuration(client_side=False))
        self._h2.initiate_connection()
        self._calls: dict[int, tuple[str, bytearray]] = {}  # stream -> the method and its message so far
        self.is_closed = False

    def receive(self, data: bytes) -> bytes:
        """Process data; returns the bytes to send."""
        try:
            for event in self._h2.receive_data(data):
                with suppress(StreamClosedError):  # the same data cancels the call
                    self._handle(event)
        except ProtocolError:
            self.is_closed = True
        return self._h2.data_to_send()

    def _handle(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=stream, headers=headers):
                self._calls[stream] = (header_fields(headers)[":path"], bytearray())
            case DataReceived(stream_id=stream) if stream in self._calls:
                self._calls[stream][1].extend(event.data)
                # Open the connection's window for later requests, but not the stream's: requests are short.
                if event.flow_controlled_length:
                    self._h2.increment_flow_control_window(event.flow_controlled_length)
            case StreamEnded(stream_id=stream) if stream in self._calls:
                self._answer(stream)
            case StreamReset(stream_id=stream):
                self._calls.pop(stream, None)

    def _answer(self, stream: int) -> None:
        path, data = self._calls.pop(stream)
        if path != wire.CHECK:
            service, _, method = path.removeprefix("/").rpartition("/")
            known = wire.CHECK.startswith(f"/{service}/")
            text = f"unknown method {method} for service {service}" if known else f"unknown service {service}"
            self._refuse(stream, "Unimplemented", text)
            return
        try:
            messages = [message for _, message in wire.unframed(bytes(data))]
            status = self._check(wire.service_of(messages[0] if messages else b""))
        except wire.MessageError as error:
            self._refuse(stream, "Internal", str(error))
            return
        if status is None:
            self._refuse(stream, "NotFound", "unknown service")
            return
        self._h2.send_headers(stream, _HEADERS)
        self._h2.send_data(stream, wire.framed(wire.response(status)))
        self._h2.send_headers(stream, [("grpc-status", "0")], end_stream=True)

    def _refuse(self, stream: int, code: str, message: str) -> None:
        status = [("grpc-status", str(wire.CODES.index(code))), ("grpc-message", wire.percent_encoded(message))]
        self._h2.send_headers(stream, [*_HEADERS, *status], end_stream=True)
