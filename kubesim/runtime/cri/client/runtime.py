"""`CriRuntime`: the kubelet's runtime behind CRI, wherever its `Calls` lead.

It sees only what carries the labels of its owner. CRI has no notification that every runtime sends, so listeners hear
of a change when a listing differs from the one before, and after each call of its own.

Mirrors: cri-client/pkg remote_runtime.go, remote_image.go; pkg/kubelet/kuberuntime instrumented calls
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import go
from kubesim.errors import RuntimeCallError, SyncCancelled
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.cri.client import answers
from kubesim.runtime.cri.client.errors import command_timed_out, is_gone, not_found
from kubesim.runtime.cri.client.host import CriNodeHost
from kubesim.runtime.cri.client.labels import Owner
from kubesim.runtime.cri.client.messages.containers import container_config_message
from kubesim.runtime.cri.client.messages.resources import cgroup_message, update_message
from kubesim.runtime.cri.client.messages.sandboxes import sandbox_config_message
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.cri.wire.methods import Calls, CriError
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.kuberuntime.logs import log_path
from kubesim.runtime.protocol import (
    CANCELLED,
    CallContext,
    ContainerConfig,
    ContainerEventResponse,
    ContainerInfo,
    ExecResult,
    ImageInfo,
    RuntimeConditions,
    SandboxConfig,
    SandboxInfo,
)
from kubesim.runtime.types import RUNTIME_NAME, RuntimeResources
from kubesim.values import replace

REQUEST_TIMEOUT = 2 * MINUTE

Info = TypeVar("Info", SandboxInfo, ContainerInfo)


class CriRuntime:
    """Implements `Runtime` for one node."""

    def __init__(
        self,
        calls: Calls,
        owner: Owner,
        host: CriNodeHost,
        *,
        name: str = RUNTIME_NAME,
        request_timeout: int = REQUEST_TIMEOUT,
    ) -> None:
        self.name = name  # that the runtime gives itself
        self.calls = calls
        self.owner = owner
        self.host = host
        self._timeout = request_timeout
        self._listeners: list[Callable[[str], None]] = []
        self._sandboxes: dict[str, SandboxInfo] = {}  # as last listed, by id
        self._containers: dict[str, ContainerInfo] = {}
        self._sandbox_of: dict[str, str] = {}  # by the id of a container
        self._uids: dict[str, str] = {}  # of pods, by the id of a sandbox or container
        self._pulled: set[str] = set()  # ids of images that were pulled here

    async def _call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        with not_found():
            return await self.calls.call(name, request, self._timeout if timeout is None else timeout)

    async def status(self) -> RuntimeConditions:
        return answers.conditions(await self._call("Status", pb.StatusRequest()))

    # -- listeners ------------------------------------------------------------------------------------------------

    def on_change(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def _changed(self, uids: Iterable[str]) -> None:
        for uid in dict.fromkeys(uids):
            for listener in self._listeners:
                listener(uid)

    def _compare(self, old: Mapping[str, Info], new: Mapping[str, Info]) -> None:
        """Report the pods whose sandboxes or containers were added, removed or changed between two listings."""
        for identifier in old.keys() - new.keys():
            self._uids.pop(identifier, None)
            self._sandbox_of.pop(identifier, None)
        self._uids.update((identifier, info.pod_uid) for identifier, info in new.items())
        uids = [info.pod_uid for identifier, info in old.items() if identifier not in new]
        uids += [info.pod_uid for identifier, info in new.items() if old.get(identifier) != info]
        self._changed(uids)

    # -- sandboxes ------------------------------------------------------------------------------------------------

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        request = pb.RunPodSandboxRequest(config=self._sandbox_config(config), runtime_handler=config.runtime_handler)
        self.host.make_log_directory(config)
        answer = await self._call("RunPodSandbox", request, 2 * self._timeout)
        identifier: str = answer.pod_sandbox_id
        if not identifier:
            raise RuntimeCallError("PodSandboxID is not set for sandbox")
        self._made(identifier, config.pod)
        return identifier

    def _made(self, identifier: str, pod: Pod) -> None:
        self._uids[identifier] = pod.metadata.uid
        self._changed([pod.metadata.uid])

    def _sandbox_config(self, config: SandboxConfig) -> pb.PodSandboxConfig:
        host = self.host
        parent = host.cgroup_parent(config.linux.cgroup_parent)
        directory = host.log_directory(config.log_directory)
        return sandbox_config_message(config, self.owner, host.machine, directory, parent)

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        await self._call("StopPodSandbox", pb.StopPodSandboxRequest(pod_sandbox_id=sandbox_id))
        self._changed(self._uid_of(sandbox_id))

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        await self._remove("RemovePodSandbox", pb.RemovePodSandboxRequest(pod_sandbox_id=sandbox_id))
        self._changed(self._uid_of(sandbox_id))

    async def _remove(self, name: str, request: Any) -> None:
        """A runtime may answer that the object is gone already."""
        try:
            await self.calls.call(name, request, self._timeout)
        except CriError as error:
            if not is_gone(error):
                raise

    def _uid_of(self, identifier: str) -> list[str]:
        """Of the pod that a sandbox or container belongs to, if that is known."""
        return [self._uids[identifier]] if identifier in self._uids else []

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxInfo:
        answer = await self._call("PodSandboxStatus", pb.PodSandboxStatusRequest(pod_sandbox_id=sandbox_id))
        return answers.sandbox_status(answer.status)

    async def list_pod_sandboxes(self, pod_uid: str | None = None) -> list[SandboxInfo]:
        request = pb.ListPodSandboxRequest()
        request.filter.label_selector.update(self.owner.of_pod(pod_uid))
        answer = await self._call("ListPodSandbox", request)
        found = [answers.listed_sandbox(item) for item in answer.items]
        if pod_uid is None:
            before, self._sandboxes = self._sandboxes, {info.id: info for info in found}
            self._compare(before, self._sandboxes)
        return found

    async def update_pod_sandbox_resources(self, sandbox_id: str, resources: ResourceConfig) -> None:
        request = pb.UpdatePodSandboxResourcesRequest(pod_sandbox_id=sandbox_id, resources=cgroup_message(resources))
        await self._call("UpdatePodSandboxResources", request)

    # -- containers -----------------------------------------------------------------------------------------------

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        image = await self.image_status(config.container.image)
        mounts = self.host.mounts(config, sandbox)
        message = container_config_message(config, sandbox, self.owner, self.host.machine, mounts, image)
        self.host.make_log_directory(sandbox, config.container.name)
        request = pb.CreateContainerRequest(
            pod_sandbox_id=sandbox_id, config=message, sandbox_config=self._sandbox_config(sandbox)
        )
        answer = await self._call("CreateContainer", request)
        identifier: str = answer.container_id
        if not identifier:
            raise RuntimeCallError("ContainerId is not set for container")
        self._sandbox_of[identifier] = sandbox_id
        self._made(identifier, sandbox.pod)
        return identifier

    async def start_container(self, container_id: str) -> None:
        await self._call("StartContainer", pb.StartContainerRequest(container_id=container_id))
        self._changed(self._uid_of(container_id))

    async def stop_container(self, container_id: str, timeout: int) -> None:
        request = pb.StopContainerRequest(container_id=container_id, timeout=timeout // SECOND)
        await self._call("StopContainer", request, self._timeout + timeout)
        self._changed(self._uid_of(container_id))

    async def remove_container(self, container_id: str) -> None:
        await self._remove("RemoveContainer", pb.RemoveContainerRequest(container_id=container_id))
        self._changed(self._uid_of(container_id))

    async def container_status(self, container_id: str) -> ContainerInfo:
        answer = await self._call("ContainerStatus", pb.ContainerStatusRequest(container_id=container_id))
        status = answer.status
        message = self.host.termination_message(status)
        return answers.container_status(status, await self._sandbox_id(container_id), message)

    async def _sandbox_id(self, container_id: str) -> str:
        """The sandbox of a container; only listings contain it."""
        if container_id not in self._sandbox_of:
            request = pb.ListContainersRequest(filter=pb.ContainerFilter(id=container_id))
            for item in (await self._call("ListContainers", request)).containers:
                self._sandbox_of[item.id] = item.pod_sandbox_id
        return self._sandbox_of.get(container_id, "")

    async def list_containers(self, pod_uid: str | None = None) -> list[ContainerInfo]:
        request = pb.ListContainersRequest()
        request.filter.label_selector.update(self.owner.of_pod(pod_uid))
        answer = await self._call("ListContainers", request)
        found = [answers.listed_container(item) for item in answer.containers]
        self._sandbox_of.update((info.id, info.sandbox_id) for info in found)
        if pod_uid is None:
            before, self._containers = self._containers, {info.id: info for info in found}
            self._compare(before, self._containers)
        return found

    async def update_container_resources(self, container_id: str, resources: RuntimeResources) -> None:
        request = pb.UpdateContainerResourcesRequest(container_id=container_id, linux=update_message(resources))
        await self._call("UpdateContainerResources", request)
        self._changed(self._uid_of(container_id))

    async def log_file(self, container_id: str) -> str:
        """The path of the log of a container. Raises NotFound."""
        answer = await self._call("ContainerStatus", pb.ContainerStatusRequest(container_id=container_id))
        return self.host.own_path(answer.status.log_path)

    async def reopen_log(self, log: str) -> None:
        """Write to a new file: the present one was renamed. `log` is its path below /var/log/pods."""
        for info in self._containers.values():
            if info.state == "running" and log_path(info) == log:
                try:
                    await self._call("ReopenContainerLog", pb.ReopenContainerLogRequest(container_id=info.id))
                except RuntimeCallError:
                    pass  # the next rotation tries again

    async def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> ExecResult:
        """A timeout of 0 means none."""
        if context is None:
            return await self._exec_sync(container_id, command, timeout)
        if context.cancelled:
            raise RuntimeCallError(CANCELLED)
        call = go(self._exec_sync(container_id, command, timeout), f"exec {container_id}")
        try:
            return await context.race(call)
        except SyncCancelled:
            raise RuntimeCallError(CANCELLED) from None
        finally:
            call.cancel()

    async def _exec_sync(self, container_id: str, command: tuple[str, ...], timeout: int) -> ExecResult:
        request = pb.ExecSyncRequest(container_id=container_id, cmd=command, timeout=timeout // SECOND)
        limit = self._timeout + timeout if timeout else None
        try:
            with not_found():
                answer = await self.calls.call("ExecSync", request, limit)
        except CriError as error:
            if error.code == "DeadlineExceeded":
                raise command_timed_out(command, timeout) from None
            raise
        out, err = answer.stdout.decode(errors="replace"), answer.stderr.decode(errors="replace")
        return ExecResult(answer.exit_code, out, err)

    async def get_container_events(self, listener: Callable[[ContainerEventResponse], object]) -> None:
        """Events of other clients' sandboxes are left out."""
        async for message in self.calls.stream("GetContainerEvents", pb.GetEventsRequest()):
            event = answers.container_event(message)
            for info in event.containers:
                self._sandbox_of[info.id] = info.sandbox_id
            if self._is_ours(event):
                self._changed([event.sandbox.pod_uid] if event.sandbox is not None else [""])
                listener(event)
        raise RuntimeCallError("EOF")

    def _is_ours(self, event: ContainerEventResponse) -> bool:
        if event.sandbox is None:
            return event.container_id in self._sandbox_of or event.container_id in self._sandboxes
        labels = event.sandbox.labels
        return all(labels.get(name) == value for name, value in self.owner.labels.items())

    # -- stats ------------------------------------------------------------------------------------------------------

    async def container_stats(self) -> list[pb.ContainerStats]:
        request = pb.ListContainerStatsRequest()
        request.filter.label_selector.update(self.owner.labels)
        return list((await self._call("ListContainerStats", request)).stats)

    async def image_directory(self) -> str:
        """Where the runtime has its images; empty if it does not say."""
        answer = await self._call("ImageFsInfo", pb.ImageFsInfoRequest())
        found = [each.fs_id.mountpoint for each in answer.image_filesystems]
        return found[0] if found else ""

    # -- images -----------------------------------------------------------------------------------------------------

    async def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> str:
        """Without a timeout: the kubelet cancels a pull that makes no progress in other ways."""
        spec = _image_spec(image)
        spec.annotations.update(pod.metadata.annotations)
        request = pb.PullImageRequest(image=spec)
        if sandbox is not None:
            request.sandbox_config.CopyFrom(self._sandbox_config(sandbox))
        if auth is not None:
            request.auth.username, request.auth.password = auth.username, auth.password
        with not_found():
            answer = await self.calls.call("PullImage", request, None)
        if not answer.image_ref:
            raise RuntimeCallError(f"imageRef of image {image!r} is not set")
        self._pulled.add(answer.image_ref)
        return str(answer.image_ref)

    async def image_status(self, image: str) -> ImageInfo | None:
        answer = await self._call("ImageStatus", pb.ImageStatusRequest(image=_image_spec(image)))
        return answers.image_info(answer.image) if answer.HasField("image") and answer.image.id else None

    async def list_images(self) -> list[ImageInfo]:
        """Images that others pulled count as pinned, so that image garbage collection leaves them alone."""
        answer = await self._call("ListImages", pb.ListImagesRequest())
        found = [answers.image_info(image) for image in answer.images]
        return [info if self._is_pulled(info) else replace(info, pinned=True) for info in found]

    def _is_pulled(self, info: ImageInfo) -> bool:
        return not self._pulled.isdisjoint((info.id, *info.tags, *info.digests))

    async def remove_image(self, image_id: str) -> None:
        await self._remove("RemoveImage", pb.RemoveImageRequest(image=_image_spec(image_id)))


def _image_spec(image: str) -> pb.ImageSpec:
    return pb.ImageSpec(image=image)
