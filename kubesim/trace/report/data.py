"""Data of the report: records in columns with each text stored once, lanes, and changes of facts.

Times are microseconds since the start. Record numbers and times are stored as short differences from the previous one.
Probe calls without an effect are omitted: they are most of a long run, and no decision.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from kubesim.trace import records as r
from kubesim.trace.lanes.bands import Lane, LaneSink
from kubesim.trace.pod_nodes import PodNodes
from kubesim.trace.report.facts import FactChange, FactSink
from kubesim.trace.report.mark import Mark
from kubesim.trace.report.strings import Strings
from kubesim.trace.sinks.changes import status_changes
from kubesim.trace.sinks.phrases import Phrase, phrase

COLUMNS = ("seq", "t", "kind", "part", "node", "pod", "container", "text", "why", "ref", "cause", "tone")
_TONES = {"plain": 0, "good": 1, "warning": 2, "bad": 3}


class RunDataSink:
    """A sink that collects the data of a report. With `sees_objects` it also gets each change of a pod."""

    def __init__(self, *, sees_objects: bool = False) -> None:
        self._strings = Strings()
        self._columns: dict[str, list[int]] = {name: [] for name in COLUMNS}
        self._more: dict[int, dict[str, Any]] = {}  # further values to show for a record, by its number
        self._lanes, self._facts, self._nodes = LaneSink(sees_objects=sees_objects), FactSink(), PodNodes()
        self._statuses: dict[str, Mapping[str, Any]] = {}
        self._held: dict[int, r.Record] = {}  # probe calls that have caused nothing so far
        self._seq = self._t = 0
        self.seen_seq = self.seen_t = 0  # of the last record, even if it is omitted
        self.left_out = 0

    def record(self, record: r.Record) -> None:
        self.seen_seq, self.seen_t = record.seq, record.t
        self._lanes.record(record)
        self._facts.record(record)
        if isinstance(record, r.CriCall) and record.call == "ExecSync" and not record.why:
            self._held[record.seq] = record
            return
        cause = self._held.pop(record.cause or 0, None)
        if cause is not None:
            if isinstance(record, r.CriReturn) and not record.error:
                self.left_out += 2
                return
            self.left_out += 1  # the record of the failure contains enough about the call
            record_cause = cause.cause
        else:
            record_cause = record.cause
        self._add(record, record_cause)

    def show_pod(self, t: int, name: str, node: str, status: Mapping[str, Any] | None) -> None:
        """Record that a pod changed at the API server; None: it was deleted."""
        self._lanes.show(t, name, node, status)

    def _add(self, record: r.Record, cause: int | None) -> None:
        said = self._phrase(record)
        text = self._strings
        values = {
            "seq": record.seq - self._seq, "t": record.t - self._t, "kind": text[record.KIND], "part": text[said.part],
            "node": text[self._nodes.node_of(record)], "pod": text[record.pod], "container": text[record.container],
            "text": text[said.text], "why": text[record.why], "ref": text[record.ref],
            "cause": record.seq - cause if cause else 0, "tone": _TONES[said.tone],
        }  # fmt: skip
        for name, value in values.items():
            self._columns[name].append(value)
        self._seq, self._t = record.seq, record.t
        more = _more(record)
        if more:
            self._more[record.seq] = more

    def _phrase(self, record: r.Record) -> Phrase:
        said = phrase(record)
        if not isinstance(record, r.ApiWrite) or not record.is_pod_status:
            return said
        changes = status_changes(self._statuses.get(record.uid), record.summary)
        self._statuses[record.uid] = record.summary
        return Phrase(said.part, f"{said.text}: {', '.join(changes) or 'times and messages'}", said.reasons, said.tone)

    def data(self, end: int) -> dict[str, Any]:
        """The data as a JSON value."""
        text = self._strings
        lanes = [
            {"pod": text[pod.pod], "node": text[pod.node], "lanes": [self._lane(lane) for lane in pod.lanes]}
            for pod in self._lanes.pods(end)
        ]
        facts = {str(text[pod]): self._fact_rows(changes) for pod, changes in self._facts.changes.items()}
        records = {"columns": self._columns, "more": self._more, "leftOut": self.left_out}
        return {"end": end, "records": records, "lanes": lanes, "facts": facts, "strings": text.all()}

    def since(self, mark: Mark, end: int) -> dict[str, Any]:
        """The data added since a mark, for a page that has the rest; growth.js combines both."""
        text = self._strings
        lanes = [
            {
                "number": pod.number, "pod": text[pod.pod], "node": text[pod.node],
                "lanes": [{**self._lane(lane), "open": is_open} for lane, is_open in pod.lanes],
            }
            for pod in self._lanes.changed(mark.lanes, mark.t, end)
        ]  # fmt: skip
        facts = {}
        for pod, changes in self._facts.changes.items():
            first = bisect_right(changes, mark.seq, key=lambda change: change.seq)
            if first < len(changes):
                facts[str(text[pod])] = self._fact_rows(changes[first:])
        columns = {name: values[mark.records :] for name, values in self._columns.items()}
        seqs = takewhile(lambda seq: seq > mark.seq, reversed(self._more))
        more = {seq: self._more[seq] for seq in seqs}
        records = {"columns": columns, "more": more, "leftOut": self.left_out}
        strings = text.after(mark.strings)
        return {"end": end, "records": records, "lanes": lanes, "facts": facts, "strings": strings}

    def mark(self, t: int) -> Mark:
        """The current extent of the data; nothing added later is before `t`."""
        return Mark(self.seen_seq, t, len(self._columns["seq"]), len(self._strings), self._lanes.number)

    def _lane(self, lane: Lane) -> dict[str, Any]:
        text = self._strings
        bands = [[b.begin, b.end - b.begin, text[b.text], b.tone, b.seq] for b in lane.bands]
        return {"kind": lane.kind, "name": text[lane.name], "bands": bands}

    def _fact_rows(self, changes: Iterable[FactChange]) -> list[list[int]]:
        return [[each.seq, self._strings[each.name], self._strings[each.text]] for each in changes]


def _more(record: r.Record) -> dict[str, Any]:
    """The input and output of a CNI plugin; the values of a decision or call."""
    if isinstance(record, r.CniExec):
        given = {"environ": dict(record.environ), "stdin": record.stdin, "result": record.result, "error": record.error}
        return {name: value for name, value in given.items() if value}
    if isinstance(record, r.Actions):
        return dict(record.decision)
    return dict(record.args) if isinstance(record, r.CriCall) else {}


def run_data(records: Sequence[r.Record], end: int | None = None) -> dict[str, Any]:
    """The data of a finished trace."""
    sink = RunDataSink()
    for record in records:
        sink.record(record)
    return sink.data(end if end is not None else records[-1].t if records else 0)
