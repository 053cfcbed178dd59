"""Runtime `processes`: containers are processes of this machine, without any isolation.

There is one image, `host`: the machine itself. A sandbox is only a record. Standard output is the log.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.protocol import (
    CallContext,
    ContainerConfig,
    ContainerEventResponse,
    ContainerInfo,
    DeadlineExceeded,
    ExecResult,
    ImageInfo,
    NotFound,
    RuntimeConditions,
    SandboxConfig,
    SandboxInfo,
)
from kubesim.runtime.types import RuntimeResources, SandboxNetwork
from kubesim.scenario.runtimes import NodeSetting, NodeSupplies, RuntimePlugin
from kubesim.shell.kernel.streams import LogLine
from kubesim.values import replace

POLL = SECOND // 50
IMAGE = ImageInfo(id="sha256:host", tags=("host:latest",), size=1)
Wrote = Callable[[str, str, str, LogLine], None]  # namespace/name of the pod, its uid, the container, the line


class ProcessPlugin(RuntimePlugin):
    real_time = True  # processes do not follow virtual time

    def __init__(self, spec: object) -> None:
        self.runtimes: list[ProcessRuntime] = []

    def node(self, setting: NodeSetting) -> NodeSupplies:
        output = setting.output
        runtime = ProcessRuntime(setting.clock, output and partial(output.wrote, setting.name))
        self.runtimes.append(runtime)
        return NodeSupplies(runtime, kill=runtime.send_signal)

    async def stop(self) -> None:
        for runtime in self.runtimes:
            for sandbox in await runtime.list_pod_sandboxes():
                await runtime.remove_pod_sandbox(sandbox.id)


@dataclass
class Container:
    info: ContainerInfo
    config: ContainerConfig
    pod: str  # its namespace and name
    log: IO[bytes]
    read: int = 0  # bytes of the log
    process: subprocess.Popen[bytes] | None = None


class ProcessRuntime:
    """Implements `Runtime`."""

    name = "processes"

    def __init__(self, clock: LoopClock, wrote: Wrote | None = None) -> None:
        self.clock = clock
        self.wrote = wrote
        self.sandboxes: dict[str, SandboxInfo] = {}
        self.containers: dict[str, Container] = {}
        self.listeners: list[Callable[[str], None]] = []
        self.made = 0

    def on_change(self, listener: Callable[[str], None]) -> None:
        self.listeners.append(listener)

    def changed(self, uid: str) -> None:
        for listener in self.listeners:
            listener(uid)

    def new_id(self) -> str:
        self.made += 1
        return f"{self.made:064x}"

    async def status(self) -> RuntimeConditions:
        return RuntimeConditions()

    # -- sandboxes --------------------------------------------------------------------------------------------------

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        identifier, metadata = self.new_id(), config.pod.metadata
        self.sandboxes[identifier] = SandboxInfo(
            id=identifier,
            pod_uid=metadata.uid,
            pod_name=metadata.name,
            pod_namespace=metadata.namespace,
            attempt=config.attempt,
            ready=True,
            created_at=self.clock.wall(),
            network=SandboxNetwork("127.0.0.1"),
            labels=config.labels,
            annotations=config.annotations,
        )
        self.changed(metadata.uid)
        return identifier

    def sandbox(self, identifier: str) -> SandboxInfo:
        if identifier not in self.sandboxes:
            raise NotFound(f"an error occurred when try to find sandbox: sandbox {identifier!r} is not found")
        return self.sandboxes[identifier]

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        info = self.sandbox(sandbox_id)
        for container in self.of_sandbox(sandbox_id):
            await self.stop_container(container.info.id, 0)
        self.sandboxes[sandbox_id] = replace(info, ready=False)
        self.changed(info.pod_uid)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        if sandbox_id in self.sandboxes:
            await self.stop_pod_sandbox(sandbox_id)
            for container in self.of_sandbox(sandbox_id):
                await self.remove_container(container.info.id)
            self.changed(self.sandboxes.pop(sandbox_id).pod_uid)

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxInfo:
        return self.sandbox(sandbox_id)

    async def list_pod_sandboxes(self, pod_uid: str | None = None) -> list[SandboxInfo]:
        return [info for info in self.sandboxes.values() if pod_uid in (None, info.pod_uid)]

    async def update_pod_sandbox_resources(self, sandbox_id: str, resources: ResourceConfig) -> None:
        self.sandbox(sandbox_id)

    def of_sandbox(self, sandbox_id: str) -> list[Container]:
        return [container for container in self.containers.values() if container.info.sandbox_id == sandbox_id]

    # -- containers -------------------------------------------------------------------------------------------------

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        self.sandbox(sandbox_id)
        name, metadata = config.container.name, sandbox.pod.metadata
        for other in self.of_sandbox(sandbox_id):
            if (other.info.name, other.info.attempt) == (name, config.attempt):
                raise RuntimeCallError(f"name {name}_{config.attempt} is reserved for {other.info.id}")
        info = ContainerInfo(
            id=self.new_id(),
            sandbox_id=sandbox_id,
            pod_uid=metadata.uid,
            name=name,
            attempt=config.attempt,
            state="created",
            created_at=self.clock.wall(),
            image=config.container.image,
            image_id=IMAGE.id,
            image_ref=IMAGE.id,
            log_path=config.log_path,
            labels=config.labels,
            annotations=config.annotations,
            resources=config.resources,
        )
        log = tempfile.TemporaryFile()  # noqa: SIM115 (closed when the container is removed)
        self.containers[info.id] = Container(info, config, f"{metadata.namespace}/{metadata.name}", log)
        self.changed(info.pod_uid)
        return info.id

    def container(self, identifier: str) -> Container:
        if identifier not in self.containers:
            raise NotFound(f"an error occurred when try to find container {identifier!r}: not found")
        container = self.containers[identifier]
        self.refresh(container)
        return container

    def refresh(self, container: Container) -> None:
        """Notice the end of the process, and what it has written."""
        process, info = container.process, container.info
        code = None if process is None else process.poll()
        self.read_log(container)
        if code is not None and info.state == "running":
            code = code if code >= 0 else 128 - code  # a negative one is a signal
            reason, now = "Completed" if code == 0 else "Error", self.clock.wall()
            container.info = replace(info, state="exited", exit_code=code, reason=reason, finished_at=now)
            self.changed(info.pod_uid)

    def read_log(self, container: Container) -> None:
        written = os.pread(container.log.fileno(), 1 << 20, container.read)
        lines, _, _ = written.rpartition(b"\n")
        if lines and self.wrote is not None:
            for line in lines.decode(errors="replace").split("\n"):
                shown = LogLine(self.clock.wall(), "stdout", line)
                self.wrote(container.pod, container.info.pod_uid, container.info.name, shown)
        container.read += len(lines) + bool(lines)

    def begin(self, container: Container, command: Sequence[str], output: int) -> subprocess.Popen[bytes]:
        env = {"PATH": os.environ["PATH"], **dict(container.config.env)}
        errors = subprocess.STDOUT if output != subprocess.PIPE else output
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, env=env, start_new_session=True
        )

    async def start_container(self, container_id: str) -> None:
        container = self.container(container_id)
        spec, now = container.config.container, self.clock.wall()
        try:
            container.process = self.begin(container, [*spec.command, *spec.args], container.log.fileno())
        except OSError as error:
            text = f"exec: {spec.command[:1]}: {(error.strerror or '').lower()}"
            container.info = replace(
                container.info, state="exited", exit_code=128, reason="StartError", message=text, finished_at=now
            )
            raise RuntimeCallError(text) from None
        finally:
            self.changed(container.info.pod_uid)
        container.info = replace(container.info, state="running", started_at=now)

    async def stop_container(self, container_id: str, timeout: int) -> None:
        container = self.container(container_id)
        if container.process is not None and container.info.state == "running":
            deadline = self.clock.now() + timeout
            send(container.process, signal.SIGTERM if timeout else signal.SIGKILL)
            while container.info.state == "running":
                if self.clock.now() >= deadline:
                    send(container.process, signal.SIGKILL)
                await self.clock.sleep(POLL)
                self.refresh(container)

    async def remove_container(self, container_id: str) -> None:
        if container_id in self.containers:
            await self.stop_container(container_id, 0)
            container = self.containers.pop(container_id)
            container.log.close()
            self.changed(container.info.pod_uid)

    async def send_signal(self, identifier: str, number: int, is_sandbox: bool) -> None:
        """For the step `kill` of a scenario."""
        process = None if is_sandbox else self.container(identifier).process
        if process is None:
            raise RuntimeCallError(f"{identifier} has no process")
        send(process, number)

    async def container_status(self, container_id: str) -> ContainerInfo:
        return self.container(container_id).info

    async def list_containers(self, pod_uid: str | None = None) -> list[ContainerInfo]:
        infos = [self.container(identifier).info for identifier in self.containers]
        return [info for info in infos if pod_uid in (None, info.pod_uid)]

    async def update_container_resources(self, container_id: str, resources: RuntimeResources) -> None:
        container = self.container(container_id)
        container.info = replace(container.info, resources=resources)
        self.changed(container.info.pod_uid)

    async def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> ExecResult:
        container = self.container(container_id)
        if container.info.state != "running":
            raise RuntimeCallError(f"container {container_id} is not running")
        process, began = self.begin(container, command, subprocess.PIPE), self.clock.now()
        while process.poll() is None:
            if timeout and self.clock.now() - began >= timeout:
                send(process, signal.SIGKILL)
                process.communicate()
                raise DeadlineExceeded(f"command timed out: {' '.join(command)!r}")
            await self.clock.sleep(POLL)
        out, errors = process.communicate()
        return ExecResult(process.returncode, out.decode(errors="replace"), errors.decode(errors="replace"))

    async def get_container_events(self, listener: Callable[[ContainerEventResponse], object]) -> None:
        raise RuntimeCallError("this runtime has no events")  # the kubelet lists instead

    # -- images -----------------------------------------------------------------------------------------------------

    async def image_status(self, image: str) -> ImageInfo | None:
        return IMAGE if image.split(":")[0] == "host" or image == IMAGE.id else None

    async def list_images(self) -> list[ImageInfo]:
        return [IMAGE]

    async def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> str:
        if await self.image_status(image) is None:
            raise RuntimeCallError(f"there is no image {image}: use host")
        return IMAGE.id

    async def remove_image(self, image_id: str) -> None:
        raise RuntimeCallError("the machine cannot be removed")


def send(process: subprocess.Popen[bytes], number: int) -> None:
    """To the process and all that it has started."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
