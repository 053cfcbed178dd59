"""The last records of each pod, to show them when an expectation about the pod fails."""

from __future__ import annotations

import io
from collections import deque
from fnmatch import fnmatchcase

from kubesim.trace.records import Expectation, Record
from kubesim.trace.sinks.console import ConsoleSink

KEPT = 40  # records kept per pod
SHOWN = 6  # lines
TIME, PART = 8, 18  # the column at which the time of a line ends, and the column at which the component ends


class TailSink:
    """Keeps records, and formats them like the timeline on request."""

    def __init__(self) -> None:
        self._pods: dict[str, deque[Record]] = {}

    def record(self, record: Record) -> None:
        if record.pod:
            kept = self._pods.get(record.pod)
            if kept is None:
                kept = self._pods[record.pod] = deque(maxlen=KEPT)
            kept.append(record)

    def lines(self, pattern: str) -> tuple[str, ...]:
        """The last lines about a pod, or about the pods that match a glob."""
        out = io.StringIO()
        names = [name for name in self._pods if name == pattern or fnmatchcase(name, pattern)]
        records = [record for name in names for record in self._pods[name] if not isinstance(record, Expectation)]
        console = ConsoleSink(out, width=160)
        for record in sorted(records, key=lambda record: record.seq):
            console.record(record)
        console.close()
        lines = [line for line in out.getvalue().splitlines()[1:] if line.strip()]
        first = max(len(lines) - SHOWN, 0)
        while first < len(lines) and not lines[first][:PART].strip():  # continuation of a long line
            first += 1
        return tuple(_with_time(lines[:first], lines[first:]))


def _with_time(before: list[str], lines: list[str]) -> list[str]:
    """The lines, with the time added to the first line if only an earlier line shows it."""
    times = [line[:TIME] for line in before if line[:TIME].strip()]
    if lines and times and not lines[0][:TIME].strip():
        return [times[-1] + lines[0][TIME:], *lines[1:]]
    return lines
