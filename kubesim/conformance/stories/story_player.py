"""Node stories: recordings of a real node's API server, replayed by a whole simulated node.

A story has manifests and actions. The replay returns every status and Event in the same format. The seed determines the
phases and jitters that are random on a real node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND, SECOND, seconds
from kubesim.app import DEFAULT_LATENCIES, Simulation
from kubesim.clock import Randomness
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.registry import registry
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.cluster.registry.registry import Target
from kubesim.cluster.registry.subresources.eviction import evict
from kubesim.cluster.store.kinds import RESOURCES, resource_of
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.conformance.stories.playing import Story, play_story
from kubesim.errors import ApiError
from kubesim.runtime.simulated.settings import Latencies, Span
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.step_items import Kill

NODE = "real-0"
SCENARIO: dict[str, Any] = {
    "apiVersion": "kubesim.dev/v1alpha1",
    "kind": "Scenario",
    "metadata": {"name": "story"},
    "spec": {
        "nodes": [{"name": NODE, "capacity": {"cpu": "2", "memory": "24682416Ki"}}],
        "images": [{"name": "docker.io/library/busybox:*", "present": True}],
    },
}
SLOW_SHARE = 1 / 3  # more often than on the recorded node, so that both cases occur within twenty seeds
SLOW = Latencies(
    run_sandbox=Span(250 * MILLISECOND, 450 * MILLISECOND),
    stop_sandbox=Span(150 * MILLISECOND, 400 * MILLISECOND),
    create_container=Span(40 * MILLISECOND, 200 * MILLISECOND),
    start_container=Span(130 * MILLISECOND, 460 * MILLISECOND),
    stop_container=Span(100 * MILLISECOND, 400 * MILLISECOND),
    exec=Span(60 * MILLISECOND, 330 * MILLISECOND),
)
REQUEST = 10 * MILLISECOND  # delay from an external request to its effect


ACTIONS = (
    "create", "create-object", "delete", "evict", "patch", "kill-sandbox", "http-get", "write-static-file",
    "remove-static-file", "stop-kubelet", "start-kubelet",
)  # fmt: skip


def play(story: Story, seed: int) -> dict[str, Any]:
    """The statuses and Events of the replay, in the story's format."""
    return play_story(story, seed, ACTIONS, _Stage)


class _Stage:
    def __init__(self, story: Story, seed: int, tasks: TaskSet) -> None:
        self._story = story
        self._simulation = Simulation(_scenario(story), seed, tasks, latencies=latencies(seed))
        self._clock = self._simulation.clock
        self._store = self._simulation.store
        self._statuses: list[dict[str, Any]] = []
        self._events: list[dict[str, Any]] = []
        self._node = self._simulation.nodes[NODE]
        self._begin = VIRTUAL_START
        self._written = 0  # static files

    async def run(self) -> dict[str, Any]:
        for node in self._simulation.nodes.values():
            node.start()
        self._simulation.world.ensure_namespace("trace")
        await self._clock.sleep_until(self._begin)
        self._store.watch("Pod", self._saw_pod)
        self._store.watch("Event", self._saw_event)
        for number, action in enumerate(self._story["actions"]):
            # The recording has the time when a request was sent. Only the first one's effect has a known time, which is
            # time 0.
            sent = self._begin + max(0, seconds(action["at"]))
            self._clock.call_at(sent + (REQUEST if number else 0), self._act, action)
        await self._clock.sleep_until(self._begin + seconds(self._story["endSeconds"]))
        for node in self._simulation.nodes.values():
            await node.close()
        return {"name": self._story["name"], "statuses": self._statuses, "events": self._events}

    # -- what is done from outside ------------------------------------------------------------------------------

    def _act(self, action: Mapping[str, Any]) -> None:
        try:
            self._carry_out(action)
        except ApiError:
            pass  # the recording continues after a rejected request, too

    def _carry_out(self, action: Mapping[str, Any]) -> None:
        do, pod = action["do"], action.get("pod", "")
        if do == "create":
            self._create(next(m for m in self._story["manifests"] if m["metadata"]["name"] == pod))
        elif do == "create-object":
            self._create(action["object"])
        elif do == "delete":
            grace = action.get("gracePeriodSeconds")
            registry.delete(self._store, _pod(pod), DeleteOptions(grace_s=grace))
        elif do == "evict":
            options = DeleteOptions(grace_s=action.get("gracePeriodSeconds"))
            evict(self._store, _pod(pod, "eviction"), {"metadata": {"name": pod}}, options)
        elif do == "kill-sandbox":
            self._simulation.tasks.start("kill-sandbox", self._kill_sandbox(pod))
        elif do == "patch":
            target = _pod(pod, action.get("subresource") or "")
            registry.patch(self._store, target, action["patchType"], action["patch"])
        elif do == "write-static-file":
            self._write_static_file(action["file"], action.get("manifest"))
        elif do == "remove-static-file":
            self._node.manifests.remove(action["file"])
        elif do == "stop-kubelet":
            self._simulation.tasks.start(do, self._node.stop_kubelet())
        elif do == "start-kubelet":
            self._node.start()
        # "http-get" records the response to an external request; it changes nothing.

    async def _kill_sandbox(self, name: str) -> None:
        with suppress(StepFailed):
            await self._simulation.world.kill(Kill(pod=f"trace/{name}", sandbox=True))

    def _create(self, manifest: Mapping[str, Any]) -> None:
        resource, metadata = resource_of(manifest["kind"]), manifest["metadata"]
        namespace = metadata.get("namespace", "trace") if resource.namespaced else ""
        if resource.kind in RESOURCES:
            registry.create(self._store, Target(resource, namespace), dict(manifest))
        else:
            self._store.create(ApiObject.from_json({**manifest, "metadata": {**metadata, "namespace": namespace}}))

    def _write_static_file(self, name: str, number: int | None) -> None:
        """Write a static pod file. Manifests are used in order, unless a number selects one."""
        manifests = self._story["manifests"]
        manifest = manifests[min(self._written, len(manifests) - 1) if number is None else number]
        self._written += 1
        self._node.manifests.write(name, json.dumps(manifest))

    # -- what the API server saw --------------------------------------------------------------------------------

    def _now(self) -> float:
        return round((self._clock.now() - self._begin) / SECOND, 3)

    def _saw_pod(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        metadata = pod.metadata
        entry: dict[str, Any] = {
            "t": self._now(),
            "type": change.type,
            "pod": metadata.name,
            "uid": metadata.uid,
            "generation": metadata.generation,
            "status": pod.status.to_json(),
        }
        if metadata.deletion_timestamp is not None:
            entry["deletionTimestamp"] = metadata.deletion_timestamp
            entry["deletionGracePeriodSeconds"] = metadata.deletion_grace_period_seconds
        self._statuses.append(entry)

    def _saw_event(self, change: WatchEvent) -> None:
        event = change.object
        if not isinstance(event, Event) or event.involved_object.kind != "Pod":
            return
        entry = {
            "t": self._now(),
            "watch": change.type,
            "pod": event.involved_object.name,
            "type": event.type,
            "reason": event.reason,
            "message": event.message,
            "count": event.count,
            "component": event.source.component,
        }
        if event.involved_object.field_path:
            entry["fieldPath"] = event.involved_object.field_path
        self._events.append(entry)


def latencies(seed: int) -> Latencies:
    """Latencies of the recorded node, which was slow at times; the seed decides whether it is slow."""
    return SLOW if Randomness(seed).stream("load").random() < SLOW_SHARE else DEFAULT_LATENCIES


def _pod(name: str, subresource: str = "") -> Target:
    return Target(RESOURCES["Pod"], "trace", name, subresource)


def _scenario(story: Story) -> Scenario:
    spec = {**SCENARIO["spec"], "objects": list(story["manifests"])}
    return Scenario.model_validate({**SCENARIO, "spec": spec})
