"""Requests for streams: each gets a token for a URL, which can be used once within a minute.

Mirrors: k8s.io/cri-streaming/pkg/streaming (server.go validateExecRequest, validateAttachRequest, request_cache.go)
"""

from __future__ import annotations

import base64
from typing import Any

from kubesim.api.timestamps import MINUTE
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.runtime.cri.wire.methods import CriError

LIFETIME = MINUTE
MAX_WAITING = 1000
_TOKEN_BYTES = 6


class StreamRequests:
    """`stream` draws the tokens: it must not be guessable where the server can be reached."""

    def __init__(self, clock: LoopClock, stream: Stream) -> None:
        self._clock = clock
        self._stream = stream
        self._waiting: dict[str, tuple[int, Any]] = {}

    def insert(self, request: Any) -> str:
        """The token. Raises CriError."""
        now = self._clock.now()
        self._waiting = {token: entry for token, entry in self._waiting.items() if entry[0] >= now}
        if len(self._waiting) >= MAX_WAITING:
            raise CriError("ResourceExhausted", "maximum number of in-flight requests exceeded")
        token = base64.urlsafe_b64encode(self._stream.randbytes(_TOKEN_BYTES)).decode()
        self._waiting[token] = (now + LIFETIME, request)
        return token

    def consume(self, token: str) -> Any:
        """The request; None if the token is unknown, used or too old."""
        expires, request = self._waiting.pop(token, (0, None))
        return request if self._clock.now() <= expires else None


def check_streams(request: Any) -> None:
    """Raises CriError."""
    if request.tty and request.stderr:
        raise CriError("InvalidArgument", "tty and stderr cannot both be true")
    if not (request.stdin or request.stdout or request.stderr):
        conjunction = "or" if hasattr(request, "cmd") else "and"
        raise CriError("InvalidArgument", f"one of stdin, stdout, {conjunction} stderr must be set")
