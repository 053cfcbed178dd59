"""The stepper: a movable position in a trace, and the queries at that position.

`forward`, `back`, `go_on`, `go_back`, `go_to`, `search` move; `picture` is the state of the node, `why` the chain of
causes, `due` the expected steps with their times. Everything is computed from the records; more records may be added at
the end. With a filter, moves skip the records that do not match.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter

from kubesim.trace import records as r
from kubesim.trace.pod_nodes import PodNodes
from kubesim.trace.sinks.phrases import phrase, subject
from kubesim.trace.stepping.conditions import RecordCondition
from kubesim.trace.stepping.filters import RecordFilter
from kubesim.trace.stepping.state import CallPicture, Picture, WorkerPicture
from kubesim.values import value_object

_PICTURE_INTERVAL = 200  # records between two stored pictures


@value_object
class Due:
    """An expected step of a pod. `t` None: its time is not known yet."""

    t: int | None
    text: str
    subject: str = ""
    seq: int = 0  # the number of its record, 0 if this trace does not contain it


class Stepper:
    """A position in a trace, at first on the first record."""

    def __init__(self, records: Sequence[r.Record], breaks: Sequence[RecordCondition] = ()) -> None:
        assert records, "a trace without records cannot be stepped through"
        self.records = records
        self.breaks = tuple(breaks)
        self.filter: RecordFilter | None = None
        self.position = 0
        self.has_several_nodes = False  # if True, texts name the node
        self.is_observed = False  # the trace of an observer: it lacks what only the kubelet and the runtime know
        self._kept: list[Picture] = [Picture()]  # before record 0, _PICTURE_INTERVAL, 2 * _PICTURE_INTERVAL, ...
        self._newest: tuple[int, Picture] | None = None  # the last picture with its index
        self._index = _Index()

    @property
    def here(self) -> r.Record:
        return self.records[self.position]

    @property
    def at_end(self) -> bool:
        return self.position == len(self.records) - 1

    # -- moves: each returns whether the position changed -------------------------------------------------------------

    def forward(self, *, every_record: bool = False) -> bool:
        """Move to the next decision, or with `every_record` to the next record."""
        return self._move(1, every_record)

    def back(self, *, every_record: bool = False) -> bool:
        return self._move(-1, every_record)

    @property
    def next_decision(self) -> r.Record | None:
        """The record to which `forward` would move."""
        position = self.position
        found = self.here if self.forward() else None
        self.position = position
        return found

    def _move(self, direction: int, every_record: bool) -> bool:
        position = self.position + direction
        while 0 <= position < len(self.records):
            if self.is_shown(position) and (every_record or is_decision(self.records[position])):
                self.position = position
                return True
            position += direction
        return False

    def go_on(self) -> bool:
        """Move to the next record that matches a break; without one, stay and return False."""
        return self._find(range(self.position + 1, len(self.records)))

    def go_back(self) -> bool:
        return self._find(range(self.position - 1, -1, -1))

    def _find(self, positions: range) -> bool:
        for position in positions:
            if self.is_shown(position) and self.stopped_by(self.records[position]):
                self.position = position
                return True
        return False

    def search(self, text: str, *, back: bool = False) -> bool:
        """Move to the next or previous record whose line, reason or output contains the text, ignoring case."""
        wanted = text.casefold()
        positions = range(self.position - 1, -1, -1) if back else range(self.position + 1, len(self.records))
        for position in positions:
            record = self.records[position]
            line = f"{record.KIND} {record_text(record, with_node=True)} {record.why}"
            if self.is_shown(position) and wanted in line.casefold():
                self.position = position
                return True
        return False

    def go_first(self) -> bool:
        """Move to the first record that is shown."""
        return self._jump(range(self.position))

    def go_last(self) -> bool:
        return self._jump(range(len(self.records) - 1, self.position, -1))

    def go_to_shown(self) -> bool:
        """Stay if the record is shown; else move to the next one that is, or to the last one before."""
        return self._jump([*range(self.position, len(self.records)), *range(self.position - 1, -1, -1)])

    def _jump(self, positions: Iterable[int]) -> bool:
        found = next((position for position in positions if self.is_shown(position)), None)
        self.position = self.position if found is None else found
        return found is not None

    def is_shown(self, index: int) -> bool:
        return self.filter is None or self.filter.lets_through(self.records[index], self._indexed.nodes[index])

    @property
    def _indexed(self) -> _Index:
        self._index.read(self.records)
        return self._index

    def stopped_by(self, record: r.Record) -> RecordCondition | None:
        return next((condition for condition in self.breaks if condition.matches(record)), None)

    def go_to(self, seq: int) -> bool:
        """Move to the record with this number."""
        if 1 <= seq <= len(self.records):
            self.position = seq - 1
            return True
        return False

    def go_to_time(self, t: int) -> None:
        """Move to the first record at or after a time (microseconds), or to the last record."""
        self.position = min(bisect_left(self.records, t, key=attrgetter("t")), len(self.records) - 1)

    # -- queries ------------------------------------------------------------------------------------------------------

    @property
    def picture(self) -> Picture:
        """The state of the node after the current record. Callers must not change it, because several parts of a screen
        share it.
        """
        if self._newest is None or self._newest[0] != self.position:
            self._newest = self.position, self._made_picture()
        return self._newest[1]

    def _made_picture(self) -> Picture:
        kept = (self.position + 1) // _PICTURE_INTERVAL
        while len(self._kept) <= kept:
            picture = self._kept[-1].copy()
            start = (len(self._kept) - 1) * _PICTURE_INTERVAL
            for record in self.records[start : start + _PICTURE_INTERVAL]:
                picture.take(record)
            self._kept.append(picture)
        picture = self._kept[kept].copy()
        for record in self.records[kept * _PICTURE_INTERVAL : self.position + 1]:
            picture.take(record)
        return picture

    def why(self, seq: int | None = None) -> list[r.Record]:
        """The record, its cause, the cause of that, and so on."""
        chain = [self.here if seq is None else self.records[seq - 1]]
        while (cause := chain[-1].cause) is not None and cause < chain[-1].seq:
            chain.append(self.records[cause - 1])
        return chain

    def follows(self) -> list[r.Record]:
        """The effects of the current record."""
        return [self.records[index] for index in self._indexed.effects.get(self.here.seq, ())]

    def logs(self, pod: str, limit: int) -> list[r.LogOutput]:
        """The last lines that the containers of a pod have written so far; an empty name: of all pods."""
        logs = self._indexed.logs
        lines: list[r.LogOutput] = []
        for number in range(bisect_right(logs, self.position) - 1, -1, -1):
            record = self.records[logs[number]]
            if isinstance(record, r.LogOutput) and pod in ("", record.pod):
                lines.append(record)
                if len(lines) == limit:
                    break
        return lines[::-1]

    def due(self) -> list[Due]:
        """The steps that are in progress or scheduled at this position, soonest first."""
        picture = self.picture
        out = [self._return_of(call) for call in picture.calls.values()]
        for uid, worker in picture.workers.items():
            out += self._due_of(uid, worker)
        return sorted(out, key=lambda due: (due.t is None, due.t or 0))

    def _return_of(self, call: CallPicture) -> Due:
        about = _about(call.pod, call.container)
        for index in self._indexed.effects.get(call.seq, ()):
            record = self.records[index]
            if isinstance(record, r.CriReturn):
                return Due(record.t, f"{call.call} returns", about, record.seq)
        if call.call == "StopContainer":
            deadline = call.t + call.args.get("timeout", 0) * 1_000_000
            return Due(deadline, "the grace period is over: SIGKILL", about)
        return Due(None, f"{call.call} never returns", about)

    def _due_of(self, uid: str, worker: WorkerPicture) -> list[Due]:
        about = _about(worker.pod, "")
        out = []
        if worker.pending:
            begin = self._next_sync(uid)
            after = "after this sync" if worker.sync else "with a newer runtime status"
            t, seq = (None, 0) if begin is None else (begin.t, begin.seq)
            out.append(Due(t, f"starts {worker.pending} {after}", about, seq))
        if worker.due is not None:
            out.append(Due(worker.due, "retry" if worker.error else "periodic resync", about))
        return out

    def _next_sync(self, uid: str) -> r.Record | None:
        later = self.records[self.position + 1 :]
        return next((record for record in later if isinstance(record, r.SyncBegin) and record.uid == uid), None)


class _Index:
    """Indexes of the records, which may grow: their nodes, effects and lines of output."""

    def __init__(self) -> None:
        self.nodes: list[str] = []  # the node of each record
        self.effects: dict[int, list[int]] = {}  # number of a record -> indexes of the records that it caused
        self.logs: list[int] = []  # indexes
        self._pod_nodes = PodNodes()

    def read(self, records: Sequence[r.Record]) -> None:
        for index in range(len(self.nodes), len(records)):
            record = records[index]
            self.nodes.append(self._pod_nodes.node_of(record))
            if record.cause is not None:
                self.effects.setdefault(record.cause, []).append(index)
            if isinstance(record, r.LogOutput):
                self.logs.append(index)


def is_decision(record: r.Record) -> bool:
    """Whether the record is a decision, not an echo such as a source's snapshot, a status that waits to be written, a
    successful return or output.
    """
    if isinstance(record, r.SourceSnapshot | r.StatusSet | r.LogOutput):
        return False
    if isinstance(record, r.CriReturn):
        return bool(record.error)
    if isinstance(record, r.ConfigUpdate):
        return record.op != "RECONCILE" and bool(record.pods)
    if isinstance(record, r.LoopSelect):
        return not record.why.startswith("RECONCILE")
    if isinstance(record, r.Handler):
        return record.name != "HandlePodReconcile"
    return True


def record_text(record: r.Record, *, with_node: bool = False) -> str:
    """A record as one line: `decide crash: start main`, or with the node `decide node-1 crash: start main`."""
    said = phrase(record)
    about = subject(record)
    if with_node:
        about = f"{record.node or '-'} {about}".rstrip()
    return f"{said.part} {about}: {said.text}" if about else f"{said.part}: {said.text}"


def _about(pod: str, container: str) -> str:
    name = pod.removeprefix("default/")
    return f"{name}:{container}" if container else name
