"""A container's command line in the shell, as a `Process` of the runtime.

Mirrors: what runc and containerd's exec make of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import field

from kubesim.api.pod import Container
from kubesim.api.quantity import quantity
from kubesim.clock import LoopClock, Randomness
from kubesim.errors import RuntimeCallError
from kubesim.runtime.protocol import ExecResult
from kubesim.runtime.simulated.containers.command_line import command_line
from kubesim.runtime.simulated.containers.container_process import Exit, ProcessContext
from kubesim.runtime.simulated.containers.termination_message import termination_message
from kubesim.runtime.simulated.network import PodView, listen_on
from kubesim.runtime.types import NO_RESOURCES, RuntimeResources
from kubesim.shell import (
    CommandNotFound,
    ExitStatus,
    Kernel,
    Listener,
    Log,
    NotRunning,
    ShellContainer,
    TimedOut,
    VirtualFiles,
    Volume,
)
from kubesim.shell.kernel.kernel import Process as ProcessOfShell
from kubesim.shell.kernel.pid_namespace import PidNamespace
from kubesim.shell.kernel.standard_streams import interrupt
from kubesim.shell.kernel.streams import Stream
from kubesim.shell.kernel.terminal import PipedInput, Terminal
from kubesim.shell.kernel.users import User
from kubesim.values import part, value_object

_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MESSAGE_FILE = "message"


@value_object
class ExecSession:
    """A command that a client runs in a container."""

    process: ProcessOfShell

    def interrupt(self) -> None:
        """Send Ctrl-C."""
        interrupt(self.process)


@part
class ShellProcess:
    """A command line in the shell; implements `Process`."""

    context: ProcessContext
    clock: LoopClock
    randomness: Randomness
    view: PodView
    files: VirtualFiles
    pids: PidNamespace | None  # None: a new one
    note: Callable[[str], None]
    exec_time: Callable[[], int]
    injected: Mapping[str, str]  # environment from CDI devices, not expanded in the command line
    _process: ShellContainer = field(init=False)
    _on_exit: Callable[[Exit], None] = field(init=False)
    cpuset: tuple[str, str] = ("", "")  # the machine's CPUs and NUMA nodes; empty: hidden from containers
    _message: Volume | None = None
    _cgroup: Volume | None = None
    _listeners: list[Listener] = field(default_factory=list)
    _execs: int = 0

    def __post_init__(self) -> None:
        container, environment = self.context.container, dict(self.context.config.env)
        if container.termination_message_path:
            self._message = Volume({_MESSAGE_FILE: ""})
            path = "/" + container.termination_message_path.lstrip("/")
            self.files.mount(path, self._message, sub_path=_MESSAGE_FILE)
        self.resources_updated(self.context.config.resources or NO_RESOURCES)
        user = self.context.config.user
        kernel = Kernel(
            self.clock,
            self.files,
            self.view,
            memory_limit=_memory_limit(container),
            stdin_open=container.stdin,
            has_terminal=container.tty,
            randomness=self.randomness,
            note=self._assumed,
            user=User(user.uid, user.gid, user.supplemental_groups),
        )
        if self.pids is not None:
            self.pids.join(kernel)
        self._process = ShellContainer(
            command_line(container, environment),
            kernel,
            {"PATH": _PATH, "HOSTNAME": self.view.hostname, **environment, **self.injected},
            container.working_dir or "/",
            self._ended,
        )

    @property
    def kernel(self) -> Kernel:
        return self._process.kernel

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        self._on_exit = on_exit
        self._process.start()

    def share_pids(self) -> PidNamespace:
        """Its PID namespace, for another container to join."""
        return PidNamespace.of(self._process.kernel)

    def _assumed(self, text: str) -> None:
        """An unknown program is assumed to be a server that listens on the container's declared ports."""
        self.note(text)
        self._listeners.extend(listen_on(self.view.ports, self.context.container))

    def _ended(self, status: ExitStatus) -> None:
        for listener in self._listeners:
            self.view.ports.close(listener)
        self._listeners.clear()
        written = (self._message.read(_MESSAGE_FILE) or "") if self._message is not None else ""
        message = termination_message(self.context.container, written, status.code, self._process.log)
        self._on_exit(Exit(status.code, status.signal, status.oom_killed, message))

    def signal(self, number: int) -> None:
        self._process.signal(number)

    def signal_named(self, words: str, number: int) -> bool:
        """Send a signal from outside to processes whose command line contains these words; true if there are any."""
        kernel = self._process.kernel
        found = [process for process in kernel.processes.values() if words in " ".join(process.argv)]
        for process in found:
            if process.pid == 1:
                self.signal(number)
            else:
                kernel.deliver(process, number, outside=True)
        return bool(found)

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        self._execs += 1
        number = self._execs
        took = self.exec_time()
        if took:
            await self.clock.sleep(took)
        outcome = await self._process.exec(command)
        if isinstance(outcome, CommandNotFound):
            raise self._not_found(outcome, number)
        if isinstance(outcome, NotRunning | TimedOut):
            raise RuntimeCallError("failed to exec in container: container is not running")
        return ExecResult(outcome.exit_code, outcome.stdout, outcome.stderr)

    def _not_found(self, outcome: CommandNotFound, number: int) -> RuntimeCallError:
        digest = hashlib.sha256(f"{self.context.identifier}\0{number}".encode()).hexdigest()
        problem = f'exec: "{outcome.program}": executable file not found in $PATH'
        return RuntimeCallError(
            f'failed to exec in container: failed to start exec "{digest}": OCI runtime exec failed: exec failed: '
            f"unable to start container process: {problem}: unknown"
        )

    def begin_exec(
        self, command: tuple[str, ...], streams: Mapping[int, Stream], on_exit: Callable[[ExitStatus], None]
    ) -> ExecSession:
        """Run a command with a client's streams. Raises RuntimeCallError."""
        self._execs += 1
        outcome = self._process.begin_exec(command, streams, on_exit)
        if isinstance(outcome, CommandNotFound):
            raise self._not_found(outcome, self._execs)
        if isinstance(outcome, NotRunning):
            raise RuntimeCallError("failed to exec in container: container is not running")
        return ExecSession(outcome)

    @property
    def input(self) -> PipedInput | Terminal | None:
        """The input of attached clients; None: stdin is closed."""
        return self._process.kernel.input

    def resources_updated(self, resources: RuntimeResources) -> None:
        """Update the visible cgroup files. A container without a cpuset has the machine's."""
        if not self.cpuset[0] and not resources.unified:
            return
        shown = dict(resources.unified)
        if self.cpuset[0]:
            cpus, mems = resources.cpuset_cpus, resources.cpuset_mems
            shown |= {
                "cpuset.cpus": cpus,
                "cpuset.cpus.effective": cpus or self.cpuset[0],
                "cpuset.mems": mems,
                "cpuset.mems.effective": mems or self.cpuset[1],
            }
        files = {name: f"{text}\n" for name, text in shown.items()}
        if self._cgroup is None:
            self._cgroup = Volume(files)
            self.files.mount("/sys/fs/cgroup", self._cgroup, read_only=True)
        else:
            self._cgroup.replace(files, self.clock.now())

    @property
    def log(self) -> Log:
        return self._process.log

    def output(self) -> str:
        return self.log.text()


def _memory_limit(container: Container) -> int | None:
    limit = container.resources.limits.get("memory")
    return None if limit is None else quantity(limit).value()
