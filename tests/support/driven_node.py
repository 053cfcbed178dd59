"""A whole simulated node that a test drives step by step, with its invariants.

The virtual loop runs only inside `run`; between calls the node is stopped and can be inspected. Reports to the API
server are checked as they arrive, the rest by `check`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND, parse_time
from kubesim.app import Simulation, raise_failures_of_callbacks
from kubesim.clock import VirtualLoop
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.object_items import Delete
from kubesim.scenario.language.step_items import Kill, Patch

NODE = "node-1"
GONE_AFTER = 40 * SECOND  # how long a pod may take to end in addition to the time its containers take to stop
FORGOTTEN_AFTER = 240 * SECOND  # dead containers and sandboxes are garbage-collected once a minute


def longest_end(pod: Pod) -> int:
    """The maximum duration of a termination: a sync that stops containers one after the other, each with its grace
    period, is not interrupted by a deletion.
    """
    stops = len(pod.spec.init_containers) + len(pod.spec.containers)
    return stops * (pod.spec.termination_grace_period_seconds or 0) * SECOND + GONE_AFTER


_LIVE: dict[int, Counter[str]] = {}  # running worker tasks by pod uid, for each agent's workers


class _CountedWorkers(PodWorkers):
    """Checks that no pod has two workers."""

    __slots__ = ()

    async def _loop(self, worker: Any) -> None:
        live = _LIVE[id(self)]
        live[worker.uid] += 1
        assert live[worker.uid] == 1, f"a second worker of pod {worker.uid}"
        try:
            await super()._loop(worker)
        finally:
            live[worker.uid] -= 1


class DrivenNode:
    def __init__(self, scenario: Scenario, seed: int, *, every_tick: bool = False) -> None:
        self._loop = VirtualLoop()
        self._loop.skips_idle_ticks = not every_tick
        self.live = Counter[str]()  # running worker tasks by pod uid
        self.failed = False
        self._versions = 0
        self._restarts: dict[tuple[str, str], int] = {}
        self._ended: set[str] = set()  # uids of pods in a terminal phase
        self._graces: dict[str, int] = {}  # uid -> longest grace period of its deletions, in seconds
        self._stop_by: dict[str, int] = {}  # uid of a deleted pod -> when its containers must have stopped
        self._tasks = TaskSet()
        self._loop.run_until_complete(self._open(scenario, seed))
        self.run(self._sleep_until(VIRTUAL_START))
        self._resting_tasks = self._task_names()

    async def _open(self, scenario: Scenario, seed: int) -> None:
        await self._tasks.__aenter__()
        raise_failures_of_callbacks(self._tasks)
        self._simulation = Simulation(scenario, seed, self._tasks)
        self.kubelet = self._simulation.nodes[NODE].kubelet
        self.runtime = self._simulation.nodes[NODE].runtime
        self.api = self._simulation.nodes[NODE].api
        self.world, self.store = self._simulation.world, self._simulation.store
        _LIVE[id(self.kubelet.workers)] = self.live
        self.kubelet.workers.__class__ = _CountedWorkers
        for kind in ("Pod", "Event", "Node", "Namespace", "ServiceAccount"):
            self.store.watch(kind, self._saw)
        self.store.watch("Pod", self._saw_pod)
        self.world.ensure_namespace("default")
        self._simulation.nodes[NODE].start()

    # -- steps --------------------------------------------------------------------------------------------------

    def run(self, step: Coroutine[Any, Any, Any]) -> Any:
        try:
            return self._loop.run_until_complete(self._tasks.run_until(step))
        except BaseException:
            self.failed = True
            raise

    def wait(self, duration: int) -> None:
        self.run(self._sleep_until(self._simulation.clock.now() + duration))

    async def _sleep_until(self, moment: int) -> None:
        await self._simulation.clock.sleep_until(moment)

    def apply(self, manifest: dict[str, Any]) -> None:
        self._attempt(lambda: self.world.apply(manifest))

    def patch(self, name: str, body: dict[str, Any]) -> None:
        patch = Patch.model_validate({"pod": name, "patch": body})
        self._attempt(lambda: self.world.patch(patch))

    def delete(self, name: str, grace_s: int | None = None) -> None:
        options = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        self._attempt(lambda: self.world.delete(Delete.model_validate({"pod": name, **options})))

    def kill(self, name: str, **options: Any) -> None:
        async def kill() -> None:
            with suppress(StepFailed):
                await self.world.kill(Kill.model_validate({"pod": name, **options}))

        self.run(kill())

    def kill_some_container(self, name: str, number: int, signal: str) -> None:
        """Kill one of the pod's running containers."""
        running = [info.name for info in self.containers() if info.state == "running" and self._is_of(info, name)]
        if running:
            self.kill(name, container=running[number % len(running)], signal=signal)

    def _is_of(self, info: ContainerInfo, name: str) -> bool:
        return any(pod.metadata.name == name and pod.metadata.uid == info.pod_uid for pod in self.pods())

    def _attempt(self, write: Any) -> None:
        """A rejected request changes nothing, and the test continues."""

        async def attempt() -> None:
            with suppress(StepFailed):
                write()

        self.run(attempt())

    # -- what the API server tells ------------------------------------------------------------------------------

    def _saw(self, change: WatchEvent) -> None:
        assert change.resource_version > self._versions, f"{change.object.kind}: a version that is not newer"
        assert int(change.object.metadata.resource_version) <= change.resource_version
        self._versions = change.resource_version

    def _saw_pod(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        uid, status = pod.metadata.uid, pod.status
        # If the pod is removed during a stop, the stop continues with its original grace period.
        self._graces[uid] = max(self._graces.get(uid, 0), pod.metadata.deletion_grace_period_seconds or 0)
        if change.type == "DELETED":
            self._stop_by[uid] = self._simulation.clock.now() + self._graces[uid] * SECOND + longest_end(pod)
        for container in (*status.init_container_statuses, *status.container_statuses):
            before = self._restarts.get((uid, container.name), 0)
            assert container.restart_count >= before, f"{pod.metadata.name}: {container.name} restarted less often"
            self._restarts[uid, container.name] = container.restart_count
        # A pod that succeeded may be reported as failed: its deadline can pass during its clean-up.
        if status.phase in ("Succeeded", "Failed"):
            self._ended.add(uid)
        else:
            assert uid not in self._ended, f"{pod.metadata.name} had ended and is {status.phase}"

    # -- what must hold -----------------------------------------------------------------------------------------

    def pods(self) -> list[Pod]:
        return [pod for pod in self.store.list("Pod") if isinstance(pod, Pod)]

    def containers(self) -> list[ContainerInfo]:
        listed: list[ContainerInfo] = self.run(self.runtime.list_containers())
        return listed

    def check(self) -> None:
        now = self._simulation.clock.now()
        wanted = {pod.metadata.uid for pod in self.pods()}
        running = [info for info in self.containers() if info.state == "running"]
        for info in running:
            if info.pod_uid not in wanted:
                assert now < self._stop_by[info.pod_uid], f"{info.name} of a pod that is gone still runs"
        twice = [key for key, count in Counter((info.pod_uid, info.name) for info in running).items() if count > 1]
        assert not twice, f"containers that run twice: {twice}"
        for pod in self.pods():
            if pod.metadata.deletion_timestamp is not None:
                late = now - parse_time(pod.metadata.deletion_timestamp)
                assert late < longest_end(pod), f"{pod.metadata.name} was deleted and is still there"

    def close(self) -> None:
        """Delete all objects, wait until they are gone, and check that nothing remains."""
        for pod in self.pods():
            self.delete(pod.metadata.name)
        graces = [(pod.metadata.deletion_grace_period_seconds or 0) * SECOND + longest_end(pod) for pod in self.pods()]
        self.wait(max(graces, default=0))
        self.check()
        assert not self.pods()
        self.wait(FORGOTTEN_AFTER)
        self.check()
        left = {
            "containers": self.containers(),
            "sandboxes": self.run(self.runtime.list_pod_sandboxes()),
            "workers": +self.live,
            "pod states": self.kubelet.views.states.statuses,
            "probes": list(self.kubelet.probes.workers()),
            "tasks": self._task_names() - self._resting_tasks,
            "volumes": self._simulation.nodes[NODE].volumes.pods(),
            "volume manager": +Counter(self.kubelet.volumes.statistics()),
        }
        assert not any(left.values()), left

    def shut(self) -> None:
        """Stop the node in any state; no task may survive."""
        try:
            self._loop.run_until_complete(self._shut())
            assert not list(self._task_names())
        finally:
            self._loop.close()

    async def _shut(self) -> None:
        await self._simulation.nodes[NODE].close()
        await self._tasks.__aexit__()
        asyncio.current_task().set_name("shutting down")  # type: ignore[union-attr]

    def _task_names(self) -> Counter[str]:
        return Counter(self._names())

    def _names(self) -> Iterator[str]:
        for task in asyncio.all_tasks(self._loop):
            if not task.done():
                yield task.get_name()
