"""A container with behaviour from the scenario instead of its command: run time, exit code and readiness.

`Behaviour` is the description (first match wins), `BehaviourProcess` the process. Random values are drawn from the seed
at each start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field
from fnmatch import fnmatchcase
from signal import SIGKILL

from kubesim.api.pod import Container
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.runtime.protocol import ExecResult
from kubesim.runtime.simulated.containers.container_process import Exit, ProcessContext
from kubesim.runtime.simulated.containers.termination_message import termination_message
from kubesim.runtime.simulated.disturbances.dependencies import CallOutcome, Needed, ask
from kubesim.runtime.simulated.draws import Draw
from kubesim.runtime.simulated.network import listen_on
from kubesim.runtime.simulated.settings import Span
from kubesim.runtime.types import RuntimeResources
from kubesim.shell import Listener, Log, Ports
from kubesim.values import part, value_object

ZERO = Span(0)


@value_object
class LogEntry:
    after: int
    text: str


@value_object
class Behaviour:
    """The containers it applies to (globs), and their behaviour."""

    pod: str = "*"
    container: str = "*"
    image: str = "*"
    times: int | None = None  # only the first starts of a container
    run_for: Draw | None = None  # None: until it is stopped
    exit_code: Draw = ZERO
    oom_killed: bool = False
    ready_after: Draw = ZERO
    log: tuple[LogEntry, ...] = ()
    termination_message: str = ""
    start_error: str = ""
    ignores_term: bool = False
    stop_after: Draw = ZERO  # from the stop signal to the exit
    stop_exit_code: int = 0
    memory: int | None = None  # bytes; None: as much as its request
    disk: int | None = None
    processes: int | None = None  # None: one
    needs: tuple[Needed, ...] = ()  # called before it responds

    def matches(self, context: ProcessContext) -> bool:
        return (
            fnmatchcase(context.pod.metadata.name, self.pod)
            and fnmatchcase(context.container.name, self.container)
            and fnmatchcase(context.container.image, self.image)
            and (self.times is None or context.config.attempt < self.times)
        )


@part
class BehaviourProcess:
    """A container with a behaviour; implements `Process`. Once ready, it listens on its ports and answers probes."""

    clock: LoopClock
    stream: Stream
    behaviour: Behaviour
    container: Container
    ports: Ports
    log: Log = field(init=False)
    _on_exit: Callable[[Exit], None] = field(init=False)
    _listeners: list[Listener] = field(default_factory=list)
    _timers: list[asyncio.TimerHandle] = field(default_factory=list)
    _stop: asyncio.TimerHandle | None = None
    _ready: bool = False

    def __post_init__(self) -> None:
        self.log = Log(self.clock.now)

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        behaviour, stream, now = self.behaviour, self.stream, self.clock.now()
        self._on_exit = on_exit
        ready_after, exit_code = behaviour.ready_after.draw(stream), behaviour.exit_code.draw(stream)
        for entry in behaviour.log:
            self._at(now + entry.after, self.log.write, "stdout", entry.text + "\n")
        self._at(now + ready_after, self._become_ready)
        if behaviour.run_for is not None:
            code = 137 if behaviour.oom_killed else exit_code
            self._at(now + behaviour.run_for.draw(stream), self._end, code, behaviour.oom_killed)

    def _at(self, moment: int, callback: Callable[..., object], *args: object) -> None:
        self._timers.append(self.clock.call_at(moment, callback, *args))

    def _become_ready(self) -> None:
        self._ready = True
        if self.behaviour.needs:
            self._listeners = listen_on(self.ports, self.container, self._ask)
        else:
            self._listeners = listen_on(self.ports, self.container)

    def _ask(self, path: str) -> CallOutcome:
        return ask(self.behaviour.needs, path, self.stream)

    def _end(self, code: int, oom_killed: bool = False) -> None:
        for timer in self._timers:
            timer.cancel()
        if self._stop is not None:
            self._stop.cancel()
        for listener in self._listeners:
            self.ports.close(listener)
        self._listeners.clear()
        message = termination_message(self.container, self.behaviour.termination_message, code, self.log)
        self._on_exit(Exit(code, oom_killed=oom_killed, message=message))

    def signal(self, number: int) -> None:
        if number == SIGKILL:
            self._end(128 + SIGKILL)
        elif not self.behaviour.ignores_term and self._stop is None:
            due = self.clock.now() + self.behaviour.stop_after.draw(self.stream)
            self._stop = self.clock.call_at(due, self._end, self.behaviour.stop_exit_code)

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        """A command succeeds once the container is ready and its dependencies respond; otherwise it fails."""
        if self._ready and self.behaviour.needs:
            asked = self._ask(" ".join(command))
            if asked.latency:
                await self.clock.sleep(asked.latency)
            if asked.down:
                return ExecResult(1, stderr=f"{asked.down} is down\n")
        return ExecResult(0) if self._ready else ExecResult(1, stderr="not ready yet\n")

    def resources_updated(self, resources: RuntimeResources) -> None:
        """Resources have no effect."""

    def output(self) -> str:
        return self.log.text()
