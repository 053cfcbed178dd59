"""A node with pods created and deleted while its agent, runtime and API connection fail at random times.

One seed determines everything. During a run, no container may run twice and no restart count may decrease. When
everything has recovered and is idle, `check_rest` checks the final state; `check_nothing_left` does so after everything
was deleted.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.app import Simulation, raise_failures_of_callbacks
from kubesim.clock import Randomness, run_virtual
from kubesim.clock.clock import VIRTUAL_START
from kubesim.cluster.store.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.runtime.protocol import ContainerInfo
from kubesim.scenario.client.api_steps import StepFailed
from kubesim.scenario.language.document import Scenario
from kubesim.scenario.language.object_items import Delete
from kubesim.trace import HashSink

NODE = "node-1"
STORM = 120 * SECOND  # duration of changes and failures
REST = 420 * SECOND  # then: longer than any back-off
FORGOTTEN = 240 * SECOND

SERVER = ["sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait"]
DEAF = ["sh", "-c", "trap '' TERM; sleep 1000000"]
READY = {"readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 3}}
SCENARIO = Scenario.model_validate(
    {
        "metadata": {"name": "chaos"},
        "spec": {
            "kubeletConfiguration": {"maxPods": 1000},
            "images": [{"name": "busybox:1", "present": True}, {"name": "busybox:2", "pullTime": "2s"}],
        },
    }
)


def run_chaos(seed: int, pods: int) -> str:
    """Run a seed; returns the hash of the trace. Raises AssertionError for a violated rule."""
    sink = HashSink()
    run_virtual(_main, seed, pods, sink)
    return sink.hexdigest()


async def _main(seed: int, pods: int, sink: HashSink) -> None:
    async with TaskSet() as tasks:
        raise_failures_of_callbacks(tasks)
        await tasks.run_until(Chaos(seed, pods, tasks, sink).run())


class Chaos:
    def __init__(self, seed: int, pods: int, tasks: TaskSet, sink: HashSink) -> None:
        self._simulation = Simulation(SCENARIO, seed, tasks, [sink])
        self._sink = sink
        self._tasks = tasks
        self._pods = pods
        self._stream = Randomness(seed).stream("chaos")
        self._clock, self._store = self._simulation.clock, self._simulation.store
        self._node, self._world = self._simulation.nodes[NODE], self._simulation.world
        self._restarts: dict[tuple[str, str], int] = {}

    async def run(self) -> None:
        self._world.ensure_namespace("default")
        self._node.start()
        await self._clock.sleep_until(VIRTUAL_START)
        self._resting_tasks = _task_names()
        self._simulation.recorder.add(self._sink)
        self._node.runtime.on_change(self._container_changed)
        self._store.watch("Pod", self._pod_changed)
        self._plan_pods()
        await self._disasters()
        await self._clock.sleep_until(VIRTUAL_START + STORM + REST)
        await self.check_rest()
        self._delete_everything()
        await self._clock.sleep(60 * SECOND + FORGOTTEN)
        await self.check_nothing_left()
        await self._node.close()

    # -- what happens -------------------------------------------------------------------------------------------

    def _moment(self, begin: int, end: int) -> int:
        return VIRTUAL_START + begin + self._stream.randrange(end - begin)

    def _plan_pods(self) -> None:
        """Plan the creation and deletion of each pod. Some deleted pods are recreated under the same name. Some mounted
        objects are created only after half of the time.
        """
        late = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late"}, "data": {"k": "v"}}
        self._clock.call_at(VIRTUAL_START + STORM // 2, self._world.apply, late)
        for number in range(self._pods):
            static = number % 10 == 0
            coming = self._moment(0, STORM // 2)
            self._clock.call_at(coming, self._come, number, static)
            if self._stream.random() < 0.4:
                going = self._moment(coming - VIRTUAL_START, STORM)
                grace = self._stream.choice((None, 0, 1, 5))
                self._clock.call_at(going, self._go, number, static, grace)
                if self._stream.random() < 0.5:
                    self._clock.call_at(self._moment(going - VIRTUAL_START, STORM), self._come, number, static)

    def _come(self, number: int, static: bool) -> None:
        manifest = self._manifest(number)
        if static:
            self._node.manifests.write(f"{number}.yaml", json.dumps(manifest))
            return
        try:
            self._world.apply(manifest)
        except StepFailed:
            pass  # the previous pod is still terminating

    def _go(self, number: int, static: bool, grace: int | None) -> None:
        if static:
            self._node.manifests.remove(f"{number}.yaml")
            return
        options = {} if grace is None else {"gracePeriodSeconds": grace}
        try:
            self._world.delete(Delete.model_validate({"pod": f"pod-{number}", **options}))
        except StepFailed:
            pass

    def _manifest(self, number: int) -> dict[str, Any]:
        stream = self._stream
        main: dict[str, Any] = {"name": "main", "image": stream.choice(("busybox:1", "busybox:2")), "command": SERVER}
        spec: dict[str, Any] = {"terminationGracePeriodSeconds": stream.choice((0, 1, 5)), "containers": [main]}
        if stream.random() < 0.3:
            main.update(READY)
        if stream.random() < 0.3:
            spec["containers"].append({"name": "deaf", "image": "busybox:1", "command": DEAF})
        if stream.random() < 0.2:
            init = {"name": "init", "image": "busybox:1", "command": ["sleep", "1"]}
            sidecar = {"name": "side", "image": "busybox:1", "command": SERVER, "restartPolicy": "Always"}
            spec["initContainers"] = [init, sidecar]
        if stream.random() < 0.3:
            volume = {"name": "v", "emptyDir": {}} if number % 10 == 0 else {"name": "v", "configMap": {"name": "late"}}
            spec["volumes"] = [volume]
            main["volumeMounts"] = [{"name": "v", "mountPath": "/v"}]
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}"}, "spec": spec}

    async def _disasters(self) -> None:
        """Failures, sequential or overlapping; each recovers before the end."""
        kinds = (self._lose_agent, self._lose_agent, self._lose_runtime, self._lose_api, self._lose_power)
        moments = sorted(self._moment(0, STORM) for _ in range(self._stream.randrange(4, 12)))
        for moment in moments:
            await self._clock.sleep_until(moment)
            kind = self._stream.choice(kinds)
            self._tasks.start(kind.__name__, kind(self._stream.randrange(100 * MILLISECOND, 20 * SECOND)))

    async def _lose_agent(self, duration: int) -> None:
        if self._node.kubelet_runs:
            await self._node.stop_kubelet()
            await self._clock.sleep(duration)
            self._start_agent()

    def _start_agent(self) -> None:
        if not self._node.kubelet_runs:
            self._node.start()

    async def _lose_runtime(self, duration: int) -> None:
        if self._node.service.up:
            self._node.stop_runtime(self._stream.choice(("kept", "kept", "gone")))
            await self._clock.sleep(duration)
            self._node.start_runtime()

    async def _lose_api(self, duration: int) -> None:
        self._node.api.cut()
        await self._clock.sleep(duration)
        self._node.api.restore()

    async def _lose_power(self, duration: int) -> None:
        if self._node.kubelet_runs and self._node.service.up:
            await self._node.power_off()
            await self._clock.sleep(duration)
            self._node.start_runtime()
            self._start_agent()

    def _delete_everything(self) -> None:
        for file in self._node.manifests.names():
            self._node.manifests.remove(file)
        for pod in self._api_pods():
            if not is_mirror_pod(pod):
                self._world.delete(Delete(pod=pod.metadata.name))

    # -- what must hold at every moment -------------------------------------------------------------------------

    def _container_changed(self, uid: str) -> None:
        known = self._node.runtime._by_pod.get(uid)
        if known is not None:
            infos = [self._node.runtime._containers[identifier].info for identifier in known[1]]
            _assert_once(infos)

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        assert isinstance(pod, Pod)
        if is_mirror_pod(pod):
            return  # a restarted agent knows a static pod only from the runtime, not from earlier reports
        for status in (*pod.status.init_container_statuses, *pod.status.container_statuses):
            key = (pod.metadata.uid, status.name)
            assert status.restart_count >= self._restarts.get(key, 0), f"{pod.metadata.name} restarted less often"
            self._restarts[key] = status.restart_count

    # -- what must hold when idle ---------------------------------------------------------------------------------

    def _api_pods(self) -> list[Pod]:
        return [pod for pod in self._store.list("Pod") if isinstance(pod, Pod)]

    async def check_rest(self) -> None:
        """Every wanted pod runs exactly once, and no other pod runs."""
        running = [info for info in await self._node.runtime.list_containers() if info.state == "running"]
        _assert_once(running)
        ids_by_uid: dict[str, set[str]] = {}
        for info in running:
            ids_by_uid.setdefault(info.pod_uid, set()).add(info.id)
        ready = Counter(info.pod_uid for info in await self._node.runtime.list_pod_sandboxes() if info.ready)
        wanted = set()
        mirrored = set()
        for pod in self._api_pods():
            name = pod.metadata.name
            uid = pod.metadata.annotations.get("kubernetes.io/config.mirror", pod.metadata.uid)
            wanted.add(uid)
            if is_mirror_pod(pod):
                mirrored.add(name)
            assert pod.metadata.deletion_timestamp is None, f"{name} was to go and is still there"
            assert pod.status.phase == "Running", f"{name} is {pod.status.phase}"
            conditions = {condition.type: condition.status for condition in pod.status.conditions}
            assert conditions["Ready"] == "True", f"{name} is not ready"
            statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
            reported = {s.container_id.rpartition("/")[2] for s in statuses if s.state.running is not None}
            assert reported == ids_by_uid.get(uid, set()), (
                f"{name}: the API reports {reported}, running are {ids_by_uid.get(uid)}"
            )
            assert len(reported) == len(pod.spec.containers) + sum(
                c.restart_policy == "Always" for c in pod.spec.init_containers
            )
            assert ready[uid] == 1, f"{name} has {ready[uid]} sandboxes"
        assert ids_by_uid.keys() <= wanted, f"nobody wants {ids_by_uid.keys() - wanted}"
        assert ready.keys() <= wanted, f"nobody wants the sandboxes of {ready.keys() - wanted}"
        files = {f"pod-{file.removesuffix('.yaml')}-{NODE}" for file in self._node.manifests.names()}
        assert mirrored == files, f"static pods {files}, mirrors {mirrored}"
        mounted = Counter(uid for uid, _ in self._node.volumes.volumes())
        assert mounted.keys() <= wanted, f"nobody wants the volumes of {mounted.keys() - wanted}"
        assert self._node.kubelet.volumes.statistics()["toDo"] == 0

    async def check_nothing_left(self) -> None:
        node, kubelet = self._node, self._node.kubelet
        left = {
            "pods": [pod.metadata.name for pod in self._api_pods()],
            "containers": await node.runtime.list_containers(),
            "sandboxes": await node.runtime.list_pod_sandboxes(),
            "addresses": node.runtime._addresses.taken,
            "pod states": kubelet.views.states.statuses,
            "probes": list(kubelet.probes.workers()),
            "statuses": kubelet.views.statuses._statuses,
            "logs": node.disk.logs.pods(),
            "volumes": node.volumes.pods(),
            "volume manager": +Counter(kubelet.volumes.statistics()),
            "tasks": _task_names() - self._resting_tasks,
        }
        assert not any(left.values()), {what: found for what, found in left.items() if found}


def _assert_once(infos: list[ContainerInfo]) -> None:
    counts = Counter((info.pod_uid, info.name) for info in infos if info.state == "running")
    twice = [key for key, count in counts.items() if count > 1]
    assert not twice, f"containers that run twice: {twice}"


def _task_names() -> Counter[str]:
    return Counter(task.get_name() for task in asyncio.all_tasks() if not task.done())
