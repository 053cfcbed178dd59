"""Sandboxes in dockertools' order: the infra container is created and started, then its network is set up.

After a failed setup the infra container is killed immediately without a plugin call. Before the next one is created,
the networks of all dead infra containers of the pod are torn down.

Mirrors: kubelet v1.6 pkg/kubelet/dockertools/docker_manager.go SyncPod, createPodInfraContainer, killPodWithSyncResult
"""

from __future__ import annotations

from typing import Final

from kubesim.cni.plugin_manager import NOOP_NAME, PluginManager
from kubesim.cni.pod_config import PortMapping
from kubesim.errors import CniError, RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.docker.orders.names import make_sandbox_name, randomize_name
from kubesim.runtime.docker.orders.parts import Docker, Draw, Steps
from kubesim.runtime.protocol import NotFound, SandboxConfig, SetupNetworkFailed

INFRA_IMAGE: Final = "pause-amd64:3.0"


class Dockertools:
    image_problem = f"Failed to inspect image {quoted(INFRA_IMAGE)}: "

    def __init__(self, docker: Docker, network: PluginManager, steps: Steps, draw: Draw) -> None:
        self._docker, self._network, self._steps, self._draw = docker, network, steps, draw

    def kubelet_starts(self) -> None:
        """dockertools keeps no state."""

    async def run(self, config: SandboxConfig) -> str:
        pod = config.pod.metadata
        steps = self._steps.of("createPodInfraContainer", f"{pod.namespace}/{pod.name}")
        self._docker.ensure_sandbox_image(INFRA_IMAGE)
        steps.take("ensure the infra image", f"{INFRA_IMAGE} is on the node")
        name = make_sandbox_name(pod.name, pod.namespace, pod.uid, 0)
        infra = self._docker.create_sandbox(config, randomize_name(name, self._draw()))
        steps.take("create the infra container", "docker has it, but it does not run yet")
        await self._docker.start_sandbox(infra)
        steps.take("start the infra container", "it runs before the network is set up")
        if config.pod.spec.host_network:
            steps.take("no network", "the pod is on the network of the node")
        else:
            await self._set_up(infra, config, self._steps.of("SyncPod", f"{pod.namespace}/{pod.name}"))
        return infra

    async def _set_up(self, infra: str, config: SandboxConfig, steps: Steps) -> None:
        pod = config.pod.metadata
        await self._docker.network_time(infra)
        try:
            await self._network.set_up_pod(pod.namespace, pod.name, infra, config.annotations)
        except CniError as error:
            steps.take("SetUpPod", error=str(error))
            await self._kill(infra, steps)
            raise SetupNetworkFailed(str(error)) from error
        steps.take("SetUpPod", f"network plugin {self._network.plugin.name} attaches the infra container")

    async def _kill(self, infra: str, steps: Steps) -> None:
        try:
            await self._docker.stop_sandbox(infra)
            steps.take("kill the infra container", "its network could not be set up; no plugin is called")
        except RuntimeCallError as error:
            steps.take("kill the infra container", error=f"Clear infra container failed: {error}")

    async def stop(self, sandbox_id: str) -> None:
        """Tear down the network of the infra container, then kill it if it runs, even if the tear-down failed."""
        try:
            found = self._docker.inspect_sandbox(sandbox_id)
        except NotFound as error:
            raise RuntimeCallError(f"Error inspecting container {sandbox_id}: {error}") from error
        steps = self._steps.of("killPodWithSyncResult", f"{found.namespace}/{found.name}")
        problem: CniError | None = None
        if not found.host_network:
            try:
                await self._network.tear_down_pod(found.namespace, found.name, sandbox_id)
                steps.take("TearDownPod", f"network plugin {self._network.plugin.name} detaches the infra container")
            except CniError as error:
                steps.take("TearDownPod", error=str(error))
                problem = error
        if found.running:
            await self._docker.stop_sandbox(sandbox_id)
        if problem is not None:
            raise RuntimeCallError(str(problem))

    async def remove(self, sandbox_id: str) -> None:
        try:
            self._docker.remove_sandbox(sandbox_id)
        except NotFound:
            pass

    def port_mappings(self, sandbox_id: str) -> tuple[PortMapping, ...]:
        return ()

    async def ip(self, sandbox_id: str) -> str:
        """determineContainerIP, at every inspection of the infra container. With the no-op plugin, docker's address."""
        found = self._docker.inspect_sandbox(sandbox_id)
        if found.host_network or self._network.plugin.name == NOOP_NAME:
            return found.ip
        steps = self._steps.of("determineContainerIP", f"{found.namespace}/{found.name}")
        try:
            ip = await self._network.get_pod_network_status(found.namespace, found.name, sandbox_id)
        except CniError as error:
            steps.take("read the address", error=str(error))
            return found.ip
        steps.take("read the address", "nsenter runs ip addr in the network namespace of the infra container")
        return ip
