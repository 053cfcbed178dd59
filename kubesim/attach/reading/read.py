"""Reads Pods, Events and Nodes from the output of `kubectl get -o json` (or yaml): single objects, lists, several
documents.

Objects of other kinds in a List are ignored: `kubectl get pods,events,nodes -o json` is one such list.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from kubesim.api.event import Event, core_form
from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.schema.codec import DecodeError, decode
from kubesim.attach.explain.observation import Observation
from kubesim.attach.explain.periods import DEFAULT_PERIODS, KubeletPeriods
from kubesim.errors import InputError, not_json
from kubesim.scenario.load.text_files import STANDARD_INPUT, read_text
from kubesim.scenario.load.yaml_source import read_documents
from kubesim.values import value_object

MAX_BYTES = 1 << 29
KINDS: dict[str, type[ApiObject]] = {"Pod": Pod, "Event": Event, "Node": Node}

T = TypeVar("T", bound=ApiObject)


@value_object
class Objects:
    """The objects in their original order."""

    pods: tuple[Pod, ...] = ()
    events: tuple[Event, ...] = ()
    nodes: tuple[Node, ...] = ()

    def __add__(self, other: Objects) -> Objects:
        return Objects(self.pods + other.pods, self.events + other.events, self.nodes + other.nodes)

    def observations(self, now: int, periods: KubeletPeriods = DEFAULT_PERIODS) -> Iterator[Observation]:
        """Each pod with its Events and its node, if they are among the objects."""
        nodes = {node.metadata.name: node for node in self.nodes}
        for pod in self.pods:
            events, node = events_about(pod, self.events), nodes.get(pod.spec.node_name)
            yield Observation(pod, now, events, node, periods=periods)


def events_about(pod: Pod, events: Iterable[Event]) -> tuple[Event, ...]:
    """The Events about a pod: by uid if both have it (an earlier pod may have had the same name), else by name."""
    meta = pod.metadata
    found = []
    for event in events:
        about = event.involved_object
        if about.kind not in ("", "Pod") or about.name != meta.name or about.namespace not in ("", meta.namespace):
            continue
        # The Events of a static pod have the uid of the file's pod, which the mirror pod has in an annotation.
        own = {meta.uid, meta.annotations.get("kubernetes.io/config.hash", meta.uid)}
        if not about.uid or not meta.uid or about.uid in own:
            found.append(event)
    return tuple(found)


def read_file(path: str) -> Objects:
    """The objects in a file; "-" is standard input. Raises InputError."""
    source = "standard input" if path == STANDARD_INPUT else path
    return parse(read_text(path, source, MAX_BYTES), source)


def parse(text: str, source: str) -> Objects:
    """Parse JSON if the text begins like JSON, otherwise YAML."""
    if not text.strip():
        raise InputError(source, "empty; expected the output of `kubectl get pod NAME -o json`")
    found = Objects()
    for document, line in _documents(text, source):
        if not isinstance(document, dict) or not isinstance(document.get("kind"), str):
            raise InputError(source, "not a Kubernetes object: it has no kind", line=line)
        found += _objects(document, source, line)
    return found


def _documents(text: str, source: str) -> Iterator[tuple[Any, int | None]]:
    if text.lstrip().startswith("{"):
        decoder, position = json.JSONDecoder(), len(text) - len(text.lstrip())
        while position < len(text):
            try:
                value, position = decoder.raw_decode(text, position)
            except (json.JSONDecodeError, RecursionError) as error:
                raise not_json(source, error) from None
            yield value, None
            while position < len(text) and text[position].isspace():
                position += 1
        return
    for document in read_documents(text, source):
        yield document.value, document.line


def _objects(document: dict[str, Any], source: str, line: int | None) -> Objects:
    kind, items = document["kind"], document.get("items")
    if kind.endswith("List") and isinstance(items, list):
        inside = kind.removesuffix("List")
        pods: list[Pod] = []
        events: list[Event] = []
        nodes: list[Node] = []
        for number, item in enumerate(items):
            if not isinstance(item, dict):
                raise InputError(source, "must be an object", line=line, field=f"items[{number}]")
            made = _object({"kind": inside, **item}, source, line, f"items[{number}].")
            if isinstance(made, Pod):
                pods.append(made)
            elif isinstance(made, Event):
                events.append(made)
            elif isinstance(made, Node):
                nodes.append(made)
        return Objects(tuple(pods), tuple(events), tuple(nodes))
    single = _object(document, source, line, "")
    if isinstance(single, Pod):
        return Objects(pods=(single,))
    if isinstance(single, Event):
        return Objects(events=(single,))
    return Objects(nodes=(single,)) if isinstance(single, Node) else Objects()


def _object(value: dict[str, Any], source: str, line: int | None, where: str) -> ApiObject | None:
    made = KINDS.get(str(value.get("kind")))
    if made is None:
        return None
    if made is Event:
        value = core_form(value)
    try:
        return made.from_json(decode(made.__name__, value))
    except DecodeError as error:
        raise InputError(source, str(error), line=line, field=where.rstrip(".")) from None
