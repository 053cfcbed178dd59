"""A command in a container, and the context of the call."""

from __future__ import annotations

from typing import cast

import pytest

from kubesim.api.pod import Container, Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.errors import RuntimeCallError
from kubesim.podworkers.syncer import SyncContext
from kubesim.runtime.protocol import CANCELLED, ContainerConfig, ExecResult, SandboxConfig
from kubesim.runtime.simulated.containers.container_process import ContainerProcess, ProcessContext, ProcessFactory
from kubesim.runtime.simulated.runtime import SimulatedRuntime

COMMAND = ("check",)
TAKES = 2 * SECOND


class Programs:
    """Every program runs forever, and a command in it takes two seconds."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock

    def start_error(self, context: ProcessContext) -> str:
        return ""

    def make(self, context: ProcessContext) -> ContainerProcess:
        return cast(ContainerProcess, self)

    def start(self, ended: object) -> None: ...

    async def exec(self, command: tuple[str, ...]) -> ExecResult:
        await self._clock.sleep(TAKES)
        return ExecResult(0, "fine")


async def started(clock: LoopClock) -> tuple[SimulatedRuntime, str]:
    runtime = SimulatedRuntime(clock, Randomness(1), cast(ProcessFactory, Programs(clock)))
    pod = Pod.from_json({"metadata": {"name": "p", "namespace": "ns", "uid": "u1"}, "spec": {"containers": []}})
    sandbox = SandboxConfig(pod, 0, {}, {})
    config = ContainerConfig(Container(name="main", image="busybox"), 0, "image", {}, {})
    identifier = await runtime.create_container(await runtime.run_pod_sandbox(sandbox), config, sandbox)
    await runtime.start_container(identifier)
    return runtime, identifier


def test_a_command_ends_immediately_when_its_context_is_cancelled() -> None:
    async def main() -> None:
        clock, context = LoopClock(), SyncContext()
        async with TaskSet():
            runtime, identifier = await started(clock)
            begin = clock.now()
            clock.call_at(begin + SECOND, context.cancel)
            with pytest.raises(RuntimeCallError, match=CANCELLED):
                await runtime.exec_sync(identifier, COMMAND, 0, context)
            assert clock.now() - begin == SECOND
            with pytest.raises(RuntimeCallError, match=CANCELLED):
                await runtime.exec_sync(identifier, COMMAND, 0, context)
            assert clock.now() - begin == SECOND

    run_virtual(main)


def test_a_context_that_is_not_cancelled_changes_nothing() -> None:
    async def main() -> None:
        clock = LoopClock()
        async with TaskSet():
            runtime, identifier = await started(clock)
            for context in (None, SyncContext()):
                begin = clock.now()
                assert (await runtime.exec_sync(identifier, COMMAND, 0, context)).stdout == "fine"
                assert clock.now() - begin == TAKES

    run_virtual(main)
