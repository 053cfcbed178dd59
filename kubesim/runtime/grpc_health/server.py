"""The server of health checks on one connection, for simulated containers that speak gRPC.

Mirrors: google.golang.org/grpc server.go (handleStream), health/server.go (Check)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kubesim.runtime.grpc_health import wire
from kubesim.runtime.grpc_health.http2 import ROOM, Data, Event, GoAway, Headers, Http2, ProtocolError, Reset, Settings

Check = Callable[[str], str | None]  # the status of a service; None if it is not known

_HEADERS: Final = ((":status", "200"), ("content-type", "application/grpc"))


class HealthServer:
    def __init__(self, check: Check) -> None:
        self._check = check
        self._http2 = Http2(is_client=False)
        self._calls: dict[int, tuple[str, bytearray]] = {}  # stream -> the method, its message so far

    def receive(self, data: bytes) -> bytes:
        """What to answer. Raises a ProtocolError if the client is not to be talked to."""
        for event in self._http2.receive(data):
            self._hear(event)
        return self._http2.to_send()

    def _hear(self, event: Event) -> None:
        match event:
            case Headers(stream, fields, ended):
                if stream not in self._calls:
                    self._calls[stream] = (dict(fields).get(":path", ""), bytearray())
                if ended:
                    self._answer(stream)
            case Data(stream, content, ended) if stream in self._calls:
                self._calls[stream][1].extend(content)
                if len(self._calls[stream][1]) > ROOM:
                    raise ProtocolError("a request that is too large")
                if ended:
                    self._answer(stream)
            case Reset(stream, _):
                self._calls.pop(stream, None)
            case Settings() | GoAway() | Data():
                pass

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
        self._http2.send_headers(stream, _HEADERS)
        self._http2.send_data(stream, wire.framed(wire.response(status)))
        self._http2.send_headers(stream, [("grpc-status", "0")], end=True)

    def _refuse(self, stream: int, code: str, message: str) -> None:
        status = [("grpc-status", str(wire.CODES.index(code))), ("grpc-message", wire.percent_encoded(message))]
        self._http2.send_headers(stream, [*_HEADERS, *status], end=True)
