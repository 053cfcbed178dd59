"""`kubesim run --logs`: prints container output after a run, as `kubectl logs --prefix` does."""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from typing import TextIO

from kubesim.golang.text import printable
from kubesim.trace import Record, Sink
from kubesim.trace.records import LogOutput


class ContainerLogs:
    """Collects the lines of one run. `wanted` is `POD[:CONTAINER]`, empty for all, None for nothing."""

    def __init__(self, wanted: str | None) -> None:
        self._wanted = wanted
        pod, _, self._container = (wanted or "").partition(":")
        self._pod = pod if "/" in pod else f"default/{pod}"
        self._lines: dict[tuple[str, str], list[str]] = {}  # by (pod, container), in order of their first line

    def sinks(self) -> tuple[Sink, ...]:
        return () if self._wanted is None else (self,)

    def record(self, record: Record) -> None:
        if isinstance(record, LogOutput) and self._is_wanted(record):
            self._lines.setdefault((record.pod, record.container), []).append(record.text)

    def _is_wanted(self, record: LogOutput) -> bool:
        if not self._wanted:
            return True
        return fnmatchcase(record.pod, self._pod) and fnmatchcase(record.container, self._container or "*")

    def print(self, out: TextIO) -> None:
        if self._wanted is None:
            return
        if not self._lines:
            of = f" of {self._wanted}" if self._wanted else ""
            print(f"kubesim: no output{of}", file=sys.stderr)
        for (pod, container), lines in sorted(self._lines.items()):
            for line in lines:
                name = printable(f"[pod/{pod.removeprefix('default/')}/{container}]")
                out.write(f"{name} " + "\t".join(map(printable, line.split("\t"))) + "\n")
