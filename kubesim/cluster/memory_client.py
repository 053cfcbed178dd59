"""The in-memory cluster as an `ApiClient`: each call takes its time, then acts on the store."""

from __future__ import annotations

from dataclasses import dataclass

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import MILLISECOND
from kubesim.clock import LoopClock
from kubesim.cluster.store import Store


@dataclass(frozen=True, slots=True)
class ApiLatencies:
    get: int = 1 * MILLISECOND
    patch: int = 2 * MILLISECOND


class MemoryClient:
    def __init__(self, clock: LoopClock, store: Store, latencies: ApiLatencies | None = None) -> None:
        self._clock = clock
        self._store = store
        self._latencies = latencies or ApiLatencies()

    async def get_pod(self, namespace: str, name: str) -> Pod:
        await self._clock.sleep(self._latencies.get)
        pod = self._store.get("Pod", namespace, name)
        assert isinstance(pod, Pod)
        return pod

    async def create_pod(self, pod: Pod) -> Pod:
        created = self._store.create(pod)
        assert isinstance(created, Pod)
        return created

    async def patch_pod_status(
        self, namespace: str, name: str, uid: str, old_status: PodStatus, new_status: PodStatus
    ) -> Pod:
        await self._clock.sleep(self._latencies.patch)
        return self._store.set_pod_status(namespace, name, uid, new_status)

    async def delete_pod(self, namespace: str, name: str, uid: str = "", *, grace_period_seconds: int = 0) -> None:
        self._store.delete("Pod", namespace, name, uid=uid, grace_s=grace_period_seconds)

    async def get_node(self, name: str) -> Node:
        node = self._store.get("Node", "", name)
        assert isinstance(node, Node)
        return node

    async def create_node(self, node: Node) -> Node:
        created = self._store.create(node)
        assert isinstance(created, Node)
        return created

    async def patch_node_status(self, name: str, old: Node, new: Node) -> Node:
        current = self._store.get("Node", "", name)
        assert isinstance(current, Node)
        written = self._store.replace(current.changed(status=new.status))
        assert isinstance(written, Node)
        return written

    async def create_event(self, event: Event) -> Event:
        created = self._store.create(event)
        assert isinstance(created, Event)
        return created

    async def patch_event(self, event: Event) -> Event:
        written = self._store.replace(event)
        assert isinstance(written, Event)
        return written
