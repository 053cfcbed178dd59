"""The life of each pod as lanes of bands: phase, conditions, containers and probes over time.

Phase, conditions and container states are those at the API server: what kubectl shows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from kubesim.trace import records as r
from kubesim.trace.pod_nodes import PodNodes
from kubesim.values import mutable, value_object

LaneKind = Literal["phase", "condition", "container", "probe", "worker"]
Tone = Literal["waiting", "running", "good", "bad", "done", "off", "ending"]
_ORDER: tuple[LaneKind, ...] = ("phase", "worker", "condition", "container", "probe")
_CONTAINER_KINDS = ("initContainers", "containers", "ephemeralContainers")
_PHASES: dict[str, Tone] = {"Pending": "waiting", "Running": "running", "Succeeded": "done", "Failed": "bad"}
_PROBES: dict[str, Tone] = {"success": "good", "failure": "bad"}
_WORKER: dict[str, Tone] = {"terminating": "ending", "terminated": "done", "finished": "off"}


@value_object
class Band:
    """An interval in a lane, in microseconds since the start; `seq` is the number of the record that began it."""

    begin: int
    end: int
    text: str
    tone: Tone
    seq: int


@value_object
class Lane:
    kind: LaneKind
    name: str  # the name of the condition, container or probe
    bands: tuple[Band, ...]


@value_object
class PodLanes:
    """The lanes of a pod; `events` are the records of Events about the pod."""

    pod: str
    node: str
    lanes: tuple[Lane, ...]
    events: tuple[r.EventRecorded, ...]


@value_object
class ChangedPod:
    """A pod whose lanes changed. `number` is its index in the order of appearance; the flag of a lane: is its last band
    still open?
    """

    number: int
    pod: str
    node: str
    lanes: tuple[tuple[Lane, bool], ...]


@mutable
class _OpenPod:
    node: str = ""
    open: dict[tuple[LaneKind, str], Band] = field(default_factory=dict)
    done: dict[tuple[LaneKind, str], list[Band]] = field(default_factory=dict)
    changed: dict[tuple[LaneKind, str], int] = field(default_factory=dict)  # the number of each lane's last change
    events: list[r.EventRecorded] = field(default_factory=list)


@value_object
class _Moment:
    """A time with the last record (`seq`) and a `number` that grows with each record and each change of an object."""

    t: int
    seq: int
    number: int


class LaneSink:
    """A sink that follows each pod; `pods` returns the lanes so far.

    With `sees_objects`, phase, conditions and containers come from the objects passed to `show`, because other
    components also write them. Otherwise they come from the statuses that the kubelet wrote.
    """

    def __init__(self, *, sees_objects: bool = False) -> None:
        self._sees_objects = sees_objects
        self._pods: dict[str, _OpenPod] = {}
        self._nodes = PodNodes()
        self._last = _Moment(0, 0, 0)

    @property
    def number(self) -> int:
        """The number of the last record or change of an object."""
        return self._last.number

    def show(self, t: int, name: str, node: str, status: Mapping[str, Any] | None) -> None:
        """Record that a pod was created or changed; the status is summarized as in the trace. None: the pod was
        deleted.
        """
        now = self._last = _Moment(max(t, self._last.t), self._last.seq, self._last.number + 1)
        pod = self._pods.get(name)
        if pod is None:
            pod = self._pods[name] = _OpenPod()
        pod.node = node or pod.node
        _show(pod, {} if status is None else dict(_status_bands(status)), now)

    def record(self, record: r.Record) -> None:
        now = self._last = _Moment(record.t, record.seq, self._last.number + 1)
        node = self._nodes.node_of(record)
        if isinstance(record, r.Note) and record.ends_kubelet:
            self._end_probes(node, now)
        if not record.pod:
            return
        pod = self._pods.get(record.pod)
        if pod is None:
            pod = self._pods[record.pod] = _OpenPod()
        pod.node = node or pod.node
        if isinstance(record, r.EventRecorded):
            pod.events.append(record)
        elif isinstance(record, r.ApiWrite) and record.is_pod_status:
            if not self._sees_objects:
                _show(pod, dict(_status_bands(record.summary)), now)
        elif isinstance(record, r.ApiWrite) and (record.verb, record.resource, record.by) == (
            "delete",
            "pods",
            "kubelet",
        ):
            for key in list(pod.open):
                _end(pod, key, now)
        elif isinstance(record, r.ProbeOutcome):
            tone = _PROBES.get(record.result, "waiting")
            _begin(pod, ("probe", f"{record.container} {record.probe}"), record.result, tone, now)
        elif isinstance(record, r.WorkerState):
            _begin(pod, ("worker", ""), record.state, _WORKER.get(record.state, "running"), now)
        elif isinstance(record, r.SyncBegin) and ("worker", "") not in pod.open:
            _begin(pod, ("worker", ""), "syncing", "running", now)

    def _end_probes(self, node: str, now: _Moment) -> None:
        """End the bands of probes and workers on a node: they exist only in the kubelet's memory."""
        for pod in self._pods.values():
            if pod.node == node:
                for key in [key for key in pod.open if key[0] in ("probe", "worker")]:
                    _end(pod, key, now)

    def pods(self, end: int | None = None) -> list[PodLanes]:
        """The lanes of all pods in the order of appearance; open bands extend to `end`, or to the last record."""
        until = self._last.t if end is None else end
        return [
            PodLanes(name, pod.node, tuple(_lanes(pod, until)), tuple(pod.events))
            for name, pod in self._pods.items()
            if pod.open or pod.done
        ]

    def changed(self, number: int, t: int, end: int) -> Iterator[ChangedPod]:
        """The pods with lanes that changed after `number`, with the bands of each such lane that end at `t` or later,
        if any.
        """
        for index, (name, pod) in enumerate(self._pods.items()):
            keys = [key for key, changed in pod.changed.items() if changed > number]
            if keys:
                recent = tuple((_recent(pod, key, t, end), key in pod.open) for key in _in_order(keys))
                yield ChangedPod(index, name, pod.node, recent)


def _status_bands(summary: Mapping[str, Any]) -> Iterator[tuple[tuple[LaneKind, str], tuple[str, Tone]]]:
    phase = summary.get("phase", "")
    reason = summary.get("reason", "")
    yield ("phase", ""), ("/".join(filter(None, (phase, reason))), _PHASES.get(phase, "off"))
    for name, value in summary.get("conditions", {}).items():
        yield ("condition", name), (value, "good" if value.startswith("True") else "off")
    for kind in _CONTAINER_KINDS:
        for name, state in summary.get(kind, {}).items():
            yield ("container", name), container_band(state)


def container_band(state: Mapping[str, Any]) -> tuple[str, Tone]:
    """The text and tone of a container's band: `running, ready`, `waiting/CrashLoopBackOff` or `terminated/1/Error`,
    with the number of restarts.
    """
    text = state["state"] or "not started"
    kind, _, rest = text.partition("/")
    if kind == "running":
        tone: Tone = "good" if state["ready"] else "running"
        text = "running, ready" if state["ready"] else "running, not ready"
    elif kind == "terminated":
        tone = "done" if rest.startswith("0/") or rest == "0" else "bad"
    else:
        tone = "bad" if "BackOff" in rest or rest.startswith("Err") else "waiting"
    count = state["restartCount"]
    return (f"{text} (restart {count})" if count else text), tone


def _show(pod: _OpenPod, shown: Mapping[tuple[LaneKind, str], tuple[str, Tone]], now: _Moment) -> None:
    for key, (text, tone) in shown.items():
        _begin(pod, key, text, tone, now)
    for key in [key for key in pod.open if key[0] not in ("probe", "worker") and key not in shown]:
        _end(pod, key, now)


def _begin(pod: _OpenPod, key: tuple[LaneKind, str], text: str, tone: Tone, now: _Moment) -> None:
    known = pod.open.get(key)
    if known is not None and (known.text, known.tone) == (text, tone):
        return
    _end(pod, key, now)
    pod.open[key] = Band(now.t, now.t, text, tone, now.seq)
    pod.changed[key] = now.number
    pod.done.setdefault(key, [])  # lanes keep the order in which they appear


def _end(pod: _OpenPod, key: tuple[LaneKind, str], now: _Moment) -> None:
    band = pod.open.pop(key, None)
    if band is None:
        return
    pod.changed[key] = now.number
    if now.t > band.begin:
        pod.done.setdefault(key, []).append(Band(band.begin, now.t, band.text, band.tone, band.seq))


def _lanes(pod: _OpenPod, end: int) -> Iterator[Lane]:
    for key in _in_order(pod.done):
        bands = [*pod.done[key], *_open_band(pod, key, end)]
        if bands:
            yield Lane(key[0], key[1], tuple(bands))


def _recent(pod: _OpenPod, key: tuple[LaneKind, str], t: int, end: int) -> Lane:
    done = pod.done.get(key, [])
    first = bisect_left(done, t, key=lambda band: band.end)
    return Lane(key[0], key[1], (*done[first:], *_open_band(pod, key, end)))


def _open_band(pod: _OpenPod, key: tuple[LaneKind, str], end: int) -> Iterator[Band]:
    last = pod.open.get(key)
    if last is not None:
        yield Band(last.begin, max(end, last.begin), last.text, last.tone, last.seq)


def _in_order(keys: Iterable[tuple[LaneKind, str]]) -> list[tuple[LaneKind, str]]:
    return sorted(keys, key=lambda key: _ORDER.index(key[0]))


def pod_lanes(records: Iterable[r.Record], end: int | None = None) -> list[PodLanes]:
    sink = LaneSink()
    for record in records:
        sink.record(record)
    return sink.pods(end)
