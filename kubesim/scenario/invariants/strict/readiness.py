"""A container becomes ready when its readiness probe succeeds, and not ready only for a cause.

Services send traffic only to ready pods: too early, and it fails; and each change without a cause interrupts clients.
Causes are that the container stops, its readiness probe fails, or its pod ends.

Kubelets before v1.35 violate it when they start: results of probes are only in memory, and a readiness probe begins
with Failure (kubernetes/kubernetes#100277, #78733). Later ones do so for containers that started less than 10 s
before; they report an older container as ready until its first probe, even if it was never ready
(setReadyStateOnKubeletRestart).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import ContainerStatus, Pod, Probe
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import ContainerKey, RuleObserver, Scene, container_key
from kubesim.trace.records import CriCall, EventRecorded, ProbeOutcome, Record


class Readiness(RuleObserver):
    """Remembers the last results of readiness probes."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._failed: set[ContainerKey] = set()  # since they were last ready
        self._unproven: set[ContainerKey] = set()  # started, and no probe has succeeded since

    def recorded(self, record: Record) -> str:
        if isinstance(record, EventRecorded) and record.reason == "Unhealthy":
            self._failed.add(container_key(record))
        elif isinstance(record, CriCall) and record.call == "StartContainer":
            self._unproven.add(container_key(record))
        elif isinstance(record, ProbeOutcome) and record.probe == "readiness" and record.result == "success":
            self._unproven.discard(container_key(record))
        return ""

    def reported(self, old: Pod | None, new: Pod) -> str:
        pod = f"{new.metadata.namespace}/{new.metadata.name}"
        for status in new.status.container_statuses:
            if status.ready:
                self._failed.discard((pod, status.name))
                if problem := self._too_early(pod, new, status):
                    return problem
        if old is None or old.metadata.uid != new.metadata.uid or new.metadata.deletion_timestamp is not None:
            return ""
        for before, after in _same_containers(old, new):
            if before.ready and not after.ready and (pod, after.name) not in self._failed:
                return f"container {after.name} is not ready any more, although it runs and no probe has failed"
        return ""

    def _too_early(self, pod: str, new: Pod, status: ContainerStatus) -> str:
        probe = _probe_of(new, status.name)
        if probe is None or status.state.running is None:
            return ""
        if (pod, status.name) in self._unproven:
            return f"container {status.name} is ready, but its readiness probe has not succeeded since its start"
        start, delay_s = status.state.running.started_at, probe.initial_delay_seconds
        if start is not None and self.scene.clock.now() < parse_time(start) + delay_s * SECOND:
            return f"container {status.name} is ready before the initial delay of its readiness probe, {delay_s}s"
        return ""


def _probe_of(pod: Pod, name: str) -> Probe | None:
    container = pod.spec.find_container(name)
    return None if container is None else container.readiness_probe


def _same_containers(old: Pod, new: Pod) -> Iterator[tuple[ContainerStatus, ContainerStatus]]:
    """The containers that run before and after, as old and new status."""
    for after in new.status.container_statuses:
        for before in old.status.container_statuses:
            if before.container_id == after.container_id and before.state.running and after.state.running:
                yield before, after


INVARIANT = Invariant("readiness", observer=Readiness)
