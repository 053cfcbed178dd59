"""`ApiClient`: the API server calls of a kubelet. The in-memory cluster, the HTTP client and the client that refuses
every write implement it.

A call may take time. It fails with `ApiError`, whose code is the HTTP status, or 0 if the server was unreachable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodStatus


class ApiClient(Protocol):
    async def get_pod(self, namespace: str, name: str) -> Pod: ...

    async def create_pod(self, pod: Pod) -> Pod: ...

    async def patch_pod_status(
        self, namespace: str, name: str, uid: str, old_status: PodStatus, new_status: PodStatus
    ) -> Pod:
        """Patch only the fields that differ between the two statuses. Concurrent changes to other fields stay.

        Conditions are merged by type and addresses by ip, in the new order. A different uid under the same name is a
        conflict.
        """
        ...

    async def delete_pod(self, namespace: str, name: str, uid: str = "", *, grace_period_seconds: int = 0) -> None:
        """Delete the pod. With a uid, only the pod that has that uid."""
        ...

    async def get_node(self, name: str) -> Node: ...

    def known_node(self, name: str) -> Node:
        """The node from the informer's cache, without a request. While disconnected it stays unchanged."""
        ...

    async def create_node(self, node: Node) -> Node: ...

    async def patch_node_status(self, name: str, old: Node, new: Node, accepted: Callable[[], None]) -> Node:
        """Patch the fields that differ between the statuses. `accepted` is called before watchers see the change."""
        ...

    async def create_event(self, event: Event) -> Event: ...

    async def patch_event(self, event: Event) -> Event:
        """Update the Event of this name: its count, last timestamp and message."""
        ...
