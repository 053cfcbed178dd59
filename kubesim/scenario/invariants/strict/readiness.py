"""A container that is ready stays ready until it stops, its readiness probe fails, or its pod ends.

Services send traffic only to ready pods, so each change without a cause interrupts clients.

Kubelets before v1.35 violate it when they start: results of probes are only in memory, and a readiness probe begins
with Failure (kubernetes/kubernetes#100277, #78733).
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import ContainerStatus, Pod
from kubesim.scenario.invariants.invariant import Invariant
from kubesim.scenario.invariants.strict.observer import Observer, Place, Scene, place_of
from kubesim.trace.records import EventRecorded, Record


class Readiness(Observer):
    """Remembers the containers with a probe that failed since they were last ready."""

    def __init__(self, scene: Scene) -> None:
        super().__init__(scene)
        self._failed: set[Place] = set()

    def recorded(self, record: Record) -> str:
        if isinstance(record, EventRecorded) and record.reason == "Unhealthy":
            self._failed.add(place_of(record))
        return ""

    def reported(self, old: Pod | None, new: Pod) -> str:
        pod = f"{new.metadata.namespace}/{new.metadata.name}"
        for status in new.status.container_statuses:
            if status.ready:
                self._failed.discard((pod, status.name))
        if old is None or old.metadata.uid != new.metadata.uid or new.metadata.deletion_timestamp is not None:
            return ""
        for before, after in _same_containers(old, new):
            if before.ready and not after.ready and (pod, after.name) not in self._failed:
                return f"container {after.name} is not ready any more, although it runs and no probe has failed"
        return ""


def _same_containers(old: Pod, new: Pod) -> Iterator[tuple[ContainerStatus, ContainerStatus]]:
    """The containers that run before and after, as old and new status."""
    for after in new.status.container_statuses:
        for before in old.status.container_statuses:
            if before.container_id == after.container_id and before.state.running and after.state.running:
                yield before, after


INVARIANT = Invariant("readiness", observer=Readiness)
