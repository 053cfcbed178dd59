"""Destinations of requests with spans: a file, with one request per line, or a collector after the run.

Mirrors: OTLP/HTTP with JSON (POST /v1/traces); OTLP's file exporter
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Protocol, TextIO
from urllib.parse import SplitResult, urlsplit

from kubesim.errors import UsageError
from kubesim.trace.spans.otlp import Request

PATH = "/v1/traces"
TIMEOUT_S = 10
MAX_ANSWER = 64 * 1024


class SpanWriter(Protocol):
    """Collects requests, and sends them when it is closed unless they are written at once."""

    def write(self, request: Request) -> None: ...
    def close(self) -> None: ...


def is_url(target: str) -> bool:
    return "://" in target


class FileWriter:
    """Writes requests as lines of JSON. `name` is for messages."""

    def __init__(self, out: TextIO, name: str) -> None:
        self._out = out
        self._name = name

    def write(self, request: Request) -> None:
        try:
            self._out.write(encoded(request) + "\n")
        except OSError as error:
            raise UsageError(f"--otlp {self._name}: {error.strerror}") from error

    def close(self) -> None:
        self._out.flush()


class Collector:
    """Sends requests to a collector when it is closed, because a real exchange does not fit into virtual time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._target = parse_collector(url)
        self._requests: list[str] = []

    def write(self, request: Request) -> None:
        self._requests.append(encoded(request))

    def close(self) -> None:
        for request in self._requests:
            self._send(request)

    def _send(self, request: str) -> None:
        url = self._target
        connect = HTTPSConnection if url.scheme == "https" else HTTPConnection
        connection = connect(url.hostname or "", url.port, timeout=TIMEOUT_S)
        try:
            connection.request("POST", url.path, request.encode(), {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read(MAX_ANSWER)
        except (OSError, HTTPException, ValueError) as error:  # ValueError: an invalid host name
            problem = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise self._failed(f"{problem}; is a collector listening there?") from error
        finally:
            connection.close()
        if response.status != 200:
            raise self._failed(f"the collector answered {response.status} {response.reason}")
        if rejected := _rejected(answer):
            raise self._failed(f"the collector rejected {rejected}")

    def _failed(self, problem: str) -> UsageError:
        return UsageError(f"cannot send spans to {self._url}: {problem}")


def parse_collector(text: str) -> SplitResult:
    """The address of a collector: spans for `http://localhost:4318` are sent to /v1/traces there."""
    try:
        url = urlsplit(text)
        is_usable = url.scheme in ("http", "https") and url.hostname and (url.port is None or url.port > 0)
    except ValueError:
        is_usable = False
    if not is_usable or url.username or url.query or url.fragment:
        raise UsageError(f"--otlp {text}: give a FILE, or the address of a collector such as http://localhost:4318")
    path = url.path.rstrip("/")
    return url._replace(path=path if path.endswith(PATH) else path + PATH)


def encoded(request: Request) -> str:
    return json.dumps(request, ensure_ascii=False, separators=(",", ":"))


def _rejected(answer: bytes) -> str:
    """Why a collector rejected spans; empty if it accepted all."""
    try:
        content: Any = json.loads(answer or b"{}")
    except ValueError:
        return ""
    partial = content.get("partialSuccess") if isinstance(content, Mapping) else None
    if not isinstance(partial, Mapping) or partial.get("rejectedSpans") in (None, 0, "0"):
        return ""
    return f"{partial['rejectedSpans']} spans: {partial.get('errorMessage', '')}"
