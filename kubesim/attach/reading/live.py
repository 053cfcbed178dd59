"""One look at one pod of a real cluster: the pod, the Events about it, its node, perhaps whether what it refers to is
there. Only gets and lists."""

from __future__ import annotations

import json
from typing import Any

from kubesim.api.event import Event
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.attach.explain.observation import Observation
from kubesim.attach.reading.references import is_there, references
from kubesim.cluster.remote.transport import Call, ReadOnlyTransport, Transport, Verb, read_all
from kubesim.errors import UsageError


async def look(
    transport: Transport, namespace: str, name: str, now: int, *, with_references: bool = False
) -> Observation:
    """What is to be seen of the pod at this moment. Events and node are left out if they may not be read."""
    reads = ReadOnlyTransport(transport)
    status, value = await _ask(reads, "get", f"/api/v1/namespaces/{namespace}/pods/{name}")
    if status != 200:
        problem = "there is no such pod" if status == 404 else str(value.get("message") or f"answer {status}")
        raise UsageError(f"pod {namespace}/{name}: {problem}")
    pod = Pod.from_json(value)
    about = f"involvedObject.kind=Pod,involvedObject.name={name}"
    status, value = await _ask(reads, "list", f"/api/v1/namespaces/{namespace}/events", {"fieldSelector": about})
    found = value.get("items") or [] if status == 200 else []
    events = tuple(event for event in map(Event.from_json, found) if _is_about(event, pod))
    node, gone = None, False
    if pod.spec.node_name:
        status, value = await _ask(reads, "get", f"/api/v1/nodes/{pod.spec.node_name}")
        node, gone = (Node.from_json(value) if status == 200 else None), status == 404
    keys = {reference.key: None for reference in references(pod)} if with_references else {}
    objects = {key: await is_there(reads, key) for key in keys}
    return Observation(pod, now, events, node, gone, objects=objects)


def _is_about(event: Event, pod: Pod) -> bool:
    own = {pod.metadata.uid, pod.metadata.annotations.get("kubernetes.io/config.hash", pod.metadata.uid)}
    return not event.involved_object.uid or event.involved_object.uid in own


async def _ask(
    transport: Transport, verb: Verb, path: str, query: dict[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    async with transport.open(Call(verb, path, query or {})) as reply:
        body = await read_all(reply)
        try:
            value = json.loads(body)
        except ValueError:
            value = {}
        return reply.status, value if isinstance(value, dict) else {}
