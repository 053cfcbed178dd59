"""CRI's two services in front of a simulated node: every call by its name.

Mirrors: containerd internal/cri/instrument/instrumented_service.go
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from google.protobuf.message import Message

from kubesim.errors import RuntimeCallError
from kubesim.runtime.cri.server.container_calls import ContainerCalls
from kubesim.runtime.cri.server.failures import as_cri_error
from kubesim.runtime.cri.server.info_calls import InfoCalls
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.sandbox_calls import SandboxCalls
from kubesim.runtime.cri.server.streaming.requests import StreamRequests
from kubesim.runtime.cri.server.streaming.stream_server import StreamServer
from kubesim.runtime.cri.server.usage.metric_calls import MetricCalls
from kubesim.runtime.cri.server.usage.stats_calls import Amounts, StatsCalls
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.cri.wire.methods import CriError
from kubesim.runtime.simulated.containers.container_process import ProcessContext

Call = Callable[[Any], Awaitable[Any]]
PIECE = 1000  # objects in one message of a streamed listing


class CriService:
    """Implements `Calls`. `amounts` gives what a container uses."""

    def __init__(
        self, node: ServedNode, requests: StreamRequests, amounts: Callable[[ProcessContext], Amounts]
    ) -> None:
        containers = ContainerCalls(node)
        sandboxes = SandboxCalls(node, containers.remove_by_id)
        stats = StatsCalls(node, amounts)
        self.streams = StreamServer(node, containers, requests)
        self._info = InfoCalls(node)
        self._listings = {
            "StreamPodSandboxes": (sandboxes.listed, cri_pb2.StreamPodSandboxesResponse, "pod_sandboxes"),
            "StreamContainers": (containers.listed, cri_pb2.StreamContainersResponse, "containers"),
            "StreamContainerStats": (
                stats.listed_containers, cri_pb2.StreamContainerStatsResponse, "container_stats",
            ),
            "StreamPodSandboxStats": (
                stats.listed_sandboxes, cri_pb2.StreamPodSandboxStatsResponse, "pod_sandbox_stats",
            ),
        }  # fmt: skip
        self._images = node.images
        self._metrics = MetricCalls(node, stats)
        self._calls: dict[str, Call] = {
            **self._of_pods(sandboxes, containers),
            **self._of_streams_and_stats(stats),
            **self._of_the_runtime(),
        }

    def _of_pods(self, sandboxes: SandboxCalls, containers: ContainerCalls) -> dict[str, Call]:
        return {
            "RunPodSandbox": sandboxes.run,
            "StopPodSandbox": sandboxes.stop,
            "RemovePodSandbox": sandboxes.remove,
            "PodSandboxStatus": sandboxes.status,
            "ListPodSandbox": sandboxes.list_all,
            "UpdatePodSandboxResources": sandboxes.update_resources,
            "CreateContainer": containers.create,
            "StartContainer": containers.start,
            "StopContainer": containers.stop,
            "RemoveContainer": containers.remove,
            "ContainerStatus": containers.status,
            "ListContainers": containers.list_all,
            "UpdateContainerResources": containers.update_resources,
            "ReopenContainerLog": containers.reopen_log,
            "ExecSync": containers.exec_sync,
        }

    def _of_streams_and_stats(self, stats: StatsCalls) -> dict[str, Call]:
        return {
            "Exec": self.streams.exec,
            "Attach": self.streams.attach,
            "PortForward": self.streams.port_forward,
            "ContainerStats": stats.container,
            "ListContainerStats": stats.list_containers,
            "PodSandboxStats": stats.sandbox,
            "ListPodSandboxStats": stats.list_sandboxes,
            "ListMetricDescriptors": self._metrics.descriptors,
            "ListPodSandboxMetrics": self._metrics.list_all,
        }

    def _of_the_runtime(self) -> dict[str, Call]:
        info, images = self._info, self._images
        return {
            "Version": info.version,
            "Status": info.status,
            "RuntimeConfig": info.runtime_config,
            "UpdateRuntimeConfig": info.update_runtime_config,
            "CheckpointContainer": info.checkpoint_container,
            "ListImages": images.list_images,
            "ImageStatus": images.image_status,
            "PullImage": images.pull_image,
            "RemoveImage": images.remove_image,
            "ImageFsInfo": images.image_fs_info,
        }

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        if has_null_byte(request):
            raise CriError("InvalidArgument", f"{name}: a text contains a null byte")
        try:
            return await self._calls[name](request)
        except CriError:
            raise
        except RuntimeCallError as error:
            raise as_cri_error(error) from None

    async def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        try:
            async for answer in self._streamed(name, request):
                yield answer
        except CriError:
            raise
        except RuntimeCallError as error:
            raise as_cri_error(error) from None

    def _streamed(self, name: str, request: Any) -> AsyncIterator[Any]:
        if name == "GetContainerEvents":
            return self._info.events(request)
        return self._listing(name, request)

    async def _listing(self, name: str, request: Any) -> AsyncIterator[Any]:
        """A listing in pieces."""
        if name in self._listings:
            listed, response, attribute = self._listings[name]
            items = await listed(request)
        elif name == "StreamImages":
            items = list((await self._images.list_images(request)).images)
            response, attribute = cri_pb2.StreamImagesResponse, "images"
        else:
            items = await self._metrics.listed()
            response, attribute = cri_pb2.StreamPodSandboxMetricsResponse, "pod_sandbox_metrics"
        for start in range(0, len(items), PIECE):
            yield response(**{attribute: items[start : start + PIECE]})


def has_null_byte(value: Any) -> bool:
    """Whether a text in a message has one: no path, name or argument of Linux can."""
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, Message):
        return any(has_null_byte(each) for _, each in value.ListFields())
    if isinstance(value, Mapping):
        return any("\0" in key or has_null_byte(each) for key, each in value.items())
    return isinstance(value, Sequence) and not isinstance(value, bytes) and any(map(has_null_byte, value))
