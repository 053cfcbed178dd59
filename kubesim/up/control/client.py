"""The other end of the control socket, for commands and tests."""

from __future__ import annotations

import json
import os
import socket
from typing import Any

from kubesim.errors import UsageError

_MAX_ANSWER = 64 * 1024


def control_clock(path: str, command: str, **arguments: Any) -> dict[str, Any]:
    """Send a command and wait for its end; returns the state of the clock. Raises UsageError."""
    request = json.dumps({"command": command, **arguments}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
            connection.sendall(request)
            answer = _line(connection)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise UsageError(
                f"--control {path}: {why}: is a kubesim up or kubesim node with this --control running?"
            ) from None
    try:
        value = json.loads(answer)
    except ValueError:
        raise UsageError(f"--control {path}: the cluster ended before it answered") from None
    if not isinstance(value, dict) or "error" in value:
        raise UsageError(str(value["error"]) if isinstance(value, dict) else "the answer is not a JSON object")
    return value


def _line(connection: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _MAX_ANSWER:
        more = connection.recv(4096)
        if not more:
            break
        data += more
    return data
