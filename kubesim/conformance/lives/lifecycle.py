"""One case of `lifecycle_trace`: the whole agent with scripted containers and the in-memory API server.

The production agent runs here in virtual time. This module composes it, and performs the external actions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from kubesim.api.meta import ObjectMeta
from kubesim.api.node import Node
from kubesim.api.pod import Pod, PodCondition, PodStatus
from kubesim.api.timestamps import MILLISECOND, SECOND, format_micro_time, seconds
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.cluster.memory_client import ApiLatencies
from kubesim.cluster.store.object_watch import FoundObjects
from kubesim.cluster.store.store import Store
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.conformance.lives.lifecycle_diary import LEAD, Diary
from kubesim.conformance.lives.lifecycle_runtime import FIRST_UID, ScriptedRuntime
from kubesim.conformance.lives.lifecycle_script import Client, NoNetwork, Scripts
from kubesim.errors import ApiError, SyncError
from kubesim.kubelet.agent import Dependencies, Kubelet
from kubesim.kubelet.context import KubeletContext
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.volumes.manager import VolumeParts
from kubesim.runtime.simulated.settings import ImageBehaviour, Latencies, SimulatedSettings, Span
from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.sources.config import ConfigStream
from kubesim.sources.memory import ClusterSource
from kubesim.trace import Recorder

POD_APPEARS = 53 * MILLISECOND
NODE_NAME = "127.0.0.1"
_NODE = Node(kind="Node", metadata=ObjectMeta(name=NODE_NAME, uid="node-uid"))
_SCHEDULED = PodStatus(phase="Pending", conditions=(PodCondition(type="PodScheduled", status="True"),))


def play(case: Mapping[str, Any], *, seed: int = 0) -> dict[str, Any]:
    """Run the case and return its trace. Raises ValueError for invalid delays."""
    for name, delay in case["input"]["delays"].items():
        if not delay >= 0:
            raise ValueError(f"delays.{name}: must not be negative, is {delay}")
    return {"trace": run_virtual(_live, case["input"], seed)}


async def _live(story: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    life = _Life(story, seed)
    async with TaskSet() as tasks:
        await tasks.run_until(life.run(tasks))
    return life.diary.finished()


class _Life:
    def __init__(self, story: Mapping[str, Any], seed: int) -> None:
        self._story = story
        self._seed = seed
        self._clock = LoopClock()
        self.diary = Diary(self._clock)

    async def run(self, tasks: TaskSet) -> None:
        story, clock = self._story, self._clock
        randomness = Randomness(self._seed)
        recorder = Recorder(clock)  # the diary records everything that the recording has
        self._store = Store(clock.now, lambda: "uid-of-the-mirror")
        self._store.create(_NODE)
        scripts = Scripts(clock, story["scripts"])
        self._runtime = ScriptedRuntime(clock, randomness, scripts, _settings(story), self.diary)
        delays = story["delays"]
        client = Client(
            clock, self._store, ApiLatencies(get=seconds(delays["apiGet"]), patch=seconds(delays["apiPatch"]))
        )
        self._config = ConfigStream(clock, recorder, ("api", "file"))
        self._source = ClusterSource(clock, self._store, self._config, NODE_NAME, seconds(delays["watch"]))
        self._agent = Kubelet(
            KubeletContext(
                clock, randomness, recorder, tasks, _kubelet_settings(seconds(delays["plegList"])), self.diary
            ),
            Dependencies(
                self._runtime,
                NoNetwork(),
                client,
                self._config,
                VolumeParts(
                    NodeVolumes(clock.now), FoundObjects(self._store.find), self._store.get, self._store.signed_token
                ),
            ),
        )
        self._store.watch("Pod", self._seen_at_the_api)
        self._agent.start()
        self._source.start()
        self._config.snapshot("file", [])
        self._schedule(tasks)
        await clock.sleep_until(clock.start + LEAD + seconds(story["endSeconds"]))
        self.diary.close_instant(clock.now())
        await self._agent.close()

    def _schedule(self, tasks: TaskSet) -> None:
        story, clock = self._story, self._clock
        begin = clock.start + LEAD + POD_APPEARS

        def at(key: str, action: Callable[[], None]) -> None:
            if key in story:
                clock.call_at(begin + seconds(story[key]), action)

        clock.call_at(begin, self._appear)
        at("deleteAt", self._delete)
        at("imageChangeAt", self._change_image)
        at("replaceAt", self._replace)
        at("sandboxDiesAt", self._runtime.kill_sandboxes)
        at("evictAt", lambda: self._begin_eviction(tasks))

    def _pod(self) -> Pod:
        """The recorded pod. The recording created no environment variables; a kubelet that does needs this default."""
        pod = Pod.from_json({"apiVersion": "v1", "kind": "Pod", **self._story["pod"]})
        return pod.changed(spec=pod.spec.changed(enable_service_links=False))

    def _seen_at_the_api(self, event: WatchEvent) -> None:
        assert isinstance(event.object, Pod)
        self.diary.seen(None if event.type == "DELETED" else event.object)

    # -- what is done from outside ------------------------------------------------------------------------------

    def _appear(self) -> None:
        pod = self._pod()
        if self._story.get("static"):
            self.diary.add("api", what="manifestAdded")
            pod = pod.changed(status=PodStatus(phase="Pending"))
            self._manifest: Pod | None = pod
            self._config.snapshot("file", [pod])
            return
        self.diary.add("api", what="podCreated")
        self._store.create(pod.changed(status=_SCHEDULED))

    def _delete(self) -> None:
        if self._story.get("static"):
            self.diary.add("api", what="manifestRemoved")
            self._manifest = None
            self._config.snapshot("file", [])
            return
        grace = self._story.get("deleteGraceSeconds", 0)
        try:
            pod = self._store.get("Pod", "ns", "p")
        except ApiError:
            return
        self.diary.add("api", what="deleteRequested", graceSeconds=grace)
        if not grace:
            self._store.remove("Pod", "ns", "p")
            return
        # The recording's API server is simpler than a real one: it keeps a pod until the kubelet deletes it.
        deletion = format_micro_time(self._clock.now() + grace * SECOND)
        metadata = pod.metadata.changed(deletion_timestamp=deletion, deletion_grace_period_seconds=grace)
        self._store.replace(pod.changed(metadata=metadata))

    def _change_image(self) -> None:
        pod = self._store.find("Pod", "ns", "p")
        if isinstance(pod, Pod):
            self.diary.add("api", what="imageChanged")
            self._store.replace(_with_new_image(pod))

    def _replace(self) -> None:
        if self._manifest is None:
            return
        self.diary.add("api", what="manifestReplaced", uid="uid-2")
        pod = _with_new_image(self._manifest)
        annotations = {**pod.metadata.annotations, "kubernetes.io/config.hash": "uid-2"}
        self._manifest = pod.changed(metadata=pod.metadata.changed(uid="uid-2", annotations=annotations))
        self._config.snapshot("file", [self._manifest])

    def _begin_eviction(self, tasks: TaskSet) -> None:
        tasks.start("evict", self._evict())

    async def _evict(self) -> None:
        pod = self._agent.views.manager.by_uid(FIRST_UID)
        if pod is None:
            return
        grace = self._story.get("evictGraceSeconds", 0)
        self.diary.add("kubelet", what="evict", graceSeconds=grace)
        try:
            await self._agent.workers.kill_pod_now(
                pod,
                evict=True,
                grace_period_override=grace,
                status_fn=lambda status: status.changed(phase="Failed", reason="Evicted"),
            )
            self.diary.add("kubelet", what="evictReturned")
        except SyncError as error:
            self.diary.add("kubelet", what="evictReturned", error=str(error))


def _with_new_image(pod: Pod) -> Pod:
    containers = tuple(c.changed(image="img-z:1") if c.name == "c1" else c for c in pod.spec.containers)
    return pod.changed(spec=pod.spec.changed(containers=containers))


def _settings(story: Mapping[str, Any]) -> SimulatedSettings:
    delays = story["delays"]
    errors: Mapping[str, int] = story.get("pullErrors", {})
    return SimulatedSettings(
        latencies=Latencies(
            run_sandbox=Span(seconds(delays["runSandbox"])),
            stop_sandbox=Span(0),
            create_container=Span(seconds(delays["createContainer"])),
            start_container=Span(seconds(delays["startContainer"])),
            failed_start=Span(seconds(delays["startContainer"])),
            pull=Span(seconds(story["pullSeconds"])),
            shortest_run=0,
        ),
        images={image: ImageBehaviour(errors=("manifest unknown",) * count) for image, count in errors.items()},
        sandbox_errors=("cni: no address",) * story.get("sandboxErrors", 0),
        reports_users=False,
        reports_log_paths=False,
        sandbox_id=lambda uid, number: f"sandbox{number}",
        container_id=_ContainerIds(),
        pod_ip=lambda attempt: f"10.0.0.{10 + attempt}",
    )


class _ContainerIds:
    """Container ids: `c1-0`, with an `x` appended for each reuse."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def __call__(self, uid: str, name: str, attempt: int) -> str:
        identifier = f"{name}-{attempt}"
        while identifier in self._used:
            identifier += "x"
        self._used.add(identifier)
        return identifier


@cache
def _kubelet_settings(list_duration: int) -> KubeletSettings:
    return KubeletSettings(
        node_name=NODE_NAME,
        jitter=False,
        list_duration=list_duration,
        container_gc_period=60_411 * MILLISECOND,
        pleg_starts=230 * MILLISECOND,
        sync_loop_starts=420 * MILLISECOND,
    )
