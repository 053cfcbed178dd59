"""A container's own command line in the shell, as the runtime sees it (`Process`).

Mirrors: what runc and containerd's exec make of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping

from kubesim.api.pod import Container
from kubesim.api.quantity import quantity
from kubesim.clock import LoopClock, Randomness
from kubesim.errors import RuntimeCallError
from kubesim.runtime.protocol import ExecResult
from kubesim.runtime.simulated.command_line import command_line
from kubesim.runtime.simulated.network import PodView, listen_on
from kubesim.runtime.simulated.process import Exit, ProcessContext
from kubesim.runtime.simulated.shell import (
    ContainerProcess,
    ExitStatus,
    Listener,
    Log,
    NotFound,
    NotRunning,
    TimedOut,
    VirtualFiles,
    Volume,
)
from kubesim.runtime.simulated.termination_message import termination_message

_MESSAGE_FILE = "message"


def port_numbers(container: Container) -> tuple[int, ...]:
    return tuple(port.container_port for port in container.ports if port.protocol in ("", "TCP"))


class ShellProcess:
    """Implements `Process`."""

    __slots__ = (
        "_clock",
        "_context",
        "_exec_time",
        "_execs",
        "_listeners",
        "_message",
        "_note",
        "_on_exit",
        "_process",
        "_view",
    )

    def __init__(
        self,
        context: ProcessContext,
        clock: LoopClock,
        randomness: Randomness,
        view: PodView,
        files: VirtualFiles,
        pids: Iterator[int] | None,
        environment: Mapping[str, str],
        *,
        note: Callable[[str], None],
        exec_time: Callable[[], int],
    ) -> None:
        container = context.container
        self._context = context
        self._clock = clock
        self._view = view
        self._note = note
        self._exec_time = exec_time
        self._listeners: list[Listener] = []
        self._execs = 0
        self._on_exit: Callable[[Exit], None] | None = None
        self._message: Volume | None = None
        if container.termination_message_path:
            self._message = Volume({_MESSAGE_FILE: ""})
            path = "/" + container.termination_message_path.lstrip("/")
            files.mount(path, self._message, sub_path=_MESSAGE_FILE)
        self._process = ContainerProcess(
            command_line(container, dict(context.config.env)),
            clock=clock,
            environment=environment,
            files=files,
            ports=view.ports,
            network=view,
            hostname=view.hostname,
            working_directory=container.working_dir or "/",
            memory_limit=_memory_limit(container),
            stdin_open=container.stdin,
            pids=pids,
            randomness=randomness,
            note=self._assumed,
            on_exit=self._ended,
        )

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        self._on_exit = on_exit
        self._process.start()

    def _assumed(self, text: str) -> None:
        """An unknown program is taken for a server, and a server listens on the ports that its container declares."""
        self._note(text)
        self._listeners.extend(listen_on(self._view.ports, port_numbers(self._context.container)))

    def _ended(self, status: ExitStatus) -> None:
        for listener in self._listeners:
            self._view.ports.close(listener)
        self._listeners.clear()
        if self._on_exit is not None:
            written = (self._message.read(_MESSAGE_FILE) or "") if self._message is not None else ""
            message = termination_message(self._context.container, written, status.code, self._process.log)
            self._on_exit(Exit(status.code, status.signal, status.oom_killed, message))

    def signal(self, number: int) -> None:
        self._process.signal(number)

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        self._execs += 1
        number = self._execs
        took = self._exec_time()
        if took:
            await self._clock.sleep(took)
        outcome = await self._process.exec(command)
        if isinstance(outcome, NotFound):
            digest = hashlib.sha256(f"{self._context.identifier}\0{number}".encode()).hexdigest()
            problem = f'exec: "{outcome.program}": executable file not found in $PATH'
            raise RuntimeCallError(
                f'failed to exec in container: failed to start exec "{digest}": OCI runtime exec failed: exec failed: '
                f"unable to start container process: {problem}: unknown"
            )
        if isinstance(outcome, NotRunning | TimedOut):
            raise RuntimeCallError("failed to exec in container: container is not running")
        return ExecResult(outcome.exit_code, outcome.stdout, outcome.stderr)

    @property
    def log(self) -> Log:
        return self._process.log

    def output(self) -> str:
        return self.log.text()


def _memory_limit(container: Container) -> int | None:
    limit = container.resources.limits.get("memory")
    return None if limit is None else quantity(limit).value()
