"""The interface between the runtime and a simulated container's program (a command line in the shell, a behaviour of
the scenario, or a test script).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol

from kubesim.api.pod import Container, Pod
from kubesim.runtime.allocation.linux_resources import updated_resources
from kubesim.runtime.protocol import ContainerConfig, ContainerInfo, ExecResult, SandboxConfig
from kubesim.runtime.types import RuntimeResources
from kubesim.values import replace, value_object


@value_object
class Exit:
    """The exit of a container."""

    code: int
    signal: int = 0
    oom_killed: bool = False
    message: str = ""  # its termination message

    @property
    def reason(self) -> str:
        if self.oom_killed:
            return "OOMKilled"
        return "Completed" if self.code == 0 else "Error"


class ContainerProcess(Protocol):
    """The main process of one container and all its other processes."""

    def start(self, on_exit: Callable[[Exit], None]) -> None:
        """Start. `on_exit` is called once, when the main process exits or is killed."""

    def signal(self, number: int) -> None:
        """Deliver a signal. KILL ends it immediately: `on_exit` is called before this returns."""

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        """Run an additional command, for exec probes and hooks."""

    def resources_updated(self, resources: RuntimeResources) -> None:
        """The container's cgroup has these resources from now on."""

    def output(self) -> str:
        """The newest part of its output, for logs and for FallbackToLogsOnError."""


@value_object
class ProcessContext:
    """The environment of a program."""

    pod: Pod
    container: Container
    config: ContainerConfig
    ip: str
    identifier: str
    sandbox: SandboxConfig
    netns: str = ""  # path of the pod's real network namespace, if any


class ProcessFactory(Protocol):
    """Creates the process of a container. `start_error` is called first: a text prevents the start."""

    def make(self, context: ProcessContext) -> ContainerProcess: ...
    def start_error(self, context: ProcessContext) -> str: ...


class SimulatedContainer:
    """The container's reported info, and its process."""

    __slots__ = ("config", "exited", "info", "process", "sandbox")

    def __init__(self, info: ContainerInfo, config: ContainerConfig, sandbox: SandboxConfig) -> None:
        self.info = info
        self.config = config
        self.sandbox = sandbox
        self.process: ContainerProcess | None = None
        self.exited: list[asyncio.Future[None]] = []  # waiters for its exit

    def runs(self) -> bool:
        return self.info.state == "running"

    def update(self, resources: RuntimeResources) -> None:
        """UpdateContainerResources."""
        now = updated_resources(self.info.resources, resources)
        self.info = replace(self.info, resources=now)
        if self.process is not None:
            self.process.resources_updated(now)


def reserved_name_problem(others: Iterable[SimulatedContainer], config: ContainerConfig, sandbox: SandboxConfig) -> str:
    """Why containerd cannot create a container: another one of the pod has its name and attempt. Empty if it can.

    Mirrors: containerd internal/cri/server/container_create.go CreateContainer (containerNameIndex.Reserve)
    """
    name, attempt, metadata = config.container.name, config.attempt, sandbox.pod.metadata
    holder = next((other.info.id for other in others if (other.info.name, other.info.attempt) == (name, attempt)), "")
    if not holder:
        return ""
    whole = f"{name}_{metadata.name}_{metadata.namespace}_{metadata.uid}_{attempt}"
    return f'failed to reserve container name "{whole}": name "{whole}" is reserved for "{holder}"'


def target_problem(target: SimulatedContainer | None, sandbox_id: str, target_id: str) -> str:
    """Why another container of the sandbox cannot join this one's PID namespace; empty if it can."""
    if target is None:
        return f'container "{target_id}" does not exist: not found'
    if target.info.sandbox_id != sandbox_id:
        where = f"(sandbox {target.info.sandbox_id}) does not belong to sandbox {sandbox_id}"
        return f'container "{target_id}" {where}'
    state = target.info.state
    return "" if target.runs() else f'container "{target_id}" is not running - in state CONTAINER_{state.upper()}'
