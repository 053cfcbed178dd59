"""A clear-text HTTP/2 client connection (prior knowledge) with a single request.

It extends h2 in two ways. As in grpc-go, a server's first frame must be SETTINGS. And after GOAWAY a server may still
answer accepted calls (RFC 9113, section 6.8), which h2 rejects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from h2.config import H2Configuration
from h2.connection import ConnectionState, H2Connection
from h2.events import ConnectionTerminated, Event, RemoteSettingsChanged, WindowUpdated
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

STREAM: Final = 1
_SETTINGS_TYPE: Final = 4
_LENGTH_SIZE: Final = 3
_FRAME_HEADER_SIZE: Final = 9


class ClientConnection:
    """Sends the request after the server's settings; then `is_connected` is true."""

    def __init__(self, headers: list[tuple[str, str]], body: bytes) -> None:
        self._h2 = H2Connection(H2Configuration(validate_inbound_headers=False))
        self._h2.local_settings = Settings(initial_values={SettingCodes.ENABLE_PUSH: 0})
        self._h2.initiate_connection()
        self._received = bytearray()
        self._to_send = self._h2.data_to_send()
        self._headers = headers
        self._unsent = body
        self.is_connected = False

    def to_send(self) -> bytes:
        data, self._to_send = self._to_send, b""
        return data

    def receive(self, data: bytes) -> Iterator[Event]:
        """Process data frame by frame: h2 drops all events of data with an invalid frame. Raises ProtocolError."""
        self._received += data
        while len(self._received) >= _FRAME_HEADER_SIZE:
            if not self.is_connected and self._received[_LENGTH_SIZE] != _SETTINGS_TYPE:
                raise ProtocolError("the first frame is not SETTINGS")
            end = _FRAME_HEADER_SIZE + int.from_bytes(self._received[:_LENGTH_SIZE], "big")
            if len(self._received) < end:
                return
            for event in self._h2.receive_data(self._received[:end]):
                self._follow(event)
                yield event
            del self._received[:end]
            self._to_send += self._h2.data_to_send()

    def _follow(self, event: Event) -> None:
        match event:
            case RemoteSettingsChanged() if not self.is_connected:
                self.is_connected = True
                self._h2.send_headers(STREAM, self._headers)
                self._send_body()
            case RemoteSettingsChanged() | WindowUpdated():
                self._send_body()
            case ConnectionTerminated():
                self._h2.state_machine.state = ConnectionState.CLIENT_OPEN

    def _send_body(self) -> None:
        """Send as much as the flow-control window allows."""
        while self._unsent and (room := self._h2.local_flow_control_window(STREAM)) > 0:
            size = min(room, self._h2.max_outbound_frame_size)
            chunk, self._unsent = self._unsent[:size], self._unsent[size:]
            self._h2.send_data(STREAM, chunk, end_stream=not self._unsent)


def header_fields(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
