"""A trace sink that measures the metrics of each kubelet: pod workers, pod starts, status writes, pulls, calls.

It is attached only if metrics are requested. A kubelet's metrics end with its process, containerd's with containerd.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock
from kubesim.kubelet.metrics import definitions as d
from kubesim.kubelet.metrics.calls import RuntimeCalls
from kubesim.kubelet.metrics.exposition import Metric
from kubesim.kubelet.metrics.startup_latency import StartupLatency
from kubesim.kubelet.metrics.worker_durations import WorkerDurations
from kubesim.trace import records as r
from kubesim.trace.pod_nodes import PodNodes

_IMAGE_SIZE = re.compile(r"Image size: (\d+) bytes")
_ENDED = re.compile(r"container \S+ ended with exit code")


class MetricsSink:
    """Trace sink for metrics. `find` returns a pod (`namespace/name`) from the API server."""

    def __init__(self, find: Callable[[str], Pod | None], clock: LoopClock) -> None:
        self._find = find
        self._clock = clock
        self._agents: dict[str, _AgentMeasurements] = {}
        self._runtimes: dict[str, d.Measurements] = {}
        self._nodes = PodNodes()

    def record(self, record: r.Record) -> None:
        node = self._nodes.node_of(record)
        if not node:
            return
        if isinstance(record, r.Note) and (record.ends_kubelet or record.ends_runtime):
            self._forget(node, record)
            return
        agent = self._agents.get(node)
        if agent is None:
            runtime = self._runtimes.setdefault(node, d.Measurements())
            agent = self._agents[node] = _AgentMeasurements(self._find, self._clock, runtime)
        for measure in agent.of_kind.get(type(record), ()):
            measure(record)

    def _forget(self, node: str, record: r.Note) -> None:
        if record.ends_kubelet:
            self._agents.pop(node, None)
        if record.ends_runtime and node in self._runtimes:
            self._runtimes[node].clear()

    def metrics(self, node: str, resyncs: int = 0) -> Iterator[Metric]:
        """Metrics of a node's kubelet. `resyncs` of settled pods are counted but not executed, with duration 0."""
        agent = self._agents.get(node)
        if agent is not None:
            agent.count_resyncs(resyncs)
            yield from agent.measured.metrics()
        if node in self._runtimes:
            yield from self._runtimes[node].metrics()


class _AgentMeasurements:
    """Metrics of one kubelet process."""

    def __init__(self, find: Callable[[str], Pod | None], clock: LoopClock, runtime: d.Measurements) -> None:
        self.measured = d.Measurements()
        self._resyncs = 0
        self._changed: dict[str, int] = {}  # pod -> time of its first status
        self._pulls: dict[tuple[str, str], int] = {}  # pod, container -> time its pull was requested
        self._workers = workers = WorkerDurations(self.measured)
        self._startup = startup = StartupLatency(self.measured, find, clock)
        calls = RuntimeCalls(self.measured, runtime)
        self.of_kind: dict[type[r.Record], tuple[Callable[[Any], None], ...]] = {
            r.ConfigUpdate: (workers.first_seen, startup.observed),
            r.WorkerUpdate: (workers.updated,),
            r.WorkerState: (self._worker_state,),
            r.SyncBegin: (workers.begun, startup.sync_begun),
            r.SyncEnd: (workers.ended, startup.sync_ended),
            r.StatusSet: (workers.status_set, self._status_set),
            r.ApiWrite: (startup.written, self._written),
            r.EventRecorded: (startup.event, self._event),
            r.PlegEvent: (startup.relisted,),
            r.Note: (self._note,),
            r.CriCall: (calls.begun,),
            r.CriReturn: (calls.returned,),
            r.CniExec: (calls.executed,),
            r.RuntimeStep: (calls.stepped,),
        }

    def count_resyncs(self, total: int) -> None:
        if total > self._resyncs:
            self.measured.observe(d.WORKER, 0, "sync", total - self._resyncs)
            self._resyncs = total

    def _worker_state(self, record: r.WorkerState) -> None:
        if record.state == "finished":
            self._workers.finished(record.uid)
            self._startup.forget(record.pod)

    def _status_set(self, record: r.StatusSet) -> None:
        if record.version == 1:
            self._changed[record.pod] = record.t

    def _written(self, record: r.ApiWrite) -> None:
        """Upstream never resets the time of the first status, so later writes seem to take longer and longer."""
        start = self._changed.get(record.pod) if record.is_pod_status else None
        if start is not None:
            self.measured.observe(d.STATUS_SYNC, (record.t - start) // 1000 * 1000)  # whole milliseconds, as upstream

    def _event(self, record: r.EventRecorded) -> None:
        key = (record.pod, record.container)
        if record.reason == "Pulling":
            self._pulls[key] = record.t
        elif record.reason == "Pulled" and key in self._pulls:
            start, size = self._pulls.pop(key), _IMAGE_SIZE.search(record.message)
            if size is not None:
                label = d.image_size_label(int(size[1]))
                self.measured.observe(d.IMAGE_PULL, (record.t - start) // 1000 * 1000, label)

    def _note(self, record: r.Note) -> None:
        if _ENDED.match(record.text):
            self._startup.container_ended(record)
