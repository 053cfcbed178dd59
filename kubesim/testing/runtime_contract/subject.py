"""The runtime under test, and the calls that a kubelet would make to have a sandbox or a container in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.runtime.kuberuntime.labels import (
    new_container_annotations,
    new_container_labels,
    new_pod_annotations,
    new_pod_labels,
)
from kubesim.runtime.kuberuntime.naming import container_log_path
from kubesim.runtime.protocol import ContainerConfig, ContainerInfo, Runtime, SandboxConfig
from kubesim.runtime.types import RuntimeResources
from kubesim.values import part

STEP = SECOND // 20  # between two looks at the runtime
LIMIT = 20 * SECOND


async def refusal(call: Awaitable[object], what: str, kind: type[RuntimeCallError] = RuntimeCallError) -> str:
    """The text of the error that the call must end with."""
    try:
        result = await call
    except kind as error:
        return str(error)
    raise AssertionError(f"{what}: {result}")


@part
class Subject:
    """`image` is present and has a POSIX shell; `missing_image` cannot be pulled. Pods of one runtime have different
    uids, so `name` must be unique in each check. `log_directory` is the log directory of all pods."""

    runtime: Runtime
    clock: LoopClock
    image: str
    missing_image: str
    log_directory: str = "/var/log/pods/contract"
    cgroup_parent: str = ""

    def pod(self, name: str, **spec: Any) -> Pod:
        container = {"name": "main", "image": self.image}
        metadata = {
            "name": name,
            "namespace": "contract",
            "uid": f"uid-of-{name}",
            "labels": {"app": name},
            "annotations": {"note": f"of {name}"},
        }
        return Pod.from_json({"metadata": metadata, "spec": {"containers": [container], **spec}})

    def sandbox_config(self, pod: Pod, attempt: int = 0) -> SandboxConfig:
        return SandboxConfig(
            pod=pod,
            attempt=attempt,
            labels=new_pod_labels(pod),
            annotations=new_pod_annotations(pod),
            hostname=pod.metadata.name,
            log_directory=f"{self.log_directory}/{pod.metadata.name}",
        )

    async def sandbox(self, name: str) -> tuple[str, SandboxConfig]:
        """The id of a new sandbox, and its configuration."""
        config = self.sandbox_config(self.pod(name))
        return await self.runtime.run_pod_sandbox(config), config

    async def created(
        self,
        sandbox_id: str,
        sandbox: SandboxConfig,
        script: str,
        *,
        attempt: int = 0,
        name: str = "main",
        env: tuple[tuple[str, str], ...] = (),
        resources: RuntimeResources | None = None,
    ) -> str:
        """The id of a new container that runs a shell script."""
        command = ("/bin/sh", "-c", script)
        return await self.runtime.create_container(
            sandbox_id, self.container_config(sandbox, command, attempt, name, env, resources), sandbox
        )

    def container_config(
        self,
        sandbox: SandboxConfig,
        command: tuple[str, ...],
        attempt: int = 0,
        name: str = "main",
        env: tuple[tuple[str, str], ...] = (),
        resources: RuntimeResources | None = None,
    ) -> ContainerConfig:
        [first] = sandbox.pod.spec.containers
        container = first.changed(name=name, command=command)
        return ContainerConfig(
            container=container,
            attempt=attempt,
            image_ref=self.image,
            labels=new_container_labels(container, sandbox.pod),
            annotations=new_container_annotations(container, sandbox.pod, attempt),
            log_path=container_log_path(name, attempt),
            env=env,
            resources=resources,
        )

    async def started(self, sandbox_id: str, sandbox: SandboxConfig, script: str, **given: Any) -> str:
        """The id of a container that runs."""
        identifier = await self.created(sandbox_id, sandbox, script, **given)
        await self.runtime.start_container(identifier)
        return identifier

    async def running(self, name: str, script: str, **given: Any) -> str:
        """The id of a container that runs, in a sandbox of its own."""
        sandbox_id, sandbox = await self.sandbox(name)
        return await self.started(sandbox_id, sandbox, script, **given)

    async def status_when(self, container_id: str, condition: Callable[[ContainerInfo], bool]) -> ContainerInfo:
        """The status of the container once it meets the condition."""
        deadline = self.clock.now() + LIMIT
        while not condition(info := await self.runtime.container_status(container_id)):
            assert self.clock.now() < deadline, f"the container stays as it is: {info}"
            await self.clock.sleep(STEP)
        return info

    async def exited(self, container_id: str) -> ContainerInfo:
        return await self.status_when(container_id, lambda info: info.state == "exited")

    async def clean_up(self) -> None:
        """Remove the sandboxes of this contract, with what is in them."""
        for info in await self.runtime.list_pod_sandboxes():
            if info.pod_namespace == "contract":
                try:
                    await self.runtime.stop_pod_sandbox(info.id)
                    await self.runtime.remove_pod_sandbox(info.id)
                except RuntimeCallError:
                    pass  # the check that made it has failed for a better reason
