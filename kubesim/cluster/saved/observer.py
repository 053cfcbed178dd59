"""Observes a run: passes every trace record and every change of an object to a listener, in order."""

from __future__ import annotations

from typing import Protocol

from kubesim.cluster.saved.history import ObjectChange, RunHistory
from kubesim.cluster.saved.lines import RunHeader, change_line, end_line, shown_object
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.trace.records import Record
from kubesim.trace.sinks.jsonl import record_line
from kubesim.trace.sinks.line_file import LineFile

BATCH = 1 << 16  # bytes buffered before a write, the most that a killed process loses


class RunListener(Protocol):
    def record(self, record: Record) -> None: ...
    def change(self, change: ObjectChange) -> None: ...


class RunObserver:
    """A trace sink that also follows the store."""

    def __init__(self, listener: RunListener) -> None:
        self._listener = listener
        self._store: Store | None = None
        self._start = 0
        self.record = listener.record

    def follow_store(self, store: Store) -> None:
        """Follow the store from the start of the scenario: existing objects are ADDED now."""
        self._store, self._start = store, store.now()
        for kind in store.kinds():
            for obj in store.list(kind):
                self._listener.change(ObjectChange(0, "ADDED", shown_object(obj)))
        store.watch_all(self._changed)

    def elapsed(self) -> int:
        """Microseconds since the start of the scenario; 0 before."""
        return 0 if self._store is None else self._store.now() - self._start

    def _changed(self, event: WatchEvent) -> None:
        self._listener.change(ObjectChange(self.elapsed(), event.type, shown_object(event.object)))


class SavedRunWriter:
    """Writes a run to a file during the run. With `batch` 0, every line is written immediately. Raises UsageError."""

    def __init__(self, path: str, batch: int = BATCH) -> None:
        self._file = LineFile(path, "--save", batch)

    def begin(self, header: RunHeader) -> None:
        self._write(header.line())

    def record(self, record: Record) -> None:
        self._write(record_line(record))

    def change(self, change: ObjectChange) -> None:
        self._write(change_line(change.type, change.t, change.object))

    def end(self, t: int, ok: bool, hash: str | None) -> None:
        self._write(end_line(t, ok, hash))

    def close(self) -> None:
        self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(line.encode(errors="replace") + b"\n")


def history_of(header: RunHeader) -> tuple[RunHistory, RunObserver]:
    """A history that is filled during the run."""
    history = RunHistory(header)
    return history, RunObserver(history)
