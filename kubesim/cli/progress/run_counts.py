"""Counts during a run: pods by state, records, warnings, and the last Event."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from kubesim.golang.text import printable
from kubesim.trace.records import ApiWrite, EventRecorded, Record
from kubesim.trace.sinks.phrases import phrase

_CONTAINERS = ("initContainers", "containers")


class RunCounts:
    """The trace sink that counts."""

    def __init__(self) -> None:
        self.records = self.warnings = 0
        self._pods: dict[str, str] = {}
        self._last: EventRecorded | None = None

    def record(self, record: Record) -> None:
        self.records += 1
        if isinstance(record, EventRecorded):
            self._last = record
            self.warnings += record.type == "Warning"
        elif isinstance(record, ApiWrite) and record.is_pod_status:
            self._pods[record.uid] = _state(record.summary)
        elif isinstance(record, ApiWrite) and (record.verb, record.resource) == ("delete", "pods"):
            if record.by == "kubelet":
                self._pods.pop(record.uid, None)

    def line(self) -> str:
        """`12 Running, 3 CrashLoopBackOff; 4511 records, 17 warnings`."""
        states = [f"{count} {state}" for state, count in Counter(self._pods.values()).most_common()]
        pods = f"pods: {printable(', '.join(states))}; " if states else ""
        warnings = f"{self.warnings} warning{'' if self.warnings == 1 else 's'}"
        return f"{pods}{self.records} records, {warnings}"

    def last(self) -> str:
        """The last Event as in the timeline; empty before the first."""
        if self._last is None:
            return ""
        about = ":".join(filter(None, (self._last.pod.removeprefix("default/"), self._last.container)))
        return printable(f"{self._last.t / 1e6:.3f}s {about or self._last.node} {phrase(self._last).text}")


def _state(summary: Mapping[str, Any]) -> str:
    """The STATUS of `kubectl get pods` in one word: the waiting reason of a container, or the phase."""
    for kind in _CONTAINERS:
        for container in summary.get(kind, {}).values():
            kind_of_state, _, reason = str(container["state"]).partition("/")
            if kind_of_state == "waiting" and reason:
                return reason.partition("/")[0]
    return str(summary.get("reason") or summary.get("phase") or "Unknown")
