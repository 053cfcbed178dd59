"""Records writes of an attached kubelet that its other components do not record: mirror pods and its lease.

Statuses, deletions, Events and the node's status are recorded where the kubelet decides on them. All writes go only to
the overlay.
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.store.store import Store
from kubesim.trace import Recorder
from kubesim.trace.records import ApiWrite


class OverlayClient(MemoryClient):
    """Implements `ApiClient` over the overlay."""

    def __init__(
        self,
        clock: LoopClock,
        store: Store,
        latencies: ApiLatencies,
        connection: ApiConnection,
        recorder: Recorder,
        node_name: str,
    ) -> None:
        super().__init__(clock, store, latencies, connection)
        self._recorder = recorder
        self._node_name = node_name

    async def create_pod(self, pod: Pod) -> Pod:
        created = await super().create_pod(pod)
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        why = "a static pod has a mirror pod at the API server"
        record_write(self._recorder, self._node_name, "create", "pods", why, name)
        return created


def record_write(recorder: Recorder, node: str, verb: str, resource: str, why: str, pod: str = "") -> None:
    if recorder.on:
        recorder.record(ApiWrite(node=node, pod=pod, verb=verb, resource=resource, by="kubelet", why=why))
