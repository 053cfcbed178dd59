"""A served runtime within the test, in virtual time, and a client of CRI that speaks to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.concurrency import TaskSet
from kubesim.golang.json import dumps
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.service import CriService
from kubesim.runtime.cri.server.streaming.requests import StreamRequests
from kubesim.runtime.cri.wire import cri_pb2 as cri
from kubesim.runtime.cri.wire.in_process import InProcess
from kubesim.runtime.cri.wire.methods import Calls, methods
from kubesim.scenario.faults.interceptor import Interceptor
from kubesim.scenario.load.loader import parse_scenario
from kubesim.trace import Recorder
from kubesim.up.cri.served_node import NodeMaker, ServedParts
from kubesim.values import part

T = TypeVar("T")
BUSYBOX = "registry.k8s.io/e2e-test-images/busybox:1.29-2"


def sandbox_message(name: str = "web", *, attempt: int = 0, **fields: Any) -> Any:
    metadata = cri.PodSandboxMetadata(name=name, uid=f"uid-{name}", namespace="default", attempt=attempt)
    return cri.PodSandboxConfig(metadata=metadata, **fields)


def container_message(*command: str, name: str = "main", attempt: int = 0, image: str = BUSYBOX, **fields: Any) -> Any:
    metadata = cri.ContainerMetadata(name=name, attempt=attempt)
    return cri.ContainerConfig(metadata=metadata, image=cri.ImageSpec(image=image), command=command, **fields)


@part
class CriClient:
    """Makes calls by name; the fields of the request are arguments."""

    calls: Calls
    clock: LoopClock
    node: ServedNode | None = None
    interceptor: Interceptor | None = None

    async def call(self, name: str, **fields: Any) -> Any:
        return await self.calls.call(name, methods()[name].request(**fields))

    def stream(self, name: str, **fields: Any) -> AsyncIterator[Any]:
        return self.calls.stream(name, methods()[name].request(**fields))

    async def sandbox(self, message: Any = None, **fields: Any) -> str:
        config = sandbox_message() if message is None else message
        return str((await self.call("RunPodSandbox", config=config, **fields)).pod_sandbox_id)

    async def pull(self, image: str = BUSYBOX) -> str:
        return str((await self.call("PullImage", image=cri.ImageSpec(image=image))).image_ref)

    async def create(self, sandbox: str, message: Any, config: Any = None) -> str:
        await self.pull(message.image.image)
        asked = {"config": message, "sandbox_config": sandbox_message() if config is None else config}
        return str((await self.call("CreateContainer", pod_sandbox_id=sandbox, **asked)).container_id)

    async def run(self, sandbox: str, *command: str, config: Any = None, **fields: Any) -> str:
        """Create and start a container."""
        identifier = await self.create(sandbox, container_message(*command, **fields), config)
        await self.call("StartContainer", container_id=identifier)
        return identifier

    async def exec(self, container: str, *command: str, timeout: int = 30) -> tuple[int, str, str]:
        answer = await self.call("ExecSync", container_id=container, cmd=command, timeout=timeout)
        return answer.exit_code, answer.stdout.decode(), answer.stderr.decode()

    async def status(self, container: str) -> Any:
        return (await self.call("ContainerStatus", container_id=container)).status

    async def exited(self, container: str) -> None:
        """Wait until it has ended, in real time."""
        while (await self.status(container)).state != cri.CONTAINER_EXITED:  # noqa: ASYNC110 (CRI has no way to wait)
            await asyncio.sleep(0.01)

    async def sandbox_status(self, sandbox: str) -> Any:
        return (await self.call("PodSandboxStatus", pod_sandbox_id=sandbox)).status


@asynccontextmanager
async def served(spec: dict[str, Any] | None = None, *, first_ip: str = "") -> AsyncIterator[CriClient]:
    """A runtime with this `spec` of a scenario."""
    document = {
        "apiVersion": "kubesim.dev/v1alpha1",
        "kind": "Scenario",
        "metadata": {"name": "cri"},
        "spec": spec or {},
    }
    scenario = parse_scenario(dumps(document), "the scenario")
    clock = LoopClock()
    async with TaskSet() as tasks:
        maker = NodeMaker(scenario.spec, ServedParts(clock, Randomness(1), Recorder(clock), tasks, first_ip))
        node, interceptor = maker.node()
        service = CriService(node, StreamRequests(clock, Randomness(2).stream("tokens")), maker.amounts)
        try:
            yield CriClient(InProcess(service, clock), clock, node, interceptor)
        finally:
            node.close()


def with_client(story: Callable[[CriClient], Coroutine[Any, Any, T]], spec: dict[str, Any] | None = None) -> T:
    """Run a story in virtual time."""

    async def main() -> T:
        async with served(spec) as client:
            return await story(client)

    return run_virtual(main)
