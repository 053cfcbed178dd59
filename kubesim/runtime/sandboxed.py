"""A runtime whose sandboxes are run by a sandbox service, as containerd does it; the containers in them are simulated.

What the service is made of decides how real the sandboxes are: with `CniNetworking` and `BoundNamespaces` every pod has
a network namespace of its own that real plugins set up.
"""

from __future__ import annotations

from dataclasses import replace

from kubesim.clock import LoopClock, Randomness
from kubesim.cni.context import with_timeout
from kubesim.cni.info import network_condition, status_problem
from kubesim.errors import RuntimeCallError
from kubesim.runtime.protocol import RuntimeConditions, SandboxConfig
from kubesim.runtime.sandbox import PodSandbox, PodSandboxService, SandboxFailed, SandboxRequest
from kubesim.runtime.sandbox_parts import CniNetworking, pod_network_config
from kubesim.runtime.simulated.process import ProcessFactory
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.runtime.types import SandboxNetwork

UNKNOWN_ERROR = "rpc error: code = Unknown desc = "


class SandboxedRuntime(SimulatedRuntime):
    """`networking` is asked how the network is; None: it is always ready. Real plugins have as long as the kubelet
    would wait for a stop, and twice that for a start, on the wall clock: a hung one must not hold up virtual time."""

    def __init__(
        self,
        clock: LoopClock,
        randomness: Randomness,
        processes: ProcessFactory,
        service: PodSandboxService,
        networking: CniNetworking | None = None,
        settings: SimulatedSettings | None = None,
        request_timeout_s: float = 120.0,
    ) -> None:
        super().__init__(clock, randomness, processes, settings)
        self.service = service
        self._networking = networking
        self._request_timeout_s = request_timeout_s

    async def status(self) -> RuntimeConditions:
        conditions = await super().status()
        problem = None if self._networking is None else await status_problem(self._networking.cni)
        return conditions if problem is None else replace(conditions, network_problem=str(network_condition(problem)))

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        await self._take(self.settings.latencies.run_sandbox)
        metadata = config.pod.metadata
        request = SandboxRequest(
            self._sandbox_id(metadata.uid),
            metadata.name,
            metadata.namespace,
            metadata.uid,
            config.attempt,
            pod_network_config(config),
            config.pod.spec.host_network,
        )
        self._made_sandboxes += 1
        try:
            with with_timeout(2 * self._request_timeout_s) as ctx:
                sandbox = await self.service.run(request, ctx)
        except SandboxFailed as error:
            if error.kept is not None:
                self._enter_sandbox(request.id, config, SandboxNetwork(), ready=False)
            raise RuntimeCallError(f"{UNKNOWN_ERROR}{error}") from error
        self._enter_sandbox(request.id, config, _network(sandbox))
        return request.id

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        info = self._sandbox(sandbox_id)
        await self._take(self.settings.latencies.stop_sandbox)
        try:
            with with_timeout(self._request_timeout_s) as ctx:
                await self.service.stop(sandbox_id, ctx)
        except RuntimeCallError as error:
            raise RuntimeCallError(f"{UNKNOWN_ERROR}{error}") from error
        if sandbox_id in self._sandboxes:
            self._kill_sandbox(info)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        try:
            with with_timeout(self._request_timeout_s) as ctx:
                await self.service.remove(sandbox_id, ctx)
        except RuntimeCallError as error:
            raise RuntimeCallError(f"{UNKNOWN_ERROR}{error}") from error
        await super().remove_pod_sandbox(sandbox_id)


def _network(sandbox: PodSandbox) -> SandboxNetwork:
    if sandbox.network is None:
        return SandboxNetwork()
    return SandboxNetwork(sandbox.network.ip, sandbox.network.additional_ips)
