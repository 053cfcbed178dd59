"""The lifecycle of one pod on a node with failing and hanging runtime calls, killed containers and sandboxes, and a
restarting agent. A `Story` has the actions, `LifeRules` the invariants, and `live` runs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.app import Simulation, raise_failures_of_callbacks
from kubesim.clock import Randomness, run_virtual
from kubesim.clock.clock import VIRTUAL_START
from kubesim.concurrency import TaskSet
from kubesim.errors import SyncError
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.object_items import Delete
from kubesim.scenario.language.step_items import Kill, Patch
from kubesim.trace import HashSink, MemorySink, Sink
from tests.support.faulty_runtime import FaultyRuntime
from tests.support.lives.rules import LifeRules
from tests.support.ticks import ticks

NODE = "node-1"
NAME = "ann"
STORM = 90 * SECOND  # the last external action and fault
REST = 60 * SECOND
END_LIMIT = 3600 * SECOND  # several times a hung call, back-off and worker delay
FORGOTTEN = 240 * SECOND  # dead containers and sandboxes are garbage-collected once a minute
_OF_A_POD = ("worker ", " probe of ", "exec ", "prestop ", "kill ")  # in the names of tasks that end with their pod


@dataclass(frozen=True, slots=True)
class Faults:
    """Shares of faulty calls."""

    failing: float = 0
    hanging: float = 0
    losing: float = 0
    pull_errors: int = 0  # number of initial image pulls that fail

    @property
    def none(self) -> bool:
        return not (self.failing or self.hanging or self.losing)


@dataclass(frozen=True, slots=True)
class Happening:
    """An external action on the pod or node, at a time after the pod's creation."""

    at: int
    what: str  # kill, kill sandbox, image, delete, evict, restart kubelet, restart runtime
    number: int = 0  # container name; grace period of a deletion or eviction, or length of an outage, in seconds
    signal: str = "KILL"


@dataclass(frozen=True, slots=True)
class Story:
    seed: int
    spec: dict[str, Any]
    faults: Faults = Faults()
    activity_count: tuple[Happening, ...] = ()
    ends_by_itself: bool = False  # whether the pod reaches a terminal phase without being deleted
    every_tick: bool = False


def live(story: Story, *sinks: Sink, begins: Callable[[Simulation], object] | None = None) -> str:
    """Run a story; returns the hash of its trace. Raises AssertionError for a violated rule. `begins` is called before
    the pod is created.
    """
    with ticks(every_tick=story.every_tick):
        return run_virtual(_main, story, sinks, begins)


def happened(story: Story) -> list[tuple[int, str]]:
    """The trace as (time, text); records of one instant without a fixed order are sorted."""
    trace = MemorySink()
    live(story, trace)
    assert trace.records
    for record in trace.records:
        record.seq, record.cause = 0, None
    return sorted((record.t, repr(record)) for record in trace.records)


async def _main(story: Story, sinks: tuple[Sink, ...], begins: Callable[[Simulation], object] | None) -> str:
    async with TaskSet() as tasks:
        raise_failures_of_callbacks(tasks)
        digest: str = await tasks.run_until(_Life(story, tasks, sinks).run(begins))
        return digest


class _Life:
    def __init__(self, story: Story, tasks: TaskSet, sinks: tuple[Sink, ...]) -> None:
        self._story = story
        self._sink = HashSink()
        self._sinks = (self._sink, *sinks)
        self._simulation = Simulation(_scenario(story), story.seed, tasks, self._sinks)
        self._tasks = tasks
        self._clock, self._store = self._simulation.clock, self._simulation.store
        self._node, self._world = self._simulation.nodes[NODE], self._simulation.world
        cut_off = any(happening.what == "restart runtime" for happening in story.activity_count)
        self._rules = LifeRules(self._clock, self._node.runtime, strict=story.faults.none and not cut_off)
        faults = story.faults
        faulty = FaultyRuntime(
            self._node.service.runtime,
            self._clock,
            Randomness(story.seed).stream("faults"),
            failing=faults.failing,
            hanging=faults.hanging,
            losing=faults.losing,
            until=VIRTUAL_START + STORM,
            received=self._rules.called,
            went_wrong=self._disturb,
        )
        self._node.service.serve(faulty)

    def _disturb(self) -> None:
        """Notify the invariants of a failed runtime call."""
        self._node.service.disturbed_at = self._clock.now()

    async def run(self, begins: Callable[[Simulation], object] | None) -> str:
        clock, story = self._clock, self._story
        self._world.ensure_namespace("default")
        self._node.start()
        await clock.sleep_until(VIRTUAL_START)
        clock.begin()
        for sink in (*self._sinks, self._rules):
            self._simulation.recorder.add(sink)
        self._store.watch("Pod", self._rules.pod_changed)
        if begins is not None:
            begins(self._simulation)
        self._world.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME}, "spec": story.spec})
        for happening in story.activity_count:
            await clock.sleep_until(VIRTUAL_START + happening.at)
            self._tasks.start(happening.what, self._happens(happening))
        await clock.sleep_until(VIRTUAL_START + STORM)
        if story.ends_by_itself:
            await self._until(lambda pod: pod is None or pod.status.phase in ("Succeeded", "Failed"), "has no end")
        await clock.sleep(REST)
        if self._pod() is not None:
            self._attempt_delete(None)
        await self._until(lambda pod: pod is None, "was deleted and is still there")
        await clock.sleep(FORGOTTEN)
        await self._nothing_is_left()
        self._no_invariant_was_violated()
        await self._node.close()
        return self._sink.hexdigest()

    async def _until(self, reached: Any, complaint: str) -> None:
        limit = self._clock.now() + END_LIMIT
        while not reached(self._pod()):
            assert self._clock.now() < limit, f"the pod {complaint} after an hour without faults: {self._reported()}"
            await self._clock.sleep(10 * SECOND)

    def _reported(self) -> Any:
        pod = self._pod()
        return pod and (pod.status.phase, [status.state for status in pod.status.container_statuses])

    def _pod(self) -> Pod | None:
        pod = self._store.find("Pod", "default", NAME)
        assert pod is None or isinstance(pod, Pod)
        return pod

    # -- what happens -------------------------------------------------------------------------------------------

    async def _happens(self, happening: Happening) -> None:
        try:
            match happening.what:
                case "kill":
                    await self._kill_container(happening)
                case "kill sandbox":
                    await self._world.kill(Kill(pod=NAME, sandbox=True))
                case "image":
                    change = {"spec": {"containers": [{"name": "main0", "image": "busybox:2"}]}}
                    self._world.patch(Patch(pod=NAME, patch=change))
                case "delete":
                    self._attempt_delete(happening.number)
                case "evict":
                    await self._evict(happening.number)
                case "restart kubelet":
                    await self._restart_kubelet(happening.number)
                case "restart runtime":
                    self._node.stop_runtime()
                    await self._clock.sleep(happening.number * SECOND)
                    self._node.start_runtime()
        except StepFailed:
            pass  # no container runs, or the pod is gone

    async def _kill_container(self, happening: Happening) -> None:
        infos = await self._node.runtime.list_containers()
        running = [info.name for info in infos if info.state == "running"]
        if running:
            name = running[happening.number % len(running)]
            await self._world.kill(Kill.model_validate({"pod": NAME, "container": name, "signal": happening.signal}))

    async def _evict(self, grace_s: int) -> None:
        """Evict the pod, as the eviction manager does."""
        pod, kubelet = self._pod(), self._node.kubelet
        if pod is None or not self._node.kubelet_runs or kubelet.views.manager.by_uid(pod.metadata.uid) is None:
            return
        self._rules.evicted(grace_s)
        with suppress(SyncError):
            await kubelet.workers.kill_pod_now(
                kubelet.allocation.update_pod(pod),
                evict=True,
                grace_period_override=grace_s,
                status_fn=lambda status: status.changed(phase="Failed", reason="Evicted"),
            )

    async def _restart_kubelet(self, down_s: int) -> None:
        if self._node.kubelet_runs:
            await self._node.stop_kubelet()
            await self._clock.sleep(down_s * SECOND)
            self._rules.kubelet_restarts()
            self._node.start()

    def _attempt_delete(self, grace_s: int | None) -> None:
        options = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        if (self._story.spec["terminationGracePeriodSeconds"] if grace_s is None else grace_s) == 0:
            self._rules.forced()
        try:
            self._world.delete(Delete.model_validate({"pod": NAME, **options}))
        except StepFailed:
            pass

    # -- at the end ---------------------------------------------------------------------------------------------

    async def _nothing_is_left(self) -> None:
        node, kubelet = self._node, self._node.kubelet
        left = {
            "containers": await node.runtime.list_containers(),
            "sandboxes": await node.runtime.list_pod_sandboxes(),
            "addresses": node.runtime._addresses.taken,
            "pod states": kubelet.views.states.statuses,
            "probes": list(kubelet.probes.workers()),
            "statuses": kubelet.views.statuses._statuses,
            "logs": node.disk.logs.pods(),
            "tasks": [name for name in _task_names() if any(part in name for part in _OF_A_POD)],
        }
        assert not any(left.values()), {what: found for what, found in left.items() if found}

    def _no_invariant_was_violated(self) -> None:
        """With faults, records of an earlier sandbox mislead the kubelet about the pod's progress."""
        watch = self._simulation.invariants
        watch.close()
        faulty = not self._story.faults.none
        found = [each for each in watch.failures if not (faulty and each.text.startswith("init-order"))]
        assert not found, "\n".join(line for failure in found for line in failure.lines())


def _task_names() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if not task.done()]


def _scenario(story: Story) -> Scenario:
    errors = [f"rpc error: code = Unknown desc = failure {n}" for n in range(story.faults.pull_errors)]
    images = [
        {"name": "busybox:1", "present": True},
        {"name": "busybox:2", "pullTime": "3s", "errors": errors},
        {"name": "absent:1", "missing": True},
    ]
    return Scenario.model_validate({"metadata": {"name": "life"}, "spec": {"images": images}})
