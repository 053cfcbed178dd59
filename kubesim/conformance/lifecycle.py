"""One life of `lifecycle_trace`: the whole agent against scripted containers and the in-memory API server.

What runs here is the production agent in virtual time. This module makes the scripted containers, does what is done
from outside, and writes down what happened in the corpus' words.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from kubesim.api.meta import ObjectMeta
from kubesim.api.node import Node
from kubesim.api.pod import ContainerStatus, Pod, PodCondition, PodStatus
from kubesim.api.timestamps import MILLISECOND, SECOND, format_micro_time, format_time, parse_time, seconds
from kubesim.clock import LoopClock, Randomness, run_virtual, wake
from kubesim.cluster.memory_client import ApiLatencies, MemoryClient
from kubesim.cluster.store import Store
from kubesim.cluster.watches import WatchEvent
from kubesim.concurrency import TaskSet
from kubesim.errors import ApiError, RuntimeCallError, SyncError
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.settings import KubeletSettings
from kubesim.runtime.naming import container_field_path
from kubesim.runtime.network import HttpRequest, HttpResponse, connection_refused, join_host_port
from kubesim.runtime.protocol import CallContext, ExecResult
from kubesim.runtime.simulated.process import SIGKILL, Exit, Process, ProcessContext
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.settings import ImageBehaviour, Latencies, SimulatedSettings, Span
from kubesim.runtime.traced import TracedRuntime
from kubesim.sources.config import ConfigStream
from kubesim.sources.memory import ClusterSource
from kubesim.trace import Record, Recorder
from kubesim.trace.records import CriCall

LEAD = 60 * SECOND  # the agent has been running for a minute when the story begins
POD_APPEARS = 53 * MILLISECOND
NODE_NAME = "127.0.0.1"
PROBE_COMMANDS = {"ready": "readinessFailsBetween", "live": "livenessFailsBetween", "start": "startupFailsBetween"}


def play(case: Mapping[str, Any], *, seed: int = 0, every_tick: bool = False) -> dict[str, Any]:
    """Live the life and give its trace."""
    return {"trace": run_virtual(_live, case["input"], seed, every_tick)}


async def _live(story: Mapping[str, Any], seed: int, every_tick: bool) -> list[dict[str, Any]]:
    life = _Life(story, seed, every_tick)
    async with TaskSet() as tasks:
        await tasks.run_until(life.run(tasks))
    return life.diary.entries


class _Diary:
    """The trace in the corpus' words. It is also the agent's event recorder and a sink of its trace."""

    def __init__(self, clock: LoopClock) -> None:
        self.entries: list[dict[str, Any]] = []
        self._clock = clock
        self._last_status: dict[str, Any] | None = None  # the last one written down
        self._open: tuple[int, dict[str, Any] | None] | None = None  # this instant's last write

    def add(self, kind: str, **fields: Any) -> None:
        self.close_instant()
        self.entries.append({"t": self._now(), "kind": kind, **fields})

    def close_instant(self) -> None:
        """Write down how an instant that has passed left the pod: gone, or with a status that says something new."""
        if self._open is None or self._open[0] == self._clock.now():
            return
        moment, view = self._open
        self._open = None
        if view is None:
            self.entries.append({"t": self._seconds(moment), "kind": "api", "what": "podRemoved"})
        elif view != self._last_status:
            self._last_status = view
            self.entries.append({"t": self._seconds(moment), "kind": "status", **view})

    def _now(self) -> float:
        return self._seconds(self._clock.now())

    def _seconds(self, moment: int) -> float:
        return round((moment - self._clock.start - LEAD) / SECOND, 3)

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        if reason == "Pulled":
            message = message.partition(" in ")[0] if message.startswith("Successfully") else message
        fields = {"type": type, "reason": reason, "message": message}
        if container:
            fields["fieldPath"] = container_field_path(pod, container)
        self.add("event", **fields)

    def record(self, record: Record) -> None:
        if isinstance(record, CriCall) and record.call in _CRI_ENTRIES:
            fields = _CRI_ENTRIES[record.call](record.args)
            if fields is not None:
                self.add("cri", call=record.call, **fields)

    def seen(self, pod: Pod | None) -> None:
        """The pod at the API server after a write; None when it is gone. Of several in one instant the last counts."""
        self.close_instant()
        self._open = (self._clock.now(), None if pod is None else _status_view(pod.status))


_CRI_ENTRIES: dict[str, Callable[[Mapping[str, Any]], dict[str, Any] | None]] = {
    "RunPodSandbox": lambda a: {"attempt": a["attempt"]} | ({"uid": a["uid"]} if a["uid"] != "uid-1" else {}),
    "StopPodSandbox": lambda a: {"id": a["id"]},
    "RemovePodSandbox": lambda a: {"id": a["id"]},
    "CreateContainer": lambda a: {"attempt": a["attempt"], "name": a["name"], "sandbox": a["sandbox"]},
    "StartContainer": lambda a: {"id": a["id"]},
    "StopContainer": lambda a: {"id": a["id"], "timeout": a["timeout"]},
    "RemoveContainer": lambda a: {"id": a["id"]},
    "PullImage": lambda a: {"image": a["image"]},
    "ExecSync": lambda a: None if a["cmd"][0] in PROBE_COMMANDS else {"cmd": " ".join(a["cmd"]), "id": a["id"]},
}


def _status_view(status: PodStatus) -> dict[str, Any]:
    view: dict[str, Any] = {
        "phase": status.phase,
        "conditions": {c.type: c.status + (f"/{c.reason}" if c.reason else "") for c in status.conditions},
        "containers": {c.name: _container_view(c) for c in status.container_statuses},
    }
    if status.init_container_statuses:
        view["initContainers"] = {c.name: _container_view(c) for c in status.init_container_statuses}
    if status.reason:
        view["reason"] = status.reason
    if status.pod_ip:
        view["podIP"] = status.pod_ip
    return view


def _container_view(status: ContainerStatus) -> dict[str, Any]:
    view: dict[str, Any] = {"ready": status.ready, "restartCount": status.restart_count}
    if status.started is not None:
        view["started"] = status.started
    for name, state in (("state", status.state), ("lastState", status.last_state)):
        if state.terminated is not None:
            view[name] = f"terminated/{state.terminated.exit_code}/{state.terminated.reason}"
        elif state.running is not None:
            view[name] = "running"
        elif state.waiting is not None:
            view[name] = f"waiting/{state.waiting.reason}"
    return view


class _ScriptedProcess:
    """A container that does what its script says."""

    def __init__(self, clock: LoopClock, script: Mapping[str, Any], run: Mapping[str, Any]) -> None:
        self._clock = clock
        self._script = script
        self._run = run
        self._timer: asyncio.TimerHandle | None = None
        self._hooks: list[asyncio.Future[bool]] = []
        self._started = 0

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        self._started = self._clock.now()

        def ended(exit: Exit) -> None:
            for hook in self._hooks:
                wake(hook, False)
            on_exit(exit)

        self._on_exit = ended
        if self._run["runForSeconds"] >= 0:
            self._end_after(seconds(self._run["runForSeconds"]), Exit(self._run["exitCode"]))

    def _end_after(self, delay: int, exit: Exit) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_at(self._clock.now() + delay, self._end_soon, exit)

    def _end_soon(self, exit: Exit) -> None:
        """A container ends after the timers of that instant have fired: what was to end then has just made it."""
        asyncio.get_running_loop().call_soon(self._on_exit, exit)

    def _end(self, exit: Exit) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._on_exit(exit)

    def signal(self, number: int) -> None:
        if number == SIGKILL:
            self._end(Exit(137))
            return
        delay = self._script["termDelaySeconds"]
        if delay == 0:
            self._end(Exit(self._script["termExitCode"]))
        elif delay > 0:
            due = self._clock.now() + seconds(delay)
            # A container that would have ended by itself before the signal has its effect still does.
            if self._timer is None or due < self._moment():
                self._end_after(seconds(delay), Exit(self._script["termExitCode"]))

    def _moment(self) -> int:
        return self._started + seconds(self._run["runForSeconds"])

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        word = command[0]
        if word in PROBE_COMMANDS:
            begin, end = self._script.get(PROBE_COMMANDS[word], (0, 0))
            failing = seconds(begin) <= self._clock.now() - self._started < seconds(end)
            await self._clock.sleep(10 * MILLISECOND)
            return ExecResult(1, "bad") if failing else ExecResult(0)
        if word == "prestop":
            await self._hook(seconds(self._script.get("preStopSeconds", 0)))
            return ExecResult(0)
        await self._hook(seconds(self._script.get("postStartSeconds", 0)))
        if self._script.get("postStartFails"):
            raise RuntimeCallError("hook failed")
        return ExecResult(0)

    async def _hook(self, duration: int) -> None:
        """Take so long, unless the container ends first: that makes the hook fail."""
        done = asyncio.get_running_loop().create_future()
        self._hooks.append(done)
        timer = self._clock.call_at(self._clock.now() + duration, wake, done, True)
        try:
            if not await done:
                raise RuntimeCallError("container ended")
        finally:
            timer.cancel()

    def output(self) -> str:
        return ""


class _Scripts:
    """Makes the scripted processes; a run for each attempt, the last one repeats."""

    def __init__(self, clock: LoopClock, scripts: Mapping[str, Mapping[str, Any]]) -> None:
        self._clock = clock
        self._scripts = scripts
        self._start_errors = {name: script.get("startErrors", 0) for name, script in scripts.items()}

    def start_error(self, context: ProcessContext) -> str:
        name = context.container.name
        if self._start_errors[name] > 0:
            self._start_errors[name] -= 1
            return "exec: no such file"
        return ""

    def make(self, context: ProcessContext) -> Process:
        script = self._scripts[context.container.name]
        runs = script["runs"]
        return _ScriptedProcess(self._clock, script, runs[min(context.config.attempt, len(runs) - 1)])


class _Client(MemoryClient):
    """The recording's API server keeps the uid that a mirror pod is sent with, and the fraction of a deletion time
    until the next write of the status cuts it."""

    async def create_pod(self, pod: Pod) -> Pod:
        created = self._store.create(pod)
        assert isinstance(created, Pod)
        return created

    async def patch_pod_status(
        self, namespace: str, name: str, uid: str, old_status: PodStatus, new_status: PodStatus
    ) -> Pod:
        pod = self._store.find("Pod", namespace, name)
        deletion = None if pod is None else pod.metadata.deletion_timestamp
        if not isinstance(pod, Pod) or deletion is None or "." not in deletion:
            return await super().patch_pod_status(namespace, name, uid, old_status, new_status)
        await self._clock.sleep(self._latencies.patch)
        metadata = pod.metadata.changed(deletion_timestamp=format_time(parse_time(deletion)))
        written = self._store.replace(pod.changed(metadata=metadata, status=new_status))
        assert isinstance(written, Pod)
        return written


class _ScriptedRuntime(SimulatedRuntime):
    """The recording's runtime runs a probe also in a container that has ended, and heeds no context. Its sandboxes take
    their containers along when they die."""

    def sandbox_dies(self, sandbox_id: str) -> None:
        self._kill_sandbox(self._sandbox(sandbox_id))

    async def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> ExecResult:
        process = self._container(container_id).process
        assert process is not None
        return await process.exec(command)


class _NoNetwork:
    """The corpus has exec probes only."""

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None:
        raise connection_refused(join_host_port(host, port))

    async def http_get(self, request: HttpRequest, timeout: int) -> HttpResponse:
        raise connection_refused(join_host_port(request.host, request.port))

    async def grpc_health(self, host: str, port: int, service: str, timeout: int) -> str:
        raise connection_refused(join_host_port(host, port))


class _Life:
    def __init__(self, story: Mapping[str, Any], seed: int, every_tick: bool) -> None:
        self._story = story
        self._seed = seed
        self._every_tick = every_tick
        self._clock = LoopClock()
        self.diary = _Diary(self._clock)

    async def run(self, tasks: TaskSet) -> None:
        story, clock = self._story, self._clock
        randomness = Randomness(self._seed)
        recorder = Recorder(clock)  # of all that the agent tells, the recording has the runtime's calls only
        self._store = Store(clock.now, lambda: "uid-of-the-mirror")
        self._store.create(Node(kind="Node", metadata=ObjectMeta(name=NODE_NAME, uid="node-uid")))
        self._runtime = _ScriptedRuntime(clock, randomness, _Scripts(clock, story["scripts"]), _settings(story))
        self._runtime.on_exit(lambda id, exit: self.diary.add("container", what="exited", id=id, exitCode=exit.code))
        delays = story["delays"]
        client = _Client(
            clock, self._store, ApiLatencies(get=seconds(delays["apiGet"]), patch=seconds(delays["apiPatch"]))
        )
        self._config = ConfigStream(clock, recorder, ("api", "file"))
        self._source = ClusterSource(clock, self._store, self._config, NODE_NAME, seconds(delays["watch"]))
        self._agent = Kubelet(
            clock,
            randomness,
            recorder,
            tasks,
            _kubelet_settings(self._every_tick),
            TracedRuntime(self._runtime, Recorder(clock, self.diary)),
            _NoNetwork(),
            client,
            self._config,
            self.diary,
            list_duration=seconds(delays["plegList"]),
        )
        self._store.watch("Pod", self._seen_at_the_api)
        self._agent.start()
        self._source.start()
        self._config.snapshot("file", [])
        self._schedule(tasks)
        await clock.sleep_until(clock.start + LEAD + seconds(story["endSeconds"]))
        self.diary.close_instant()
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
        at("sandboxDiesAt", self._kill_sandboxes)
        at("evictAt", lambda: self._begin_eviction(tasks))

    def _pod(self) -> Pod:
        return Pod.from_json({"apiVersion": "v1", "kind": "Pod", **self._story["pod"]})

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
        scheduled = PodCondition(type="PodScheduled", status="True")
        self.diary.add("api", what="podCreated")
        self._store.create(pod.changed(status=PodStatus(phase="Pending", conditions=(scheduled,))))

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
        # The recording's API server is simpler than a real one: it lets a pod go only when the kubelet says so.
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

    def _kill_sandboxes(self) -> None:
        for info in list(self._runtime._sandboxes.values()):
            if info.ready:
                self.diary.add("container", what="sandboxDied", id=info.id)
                self._runtime.sandbox_dies(info.id)

    def _begin_eviction(self, tasks: TaskSet) -> None:
        tasks.start("evict", self._evict())

    async def _evict(self) -> None:
        pod = self._agent.pods.by_uid("uid-1")
        if pod is None:
            return
        grace = self._story["evictGraceSeconds"]
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
        reports_log_paths=False,
        sandbox_id=lambda uid, number: f"sandbox{number}",
        container_id=_ContainerIds(),
        pod_ip=lambda attempt: f"10.0.0.{10 + attempt}",
    )


class _ContainerIds:
    """`c1-0`, and an x more for every time that it has been used before."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def __call__(self, uid: str, name: str, attempt: int) -> str:
        identifier = f"{name}-{attempt}"
        while identifier in self._used:
            identifier += "x"
        self._used.add(identifier)
        return identifier


def _kubelet_settings(every_tick: bool) -> KubeletSettings:
    return KubeletSettings(
        node_name=NODE_NAME,
        jitter=False,
        every_tick=every_tick,
        container_gc_period=60_411 * MILLISECOND,
        pleg_starts=230 * MILLISECOND,
        sync_loop_starts=420 * MILLISECOND,
    )
