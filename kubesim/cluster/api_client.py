"""`ApiClient`: what a kubelet asks of an API server. The in-memory cluster, the HTTP client and the client that refuses
every write implement it.

Every call may take time, and fails with `ApiError`: its code is the HTTP status, or 0 if the server was not reached.
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
        """Write what differs between the two, and nothing else: changes by others in between stay.

        Conditions are merged by type and addresses by ip, in the new order. Another uid under the name is a conflict.
        """
        ...

    async def delete_pod(self, namespace: str, name: str, uid: str = "", *, grace_period_seconds: int = 0) -> None:
        """Delete the pod; with a uid only if it still is that one."""
        ...

    async def get_node(self, name: str) -> Node: ...

    def known_node(self, name: str) -> Node:
        """The node as an informer knows it. Needs no request; without a connection it is as it was before."""
        ...

    async def create_node(self, node: Node) -> Node: ...

    async def patch_node_status(self, name: str, old: Node, new: Node, accepted: Callable[[], None]) -> Node:
        """Write what differs between the statuses of the two. `accepted` is called before others see the change."""
        ...

    async def create_event(self, event: Event) -> Event: ...

    async def patch_event(self, event: Event) -> Event:
        """Bring the event of this name up to date: its count, its last time and its message."""
        ...
