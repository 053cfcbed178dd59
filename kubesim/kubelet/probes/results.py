"""The verdicts of one kind of probe, by container id, and the channel that notifies the sync loop when one changes.

The workers write here; the status generation and compute_pod_actions read `by_id` as data.

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
    """A verdict that differs from the one before. `cause` is the trace record that says so."""

    container_id: str
    result: ProbeResult
    pod_uid: str
    cause: int | None = None


class ResultsManager:
    """One for each of liveness, readiness and startup."""

    def __init__(self, probe_type: ProbeType) -> None:
        self.probe_type = probe_type
        self.updates: Channel[Update] = Channel(probe_type, CAPACITY)
        self._cache: dict[str, ProbeResult] = {}
        self.by_id: Mapping[str, ProbeResult] = MappingProxyType(self._cache)  # live

    def store(self, container_id: str, result: ProbeResult) -> bool:
        """Keep a verdict; True if it is news, which the caller then has to `announce`."""
        if self._cache.get(container_id) == result:
            return False
        self._cache[container_id] = result
        return True

    def announce(self, update: Update) -> Coroutine[Any, Any, None]:
        """Tell the sync loop; waits while it is twenty updates behind, as upstream does."""
        return self.updates.send(update)

    def remove(self, container_id: str) -> None:
        """Forget a container, without notifying listeners."""
        self._cache.pop(container_id, None)
