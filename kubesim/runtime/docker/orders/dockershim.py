"""Sandboxes in dockershim's order: the pause container runs before the network is set up.

A sandbox whose network setup failed is stopped but stays listed: within a second the kubelet sees that it has exited
and creates the next attempt immediately.

Mirrors: kubelet v1.12 pkg/kubelet/dockershim/docker_sandbox.go
"""

from __future__ import annotations

from typing import Final

from kubesim.cni.plugin_manager import PluginManager, aggregate
from kubesim.cni.pod_config import PortMapping
from kubesim.errors import CniError, RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.containerd.sandbox_parts import port_mappings
from kubesim.runtime.docker.orders.checkpoint import (
    CorruptCheckpoint,
    SandboxCheckpoint,
    construct_checkpoint,
    marshal,
    unmarshal,
)
from kubesim.runtime.docker.orders.names import conflicting_container, make_sandbox_name, randomize_name
from kubesim.runtime.docker.orders.parts import Docker, Draw, Steps
from kubesim.runtime.docker.orders.resolv_conf import resolv_conf
from kubesim.runtime.protocol import NotFound, SandboxConfig

SANDBOX_IMAGE: Final = "pause:3.1"


class Dockershim:
    """dockershim. `checkpoints` are files by sandbox id; they outlive the kubelet."""

    image_problem = f"failed to inspect sandbox image {quoted(SANDBOX_IMAGE)}: "

    def __init__(self, docker: Docker, network: PluginManager, steps: Steps, draw: Draw) -> None:
        self._docker, self._network, self._steps, self._draw = docker, network, steps, draw
        self.checkpoints: dict[str, str] = {}
        self.network_ready: dict[str, bool] = {}

    def kubelet_starts(self) -> None:
        self.network_ready.clear()

    # -- RunPodSandbox ------------------------------------------------------------------------------------------

    async def run(self, config: SandboxConfig) -> str:
        pod = config.pod.metadata
        steps = self._steps.of("RunPodSandbox", f"{pod.namespace}/{pod.name}")
        self._docker.ensure_sandbox_image(SANDBOX_IMAGE)
        steps.take("ensure the sandbox image", f"{SANDBOX_IMAGE} is on the node")
        if config.runtime_handler:
            raise RuntimeCallError(f"RuntimeHandler {quoted(config.runtime_handler)} not supported")
        sandbox_id = self._create(config, steps)
        self.network_ready[sandbox_id] = False
        self._write_checkpoint(sandbox_id, config, steps)
        await self._start(sandbox_id, config, steps)
        if config.pod.spec.host_network:
            steps.take("no network", "the pod is on the network of the node")
        else:
            await self._set_up(sandbox_id, config, steps)
        self.network_ready[sandbox_id] = True
        return sandbox_id

    def _create(self, config: SandboxConfig, steps: Steps) -> str:
        pod = config.pod.metadata
        name = make_sandbox_name(pod.name, pod.namespace, pod.uid, config.attempt)
        try:
            try:
                made = self._docker.create_sandbox(config, name)
            except RuntimeCallError as error:
                made = self._recover(config, name, error, steps)
        except RuntimeCallError as error:
            raise RuntimeCallError(f"failed to create a sandbox for pod {quoted(pod.name)}: {error}") from error
        steps.take("create the sandbox container", "docker has it, but it does not run yet")
        return made

    def _recover(self, config: SandboxConfig, name: str, error: RuntimeCallError, steps: Steps) -> str:
        """recoverFromCreationConflictIfNeeded: remove the container that has the name; the next sync then creates the
        sandbox. If docker does not know that container, the name gets a random suffix.
        """
        holder = conflicting_container(str(error))
        if not holder:
            raise error
        steps.take("create the sandbox container", error=str(error))
        try:
            self._docker.remove_sandbox(holder)
            steps.take(f"remove the sandbox container {holder}", "it has the name of the new one")
        except NotFound:
            randomized = randomize_name(name, self._draw())
            steps.take(f"use the name {randomized}", f"docker does not know the container {holder}, which has the name")
            return self._docker.create_sandbox(config, randomized)
        raise error

    def _write_checkpoint(self, sandbox_id: str, config: SandboxConfig, steps: Steps) -> None:
        pod = config.pod
        mappings = [mapping for container in pod.spec.containers for mapping in port_mappings(container)]
        checkpoint = construct_checkpoint(
            pod.metadata.name, pod.metadata.namespace, mappings, host_network=pod.spec.host_network
        )
        self.checkpoints[sandbox_id] = marshal(checkpoint)
        steps.take("write the checkpoint", "the network can be torn down even if docker loses the container")

    async def _start(self, sandbox_id: str, config: SandboxConfig, steps: Steps) -> None:
        name = quoted(config.pod.metadata.name)
        try:
            await self._docker.start_sandbox(sandbox_id)
        except RuntimeCallError as error:
            raise RuntimeCallError(f"failed to start sandbox container for pod {name}: {error}") from error
        steps.take("start the sandbox container", "pause runs before the network is set up")
        text = "" if config.dns is None else resolv_conf(config.dns)
        if text:
            self._docker.write_resolv_conf(sandbox_id, text)
            steps.take("rewrite resolv.conf", "the DNS settings of the pod replace those of docker")

    async def _set_up(self, sandbox_id: str, config: SandboxConfig, steps: Steps) -> None:
        pod = config.pod.metadata
        await self._docker.network_time(sandbox_id)
        try:
            await self._network.set_up_pod(pod.namespace, pod.name, sandbox_id, config.annotations)
        except CniError as error:
            steps.take("SetUpPod", error=str(error))
            raise RuntimeCallError(aggregate(await self._clean_up(sandbox_id, config, error, steps))) from error
        steps.take("SetUpPod", f"network plugin {self._network.plugin.name} attaches the sandbox")

    async def _clean_up(self, sandbox_id: str, config: SandboxConfig, error: CniError, steps: Steps) -> list[str]:
        """Tear down after a failed setup, which may have left resources. Returns the errors of both."""
        pod = config.pod.metadata
        of, for_pod = f"sandbox container {quoted(sandbox_id)}", f"for pod {quoted(pod.name)}"
        errors = [f"failed to set up {of} network {for_pod}: {error}"]
        try:
            await self._network.tear_down_pod(pod.namespace, pod.name, sandbox_id)
            steps.take("TearDownPod", "what the failed set-up may have left is removed")
        except CniError as problem:
            steps.take("TearDownPod", error=str(problem))
            errors.append(f"failed to clean up {of} network {for_pod}: {problem}")
        try:
            await self._docker.stop_sandbox(sandbox_id)
            steps.take("stop the sandbox container", "it stays in the list as exited")
        except RuntimeCallError as problem:
            steps.take("stop the sandbox container", error=str(problem))
            errors.append(f"failed to stop {of} {for_pod}: {problem}")
        else:
            # Upstream's deferred check reads the variable that the cleanup has overwritten: if the stop succeeds, the
            # network counts as ready, so that stopping the sandbox runs DEL again.
            self.network_ready[sandbox_id] = True
        return errors

    # -- StopPodSandbox, RemovePodSandbox ------------------------------------------------------------------------

    async def stop(self, sandbox_id: str) -> None:
        known = self._details(sandbox_id)
        steps = self._steps.of("StopPodSandbox", f"{known.namespace}/{known.name}" if known.name else "")
        if not known.name:
            problem = f"Both sandbox container and checkpoint for id {quoted(sandbox_id)} could not be found."
            steps.take(f"{problem} Proceed without further sandbox information.")
        errors: list[str] = []
        if not known.host_network and self.network_ready.get(sandbox_id, True):
            try:
                await self._network.tear_down_pod(known.namespace, known.name, sandbox_id)
                self.network_ready[sandbox_id] = False
                steps.take("TearDownPod", f"network plugin {self._network.plugin.name} detaches the sandbox")
            except CniError as error:
                steps.take("TearDownPod", error=str(error))
                errors.append(str(error))
        try:
            await self._docker.stop_sandbox(sandbox_id)
        except NotFound:
            self.checkpoints.pop(sandbox_id, None)
        except RuntimeCallError as error:
            steps.take("stop the sandbox container", error=str(error))
            errors.append(str(error))
        if errors:
            raise RuntimeCallError(aggregate(errors))

    def _details(self, sandbox_id: str) -> SandboxCheckpoint:
        """The sandbox's pod: from docker, else from the checkpoint, else unknown. Removes a corrupt checkpoint."""
        try:
            found = self._docker.inspect_sandbox(sandbox_id)
            return SandboxCheckpoint(found.name, found.namespace, host_network=found.host_network)
        except NotFound:
            pass
        try:
            return unmarshal(self.checkpoints[sandbox_id])
        except KeyError:
            return SandboxCheckpoint("", "")
        except CorruptCheckpoint:
            del self.checkpoints[sandbox_id]
            return SandboxCheckpoint("", "")

    async def remove(self, sandbox_id: str) -> None:
        """Remove the sandbox. Only StopPodSandbox tears down the network."""
        try:
            self._docker.remove_sandbox(sandbox_id)
        except NotFound:
            pass
        self.network_ready.pop(sandbox_id, None)
        self.checkpoints.pop(sandbox_id, None)

    def port_mappings(self, sandbox_id: str) -> tuple[PortMapping, ...]:
        """GetPodPortMappings: empty without a checkpoint; a corrupt one is removed."""
        try:
            return unmarshal(self.checkpoints[sandbox_id]).port_mappings
        except KeyError:
            return ()
        except CorruptCheckpoint as error:
            del self.checkpoints[sandbox_id]
            raise CniError(str(error)) from error

    # -- PodSandboxStatus ---------------------------------------------------------------------------------------

    async def ip(self, sandbox_id: str) -> str:
        """getIP: the plugin's address, else docker's, else none with a warning."""
        found = self._docker.inspect_sandbox(sandbox_id)
        if found.host_network or not self.network_ready.get(sandbox_id, True):
            return ""
        steps = self._steps.of("PodSandboxStatus", f"{found.namespace}/{found.name}")
        try:
            ip = await self._network.get_pod_network_status(found.namespace, found.name, sandbox_id)
        except CniError as error:
            if not found.ip:
                steps.take("read the address", error=f"failed to read pod IP from plugin/docker: {error}")
            return found.ip
        if ip:
            steps.take("read the address", "nsenter runs ip addr in the network namespace of the sandbox")
        return ip or found.ip
