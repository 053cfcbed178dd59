"""A runtime with containerd's sandbox service and simulated containers.

The service's dependencies determine how real the sandboxes are: with `CniNetworking` and `BoundNamespaces`, or those of
a private node (`cni_node.py`), every pod has its own network namespace, set up by real plugins.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from kubesim.api.timestamps import MINUTE
from kubesim.clock import LoopClock, Randomness, go
from kubesim.cni.exec.context import Context, with_timeout
from kubesim.cni.info import network_condition, status_problem
from kubesim.errors import KubesimError, RuntimeCallError
from kubesim.runtime.containerd.leaks.cleaner import Cleaner
from kubesim.runtime.containerd.sandbox import PodSandbox, PodSandboxService, SandboxFailed, SandboxRequest
from kubesim.runtime.containerd.sandbox_parts import CniNetworking, pod_network_config
from kubesim.runtime.protocol import UNKNOWN_ERROR, RuntimeConditions, SandboxConfig, UserNamespace
from kubesim.runtime.simulated.containers.container_process import ProcessContext, ProcessFactory, SimulatedContainer
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.service import LATE, REQUEST_TIMEOUT
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.runtime.types import SandboxNetwork

WALL_LIMIT_S = 10.0
CLEAN_PERIOD = MINUTE


class SandboxedRuntime(SimulatedRuntime):
    """`networking` returns the network state; None: always ready. A call of real plugins is limited to `wall_limit_s`
    of real time, because virtual time stops during it. A plugin that hangs longer is killed, and virtual time advances
    to the kubelet's timeout.
    """

    def __init__(
        self,
        clock: LoopClock,
        randomness: Randomness,
        processes: ProcessFactory,
        service: PodSandboxService,
        networking: CniNetworking | None = None,
        settings: SimulatedSettings | None = None,
        wall_limit_s: float = WALL_LIMIT_S,
        cleaner: Cleaner | None = None,
    ) -> None:
        super().__init__(clock, randomness, processes, settings)
        self.service = service
        self.networking = networking
        self._wall_limit_s = wall_limit_s
        self._cleaner = cleaner
        self._running: set[asyncio.Task[SandboxFailed | None]] = set()
        self._begun: dict[str, SandboxConfig] = {}  # sandboxes being created, by id
        self._cleaning: asyncio.TimerHandle | asyncio.Task[None] | None = None  # scheduled or running cleanup

    async def status(self) -> RuntimeConditions:
        conditions = await super().status()
        problem = None if self.networking is None else await status_problem(self.networking.cni)
        return conditions if problem is None else replace(conditions, network_problem=str(network_condition(problem)))

    def network_changed(self) -> None:
        """The network was reloaded: waiters must check again."""
        self._changed("")

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        deadline = self._clock.now() + 2 * REQUEST_TIMEOUT  # the kubelet's timeout for this call is twice the usual one
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
            pod_level(config.linux.namespaces.users),
        )
        self._made_sandboxes += 1
        self.settings.check_runtime_handler(request.id, config.runtime_handler)
        self._begun[request.id] = config
        with with_timeout(self._wall_limit_s) as ctx:
            running = go(self._run(request, config, ctx), f"RunPodSandbox {metadata.namespace}/{metadata.name}")
            self._running.add(running)
            running.add_done_callback(self._running.discard)
            try:
                failed = await asyncio.shield(running)
            except asyncio.CancelledError:  # the caller gave up; completed steps are undone in the background
                ctx.cancel()
                raise
            if failed is not None:
                raise await self._failure(failed, ctx, deadline) from failed
        return request.id

    async def _run(self, request: SandboxRequest, config: SandboxConfig, ctx: Context) -> SandboxFailed | None:
        """Run to the end, even without a waiter."""
        try:
            sandbox = await self.service.run(request, ctx)
        except SandboxFailed as error:
            self._begun.pop(request.id, None)
            self._clean_later()
            if error.kept is not None:
                self._enter_sandbox(request.id, config, SandboxNetwork(), ready=False)
            return error
        self._begun.pop(request.id, None)
        self._enter_sandbox(request.id, config, _network(sandbox))
        return None

    def network_namespaces(self) -> dict[str, str]:
        """Network namespaces of running pods, by namespace and name."""
        ready = (box for box in self.service.sandboxes.values() if box.state == "READY")
        return {f"{box.request.namespace}/{box.request.name}": box.netns_path for box in ready}

    def _context(self, container: SimulatedContainer) -> ProcessContext:
        sandbox = self.service.sandboxes.get(container.info.sandbox_id)
        return replace(super()._context(container), netns="" if sandbox is None else sandbox.netns_path)

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        info = self._sandbox(sandbox_id)
        deadline = self._clock.now() + REQUEST_TIMEOUT
        await self._take(self.settings.latencies.stop_sandbox)
        with with_timeout(self._wall_limit_s) as ctx:
            try:
                await self.service.stop(sandbox_id, ctx)
            except RuntimeCallError as error:
                raise await self._failure(error, ctx, deadline) from error
        if sandbox_id in self._sandboxes:
            self._kill_sandbox(info)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        deadline = self._clock.now() + REQUEST_TIMEOUT
        with with_timeout(self._wall_limit_s) as ctx:
            try:
                await self.service.remove(sandbox_id, ctx)
            except RuntimeCallError as error:
                raise await self._failure(error, ctx, deadline) from error
        await super().remove_pod_sandbox(sandbox_id)

    def go_down(self) -> None:
        """Stop. Calls in progress leave their results behind."""
        for running in self._running:
            running.cancel()

    def start_up(self) -> None:
        """Start. Stored sandboxes that were being created are listed as not ready."""
        super().start_up()
        self.service.recover({identifier: info.ready for identifier, info in self._sandboxes.items()})
        for identifier, config in self._begun.items():
            if identifier in self.service.sandboxes:
                self._enter_sandbox(identifier, config, SandboxNetwork(), ready=False)
        self._begun.clear()

    def lose_everything(self) -> None:
        super().lose_everything()
        self.service.forget()
        self._clean_later()

    def _clean_later(self) -> None:
        """Schedule a cleanup in a minute for leftovers of a failed or dropped sandbox."""
        if self._cleaner is not None and self._cleaning is None:
            self._cleaning = self._clock.call_at(self._clock.now() + CLEAN_PERIOD, self._clean)

    def _clean(self) -> None:
        assert self._cleaner is not None
        cleaner = self._cleaner

        async def clean() -> None:
            try:
                left = bool(await cleaner.clean())
            except (KubesimError, OSError):
                left = True
            self._cleaning = None
            if left:
                self._clean_later()

        self._cleaning = go(clean(), "cleaning up networks")

    def close(self) -> None:
        """End the run: nothing runs, and no cleanup happens any more."""
        for running in self._running:
            running.cancel()
        self.lose_processes()
        if self._cleaning is not None:
            self._cleaning.cancel()

    async def _failure(self, error: RuntimeCallError, ctx: Context, deadline: int) -> RuntimeCallError:
        """The kubelet's error: the runtime's response, or none until its own timeout."""
        if not ctx.problem:
            return RuntimeCallError(f"{UNKNOWN_ERROR}{error}")
        await self._clock.sleep_until(deadline)
        return RuntimeCallError(LATE)


def pod_level(users: UserNamespace | None) -> UserNamespace | None:
    """The pod's user namespace; None if it uses the node's users."""
    return users if users is not None and users.mode == "POD" else None


def _network(sandbox: PodSandbox) -> SandboxNetwork:
    if sandbox.network is None:
        return SandboxNetwork()
    return SandboxNetwork(sandbox.network.ip, sandbox.network.additional_ips)
