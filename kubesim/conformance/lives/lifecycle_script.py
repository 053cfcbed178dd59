"""The scripted environment of one case: containers that follow a script, and the recording's API server.

All simplifications compared with real components are in this module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from signal import SIGKILL
from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import MILLISECOND, format_time, parse_time, seconds
from kubesim.clock import LoopClock, wake
from kubesim.cluster.memory_client import MemoryClient
from kubesim.errors import RuntimeCallError
from kubesim.runtime.network.node_network import HttpResponse, NodeRequest, connection_refused, join_host_port
from kubesim.runtime.protocol import ExecResult
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, Exit, ProcessContext
from kubesim.runtime.types import RuntimeResources

PROBE_COMMANDS = {"ready": "readinessFailsBetween", "live": "livenessFailsBetween", "start": "startupFailsBetween"}
_SUCCESS = ExecResult(0)
_FAILURE = ExecResult(1, "bad")


class _ScriptedProcess:
    """A container that follows its script."""

    def __init__(self, clock: LoopClock, script: Mapping[str, Any], run: Mapping[str, Any]) -> None:
        self._clock = clock
        self._script = script
        self._run = run
        self._timer: asyncio.TimerHandle | None = None
        self._hooks: list[asyncio.Future[bool]] = []
        self._started = 0
        self._signalled = False  # the scheduled end is the reaction to a signal

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        self._started = self._clock.now()

        def ended(exit: Exit) -> None:
            # A caller that stops a container ends it and continues immediately. If the container ended by itself, its
            # hook is notified first.
            if self._signalled:
                self._tell_hooks()
                on_exit(exit)
            else:
                on_exit(exit)
                self._tell_hooks()

        self._on_exit = ended
        if self._run["runForSeconds"] >= 0:
            self._end_after(seconds(self._run["runForSeconds"]), Exit(self._run["exitCode"]))

    def resources_updated(self, resources: RuntimeResources) -> None:
        """Ignored: the script does not react."""

    def _tell_hooks(self) -> None:
        for hook in self._hooks:
            wake(hook, False)

    def _end_after(self, delay: int, exit: Exit) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._clock.call_at(self._clock.now() + delay, self._end_soon, exit)

    def _end_soon(self, exit: Exit) -> None:
        """End the container after all timers of this instant, so that a timeout at the same instant does not hit it."""
        asyncio.get_running_loop().call_soon(self._on_exit, exit)

    def _end(self, exit: Exit) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._on_exit(exit)

    def signal(self, number: int) -> None:
        if number == SIGKILL:
            self._signalled = True
            self._end(Exit(137))
            return
        delay = self._script["termDelaySeconds"]
        if delay == 0:
            self._signalled = True
            self._end(Exit(self._script["termExitCode"]))
        elif delay > 0:
            due = self._clock.now() + seconds(delay)
            # A container that would have exited before the signal takes effect still does.
            if self._timer is None or due < self._moment():
                self._signalled = True
                self._end_after(seconds(delay), Exit(self._script["termExitCode"]))

    def _moment(self) -> int:
        return self._started + seconds(self._run["runForSeconds"])

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        word = command[0]
        if word in PROBE_COMMANDS:
            fails = self._script.get(PROBE_COMMANDS[word])
            failing = fails and seconds(fails[0]) <= self._clock.now() - self._started < seconds(fails[1])
            await self._clock.sleep_in_tick(10 * MILLISECOND)
            return _FAILURE if failing else _SUCCESS
        if word == "prestop":
            await self._hook(seconds(self._script.get("preStopSeconds", 0)))
            return _SUCCESS
        await self._hook(seconds(self._script.get("postStartSeconds", 0)))
        if self._script.get("postStartFails"):
            raise RuntimeCallError("hook failed")
        return _SUCCESS

    async def _hook(self, duration: int) -> None:
        """Wait for the duration of the hook. The hook fails if the container ends first."""
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


class Scripts:
    """Creates the scripted processes: one run per attempt, and the last run repeats."""

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

    def make(self, context: ProcessContext) -> ContainerProcess:
        script = self._scripts[context.container.name]
        runs = script["runs"]
        return _ScriptedProcess(self._clock, script, runs[min(context.config.attempt, len(runs) - 1)])


class Client(MemoryClient):
    """The recording's API server: keeps the uid of a created mirror pod, and the fraction of a deletion time until the
    next status write truncates it.
    """

    async def create_pod(self, pod: Pod) -> Pod:
        created = self._store.create(pod)
        assert isinstance(created, Pod)
        return created

    def patch_pod_status(
        self, namespace: str, name: str, uid: str, old_status: PodStatus, new_status: PodStatus
    ) -> Coroutine[Any, Any, Pod]:
        pod = self._store.find("Pod", namespace, name)
        deletion = None if pod is None else pod.metadata.deletion_timestamp
        if not isinstance(pod, Pod) or deletion is None or "." not in deletion:
            return super().patch_pod_status(namespace, name, uid, old_status, new_status)
        metadata = pod.metadata.changed(deletion_timestamp=format_time(parse_time(deletion)))
        return self._write(pod.changed(metadata=metadata, status=new_status))

    async def _write(self, pod: Pod) -> Pod:
        await self._clock.sleep(self._latencies.patch)
        written = self._store.replace(pod)
        assert isinstance(written, Pod)
        return written


class NoNetwork:
    """No network: the corpus has exec probes only."""

    async def tcp_connect(self, host: str, port: int, timeout: int) -> None:
        raise connection_refused(join_host_port(host, port))

    async def http_get(self, request: NodeRequest, timeout: int) -> HttpResponse:
        raise connection_refused(join_host_port(request.host, request.port))

    async def grpc_health(self, host: str, port: int, service: str, timeout: int, *, tls: bool = False) -> str:
        raise connection_refused(join_host_port(host, port))
