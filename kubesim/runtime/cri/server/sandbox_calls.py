"""The calls of RuntimeService about sandboxes.

Mirrors: containerd internal/cri/server (sandbox_run.go, sandbox_stop.go, sandbox_remove.go, sandbox_status.go,
sandbox_list.go, sandbox_update_resources.go)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.golang.text import quoted
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.cri.server.failures import failure
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.statuses import listed_sandbox, sandbox_status, verbose_sandbox
from kubesim.runtime.cri.server.store import ServedSandbox, has_labels
from kubesim.runtime.cri.server.translate.sandbox_config import sandbox_config, sandbox_name
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.protocol import SandboxInfo
from kubesim.values import part


@part
class SandboxCalls:
    """`remove_container` removes a container by id, as its own call does."""

    node: ServedNode
    remove_container: Callable[[str], Any]

    async def run(self, request: Any) -> Any:
        node, message = self.node, request.config
        config = sandbox_config(message, request.runtime_handler)
        name = sandbox_name(message.metadata)
        begun = f"{name}, which is being created"
        if name in node.sandbox_names:
            raise failure(f"failed to reserve sandbox name {quoted(name)}: {node.sandbox_names.reserve(name, begun)}")
        node.sandbox_names.reserve(name, begun)
        try:
            identifier = await node.runtime.run_pod_sandbox(config)
        except BaseException:
            node.sandbox_names.release(begun)
            await self._adopt(message, config, name)
            raise
        node.sandbox_names.release(begun)
        node.sandbox_names.reserve(name, identifier)
        node.sandboxes.add(ServedSandbox(identifier, message, config, request.runtime_handler))
        if node.published is not None and message.port_mappings:
            uid = message.metadata.uid
            node.published.map_ports(identifier, message.port_mappings, lambda: node.ports_of(uid))
        return cri_pb2.RunPodSandboxResponse(pod_sandbox_id=identifier)

    async def _adopt(self, message: Any, config: Any, name: str) -> None:
        """A sandbox that failed may be left behind, not ready; its name stays reserved until it is removed."""
        node = self.node
        for info in await node.simulated.list_pod_sandboxes(message.metadata.uid):
            if node.sandboxes.known(info.id) is None and info.attempt == config.attempt:
                node.sandboxes.add(ServedSandbox(info.id, message, config, config.runtime_handler))
                node.sandbox_names.reserve(name, info.id)

    async def stop(self, request: Any) -> Any:
        served = self.node.sandboxes.find(request.pod_sandbox_id, _problem(request.pod_sandbox_id))
        if served is not None:
            await self._stop(served)
        return cri_pb2.StopPodSandboxResponse()

    async def _stop(self, served: ServedSandbox) -> None:
        await self.node.runtime.stop_pod_sandbox(served.id)
        if self.node.published is not None:
            self.node.published.unmap_ports(served.id)

    async def remove(self, request: Any) -> Any:
        node = self.node
        served = node.sandboxes.find(request.pod_sandbox_id, _problem(request.pod_sandbox_id))
        if served is None:
            return cri_pb2.RemovePodSandboxResponse()
        info = await node.simulated.pod_sandbox_status(served.id)
        if info.ready:
            await self._stop(served)
        for container in node.containers_of(served.id):
            await self.remove_container(container.id)
        await node.runtime.remove_pod_sandbox(served.id)
        node.sandboxes.discard(served.id)
        node.sandbox_names.release(served.id)
        if node.published is not None:
            node.published.unmap_ports(served.id)
        return cri_pb2.RemovePodSandboxResponse()

    async def status(self, request: Any) -> Any:
        problem = "an error occurred when try to find sandbox"
        served = self.node.sandboxes.get(request.pod_sandbox_id, problem)
        info = await self.node.runtime.pod_sandbox_status(served.id)
        response = cri_pb2.PodSandboxStatusResponse(status=sandbox_status(info, served))
        if request.verbose:
            response.info.update(verbose_sandbox(info, served))
        return response

    async def list_all(self, request: Any) -> Any:
        return cri_pb2.ListPodSandboxResponse(items=await self.listed(request))

    async def listed(self, request: Any) -> list[Any]:
        node, given = self.node, request.filter
        identifier = node.sandboxes.full_id(given.id)
        items = [listed_sandbox(info, node.sandboxes.known(info.id)) for info in await self._infos()]
        return [
            item
            for item in items
            if identifier in ("", item.id)
            and (not given.HasField("state") or given.state.state == item.state)
            and has_labels(item.labels, given.label_selector)
        ]

    async def _infos(self) -> list[SandboxInfo]:
        return await self.node.runtime.list_pod_sandboxes()

    async def update_resources(self, request: Any) -> Any:
        served = self.node.sandboxes.get(request.pod_sandbox_id, "failed to find sandbox")
        await self.node.runtime.update_pod_sandbox_resources(served.id, _cgroup(request.resources))
        served.overhead, served.resources = request.overhead, request.resources
        return cri_pb2.UpdatePodSandboxResourcesResponse()


def _problem(identifier: str) -> str:
    return f"an error occurred when try to find sandbox {quoted(identifier)}"


def _cgroup(linux: Any) -> ResourceConfig:
    return ResourceConfig(
        linux.cpu_shares or None, linux.cpu_quota or None, linux.cpu_period or None, linux.memory_limit_in_bytes or None
    )
