"""The calls of RuntimeService about the runtime itself.

Mirrors: containerd internal/cri/server (version.go, status.go, runtime_config.go, update_runtime_config.go,
container_checkpoint.go, container_events.go)
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
from collections.abc import AsyncIterator
from typing import Any

from kubesim import __version__
from kubesim.clock import go
from kubesim.errors import RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.cri.server.failures import failure
from kubesim.runtime.cri.server.node import ServedNode
from kubesim.runtime.cri.server.statuses import container_status, sandbox_status
from kubesim.runtime.cri.wire import cri_pb2
from kubesim.runtime.cri.wire.methods import CriError
from kubesim.runtime.protocol import ContainerEventResponse
from kubesim.values import part

RUNTIME_VERSION = f"v2.3.4+kubesim.{__version__}"
_API_VERSION = "0.1.0"  # of the kubelet's interface; kubelets accept no other
_CRI_VERSION = "v1"
_SYSTEMD_RUNS = "/run/systemd/system"


@part
class InfoCalls:
    node: ServedNode

    async def version(self, request: Any) -> Any:
        return cri_pb2.VersionResponse(
            version=_API_VERSION,
            runtime_name=self.node.runtime.name,
            runtime_version=RUNTIME_VERSION,
            runtime_api_version=_CRI_VERSION,
        )

    async def status(self, request: Any) -> Any:
        found = await self.node.runtime.status()
        runtime = cri_pb2.RuntimeCondition(type="RuntimeReady", status=not found.runtime_problem)
        network = cri_pb2.RuntimeCondition(type="NetworkReady", status=not found.network_problem)
        if found.runtime_problem:
            runtime.reason, runtime.message = "RuntimeNotReady", found.runtime_problem
        if found.network_problem:
            network.reason, network.message = "NetworkPluginNotReady", found.network_problem
        warnings = cri_pb2.RuntimeCondition(type="ContainerdHasNoDeprecationWarnings", status=True)
        response = cri_pb2.StatusResponse(
            status=cri_pb2.RuntimeStatus(conditions=[runtime, network, warnings]),
            features=cri_pb2.RuntimeFeatures(supplemental_groups_policy=True, user_namespaces_host_network=True),
        )
        for handler in sorted(found.handlers, key=lambda each: each.name):
            features = cri_pb2.RuntimeHandlerFeatures(
                recursive_read_only_mounts=True, user_namespaces=handler.user_namespaces
            )
            response.runtime_handlers.append(cri_pb2.RuntimeHandler(name=handler.name, features=features))
        if request.verbose:
            names = [handler.name for handler in found.handlers if handler.name]
            config = {"containerd": {"defaultRuntimeName": "runc", "runtimes": {name: {} for name in names}}}
            response.info["config"] = json.dumps({**config, "stateDir": "/run/containerd/io.containerd.grpc.v1.cri"})
            response.info["golang"] = json.dumps("")
            response.info["lastCNILoadStatus"] = response.info["lastCNILoadStatus.default"] = "OK"
        return response

    async def runtime_config(self, request: Any) -> Any:
        """As containerd detects it: systemd's driver where systemd runs."""
        driver = cri_pb2.SYSTEMD if _systemd_runs() else cri_pb2.CGROUPFS
        return cri_pb2.RuntimeConfigResponse(linux=cri_pb2.LinuxRuntimeConfiguration(cgroup_driver=driver))

    async def update_runtime_config(self, request: Any) -> Any:
        """Like containerd without a template for its CNI configuration, it only checks the ranges of pod addresses."""
        given = request.runtime_config.network_config.pod_cidr
        for cidr in given.split(",") if given else ():
            try:
                ipaddress.ip_network(cidr.strip(), strict=False)
            except ValueError:
                raise failure(f"get routes: invalid CIDR address: {cidr.strip()}") from None
            if "/" not in cidr:
                raise failure(f"get routes: invalid CIDR address: {cidr.strip()}")
        return cri_pb2.UpdateRuntimeConfigResponse()

    async def checkpoint_container(self, request: Any) -> Any:
        """As on a machine without CRIU."""
        problem = f"failed to checkpoint container {quoted(request.container_id)}"
        raise failure(f"{problem}: criu binary not found in shim path or system PATH")

    async def events(self, request: Any) -> AsyncIterator[Any]:
        """Until the client goes, or the runtime ends the connection."""
        queue: asyncio.Queue[ContainerEventResponse | None] = asyncio.Queue()
        reading = go(self.node.runtime.get_container_events(queue.put_nowait), "container events")
        reading.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield await self._event(event)
            _raise_failure(reading)
        finally:
            reading.cancel()

    async def _event(self, event: ContainerEventResponse) -> Any:
        node = self.node
        response = cri_pb2.ContainerEventResponse(
            container_id=event.container_id,
            container_event_type=event.type,
            created_at=event.created_at * 1000,
        )
        if event.sandbox is not None:
            served = node.sandboxes.known(event.sandbox.id)
            response.pod_sandbox_status.CopyFrom(sandbox_status(event.sandbox, served))
        for info in event.containers:
            image = node.images.find(info.image_id)
            status = container_status(info, node.containers.known(info.id), image)
            response.containers_statuses.append(status)
        return response


def _systemd_runs() -> bool:
    return os.path.isdir(_SYSTEMD_RUNS)


def _raise_failure(reading: asyncio.Task[None]) -> None:
    error = None if reading.cancelled() else reading.exception()
    if isinstance(error, RuntimeCallError):
        raise error
    raise CriError("Unavailable", f"the stream of {quoted('GetContainerEvents')} has ended")
