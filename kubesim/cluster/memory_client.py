"""The in-memory cluster as an `ApiClient`: each call has a latency, then acts on the store."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import MILLISECOND
from kubesim.clock import LoopClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.patches.three_way_merge import apply_changes
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.store.kinds import RESOURCES
from kubesim.cluster.store.store import Store
from kubesim.values import value_object


@value_object
class ApiLatencies:
    """Latencies of requests. A request without latency does not yield to other tasks."""

    get: int = 1 * MILLISECOND
    patch: int = 2 * MILLISECOND
    create: int = 0
    delete: int = 0
    event: int = 0
    node: int = 0


class MemoryClient:
    """An `ApiClient` on objects in memory: pod statuses are not encoded as JSON."""

    def __init__(
        self,
        clock: LoopClock,
        store: Store,
        latencies: ApiLatencies | None = None,
        connection: ApiConnection | None = None,
    ) -> None:
        self._clock = clock
        self._store = store
        self._latencies = latencies or ApiLatencies()
        self._connection = connection or ApiConnection()
        self._nodes: dict[str, ApiObject] = {}  # while disconnected: the last known objects
        self._connection.listen(self._remember_nodes)

    def _remember_nodes(self, up: bool) -> None:
        self._nodes = {} if up else {node.metadata.name: node for node in self._store.list("Node")}

    async def _takes(self, duration: int) -> None:
        """Wait for the latency. While disconnected, the request fails immediately or times out."""
        self._connection.check()
        if duration:
            await self._clock.sleep(duration)
            self._connection.check()

    def read(self, kind: str, namespace: str, name: str) -> ApiObject:
        """Any object, without latency. The node itself comes from the informer's cache, even while disconnected."""
        if kind != "Node":
            self._connection.check()
        return self._store.get(kind, namespace, name)

    async def get_pod(self, namespace: str, name: str) -> Pod:
        await self._takes(self._latencies.get)
        pod = self._store.get("Pod", namespace, name)
        assert isinstance(pod, Pod)
        return pod

    async def create_pod(self, pod: Pod) -> Pod:
        """Create a pod with the server's defaults and validation, as for any client."""
        await self._takes(self._latencies.create)
        metadata = pod.metadata.changed(uid="", resource_version="")
        body = pod.changed(api_version="v1", kind="Pod", metadata=metadata, status=PodStatus()).to_json()
        created = registry.create(self._store, Target(RESOURCES["Pod"], metadata.namespace), body)
        assert isinstance(created, Pod)
        return created

    async def patch_pod_status(
        self, namespace: str, name: str, uid: str, old_status: PodStatus, new_status: PodStatus
    ) -> Pod:
        await self._takes(self._latencies.patch)
        pod = self._store.get("Pod", namespace, name)
        assert isinstance(pod, Pod)
        status = apply_changes(pod.status, old_status, new_status)
        return self._store.write_pod_status(pod, uid, status)

    async def delete_pod(self, namespace: str, name: str, uid: str = "", *, grace_period_seconds: int = 0) -> None:
        await self._takes(self._latencies.delete)
        self._store.delete("Pod", namespace, name, uid=uid, grace_s=grace_period_seconds)

    async def get_node(self, name: str) -> Node:
        await self._takes(self._latencies.node)
        return self._node(name)

    def known_node(self, name: str) -> Node:
        known = self._nodes.get(name)
        return known if isinstance(known, Node) else self._node(name)

    def _node(self, name: str) -> Node:
        node = self._store.get("Node", "", name)
        assert isinstance(node, Node)
        return node

    async def create_node(self, node: Node) -> Node:
        await self._takes(self._latencies.node)
        created = self._store.create(node)
        assert isinstance(created, Node)
        return created

    async def patch_node_status(
        self, name: str, old: Node, new: Node, accepted: Callable[[], None] = lambda: None
    ) -> Node:
        await self._takes(self._latencies.node)
        accepted()
        node = self._node(name)
        status = apply_changes(node.status, old.status, new.status)
        if status == node.status:
            return node
        written = self._store.write(node, node.changed(status=status))
        assert isinstance(written, Node)
        return written

    async def create_event(self, event: Event) -> Event:
        await self._takes(self._latencies.event)
        created = self._store.create(event)
        assert isinstance(created, Event)
        return created

    async def patch_event(self, event: Event) -> Event:
        await self._takes(self._latencies.event)
        current = self._store.get("Event", event.metadata.namespace, event.metadata.name)
        assert isinstance(current, Event)
        changed = current.changed(count=event.count, last_timestamp=event.last_timestamp, message=event.message)
        written = self._store.write(current, changed)
        assert isinstance(written, Event)
        return written
