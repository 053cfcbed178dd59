"""What a simulated container runs: the interface between the runtime, which counts containers, and whatever plays the
program inside one (its own command line in a small shell, a behaviour from a scenario, a script of a test).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from kubesim.api.pod import Container, Pod
from kubesim.runtime.protocol import ContainerConfig, ContainerInfo, ExecResult, SandboxConfig
from kubesim.shell.kernel.files import Volume
from kubesim.values import value_object


@value_object
class Exit:
    """How a container ended."""

    code: int
    signal: int = 0
    oom_killed: bool = False
    message: str = ""  # what it left as its termination message

    @property
    def reason(self) -> str:
        if self.oom_killed:
            return "OOMKilled"
        return "Completed" if self.code == 0 else "Error"


class ContainerProcess(Protocol):
    """The main process of one container and everything that runs beside it."""

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        """Begin; `on_exit` is called once, when the main process ends by itself or by a signal."""

    def signal(self, number: int) -> None:
        """Deliver a signal. KILL ends it at once: `on_exit` is called before this returns."""

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        """Run a command beside it, as exec probes and hooks do."""

    def output(self) -> str:
        """What it has printed so far (the newest part), for logs and for FallbackToLogsOnError."""


@value_object
class ProcessContext:
    """What a program may know of where it runs."""

    pod: Pod
    container: Container
    config: ContainerConfig
    ip: str
    identifier: str
    netns: str = ""  # the path of its pod's network namespace, if that is a real one
    cgroup: Volume | None = None  # what it sees at /sys/fs/cgroup


class ProcessFactory(Protocol):
    """Makes the process of a container. `start_error` is asked first: a text refuses the start."""

    def make(self, context: ProcessContext) -> ContainerProcess: ...
    def start_error(self, context: ProcessContext) -> str: ...


class SimulatedContainer:
    """A container and the process inside it."""

    __slots__ = ("cgroup", "config", "exited", "info", "process", "sandbox")

    def __init__(self, info: ContainerInfo, config: ContainerConfig, sandbox: SandboxConfig) -> None:
        self.info = info
        self.config = config
        self.sandbox = sandbox
        self.process: ContainerProcess | None = None
        self.exited: list[asyncio.Future[None]] = []  # who waits for its end
        self.cgroup: Volume | None = None  # the files of its cgroup, if the kubelet writes any
        self.write_cgroup()

    def runs(self) -> bool:
        return self.info.state == "running"

    def write_cgroup(self) -> None:
        resources = self.info.resources
        if resources is not None and resources.unified:
            self.cgroup = self.cgroup or Volume()
            self.cgroup.replace({name: f"{text}\n" for name, text in resources.unified})
