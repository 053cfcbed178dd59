"""The recorder: gives every record its number, time and cause, and passes it to the sinks.

The cause belongs to the current task: a task that receives an item calls `because(seq)`, and that record is the cause
of everything the task records afterwards. A recorder without sinks costs next to nothing: `on` is False and callers
skip their work.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Protocol

from kubesim.clock import LoopClock
from kubesim.trace.records import Record

_cause: ContextVar[int | None] = ContextVar("cause", default=None)


class Sink(Protocol):
    """A consumer of records: a list, a file, the console, an expectation.

    A sink with a true attribute `wants_details` also gets the steps within runtime calls. A sink with a method
    `follow_store` gets the cluster's store when the run begins.
    """

    def record(self, record: Record) -> None: ...


class Recorder:
    """The recorder of a run."""

    def __init__(self, clock: LoopClock, *sinks: Sink) -> None:
        self._clock = clock
        self._sinks = list(sinks)
        self.count = 0
        self.on = bool(sinks)  # hot paths check it before they build a record
        self._detailed = [sink for sink in sinks if _wants_details(sink)]
        self.details = bool(self._detailed)  # checked before a detail is built

    def add(self, sink: Sink) -> None:
        self._sinks.append(sink)
        self.on = True
        if _wants_details(sink):
            self._detailed.append(sink)
            self.details = True

    def record(self, record: Record) -> int:
        """Give the record its number and time, and pass it on. Later records name this number as their cause."""
        if not self.on:
            return 0
        self.count += 1
        record.seq = self.count
        record.t = self._clock.now() - self._clock.start
        if record.cause is None:
            record.cause = _cause.get()
        for sink in self._sinks:
            sink.record(record)
        return record.seq  # a sink may have recorded more: an expectation that this record fulfils

    def detail(self, record: Record) -> None:
        """Pass a step within a call to the sinks that want details.

        A detail has the number of the record before it, so that showing details does not change the trace or its hash.
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
        """Make a record the cause of everything that the current task records from now on."""
        cause = seq or None
        if _cause.get() is not cause:  # without sinks nothing has a cause, and a read is cheaper than a write
            _cause.set(cause)

    cause: staticmethod[[], int | None] = staticmethod(_cause.get)  # the cause of the current task's records


def _wants_details(sink: Sink) -> bool:
    return bool(getattr(sink, "wants_details", False))


class MemorySink:
    """Keeps every record, and details on request."""

    def __init__(self, *, details: bool = False) -> None:
        self.records: list[Record] = []
        self.wants_details = details

    def record(self, record: Record) -> None:
        self.records.append(record)
