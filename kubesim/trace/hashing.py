"""The trace hash, equal for equal runs on every machine and Python version.

The values of a record, without the fields that come from outside the simulation, are encoded as a JSON list in the
order of their declaration, at half the cost of encoding them with names. With real pod networks, addresses and
interface names also come from outside and may occur in any text, so they are hashed as placeholders.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from kubesim.trace.records import Record

_FROM_OUTSIDE = (
    (re.compile(r"\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b"), "<mac>"),
    (re.compile(r"\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b|\b(?:[0-9a-f]{1,4}:)+:[0-9a-f:]*"), "<address>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b"), "<address>"),
    (re.compile(r"\bveth[0-9a-f]{8}\b"), "<link>"),
)
# Keys sorted, no spaces, ASCII only: the same text on every machine.
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


class HashSink:
    """Hashes records as they arrive, so that a long run need not be kept. `placeholders` is for a run with real
    networks.
    """

    def __init__(self, *, placeholders: bool = False) -> None:
        self._hash = hashlib.sha256()
        self._placeholders = placeholders
        self._read: dict[type[Record], attrgetter[tuple[Any, ...]]] = {}

    def record(self, record: Record) -> None:
        kind = record.__class__
        read = self._read.get(kind) or self._reader(kind)
        text = _ENCODER.encode((kind.KIND, *read(record)))
        if self._placeholders:
            for pattern, placeholder in _FROM_OUTSIDE:
                text = pattern.sub(placeholder, text)
        self._hash.update(text.encode())

    def _reader(self, kind: type[Record]) -> attrgetter[tuple[Any, ...]]:
        """A function that reads the fields of a record of this kind, except those that come from outside the
        simulation.
        """
        names = [each.name for each in fields(kind) if each.name not in kind.EXTERNAL]
        return self._read.setdefault(kind, attrgetter(*names))

    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def trace_hash(records: Iterable[Record]) -> str:
    sink = HashSink()
    for record in records:
        sink.record(record)
    return sink.hexdigest()
