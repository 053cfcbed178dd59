"""Replays a workload story: its objects at time 0, its actions at their times, on the recorded nodes.

All changes are returned in the format of the recordings. The seed determines random parts of a real cluster: latencies,
phases, names, and choices between equals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.timestamps import MILLISECOND, SECOND, seconds
from kubesim.app import Simulation
from kubesim.cluster.controllers.namespaces import ensure_namespace
from kubesim.cluster.controllers.volumes.standard_class import remove_standard_class
from kubesim.cluster.store.watches import WatchEvent
from kubesim.cluster.wire import object_to_json
from kubesim.concurrency import TaskSet
from kubesim.conformance.stories.playing import Story, play_story
from kubesim.conformance.workloads.hollow_node import HollowNode, is_hollow
from kubesim.conformance.workloads.workload_actions import ACTIONS, carry_out, create
from kubesim.errors import ApiError
from kubesim.runtime.simulated.settings import Latencies, Span
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.step_items import Drain
from kubesim.scenario.runtimes.paced import LEAD

RECORDED = (
    "Pod", "Service", "Event", "PersistentVolumeClaim", "PersistentVolume", "Node", "ReplicaSet", "Deployment",
    "StatefulSet", "DaemonSet", "ControllerRevision", "Job", "CronJob", "EndpointSlice", "PodDisruptionBudget",
)  # fmt: skip
_REAL_NODE = {"cpu": "2", "memory": "24631216Ki", "pods": "110"}
# Latencies of the recorded node, which ran up to six stories at a time: the middle 80 % of the measurements.
BUSY = Latencies(
    run_sandbox=Span(120 * MILLISECOND, 600 * MILLISECOND),
    stop_sandbox=Span(80 * MILLISECOND, 400 * MILLISECOND),
    create_container=Span(30 * MILLISECOND, 130 * MILLISECOND),
    start_container=Span(60 * MILLISECOND, 270 * MILLISECOND),
    exec=Span(30 * MILLISECOND, 200 * MILLISECOND),
)
_UNREACHABLE = "registry.example/"  # a registry that the recorded nodes could not reach


def play(story: Story, seed: int) -> dict[str, Any]:
    """The changes in the replay, in the story's format."""
    return play_story(story, seed, ACTIONS, _Stage)


class _Stage:
    def __init__(self, story: Story, seed: int, tasks: TaskSet) -> None:
        self._story = story
        self._namespace = story["name"]
        self._begin = seconds(story["wallClockStart"])
        self._simulation = Simulation(_scenario(story), seed, tasks, latencies=BUSY, start=self._begin - LEAD)
        self._clock, self._store = self._simulation.clock, self._simulation.store
        self._changes: list[dict[str, Any]] = []
        self._actions: list[dict[str, Any]] = []
        remove_standard_class(self._store)  # the recorded cluster had only the classes of the stories
        for item in story["nodes"]:
            if is_hollow(item["name"]):
                stream = self._simulation.randomness.stream("hollow", item["name"])
                HollowNode(self._clock, self._store, stream, item)

    async def run(self) -> dict[str, Any]:
        for node in self._simulation.nodes.values():
            node.start()
        ensure_namespace(self._store, self._namespace)
        await self._clock.sleep_until(self._begin)
        for kind in RECORDED:
            self._store.watch(kind, self._record_change)
        for manifest in self._story["manifests"]:
            self._attempt({"do": "create", "object": manifest})
        for action in self._story["actions"]:
            sent = self._begin + seconds(action.get("t", action["at"]))
            self._clock.call_at(sent, self._act, action)
        await self._clock.sleep_until(self._begin + seconds(self._story["endSeconds"]))
        await self._simulation.close()
        return {"name": self._story["name"], "actions": self._actions, "changes": self._changes}

    def _act(self, action: Mapping[str, Any]) -> None:
        answer = self._attempt(action)
        self._actions.append({**action, "t": self._now(), **answer})

    def _attempt(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Perform an action. The recording continues after a rejected request, too."""
        try:
            if action["do"] == "create":
                create(self._store, self._namespace, action["object"])
                return {"status": 201}
            if action["do"] == "kubectl" and action["args"][0] == "drain":
                self._drain(action["args"])
                return {"status": 200}
            carry_out(self._store, self._namespace, action)
        except ApiError as error:
            return {"status": error.code, "message": error.message}
        return {"status": 201 if action["do"] == "evict" else 200}

    def _drain(self, args: Sequence[str]) -> None:
        """Drain a node, which waits for disruption budgets and terminating pods."""
        node = next(word for word in args[1:] if not word.startswith("-"))
        self._simulation.tasks.start("drain", self._simulation.world.drain(Drain(node=node)))

    def _now(self) -> float:
        return round((self._clock.now() - self._begin) / SECOND, 3)

    def _record_change(self, change: WatchEvent) -> None:
        obj = change.object
        if obj.metadata.namespace not in ("", self._namespace) or not self._is_shown(change):
            return
        shown = _node(obj) if isinstance(obj, Node) else object_to_json(obj)
        entry = {"t": self._now(), "type": change.type, "kind": obj.kind, "name": obj.metadata.name, "object": shown}
        self._changes.append(entry)

    def _is_shown(self, change: WatchEvent) -> bool:
        """Whether the recordings contain the change; of nodes they keep only some fields."""
        new, old = change.object, change.previous
        return not (isinstance(new, Node) and isinstance(old, Node) and _node(new) == _node(old))


def _node(node: ApiObject) -> dict[str, Any]:
    assert isinstance(node, Node)
    return {
        "name": node.metadata.name,
        "labels": node.metadata.labels,
        "taints": [taint.to_json() for taint in node.spec.taints] or None,
        "unschedulable": node.spec.unschedulable or None,
        "allocatable": node.status.allocatable,
        "ready": [c.status for c in node.status.conditions if c.type == "Ready"],
    }


def _scenario(story: Story) -> Scenario:
    """The scenario with the nodes that have a full kubelet; hollow nodes are created separately."""
    nodes = [
        {
            "name": item["name"],
            "labels": item["labels"],
            "taints": item.get("taints") or [],
            "capacity": {name: amount for name, amount in item["allocatable"].items() if not name.startswith("huge")},
        }
        for item in story["nodes"]
        if not is_hollow(item["name"])
    ]
    spec = {
        "nodes": nodes or [{"name": "real-0", "capacity": _REAL_NODE}],
        "kubeletConfiguration": {"evictionHard": {}},  # recorded values are already allocatable ones
        "images": [_image(name) for name in sorted(set(_images([story["manifests"], story["actions"]])))],
        "scheduler": "on",
    }
    document = {"apiVersion": "kubesim.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": "story"}, "spec": spec}
    return Scenario.model_validate(document)


def _images(value: Any) -> Iterator[str]:
    """All images in the story, also in kubectl arguments (`main=IMAGE`)."""
    if isinstance(value, list):
        for item in value:
            yield from _images(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key == "image" and isinstance(item, str):
                yield item
            elif key == "args":
                yield from (text.partition("=")[2] for text in item if "=" in text and "/" in text)
            else:
                yield from _images(item)


def _image(name: str) -> dict[str, Any]:
    if name.startswith(_UNREACHABLE):
        return {"name": name, "missing": "failed to resolve image: dial tcp: lookup registry.example: no such host"}
    return {"name": name, "present": True}
