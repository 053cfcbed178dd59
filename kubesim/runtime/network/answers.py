"""Answers of HTTP/1.1 servers, read from what they sent."""

from __future__ import annotations

import http.client
import io
from typing import Any

from kubesim.shell import HttpAnswer


class _Received:
    """What was received, as http.client wants to read it."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def makefile(self, *_: Any) -> io.BytesIO:
        return io.BytesIO(self._data)


def parsed_answer(data: bytes, method: str) -> HttpAnswer | None:
    """None: that is no HTTP."""
    response = http.client.HTTPResponse(_Received(data), method=method)  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (http.client.HTTPException, OSError):
        return None
    return HttpAnswer(response.status, body.decode(errors="replace"), tuple(response.getheaders()))
