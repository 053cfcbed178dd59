"""The timeline for a reader: one line for each thing that happened, with a reason if it explains something.

TIME     PART     POD          WHAT HAPPENED
    0.000    source   hello        ADD from source api — the uid is new to this source
             loop     hello        config → HandlePodAdditions

Lines with the same time show it only once. A bar from `┌` to `└` marks the actions of a sync. Lines are written as they
arrive, so a paced run can be watched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TextIO

from kubesim.trace import records as r
from kubesim.trace.sinks.changes import status_changes
from kubesim.trace.sinks.layout import Layout, Line, together
from kubesim.trace.sinks.phrases import Phrase, phrase, subject
from kubesim.values import replace

Level = Literal["quiet", "story", "verbose"]

_DETAILS = (r.RuntimeStep, r.ContainerEvent, r.OperationPassed)
_IN_SYNC = (r.Actions, r.CriCall, r.CriReturn, r.CniExec, r.EventRecorded, r.StatusSet, *_DETAILS)
_CHAPTERS = (r.ConfigUpdate, r.Handler, r.PlegEvent, r.ProbeOutcome, r.Note, r.Fault)  # begin a new paragraph
_SHOWN_QUIETLY = (r.ApiWrite, r.EventRecorded, r.Expectation, r.Fault)
_OUTPUT_LINES = 10  # of a container, between two starts
_LONG_CALL = 1_000_000  # a longer call is printed again when it returns
_PLAIN_UPDATE = "the worker will sync the pod"  # adds nothing to the text of the update
_FOLLOWS_SOURCE = {"SET", "ADD", "UPDATE", "DELETE", "REMOVE"}  # RECONCILE only echoes the kubelet's own write


class ConsoleSink:
    """A sink; `level`: `quiet` prints only outcomes, `story` the default timeline, `verbose` every record.

    For an attached agent, which writes nothing, the timeline shows what the agent would write. With `nodes`, every line
    names the node.
    """

    def __init__(
        self,
        out: TextIO,
        level: Level = "story",
        *,
        width: int = 100,
        colour: bool = False,
        attached: bool = False,
        nodes: bool = False,
    ) -> None:
        self._level = level
        self.wants_details = level == "verbose"
        self._attached = attached
        self._layout = Layout(out, width, colour=colour, numbered=level == "verbose", nodes=nodes)
        self._nodes: dict[str, str] = {}  # the node of each pod, by namespace and name
        self._node = ""  # the node of the current record
        self._output: dict[tuple[str, str], int] = {}  # lines of output by pod and container, since its last start
        self._statuses: dict[str, Mapping[str, Any]] = {}  # the summary written last, by uid
        self._syncs: dict[int, str] = {}  # open syncs, by the number of the record that began them
        # runtime calls in progress: when and in which sync they began
        self._calls: dict[int, tuple[int, int | None]] = {}
        self._selected: r.LoopSelect | None = None  # printed in one line with its handler
        self._pending: list[Line] = []  # the beginning of a sync that may have no effect
        self._verdicts: list[Line] = []  # expectations of this instant: printed after the records that fulfilled them
        self._said: set[tuple[str, Phrase]] = set()  # lines of loop and workers in this instant, by subject
        self._said_at = -1
        self._now = 0

    def record(self, record: r.Record) -> None:
        if self._verdicts and record.t != self._verdicts[0].t:
            self._write_held()
        self._node, self._now = self._node_of(record), record.t
        lines = self._verbose(record) if self._level == "verbose" else self._chosen(record)
        for line in lines:
            self._write_pending()
            self._layout.write(line, apart=isinstance(record, _CHAPTERS))

    def _node_of(self, record: r.Record) -> str:
        """The record's node, or the last known node of its pod."""
        if record.node and record.pod:
            self._nodes[record.pod] = record.node
        return record.node or self._nodes.get(record.pod, "")

    def close(self) -> None:
        """Write the pending lines, and how many lines of output were omitted."""
        self._write_held()
        for pod, container in list(self._output):
            for line in self._folded(pod, container):
                self._layout.write(line)

    def _write_held(self) -> None:
        self._write_pending()
        for line in self._verdicts:
            self._layout.write(line)
        self._verdicts = []

    def _write_pending(self) -> None:
        for line in self._pending:
            self._layout.write(line)
        self._pending = []

    def _chosen(self, record: r.Record) -> Iterable[Line]:
        if isinstance(record, r.ApiWrite):
            return self._write(record)
        if isinstance(record, r.Expectation):
            self._verdicts.append(self._line(record, phrase(record)))
            return []
        if self._level == "quiet":
            if isinstance(record, _SHOWN_QUIETLY):
                return [self._line(record, phrase(record))]
            return []
        return self._story(record)

    # -- the story: what a reader needs to follow ----------------------------------------------------------------

    def _story(self, record: r.Record) -> Iterable[Line]:
        if isinstance(record, r.SourceSnapshot | r.StatusSet):
            return []
        if isinstance(record, r.LogOutput):
            return self._log(record)
        if isinstance(record, r.ConfigUpdate):
            return [self._line(record, phrase(record))] if record.op in _FOLLOWS_SOURCE and record.pods else []
        if isinstance(record, r.LoopSelect):
            self._selected = record
            return []
        if isinstance(record, r.Handler):
            return self._handler(record)
        if isinstance(record, r.WorkerUpdate):
            return self._worker_update(record)
        if isinstance(record, r.SyncBegin):
            return self._sync_begin(record)
        if isinstance(record, r.SyncEnd):
            return self._sync_end(record)
        if isinstance(record, r.Actions) and not record.decision and self._pending:
            self._pending.append(self._line(record, phrase(record)))
            return []
        if isinstance(record, r.CriReturn):
            return self._returned(record)
        if isinstance(record, r.CriCall):
            self._calls[record.seq] = (record.t, record.cause)
            if record.call == "StartContainer":
                return [*self._folded(record.pod, record.container), self._line(record, phrase(record))]
            if record.call == "ExecSync" and record.cause not in self._syncs:
                return []  # a probe; only a changed result is printed
        if isinstance(record, r.Note) and record.container:
            return [*self._folded(record.pod, record.container), self._line(record, phrase(record))]
        return [self._line(record, phrase(record))]

    def _log(self, record: r.LogOutput) -> Iterable[Line]:
        """The first lines of output since a container started; further lines are only counted."""
        key = (record.pod, record.container)
        self._output[key] = self._output.get(key, 0) + 1
        return [self._line(record, phrase(record))] if self._output[key] <= _OUTPUT_LINES else []

    def _folded(self, pod: str, container: str) -> Iterable[Line]:
        more = self._output.pop((pod, container), 0) - _OUTPUT_LINES
        if more <= 0:
            return []
        about = f"{pod.removeprefix('default/')}:{container}"
        text = f"... {more} more line{'' if more == 1 else 's'}"
        return [Line(self._now, about, Phrase("log", text), node=self._nodes.get(pod, ""))]

    def _handler(self, record: r.Handler) -> Iterable[Line]:
        selected, self._selected = self._selected, None
        if record.name == "HandlePodReconcile" or not record.pods:
            return []
        said = phrase(record)
        if selected is None or selected.seq != record.cause:
            return [self._line(record, said)]
        line = Phrase("loop", f"{selected.channel} → {said.text}")
        about = record.pods[0].removeprefix("default/") if len(record.pods) == 1 else ""
        return self._once(record, about, line)

    def _worker_update(self, record: r.WorkerUpdate) -> Iterable[Line]:
        said = phrase(record)
        if record.why.startswith("ignored"):
            return []
        if record.why == _PLAIN_UPDATE:
            said = Phrase(said.part, said.text)
        return self._once(record, subject(record), said)

    def _once(self, record: r.Record, about: str, said: Phrase) -> Iterable[Line]:
        """Print the same text for a pod only once per instant, although several causes may produce it."""
        if self._said_at != record.t:
            self._said_at, self._said = record.t, set()
        line = (about, said)
        if line in self._said:
            return []
        self._said.add(line)
        return [Line(record.t, about, said, node=self._node)]

    def _sync_begin(self, record: r.SyncBegin) -> Iterable[Line]:
        self._write_pending()
        self._said.clear()
        self._syncs[record.seq] = record.uid
        said = phrase(record)
        reasons = () if record.sync == "SyncPod" else said.reasons
        self._pending = [Line(record.t, subject(record), Phrase(said.part, said.text, reasons), "┌ ", node=self._node)]
        return []

    def _sync_end(self, record: r.SyncEnd) -> Iterable[Line]:
        """End a sync; a sync without an effect is one line."""
        self._syncs.pop(record.cause or 0, None)
        said = phrase(record)
        pending = self._pending
        if pending and pending[0].subject == subject(record) and not record.error:
            self._pending = []
            text = ": ".join(line.phrase.text for line in pending)
            folded = Phrase(said.part, text, pending[0].phrase.reasons)
            return [Line(record.t, pending[0].subject, folded, "─ ", node=self._node)]
        text = said.text if record.error else f"{record.sync} done"
        return [Line(record.t, subject(record), Phrase(said.part, text, (), said.tone), "└ ", node=self._node)]

    def _returned(self, record: r.CriReturn) -> Iterable[Line]:
        begun, cause = self._calls.pop(record.cause or 0, (record.t, None))
        said = phrase(record)
        took = (record.t - begun) / 1_000_000
        if not record.error:
            # The Event Pulled reports how long a pull took.
            if record.t - begun < _LONG_CALL or record.call in ("PullImage", "ExecSync"):
                return []
            said = Phrase(said.part, f"{record.call} returned after {took:.3g}s")
        return [Line(record.t, subject(record), said, "│ " if cause in self._syncs else "", node=self._node)]

    # -- statuses ------------------------------------------------------------------------------------------------

    def _write(self, record: r.ApiWrite) -> list[Line]:
        if not record.is_pod_status:
            return [self._line(record, phrase(record))]
        return [Line(record.t, subject(record), self._would(record, self._status(record)), node=self._node)]

    def _status(self, record: r.ApiWrite) -> Phrase:
        changes = status_changes(self._statuses.get(record.uid), record.summary)
        self._statuses[record.uid] = record.summary
        reasons = tuple(reason for reason in record.why.split("; ") if "held back" in reason)
        return Phrase("status", together(changes) or "only times and messages changed", reasons)

    # -- verbose -------------------------------------------------------------------------------------------------

    def _verbose(self, record: r.Record) -> Iterable[Line]:
        said = phrase(record)
        mark = {r.SyncBegin: "┌ ", r.SyncEnd: "└ "}.get(type(record), "")
        if isinstance(record, r.SyncBegin):
            self._syncs[record.seq] = record.uid
        elif isinstance(record, r.SyncEnd):
            self._syncs.pop(record.cause or 0, None)
        elif isinstance(record, r.CriCall):
            self._calls[record.seq] = (record.t, record.cause)
        elif isinstance(record, r.CriReturn):
            mark = "│ " if self._calls.pop(record.cause or 0, (0, None))[1] in self._syncs else ""
        elif isinstance(record, r.ApiWrite) and record.is_pod_status:
            said = Phrase(said.part, f"{said.text}: {self._status(record).text}", said.reasons)
        line = self._line(record, said)
        seq = 0 if isinstance(record, _DETAILS) else record.seq
        return [replace(line, mark=mark or line.mark, seq=seq, cause=record.cause, ref=record.ref)]

    def _line(self, record: r.Record, said: Phrase) -> Line:
        inside = isinstance(record, _IN_SYNC) and record.cause in self._syncs
        return Line(record.t, subject(record), self._would(record, said), "│ " if inside else "", node=self._node)

    def _would(self, record: r.Record, said: Phrase) -> Phrase:
        if not self._attached or not would_write(record):
            return said
        return Phrase(said.part, f"would write: {said.text}", said.reasons, said.tone)


def would_write(record: r.Record) -> bool:
    """Whether the record is a write of the kubelet, which an attached agent does not send."""
    return isinstance(record, r.EventRecorded) or (isinstance(record, r.ApiWrite) and record.by == "kubelet")
