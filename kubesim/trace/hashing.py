"""The trace hash: equal for equal runs, on every machine and Python version.

Records are written as canonical JSON without the fields that come from outside the simulation. Where pod networks are
real, addresses and the names of links come from outside too, and may be in any text: they are hashed as placeholders.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable

from kubesim.trace.records import Record

_FROM_OUTSIDE = (
    (re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b"), "<mac>"),
    (re.compile(r"\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b|\b(?:[0-9a-f]{1,4}:)+:[0-9a-f:]*"), "<address>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"), "<address>"),
    (re.compile(r"\bveth[0-9a-f]{8}\b"), "<link>"),
)


class HashSink:
    """Hashes records as they come, so that a long run need not be kept. `placeholders` for a run with real networks."""

    def __init__(self, *, placeholders: bool = False) -> None:
        self._hash = hashlib.sha256()
        self._placeholders = placeholders

    def record(self, record: Record) -> None:
        content = record.to_json()
        for name in record.EXTERNAL:
            content.pop(name, None)
        content["t"] = record.t
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        if self._placeholders:
            for pattern, placeholder in _FROM_OUTSIDE:
                text = pattern.sub(placeholder, text)
        self._hash.update(text.encode())
        self._hash.update(b"\n")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def trace_hash(records: Iterable[Record]) -> str:
    sink = HashSink()
    for record in records:
        sink.record(record)
    return sink.hexdigest()
