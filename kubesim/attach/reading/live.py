"""Reads one pod of a real cluster with its Events and its node.

It can also check whether the objects that the pod references exist. It only gets and lists.
"""

from __future__ import annotations

from typing import TypeVar

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.schema.codec import DecodeError
from kubesim.attach.explain.observation import Observation
from kubesim.attach.reading.references import is_there, references
from kubesim.cluster.remote.answers import Undecodable, decode_object
from kubesim.cluster.remote.transport import Call, ReadOnlyTransport, Transport, Verb, read_all
from kubesim.errors import UsageError
from kubesim.sources.reflector.watch_lines import refusal

T = TypeVar("T", bound=ApiObject)


async def read_pod(
    transport: Transport, namespace: str, name: str, now: int, *, with_references: bool = False
) -> Observation:
    """Read the pod. Events and node are omitted if the user may not read them."""
    reads = ReadOnlyTransport(transport)
    status, body = await _ask(reads, "get", f"/api/v1/namespaces/{namespace}/pods/{name}")
    what = f"pod {namespace}/{name}"
    if status != 200:
        problem = "there is no such pod" if status == 404 else refusal(status, body).message
        raise UsageError(f"{what}: {problem}")
    pod = _read(Pod, body, what)
    about = f"involvedObject.kind=Pod,involvedObject.name={name}"
    status, body = await _ask(reads, "list", f"/api/v1/namespaces/{namespace}/events", {"fieldSelector": about})
    events = tuple(event for event in _events(body) if _is_about(event, pod)) if status == 200 else ()
    node, gone = None, False
    if pod.spec.node_name:
        status, body = await _ask(reads, "get", f"/api/v1/nodes/{pod.spec.node_name}")
        node = _read(Node, body, f"node {pod.spec.node_name}") if status == 200 else None
        gone = status == 404
    keys = {reference.key: None for reference in references(pod)} if with_references else {}
    objects = {key: await is_there(reads, key) for key in keys}
    return Observation(pod, now, events, node, gone, objects=objects)


def _is_about(event: Event, pod: Pod) -> bool:
    own = {pod.metadata.uid, pod.metadata.annotations.get("kubernetes.io/config.hash", pod.metadata.uid)}
    return not event.involved_object.uid or event.involved_object.uid in own


def _read(model: type[T], body: bytes, what: str) -> T:
    """The requested object. Raises an error for any other answer."""
    try:
        read = model.from_foreign_json(decode_object(body, model.__name__))
    except (Undecodable, DecodeError, RecursionError) as error:
        raise UsageError(f"{what}: the server's answer does not match the request: {error}") from None
    if not read.metadata.name:
        raise UsageError(f"{what}: the server's answer does not match the request: it has no name")
    return read


def _events(body: bytes) -> list[Event]:
    try:
        items = decode_object(body, "EventList").get("items") or []
        if not isinstance(items, list):
            raise Undecodable("items is not a list")
        return [Event.from_foreign_json({"kind": "Event", **item}) for item in items if isinstance(item, dict)]
    except (Undecodable, DecodeError, RecursionError) as error:
        raise UsageError(f"Events: the server's answer does not match the request: {error}") from None


async def _ask(transport: Transport, verb: Verb, path: str, query: dict[str, str] | None = None) -> tuple[int, bytes]:
    async with transport.open(Call(verb, path, query or {})) as reply:
        return reply.status, await read_all(reply)
