"""Results of one probe type by container id, and the channel that notifies the sync loop of changes.

Workers write the results; the status generation and compute_pod_actions read `by_id`.

Mirrors: pkg/kubelet/prober/results/results_manager.go
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from types import MappingProxyType
from typing import Any

from kubesim.concurrency import Channel
from kubesim.kubelet.status.generate.inputs import ProbeType
from kubesim.runtime.types import ProbeResult
from kubesim.values import value_object

CAPACITY = 20


@value_object
class Update:
    """A changed result. `cause` is its trace record."""

    container_id: str
    result: ProbeResult
    pod_uid: str
    cause: int | None = None


class ResultsManager:
    """Results of one probe type (liveness, readiness or startup)."""

    def __init__(self, probe_type: ProbeType) -> None:
        self.probe_type = probe_type
        self.updates: Channel[Update] = Channel(probe_type, CAPACITY)
        self._cache: dict[str, ProbeResult] = {}
        self.by_id: Mapping[str, ProbeResult] = MappingProxyType(self._cache)  # a live view

    def store(self, container_id: str, result: ProbeResult) -> bool:
        """Store a result; true if it changed: the caller must then `announce` it."""
        if self._cache.get(container_id) == result:
            return False
        self._cache[container_id] = result
        return True

    def announce(self, update: Update) -> Coroutine[Any, Any, None]:
        """Notify the sync loop; blocks while twenty updates are pending, as upstream does."""
        return self.updates.send(update)

    def remove(self, container_id: str) -> None:
        """Remove a container's result without notifying listeners."""
        self._cache.pop(container_id, None)
