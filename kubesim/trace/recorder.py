"""The recorder: gives every record its number, its time and its cause, and hands it to the sinks.

The cause travels with the task: a task that takes an item calls `because(seq)`, and everything recorded by that task
from then on is caused by it. A recorder without sinks costs next to nothing: `on` is False and callers skip their work.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from kubesim.clock import LoopClock
from kubesim.trace.records import Record

_cause: ContextVar[int | None] = ContextVar("cause", default=None)


class Sink(Protocol):
    """Anything that looks at records as they come: a list, a file, the console, an expectation.

    One with a true attribute `wants_details` gets the steps within calls of the runtime, too. One with a method
    `follow_store` is given the store of the cluster when the story begins.
    """

    def record(self, record: Record) -> None: ...


class Recorder:
    """One per run."""

    def __init__(self, clock: LoopClock, *sinks: Sink) -> None:
        self._clock = clock
        self._sinks = list(sinks)
        self.count = 0
        self.on = bool(sinks)  # read by hot paths before they build a record
        self._detailed = [sink for sink in sinks if _wants_details(sink)]
        self.details = bool(self._detailed)  # read before a detail is built

    def add(self, sink: Sink) -> None:
        self._sinks.append(sink)
        self.on = True
        if _wants_details(sink):
            self._detailed.append(sink)
            self.details = True

    def record(self, record: Record) -> int:
        """Number the record, stamp it, pass it on; the number is what later records name as their cause."""
        if not self.on:
            return 0
        self.count += 1
        record.seq = self.count
        record.t = self._clock.now() - self._clock.start
        if record.cause is None:
            record.cause = _cause.get()
        for sink in self._sinks:
            sink.record(record)
        return record.seq  # a sink may have recorded more: an expectation that this record meets

    def detail(self, record: Record) -> None:
        """Pass on what happens within a call, to the sinks that want such details.

        A detail has the number of the record that it follows: a watcher must not change the trace or its hash.
        """
        if self.details:
            record.seq = self.count
            record.t = self._clock.now() - self._clock.start
            if record.cause is None:
                record.cause = _cause.get()
            for sink in self._detailed:
                sink.record(record)

    @staticmethod
    def because(seq: int | None) -> None:
        """What the current task records from now on is caused by this record."""
        cause = seq or None
        if _cause.get() is not cause:  # without sinks nothing has a cause, and reading is cheaper than setting
            _cause.set(cause)

    cause: staticmethod[[], int | None] = staticmethod(_cause.get)  # of what the current task records now


def _wants_details(sink: Sink) -> bool:
    return bool(getattr(sink, "wants_details", False))


class MemorySink:
    """Keeps every record, and details if they are wanted."""

    def __init__(self, *, details: bool = False) -> None:
        self.records: list[Record] = []
        self.wants_details = details

    def record(self, record: Record) -> None:
        self.records.append(record)
