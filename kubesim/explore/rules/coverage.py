"""The decision rules that a run reached: the reasons in its records, without names, numbers and ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from kubesim.trace.records import ApiWrite, EventRecorded, Expectation, Fault, Note, Record

_DRAWN = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{12,}\b|\"[^\"]*\"|\b[\w.]+/[\w./:-]+"
    r"|(?:\d+(?:\.\d+)?(?:h|ms|m|s|µs))+|\d+(?:\.\d+)*(?:[a-z]{1,2}\b)?"
)


class CoverageSink:
    """Collects the distinct reasons of a run."""

    def __init__(self) -> None:
        self._seen: set[tuple[str, str]] = set()

    def record(self, record: Record) -> None:
        if isinstance(record, Fault | Expectation):
            return  # of the search itself
        if record.why:
            self._seen.add((record.KIND, record.why))
        elif isinstance(record, EventRecorded):
            self._seen.add((record.KIND, record.reason))
        elif isinstance(record, Note) and record.pod and not record.container:
            self._seen.add((record.KIND, record.text))
        if isinstance(record, ApiWrite) and record.is_pod_status:
            self._seen.update(("status", reason.replace("/", " ")) for reason in _reasons(record.summary))

    def rules(self, names: frozenset[str]) -> frozenset[str]:
        """The rules that were reached; `names` are those of pods and containers."""
        return frozenset(rule for kind, why in self._seen for rule in _rules(kind, why, names))


def _reasons(summary: Mapping[str, Any]) -> Iterator[str]:
    """The reasons of conditions and containers: `Ready False/ContainersNotReady`, `waiting/CrashLoopBackOff`."""
    yield from (f"{type} {state}" for type, state in summary.get("conditions", {}).items())
    yield from (str(container.get("state", "")) for container in summary.get("containers", {}).values())
    if "reason" in summary:
        yield str(summary["reason"])


@lru_cache(maxsize=20_000)
def _rules(kind: str, why: str, names: frozenset[str]) -> tuple[str, ...]:
    return tuple(f"{kind}: {general(part, names)}" for part in why.split("; "))


def general(text: str, names: frozenset[str] = frozenset()) -> str:
    """The text without these names, without numbers and ids."""
    words = _DRAWN.sub("#", text).split(" ")
    return " ".join("_" if word.strip(",.:") in names else word for word in words)
