"""Pod startup latency: from the creation of a pod until the kubelet observes its running status at the API server.

The SLI excludes pulls and init containers. As upstream, a failed pull ends with the next successful pull, and an init
container's time is dropped when its sync starts the next one.

Mirrors: pkg/kubelet/util/pod_startup_latency_tracker.go
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from kubesim.api.meta import CONFIG_MIRROR
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.timestamps import parse_time
from kubesim.clock import LoopClock
from kubesim.kubelet.metrics.definitions import START_SLI, START_TOTAL, Measurements
from kubesim.trace import records as r
from kubesim.values import mutable

EPHEMERAL_SOURCES = frozenset({"secret", "configMap", "downwardAPI", "emptyDir", "projected"})


@mutable
class _Startup:
    """A pod that has not started yet. Times are those of records."""

    is_mirror: bool
    pulls: list[tuple[int, int]] = field(default_factory=list)
    pulls_begun: list[int] = field(default_factory=list)
    init_runtime: int = 0
    init_begun: int | None = None
    exited: list[tuple[int, int]] = field(default_factory=list)  # of init containers: PLEG record, time
    sync: int = 0  # the record of the last sync's start
    written_running: bool = False
    measured: bool = False


class StartupLatency:
    """Startup latency of the pods of one kubelet. `find` returns a pod from the API server."""

    def __init__(self, measured: Measurements, find: Callable[[str], Pod | None], clock: LoopClock) -> None:
        self._measured = measured
        self._find = find
        self._clock = clock
        self._pods: dict[str, _Startup] = {}
        self._ends: dict[tuple[str, str], int] = {}  # pod, container -> time of its last exit

    def observed(self, record: r.ConfigUpdate) -> None:
        if record.source == "api" and record.op != "REMOVE":
            for name in record.pods:
                self._observed_on_watch(name, self._find(name), record.t)

    def _observed_on_watch(self, name: str, pod: Pod | None, now: int) -> None:
        if pod is None or pod.status.phase in TERMINAL_PHASES:
            self._pods.pop(name, None)
            return
        state = self._pods.get(name)
        if state is None:
            if pod.status.start_time is None:
                self._pods[name] = _Startup(CONFIG_MIRROR in pod.metadata.annotations)
        elif state.written_running and not state.measured and has_started(pod):
            state.measured = True
            total = self._clock.start + now - parse_time(pod.metadata.creation_timestamp or "")
            self._measured.observe(START_TOTAL, total)
            if not is_stateful(pod):
                self._measured.observe(START_SLI, total - pulling_time(state.pulls) - state.init_runtime)

    def written(self, record: r.ApiWrite) -> None:
        """Handle a status write of the kubelet."""
        state = self._pods.get(record.pod)
        if state is not None and record.is_pod_status and not state.written_running:
            pod = self._find(record.pod)
            state.written_running = pod is not None and has_started(pod)

    def event(self, record: r.EventRecorded) -> None:
        state = self._pods.get(record.pod)
        if state is None or state.is_mirror:  # the work for a static pod is not counted for its mirror pod
            return
        if record.reason == "Pulling":
            state.pulls_begun.append(record.t)
        elif record.reason == "Pulled" and state.pulls_begun:
            state.pulls.append((state.pulls_begun.pop(0), record.t))
        elif record.reason == "Started" and self._is_measured_init_container(record):
            state.init_begun = record.t

    def _is_measured_init_container(self, record: r.Record) -> bool:
        pod = self._find(record.pod)
        return pod is not None and any(
            container.name == record.container and not is_restartable_init_container(container)
            for container in pod.spec.init_containers
        )

    def container_ended(self, record: r.Note) -> None:
        self._ends[record.pod, record.container] = record.t

    def relisted(self, record: r.PlegEvent) -> None:
        state = self._pods.get(record.pod)
        if state is not None and record.type == "ContainerDied" and self._is_measured_init_container(record):
            state.exited.append((record.seq, self._ends.get((record.pod, record.container), record.t)))

    def sync_begun(self, record: r.SyncBegin) -> None:
        if record.pod in self._pods:
            self._pods[record.pod].sync = record.seq

    def sync_ended(self, record: r.SyncEnd) -> None:
        """SyncPod checks exited init containers after it has started the next ones."""
        state = self._pods.get(record.pod)
        if state is None or record.sync != "SyncPod":
            return
        for seen, moment in state.exited:
            if seen < state.sync and state.init_begun is not None:
                state.init_runtime += max(moment - state.init_begun, 0)
                state.init_begun = None

    def forget(self, pod: str) -> None:
        self._pods.pop(pod, None)
        for key in [key for key in self._ends if key[0] == pod]:
            del self._ends[key]


def has_started(pod: Pod) -> bool:
    """Whether all containers of the pod run."""
    return all(status.state.running is not None for status in pod.status.container_statuses)


def is_stateful(pod: Pod) -> bool:
    """Whether a volume of the pod has a source that is persistent or external."""
    return any(volume.keys() - {"name"} - EPHEMERAL_SOURCES for volume in pod.spec.volumes)


def pulling_time(pulls: list[tuple[int, int]]) -> int:
    """The time during which at least one pull was in progress. Pulls are sorted by end time."""
    total, end = 0, None
    for start, stop in pulls:
        if end is None or start > end:
            total += stop - start
            end = stop
        elif stop > end:
            total += stop - end
            end = stop
    return total
