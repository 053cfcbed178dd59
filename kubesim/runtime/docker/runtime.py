"""A runtime with the docker sandboxes of old kubelets, and simulated containers.

`DockerRuntime` is the docker daemon with its containers, called by a sandbox order (`dockershim.py`, `dockertools.py`).
The network plugin and its state are part of the kubelet and restart with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, Randomness
from kubesim.cni.plugin_manager import NOOP_NAME, NetworkPlugin, PluginManager
from kubesim.cni.pod_config import PortMapping
from kubesim.errors import CniError, KubesimError, RuntimeCallError
from kubesim.golang.text import quoted
from kubesim.runtime.docker.images import reported_image
from kubesim.runtime.docker.orders.dockershim import Dockershim
from kubesim.runtime.docker.orders.dockertools import Dockertools
from kubesim.runtime.docker.orders.names import conflict, no_such_container
from kubesim.runtime.docker.orders.parts import SandboxContainer, SandboxOrder, Steps
from kubesim.runtime.docker.settings import DockerSettings
from kubesim.runtime.protocol import (
    UNKNOWN_ERROR,
    ContainerConfig,
    NotFound,
    RuntimeConditions,
    SandboxConfig,
    SandboxInfo,
    SetupNetworkFailed,
)
from kubesim.runtime.simulated.containers.container_process import ProcessContext, ProcessFactory, SimulatedContainer
from kubesim.runtime.simulated.runtime import SimulatedRuntime
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.runtime.types import SandboxNetwork
from kubesim.values import replace

DAEMON_IS_DOWN = "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
POLL_PERIOD = 5 * SECOND  # the kubelet's interval for runtime status


class SandboxNamespaces(Protocol):
    """Network namespaces of sandbox containers on a real node. Failures raise RuntimeCallError."""

    def new(self) -> str: ...
    def remove(self, path: str) -> None: ...


class DockerRuntime(SimulatedRuntime):
    """Implements `Runtime` and `Docker`. `start` initializes the network plugins at every start of the kubelet. Without
    `namespaces` the network is simulated.
    """

    reserves_names = False  # dockershim gives the container another name instead

    name = "docker"

    def __init__(
        self,
        clock: LoopClock,
        randomness: Randomness,
        processes: ProcessFactory,
        settings: SimulatedSettings,
        docker: DockerSettings,
        steps: Steps,
        namespaces: SandboxNamespaces | None = None,
    ) -> None:
        super().__init__(clock, randomness, processes, settings)
        self._names: dict[str, str] = {}  # names of sandbox containers -> id
        self._name_of: dict[str, str] = {}
        self._bridged: dict[str, str] = {}  # addresses from docker's own bridge
        self._netns: dict[str, str] = {}
        self.resolv_confs: dict[str, str] = {}
        self._errors = {call: list(texts) for call, texts in docker.errors.items()}
        self._namespaces = namespaces
        self._steps = steps
        self._draws = randomness.stream("docker", "names")
        self._spans: dict[str, int] = {}  # remaining time of the call that creates a sandbox
        self._begin: Callable[[], NetworkPlugin]
        self._configured_at = 0
        self._configured: int | None = None  # time of the network configuration, known from the start of the scenario
        self._order: SandboxOrder
        self._network: PluginManager
        self._prefix = ""
        self._status_period = POLL_PERIOD
        self._polled: int | None = None
        self._network_problem = ""

    def use(
        self, order: str, begin: Callable[[], NetworkPlugin], status_period: int = POLL_PERIOD, configured_at: int = 0
    ) -> None:
        """Use this sandbox order with the plugin that `begin` starts, and poll its status every `status_period`. The
        simulated network is configured `configured_at` after the start of the scenario.
        """
        self._begin, self._configured_at, self._status_period = begin, configured_at, status_period
        self._network = PluginManager(begin())
        kind = Dockershim if order == "dockershim" else Dockertools
        self._order = kind(self, self._network, self._steps, lambda: self._draws.getrandbits(32))
        self._prefix = UNKNOWN_ERROR if order == "dockershim" else ""

    def refusal(self, call: str) -> str:
        """The error of calls while docker is down. For a sandbox it is that of its image, the first call."""
        image = self._order.image_problem if call == "run_pod_sandbox" else ""
        return f"{self._prefix}{image}{DAEMON_IS_DOWN}"

    def kubelet_starts(self) -> None:
        """Restart the kubelet's plugin; docker and the disk keep their state."""
        self._network.kubelet_starts(self._begin())
        self._order.kubelet_starts()
        self._polled = None

    def take_address(self, sandbox_id: str) -> str:
        """An address of the simulated network."""
        return self._address(sandbox_id, self._container_of(sandbox_id).attempt)

    def port_mappings(self, sandbox_id: str) -> tuple[PortMapping, ...]:
        """The ports in the checkpoint; dockertools passed none to plugins."""
        return self._order.port_mappings(sandbox_id)

    def begin_story(self) -> None:
        """Record the start of the kubelet, at the start of the scenario."""
        now = self._clock.now()
        self._configured = now + self._configured_at
        self.kubelet_starts()
        if self._configured_at:
            for moment in network_changes(self._configured_at, self._status_period):
                self._clock.call_at(now + moment, self._changed, "")

    def is_configured(self) -> bool:
        """Whether the simulated network is configured."""
        known = self._configured
        return not self._configured_at if known is None else self._clock.now() >= known

    # -- Runtime ------------------------------------------------------------------------------------------------

    async def status(self) -> RuntimeConditions:
        conditions = await super().status()
        await self._poll_network()
        if not self._network_problem:
            return conditions
        why = f"docker: network plugin is not ready: {self._network_problem}"
        problem = f"NetworkReady=false reason:NetworkPluginNotReady message:{why}"
        return replace(conditions, network_problem=problem if self._prefix else self._network_problem)

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        identifier = await super().create_container(sandbox_id, config, sandbox)
        container, (image, image_ref) = self.find(identifier), reported_image(config.container.image)
        container.info = replace(container.info, image=image, image_ref=image_ref)
        return identifier

    async def _poll_network(self) -> None:
        """Poll the plugin if due; each poll reads its configuration again."""
        now = self._clock.now()
        if self._polled is not None and self._status_period > POLL_PERIOD:
            due = self._polled + (now - self._polled) // self._status_period * self._status_period
            if due == self._polled:
                return
            now = due
        self._polled = now
        try:
            await self._network.status()
            self._network_problem = ""
        except CniError as error:
            self._network_problem = str(error)

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        uid = config.pod.metadata.uid
        self._spans[uid] = self.settings.latencies.run_sandbox.draw(self._stream)
        try:
            if self._polled is None or self._clock.now() >= self._polled + POLL_PERIOD:
                await self._poll_network()  # unchanged polls are skipped
            return await self._order.run(config)
        except SetupNetworkFailed:
            raise
        except KubesimError as error:
            raise RuntimeCallError(f"{self._prefix}{error}") from error
        finally:
            del self._spans[uid]

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        await self._take(self.settings.latencies.stop_sandbox)
        try:
            await self._order.stop(sandbox_id)
        except RuntimeCallError as error:
            raise RuntimeCallError(f"{self._prefix}{error}") from error

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        try:
            await self._order.remove(sandbox_id)
        except RuntimeCallError as error:
            raise RuntimeCallError(f"{self._prefix}{error}") from error

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxInfo:
        """The status; the address is read until the pod has one."""
        info = self._sandbox(sandbox_id)
        if not info.ready or info.network is None or info.network.ip or info.network_namespace == "NODE":
            return info
        ip = await self._order.ip(sandbox_id)
        info = self._sandbox(sandbox_id)
        if ip and info.ready:
            info = self._sandboxes[sandbox_id] = replace(info, network=SandboxNetwork(ip))
            self._changed(info.pod_uid)
        return info

    # -- Docker -------------------------------------------------------------------------------------------------

    def _fail_if_due(self, call: str) -> None:
        due = self._errors.get(call)
        if due:
            raise RuntimeCallError(due.pop(0))

    def ensure_sandbox_image(self, image: str) -> None:
        """The sandbox image exists, unless a scenario makes the pull fail."""
        try:
            self._fail_if_due("pull")
        except RuntimeCallError as error:
            raise RuntimeCallError(f"failed pulling image {quoted(image)}: {error}") from error

    def create_sandbox(self, config: SandboxConfig, name: str) -> str:
        self._fail_if_due("create")
        holder = self._names.get(name, "")
        if holder in self._sandboxes:
            raise RuntimeCallError(conflict(name, holder))
        identifier = self._sandbox_id(config.pod.metadata.uid)
        self._made_sandboxes += 1
        self._names[name] = identifier
        self._name_of[identifier] = name
        self._enter_sandbox(identifier, config, SandboxNetwork(), ready=False)
        return identifier

    async def start_sandbox(self, sandbox_id: str) -> None:
        info = self._container_of(sandbox_id)
        left = self._spans.get(info.pod_uid, 0)
        await self._clock.sleep(left // 2)
        self._fail_if_due("start")
        info = self._container_of(sandbox_id)
        if self._namespaces is not None and info.network_namespace != "NODE":
            self._netns[sandbox_id] = self._namespaces.new()
        self._sandboxes[sandbox_id] = replace(info, ready=True)
        self._changed(info.pod_uid)
        self._spans[info.pod_uid] = left - left // 2

    async def network_time(self, sandbox_id: str) -> None:
        await self._clock.sleep(self._spans.get(self._container_of(sandbox_id).pod_uid, 0))

    def inspect_sandbox(self, sandbox_id: str) -> SandboxContainer:
        info = self._container_of(sandbox_id)
        is_host = info.network_namespace == "NODE"
        bridged = info.ready and not is_host and self._network.plugin.name == NOOP_NAME
        return SandboxContainer(
            sandbox_id,
            info.pod_name,
            info.pod_namespace,
            info.ready,
            is_host,
            self._netns.get(sandbox_id, ""),
            self._bridge_address(info) if bridged else "",
        )

    def _bridge_address(self, info: SandboxInfo) -> str:
        """The address from docker's own bridge, if there is no plugin."""
        if info.id not in self._bridged:
            self._bridged[info.id] = self._address(info.id, info.attempt)
        return self._bridged[info.id]

    async def stop_sandbox(self, sandbox_id: str) -> None:
        self._container_of(sandbox_id)
        self._fail_if_due("stop")
        self.sandbox_dies(sandbox_id)

    def remove_sandbox(self, sandbox_id: str) -> None:
        info = self._container_of(sandbox_id)
        self._kill_sandbox(info)
        self._forget_sandbox(sandbox_id, info)

    def write_resolv_conf(self, sandbox_id: str, text: str) -> None:
        self.resolv_confs[sandbox_id] = text

    def _container_of(self, sandbox_id: str) -> SandboxInfo:
        info = self._sandboxes.get(sandbox_id)
        if info is None:
            raise NotFound(no_such_container(sandbox_id))
        return info

    def _has_network(self, sandbox_id: str) -> bool:
        """Docker kubelets request the address later."""
        is_given = self._netns if self._namespaces is not None else self._addresses.taken
        return sandbox_id in is_given or super()._has_network(sandbox_id) or self._network.plugin.name == NOOP_NAME

    # -- containers ---------------------------------------------------------------------------------------------

    def network_namespaces(self) -> dict[str, str]:
        """Network namespaces of running pods, by namespace and name."""
        infos = ((self._sandboxes[each], path) for each, path in self._netns.items())
        return {f"{info.pod_namespace}/{info.pod_name}": path for info, path in infos if info.ready}

    def _context(self, container: SimulatedContainer) -> ProcessContext:
        return replace(super()._context(container), netns=self._netns.get(container.info.sandbox_id, ""))

    def _end_sandbox(self, info: SandboxInfo) -> None:
        """The network namespace ends with the sandbox process."""
        path = self._netns.pop(info.id, "")
        if path and self._namespaces is not None:
            self._namespaces.remove(path)
        super()._end_sandbox(info)

    def _forget_sandbox(self, sandbox_id: str, info: SandboxInfo) -> None:
        super()._forget_sandbox(sandbox_id, info)
        name = self._name_of.pop(sandbox_id)
        if self._names[name] == sandbox_id:
            del self._names[name]
        self._bridged.pop(sandbox_id, None)
        self.resolv_confs.pop(sandbox_id, None)

    def close(self) -> None:
        """End the run: nothing runs any more."""
        self.lose_processes()


def network_changes(configured_at: int, status_period: int) -> list[int]:
    """When the kubelet can notice the configured network: now, or at its next poll."""
    return sorted({configured_at, -(-configured_at // status_period) * status_period})
