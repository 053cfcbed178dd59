"""A recording: JSON lines in the order in which the proxy saw calls, answers and returns.

{"kind": "header", "format": "kubesim.dev/cri-recording/v1", ...}
{"kind": "call", "call": 1, "t": 0.001, "method": "RunPodSandbox", "request": {...}}
{"kind": "message", "call": 1, "t": 0.002, "response": {...}}                   of a stream
{"kind": "return", "call": 1, "t": 0.120, "code": "OK", "response": {...}}
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, TextIO

from kubesim.errors import InputError, not_json
from kubesim.golang.json import dumps
from kubesim.values import mutable, part

FORMAT = "kubesim.dev/cri-recording/v1"


@part
class RecordingWriter:
    """Writes each line at once, so that a truncated recording can be read. `elapsed` is in microseconds."""

    file: TextIO
    elapsed: Callable[[], int]
    _calls: int = 0

    def header(self, listen: str, endpoint: str) -> None:
        self._write({"kind": "header", "format": FORMAT, "listen": listen, "endpoint": endpoint})

    def call(self, method: str, request: Any) -> int:
        """The number of the call."""
        self._calls += 1
        self._write({"kind": "call", "call": self._calls, "t": self._now(), "method": method, "request": request})
        return self._calls

    def message(self, call: int, response: Any) -> None:
        self._write({"kind": "message", "call": call, "t": self._now(), "response": response})

    def returned(self, call: int, code: str, response: Any = None, error: str = "") -> None:
        line = {"kind": "return", "call": call, "t": self._now(), "code": code}
        if error:
            line["error"] = error
        elif response is not None:
            line["response"] = response
        self._write(line)

    def _now(self) -> float:
        return round(self.elapsed() / 1_000_000, 6)

    def _write(self, line: dict[str, Any]) -> None:
        self.file.write(dumps(line) + "\n")
        self.file.flush()


@mutable
class RecordedCall:
    """`begun` and `ended` are its lines in the recording; `code` is empty if it never returned."""

    number: int
    method: str
    request: dict[str, Any]
    begun: int
    ended: int = 1 << 62
    code: str = ""
    error: str = ""
    response: dict[str, Any] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)


def read_recording(lines: Iterator[str], source: str) -> list[RecordedCall]:
    """The calls in their order. A truncated last line is ignored. Raises InputError."""
    calls: dict[int, RecordedCall] = {}
    for number, text in enumerate(lines, 1):
        if not text.endswith("\n"):
            break
        try:
            line = json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            raise not_json(source, error, number) from None
        if number == 1 and (not isinstance(line, dict) or line.get("format") != FORMAT):
            raise InputError(source, f"not a recording of kubesim cri record: the format must be {FORMAT}", line=1)
        _take(calls, line, number, source)
    return list(calls.values())


def _take(calls: dict[int, RecordedCall], line: Any, number: int, source: str) -> None:
    kind = line.get("kind") if isinstance(line, dict) else None
    try:
        if kind == "call":
            calls[line["call"]] = RecordedCall(line["call"], line["method"], _mapping(line["request"]), number)
        elif kind == "message":
            calls[line["call"]].messages.append(_mapping(line["response"]))
        elif kind == "return":
            call = calls[line["call"]]
            call.ended, call.code = number, str(line["code"])
            call.error, call.response = str(line.get("error", "")), _mapping(line.get("response", {}))
        elif kind != "header":
            raise InputError(source, f"kind {kind!r} is unknown", line=number)
    except (KeyError, TypeError) as error:
        raise InputError(source, f"{kind} without a valid {error}", line=number) from None


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError("request or response")
    return value
