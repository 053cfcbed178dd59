"""Position of each record in the Perfetto trace: its track, its slice, and its cause.

A node is a process. It has a track for its sync loop, its PLEG, and so on, and a track for each pod worker, with the
worker's runtime calls below. Slices of one track must nest, so overlapping calls (containers that are stopped at the
same time) are in separate lanes.

Syncs have the names of the kubelet's own spans. If the kubelet has no span, the name is the name of the call.
"""

from __future__ import annotations

from itertools import count
from typing import Any

from kubesim.trace import records as r
from kubesim.trace.pod_nodes import PodNodes
from kubesim.trace.sinks.phrases import phrase
from kubesim.values import mutable, value_object

Path = tuple[str, ...]  # the names of a track's ancestors and of the track itself, beginning with the node
CLUSTER = "cluster"  # the process of records without a node
UNFINISHED = 1 << 62  # the number of a record that does not exist

# The part of the kubelet or the cluster whose track shows records of a kind as instants.
_PARTS: dict[type[r.Record], str] = {
    r.SourceSnapshot: "sources", r.ConfigUpdate: "sources", r.LoopSelect: "sync loop", r.Handler: "sync loop",
    r.PlegEvent: "PLEG", r.ProbeOutcome: "probes", r.StatusSet: "status manager", r.ApiWrite: "API server",
    r.EventRecorded: "Events", r.LogOutput: "container output", r.Fault: "faults", r.Expectation: "expectations",
    r.Note: "notes",
}  # fmt: skip
_OF_WORKER = (r.WorkerUpdate, r.WorkerState, r.Actions)


@mutable
class TrackSpan:
    """A slice or an instant. Times are microseconds since the start; `end` is None for an instant. `begun_by` and
    `ended_by` are numbers of records.
    """

    track: Path
    name: str
    begin: int
    begun_by: int
    cause: int | None
    details: dict[str, Any]
    end: int | None = None
    ended_by: int = UNFINISHED


@value_object
class _Call:
    span: TrackSpan
    lane: int


class TrackSink:
    """A sink; `spans` returns the slices in the order in which they began."""

    def __init__(self) -> None:
        self._nodes = PodNodes()
        self._spans: list[TrackSpan] = []
        self._syncs: dict[str, TrackSpan] = {}  # by uid of the pod
        self._calls: dict[int, _Call] = {}  # by the record that began the call
        self._busy: dict[Path, set[int]] = {}  # lanes of a track with a call in progress
        self._last = 0

    def record(self, record: r.Record) -> None:
        self._last = record.t
        node = self._node_of(record)
        if isinstance(record, r.SyncBegin):
            name = record.sync[:1].lower() + record.sync[1:]
            self._syncs[record.uid] = self._begin((node, _worker(record)), name, record)
        elif isinstance(record, r.SyncEnd):
            _end(self._syncs.pop(record.uid, None), record)
        elif isinstance(record, r.CriCall):
            self._call(record, node)
        elif isinstance(record, r.CriReturn):
            self._answer(record)
        elif isinstance(record, r.Note) and record.ends_kubelet:
            self._begin((node, "notes"), record.text, record)
            self._kubelet_ends(node, record)
        else:
            self._instant(record, node)

    def _node_of(self, record: r.Record) -> str:
        node = self._nodes.node_of(record)
        is_of_cluster = isinstance(record, r.Expectation) or (isinstance(record, r.ApiWrite) and record.by != "kubelet")
        return CLUSTER if is_of_cluster or not node else node

    def spans(self) -> list[TrackSpan]:
        """All slices; those still open end with the trace."""
        for each in (*self._syncs.values(), *(call.span for call in self._calls.values())):
            each.end = self._last
        return self._spans

    def _begin(self, track: Path, name: str, record: r.Record) -> TrackSpan:
        begun = TrackSpan(track, name, record.t, record.seq, record.cause, _details(record))
        self._spans.append(begun)
        return begun

    def _call(self, record: r.CriCall, node: str) -> None:
        caller = (node, _worker(record)) if record.pod else (node, "runtime")
        busy = self._busy.setdefault(caller, set())
        lane = next(lane for lane in count(1) if lane not in busy)
        busy.add(lane)
        name = "runtime calls" if lane == 1 else f"runtime calls {lane}"
        self._calls[record.seq] = _Call(self._begin((*caller, name), record.call, record), lane)

    def _answer(self, record: r.CriReturn) -> None:
        call = self._calls.pop(record.cause or 0, None)
        if call is not None:
            _end(call.span, record)
            self._busy[call.span.track[:-1]].discard(call.lane)

    def _kubelet_ends(self, node: str, record: r.Record) -> None:
        """End everything that the kubelet of the node was doing."""
        for uid, sync in list(self._syncs.items()):
            if sync.track[0] == node:
                _end(self._syncs.pop(uid), record)

    def _instant(self, record: r.Record, node: str) -> None:
        if isinstance(record, _OF_WORKER) or (isinstance(record, r.RuntimeStep | r.CniExec) and record.pod):
            track: Path = (node, _worker(record))
        elif isinstance(record, r.RuntimeStep | r.CniExec | r.ContainerEvent):
            track = (node, "runtime")
        else:
            track = (node, _PARTS[type(record)])
        if isinstance(record, r.CniExec):
            track = (*track, "CNI")
        self._begin(track, phrase(record).text, record)


def _end(begun: TrackSpan | None, record: r.Record) -> None:
    if begun is not None:
        begun.end, begun.ended_by = record.t, record.seq
        begun.details |= {key: value for key, value in _details(record).items() if key not in begun.details}


def _worker(record: r.Record) -> str:
    return f"pod {record.pod}"


def _details(record: r.Record) -> dict[str, Any]:
    """All fields of a record except those that its track and time show."""
    return {key: value for key, value in record.to_json().items() if key not in ("t", "node")}
