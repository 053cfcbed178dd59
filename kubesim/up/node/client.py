"""The `ApiClient` of a simulated kubelet whose API server is at the other end of a connection.

Reads of objects that a kubelet has in its caches come from the store, which mirrors them; everything else is a request.

Mirrors: pkg/kubelet/status/status_manager.go (util.PatchPodStatus), pkg/kubelet/pod/mirror_client.go,
pkg/kubelet/kubelet_node_status.go (nodeutil.PatchNodeStatus), client-go/tools/record
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import LoopClock
from kubesim.cluster.connection import ApiConnection
from kubesim.cluster.memory_client import MemoryClient
from kubesim.cluster.remote.answers import Undecodable, decode_json
from kubesim.cluster.remote.transport import Call, Transport, Verb, read_all
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError, TransportError
from kubesim.up.node.status_patch import changes

_JSON, STRATEGIC = "application/json", "application/strategic-merge-patch+json"


async def request(transport: Transport, verb: Verb, path: str, body: Any = None, content_type: str = _JSON) -> Any:
    """Send a request and return the answer, as JSON. Raises ApiError, with code 0 if the server was not reached."""
    data = b"" if body is None else json.dumps(body).encode()
    try:
        async with transport.open(Call(verb, path, body=data, content_type=content_type if data else "")) as reply:
            answer = decode_json(await read_all(reply))
            if reply.status >= 400:
                raise ApiError(reply.status, str(answer.get("reason", "")), str(answer.get("message", "")))
            return answer
    except (TransportError, Undecodable, AttributeError) as error:
        raise ApiError(0, "", str(error)) from None


def pod_path(namespace: str, name: str = "", subresource: str = "") -> str:
    path = f"/api/v1/namespaces/{namespace}/pods"
    return "/".join(part for part in (path, name, subresource) if part)


class RemoteClient(MemoryClient):
    """Implements `ApiClient`."""

    def __init__(self, clock: LoopClock, store: Store, connection: ApiConnection, transport: Transport) -> None:
        super().__init__(clock, store, connection=connection)
        self._way, self._transport = connection, transport

    async def _send(self, verb: Verb, path: str, body: Any = None, content_type: str = _JSON) -> Any:
        self._way.check()
        return await request(self._transport, verb, path, body, content_type)

    async def get_pod(self, namespace: str, name: str) -> Pod:
        return Pod.from_json(await self._send("get", pod_path(namespace, name)))

    async def create_pod(self, pod: Pod) -> Pod:
        metadata = pod.metadata.changed(uid="", resource_version="")
        body = pod.changed(api_version="v1", kind="Pod", metadata=metadata, status=PodStatus()).to_json()
        return Pod.from_json(await self._send("create", pod_path(metadata.namespace), body))

    async def patch_pod_status(
        self, namespace: str, name: str, uid: str, old_status: PodStatus, new_status: PodStatus
    ) -> Pod:
        patch = {"metadata": {"uid": uid}, "status": changes(old_status.to_json(), new_status.to_json())}
        return Pod.from_json(await self._send("patch", pod_path(namespace, name, "status"), patch, STRATEGIC))

    async def delete_pod(self, namespace: str, name: str, uid: str = "", *, grace_period_seconds: int = 0) -> None:
        body: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        body |= {"gracePeriodSeconds": grace_period_seconds} | ({"preconditions": {"uid": uid}} if uid else {})
        await self._send("delete", pod_path(namespace, name), body)

    async def get_node(self, name: str) -> Node:
        return Node.from_json(await self._send("get", f"/api/v1/nodes/{name}"))

    async def create_node(self, node: Node) -> Node:
        return Node.from_json(await self._send("create", "/api/v1/nodes", new_body(node)))

    async def patch_node_status(
        self, name: str, old: Node, new: Node, accepted: Callable[[], None] = lambda: None
    ) -> Node:
        accepted()
        patch = {"status": changes(old.status.to_json(), new.status.to_json())}
        if not patch["status"]:
            return old
        return Node.from_json(await self._send("patch", f"/api/v1/nodes/{name}/status", patch, STRATEGIC))

    async def create_event(self, event: Event) -> Event:
        path = f"/api/v1/namespaces/{event.metadata.namespace}/events"
        return Event.from_json(await self._send("create", path, new_body(event)))

    async def patch_event(self, event: Event) -> Event:
        path = f"/api/v1/namespaces/{event.metadata.namespace}/events/{event.metadata.name}"
        whole = event.to_json()
        patch = {key: whole[key] for key in ("count", "lastTimestamp", "message") if key in whole}
        return Event.from_json(await self._send("patch", path, patch, STRATEGIC))


def new_body(obj: ApiObject) -> dict[str, Any]:
    """An object as the body of a create request."""
    body = obj.to_json()
    ours = ("uid", "resourceVersion", "creationTimestamp", "generation")
    metadata = {key: value for key, value in body.get("metadata", {}).items() if key not in ours}
    return body | {"kind": obj.kind, "metadata": metadata}
