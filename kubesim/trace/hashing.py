"""The trace hash: equal for equal runs, on every machine and Python version.

Records are written as canonical JSON without the fields that come from outside the simulation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from kubesim.trace.records import Record


class HashSink:
    """Hashes records as they come, so that a long run need not be kept."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def record(self, record: Record) -> None:
        content = record.to_json()
        for name in record.EXTERNAL:
            content.pop(name, None)
        content["t"] = record.t
        self._hash.update(json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode())
        self._hash.update(b"\n")

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def trace_hash(records: Iterable[Record]) -> str:
    sink = HashSink()
    for record in records:
        sink.record(record)
    return sink.hexdigest()
