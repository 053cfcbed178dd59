"""The calls of RuntimeService about containers.

Mirrors: containerd internal/cri/server (container_create.go, container_start.go, container_stop.go,
container_remove.go, container_status.go, container_list.go, container_update_resources.go, container_log_reopen.go,
container_execsync.go)
"""

from __future__ import annotations

from typing import Any

from kubesim.api.timestamps import SECOND
from kubesim.errors import RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.cri.server.containers.host_files import submounts
from kubesim.runtime.cri.server.containers.log_files import log_path
from kubesim.runtime.cri.server.containers.propagation import propagation_problem
from kubesim.runtime.cri.server.failures import as_cri_error, failure, spec_failure
from kubesim.runtime.cri.server.images.image_calls import user_of
from kubesim.runtime.cri.server.images.image_list import ListedImage, resolve
from kubesim.runtime.cri.server.images.public_images import image_accounts, image_command
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.statuses import container_status, listed_container, state_name, verbose_container
from kubesim.runtime.cri.server.store import ServedContainer, ServedSandbox, has_labels
from kubesim.runtime.cri.server.translate.container_config import (
    ImageFacts,
    container_config,
    container_name,
    merged_resources,
    mount_problem,
    runtime_resources,
)
from kubesim.runtime.cri.server.translate.profiles import Seccomp, load_seccomp, selinux_problem
from kubesim.runtime.cri.server.translate.users import container_user
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.protocol import ContainerConfig, ContainerInfo
from kubesim.shell.kernel.terminal import encode
from kubesim.values import part, replace

_EXEC = "failed to exec in container: "


@part
class ContainerCalls:
    node: ServedNode

    # -- creation -----------------------------------------------------------------------------------------------

    async def create(self, request: Any) -> Any:
        node, message = self.node, request.config
        problem = f"failed to find sandbox id {quoted(request.pod_sandbox_id)}"
        sandbox = node.sandboxes.get(request.pod_sandbox_id, problem)
        if not (await node.simulated.pod_sandbox_status(sandbox.id)).ready:
            raise failure(f"sandbox container {quoted(sandbox.id)} is not running")
        if not message.HasField("metadata"):
            raise failure("container config must include metadata")
        if not request.sandbox_config.HasField("metadata"):
            raise failure("pod sandbox config must include metadata")
        name = container_name(message.metadata, request.sandbox_config.metadata)
        begun = f"{name}, which is being created"
        if name in node.container_names:
            progress = "check if another CreateContainer request is in progress"
            reserved = node.container_names.reserve(name, begun)
            raise failure(f"failed to reserve container name {quoted(name)}; {progress}: {reserved}")
        node.container_names.reserve(name, begun)
        try:
            identifier = await self._create(request, sandbox)
        finally:
            node.container_names.release(begun)
        node.container_names.reserve(name, identifier)
        return cri_pb2.CreateContainerResponse(container_id=identifier)

    async def _create(self, request: Any, sandbox: ServedSandbox) -> str:
        node, message = self.node, request.config
        image = node.images.required(message.image.image)
        seccomp = load_seccomp(message.linux.security_context)
        config = self._config(message, image, sandbox, seccomp)
        path = log_path(request.sandbox_config.log_directory, message.log_path)
        node.host_files.refresh(config.mounts)
        identifier = await node.runtime.create_container(sandbox.id, config, sandbox.config)
        resources, blocked = message.linux.resources, seccomp.blocked_calls
        node.containers.add(ServedContainer(identifier, sandbox.id, message, image.id, path, resources, blocked))
        return identifier

    def _config(self, message: Any, image: ListedImage, sandbox: ServedSandbox, seccomp: Seccomp) -> ContainerConfig:
        """Raises CriError for what containerd refuses."""
        context = message.linux.security_context
        if context.privileged and not sandbox.message.linux.security_context.privileged:
            raise spec_failure(message, "failed to generate spec opts: no privileged container allowed in sandbox")
        if problem := selinux_problem(context.selinux_options):
            raise spec_failure(message, f"failed to generate spec opts: {problem}")
        for mount in message.mounts:
            if problem := mount_problem(mount) or propagation_problem(mount):
                raise spec_failure(message, f"failed to generate spec: {problem}")
            if mount.HasField("image"):
                self._check_image_mount(mount)
        user = container_user(context, user_of(image), image_accounts(image.reference))
        name, command = _name(message.image, image), image_command(image.reference)
        facts = ImageFacts(name, image.id, user, command, seccomp)
        config = container_config(message, facts)
        return replace(config, mounts=(*config.mounts, *submounts(config.mounts)))

    def _check_image_mount(self, mount: Any) -> None:
        """The content of images is not modelled: the mount is an empty directory. It marks the image in the status."""
        where = f"{quoted(mount.container_path)}"
        if mount.host_path:
            raise failure(f"failed to mount image volume: hostpath must be empty while mount image: {where}")
        if not mount.readonly:
            raise failure(f"failed to mount image volume: readonly must be true while mount image: {where}")
        image = self.node.images.required(mount.image.image)
        mount.image.image_ref = image.id

    # -- life ---------------------------------------------------------------------------------------------------

    def _served(self, identifier: str) -> ServedContainer:
        return self.node.containers.get(identifier, _problem(identifier))

    async def _info(self, served: ServedContainer) -> ContainerInfo:
        return await self.node.simulated.container_status(served.id)

    async def start(self, request: Any) -> Any:
        served = self._served(request.container_id)
        info = await self._info(served)
        problem = f"failed to set starting state for container {quoted(served.id)}"
        if info.state != "created":
            raise failure(f"{problem}: container is in {state_name(info)} state")
        if served.removing:
            raise failure(f"{problem}: container is in removing state, can't be started")
        if served.starting:
            raise failure(f"{problem}: container is already in starting state")
        served.starting = True
        try:
            await self.node.runtime.start_container(served.id)
        finally:
            served.starting = False
        return cri_pb2.StartContainerResponse()

    async def stop(self, request: Any) -> Any:
        served = self.node.containers.find(request.container_id, _problem(request.container_id))
        if served is not None and (await self._info(served)).state == "running":
            await self.node.runtime.stop_container(served.id, max(request.timeout, 0) * SECOND)
        return cri_pb2.StopContainerResponse()

    async def remove(self, request: Any) -> Any:
        await self.remove_by_id(request.container_id)
        return cri_pb2.RemoveContainerResponse()

    async def remove_by_id(self, identifier: str) -> None:
        node = self.node
        served = node.containers.find(identifier, _problem(identifier))
        if served is None:
            return
        problem = f"failed to set removing state for container {quoted(served.id)}"
        if served.starting:
            raise failure(f"{problem}: container is in starting state, can't be removed")
        if served.removing:
            raise failure(f"{problem}: container is already in removing state")
        served.removing = True
        try:
            if (await self._info(served)).state == "running":
                await node.runtime.stop_container(served.id, 0)
            await node.runtime.remove_container(served.id)
        finally:
            served.removing = False
        node.containers.discard(served.id)
        node.container_names.release(served.id)

    async def update_resources(self, request: Any) -> Any:
        served = self.node.containers.get(request.container_id, "failed to find container")
        if served.removing:
            raise failure(f"failed to update resources: container {quoted(served.id)} is in removing state")
        await self.node.runtime.update_container_resources(served.id, runtime_resources(request.linux))
        served.resources = merged_resources(served.resources, request.linux)
        return cri_pb2.UpdateContainerResourcesResponse()

    async def reopen_log(self, request: Any) -> Any:
        served = self._served(request.container_id)
        if (await self._info(served)).state != "running":
            raise failure("container is not running")
        self.node.programs.reopen_log(served.id)
        return cri_pb2.ReopenContainerLogResponse()

    # -- exec ---------------------------------------------------------------------------------------------------

    async def running(self, identifier: str, problem: str) -> ServedContainer:
        """The container, with the current files of its mounts. Raises CriError."""
        served = self.node.containers.get(identifier, problem)
        info = await self._info(served)
        if info.state != "running":
            raise failure(f"container is in {state_name(info)} state")
        self.node.host_files.refresh(self.node.simulated.find(served.id).config.mounts)
        return served

    async def exec_sync(self, request: Any) -> Any:
        problem = f"failed to find container {quoted(request.container_id)} in store"
        try:
            served = await self.running(request.container_id, problem)
            timeout = max(request.timeout, 0) * SECOND
            result = await self.node.runtime.exec_sync(served.id, tuple(request.cmd), timeout)
        except RuntimeCallError as error:
            raise as_cri_error(error, _EXEC) from None
        return cri_pb2.ExecSyncResponse(
            stdout=encode(result.stdout), stderr=encode(result.stderr), exit_code=result.exit_code
        )

    # -- reading ------------------------------------------------------------------------------------------------

    async def status(self, request: Any) -> Any:
        served = self._served(request.container_id)
        info = await self.node.runtime.container_status(served.id)
        status = container_status(info, served, self.node.images.find(served.image_id))
        response = cri_pb2.ContainerStatusResponse(status=status)
        if request.verbose:
            response.info.update(verbose_container(info, served))
        return response

    async def list_all(self, request: Any) -> Any:
        return cri_pb2.ListContainersResponse(containers=await self.listed(request))

    async def listed(self, request: Any) -> list[Any]:
        node, given = self.node, request.filter
        identifier = node.containers.full_id(given.id)
        sandbox_id = node.sandboxes.full_id(given.pod_sandbox_id)
        infos = await node.runtime.list_containers()
        items = [listed_container(info, node.containers.known(info.id)) for info in infos]
        return [
            item
            for item in items
            if identifier in ("", item.id)
            and sandbox_id in ("", item.pod_sandbox_id)
            and (not given.HasField("state") or given.state.state == item.state)
            and has_labels(item.labels, given.label_selector)
        ]


def _problem(identifier: str) -> str:
    return f"an error occurred when try to find container {quoted(identifier)}"


def _name(spec: Any, image: ListedImage) -> str:
    """The name by which a container's image was requested: its program depends on it."""
    if spec.user_specified_image and resolve(spec.user_specified_image, [image]) is not None:
        return str(spec.user_specified_image)
    return str(spec.image) if spec.image in image.names else image.names[0]
