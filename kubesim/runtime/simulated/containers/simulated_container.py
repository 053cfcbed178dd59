"""A container of the simulated runtime: what the runtime tells of it, and the process inside it."""

from __future__ import annotations

import asyncio

from kubesim.runtime.allocation.linux_resources import updated_resources
from kubesim.runtime.protocol import ContainerConfig, ContainerInfo, SandboxConfig
from kubesim.runtime.simulated.containers.container_process import ContainerProcess
from kubesim.runtime.types import RuntimeResources
from kubesim.values import replace


class SimulatedContainer:
    __slots__ = ("config", "exited", "info", "process", "sandbox")

    def __init__(self, info: ContainerInfo, config: ContainerConfig, sandbox: SandboxConfig) -> None:
        self.info = info
        self.config = config
        self.sandbox = sandbox
        self.process: ContainerProcess | None = None
        self.exited: list[asyncio.Future[None]] = []  # who waits for its end

    def runs(self) -> bool:
        return self.info.state == "running"

    def update(self, resources: RuntimeResources) -> None:
        """UpdateContainerResources."""
        now = updated_resources(self.info.resources, resources)
        self.info = replace(self.info, resources=now)
        if self.process is not None:
            self.process.resources_updated(now)


def target_problem(target: SimulatedContainer | None, sandbox_id: str, target_id: str) -> str:
    """Why another container of the sandbox cannot join the process namespace of this one; empty if it can."""
    if target is None:
        return f'container "{target_id}" does not exist: not found'
    if target.info.sandbox_id != sandbox_id:
        where = f"(sandbox {target.info.sandbox_id}) does not belong to sandbox {sandbox_id}"
        return f'container "{target_id}" {where}'
    state = target.info.state
    return "" if target.runs() else f'container "{target_id}" is not running - in state CONTAINER_{state.upper()}'
