"""The annotation endpoints.kubernetes.io/last-change-trigger-time: the time of the change that caused a slice to be
written.

It is the earliest new transition of a pod's Ready condition, or the creation of the Service. Other changes (a pod got
its address, or was deleted) have no time and remove the annotation.

Mirrors: endpointslice/util trigger_time_tracker.go ComputeEndpointLastChangeTriggerTime
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from kubesim.api.pod import Pod
from kubesim.api.workloads.services import Service
from kubesim.cluster.store.store import Key
from kubesim.values import part

TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


@part
class TriggerTimes:
    """The times seen by the last sync of each Service."""

    _pods: dict[Key, Mapping[str, str]] = field(default_factory=dict)

    def compute(self, service: Service, pods: Iterable[Pod]) -> str:
        """The trigger time to write; empty if there is none."""
        key = service.metadata.namespace, service.metadata.name
        before = self._pods.get(key)
        now = {pod.metadata.name: time for pod in pods if (time := _ready_since(pod))}
        self._pods[key] = now
        if before is None:
            return service.metadata.creation_timestamp or ""
        return min((time for name, time in now.items() if time > before.get(name, "")), default="")

    def forget(self, key: Key) -> None:
        self._pods.pop(key, None)


def _ready_since(pod: Pod) -> str:
    return next((c.last_transition_time or "" for c in pod.status.conditions if c.type == "Ready"), "")
