"""The trace of a driven cluster, and assertions about it.

Records are selected as in `kubesim run --break-on`: `cri.call call=StartContainer pod=web`, `event reason=BackOff`.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from kubesim.testing.playing import timeline_sink
from kubesim.trace.records import LogOutput, Record
from kubesim.trace.stepping import RecordCondition

_SHOWN = 8  # records in the message of a failed assertion


class Trace:
    """All records so far. With several nodes, each line of the timeline names its node."""

    def __init__(self, records: list[Record], *, nodes: bool) -> None:
        self.records = records
        self._nodes = nodes

    def find(self, condition: str) -> list[Record]:
        """The records that match, oldest first."""
        parsed = RecordCondition.parse(condition)
        return [record for record in self.records if parsed.matches(record)]

    def count(self, condition: str) -> int:
        return len(self.find(condition))

    def times(self, condition: str) -> list[float]:
        """The times of the matching records, in seconds."""
        return [record.t / 1_000_000 for record in self.find(condition)]

    def assert_has(self, condition: str, count: int | None = None) -> None:
        """Assert at least one matching record, or exactly `count`."""
        __tracebackhide__ = True
        found = self.count(condition)
        if count is None and not found:
            raise AssertionError(self._failure(f"no record matches {condition!r}", condition))
        if count is not None and found != count:
            raise AssertionError(self._failure(f"{found} records match {condition!r}, not {count}", condition))

    def assert_never(self, condition: str) -> None:
        __tracebackhide__ = True
        found = self.find(condition)
        if found:
            first = found[0]
            when = f"{first.t / 1_000_000:.6f} s"
            raise AssertionError(f"{condition!r} must never happen, but did at {when}\n  {_line(first)}")

    def assert_order(self, *conditions: str) -> None:
        """Assert that the first matches of each selector are in this order."""
        __tracebackhide__ = True
        before: Record | None = None
        for condition in conditions:
            found = self.find(condition)
            if not found:
                raise AssertionError(self._failure(f"no record matches {condition!r}", condition))
            if before is not None and found[0].seq <= before.seq:
                raise AssertionError(f"{condition!r} is not in its order\n  {_line(found[0])}\n  {_line(before)}")
            before = found[0]

    def _failure(self, problem: str, condition: str) -> str:
        """The error message, with the last records of the same kind."""
        kind = condition.split()[0]
        near = [record for record in self.records if kind == record.KIND] or self.records
        return "\n".join([problem, *(f"  {_line(record)}" for record in near[-_SHOWN:])])

    def logs(self, pod: str, container: str = "") -> list[str]:
        """The lines that the containers of a pod wrote."""
        whole = pod if "/" in pod else f"default/{pod}"
        lines = (record for record in self.records if isinstance(record, LogOutput) and record.pod == whole)
        return [record.text for record in lines if container in ("", record.container)]

    def timeline(self) -> str:
        """The timeline in the format of `kubesim run`."""
        return render(self.records, nodes=self._nodes)


def render(records: Sequence[Record], *, nodes: bool = False) -> str:
    out = StringIO()
    sink = timeline_sink(out, nodes=nodes)
    for record in records:
        sink.record(record)
    sink.close()
    return out.getvalue()


def _line(record: Record) -> str:
    from kubesim.trace.sinks.jsonl import record_line

    return record_line(record).strip()
