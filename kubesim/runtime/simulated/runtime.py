"""The simulated container runtime: sandboxes, containers and images like containerd's, in virtual time.

It keeps states and simulates durations; each container's Process implements its program. Infos are immutable and
replaced on change, so readers detect changes by identity. Listeners are called with the pod's UID after every change.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Iterator
from signal import SIGKILL

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.clock import Awaited, LoopClock, Randomness, go, wake
from kubesim.errors import RuntimeCallError, SyncCancelled
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.protocol import (
    CANCELLED,
    UNKNOWN_ERROR,
    CallContext,
    ContainerConfig,
    ContainerInfo,
    DeadlineExceeded,
    ExecResult,
    ImageInfo,
    NamespaceOptions,
    NotFound,
    SandboxConfig,
    SandboxInfo,
)
from kubesim.runtime.simulated.containers.container_process import (
    Exit,
    ProcessContext,
    ProcessFactory,
    SimulatedContainer,
    reserved_name_problem,
    target_problem,
)
from kubesim.runtime.simulated.containers.security import security_problem
from kubesim.runtime.simulated.containers.stop_signals import DEFAULT_STOP_SIGNAL, signal_number
from kubesim.runtime.simulated.cri.listeners import RuntimeListeners
from kubesim.runtime.simulated.cri.watcher import Killer
from kubesim.runtime.simulated.draws import NO_TIME, Draw
from kubesim.runtime.simulated.image_store import ImageStore
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.runtime.types import RUNTIME_NAME, RuntimeResources, SandboxNetwork
from kubesim.values import replace

UNKNOWN_EXIT_CODE = 255  # for containers whose exit was lost


class SimulatedRuntime(RuntimeListeners):
    """Implements `Runtime`. One per node; it outlives the kubelet process."""

    name = RUNTIME_NAME  # the runtime that it simulates
    reserves_names = True  # for containers, like containerd

    def __init__(
        self,
        clock: LoopClock,
        randomness: Randomness,
        processes: ProcessFactory,
        settings: SimulatedSettings | None = None,
    ) -> None:
        super().__init__(clock, settings)
        self._stream = randomness.stream("runtime", "latency")
        self._id_seed = str(randomness.seed)
        self._processes = processes
        self._containers: dict[str, SimulatedContainer] = {}
        self._by_pod: dict[str, tuple[dict[str, None], dict[str, None]]] = {}  # UID -> sandbox ids, container ids
        self._made_sandboxes = 0
        self._sandbox_failures = 0
        self.images = ImageStore(self.settings, self._take)

    def _take(self, span: Draw) -> Awaitable[None]:
        duration = span.draw(self._stream)
        return self._clock.sleep(duration) if duration else NO_TIME

    # -- sandboxes ----------------------------------------------------------------------------------------------

    async def run_pod_sandbox(self, config: SandboxConfig) -> str:
        await self._take(self.settings.latencies.run_sandbox)
        if self._sandbox_failures < len(self.settings.sandbox_errors):
            self._sandbox_failures += 1
            raise RuntimeCallError(self.settings.sandbox_errors[self._sandbox_failures - 1])
        identifier = self._sandbox_id(config.pod.metadata.uid)
        self._made_sandboxes += 1
        self.settings.check_runtime_handler(identifier, config.runtime_handler)
        walk = self.sandbox_walk()
        failed = None if walk is None else walk.run(identifier, config)
        if failed is not None:
            if failed.left_behind:
                self._enter_sandbox(identifier, config, SandboxNetwork(), ready=False)
            raise failed
        address = "" if config.pod.spec.host_network else self._address(identifier, config.attempt)
        self._enter_sandbox(identifier, config, SandboxNetwork(address))
        return identifier

    def _enter_sandbox(
        self, identifier: str, config: SandboxConfig, network: SandboxNetwork, *, ready: bool = True
    ) -> None:
        metadata = config.pod.metadata
        info = self._sandboxes[identifier] = SandboxInfo(
            id=identifier,
            pod_uid=metadata.uid,
            pod_name=metadata.name,
            pod_namespace=metadata.namespace,
            attempt=config.attempt,
            ready=ready,
            created_at=self._clock.wall(),
            network_namespace="NODE" if config.pod.spec.host_network else "POD",
            network=network,
            labels=config.labels,
            annotations=config.annotations,
        )
        self._by_pod.setdefault(metadata.uid, ({}, {}))[0][identifier] = None
        self.watcher.sandbox_made(info, config)
        self._changed(metadata.uid)
        if ready:
            self._sandbox_is_up(info)

    def _sandbox_id(self, uid: str) -> str:
        if self.settings.sandbox_id is not None:
            return self.settings.sandbox_id(uid, self._made_sandboxes)
        return self._hash("sandbox", str(self._made_sandboxes), uid)

    def _address(self, sandbox_id: str, attempt: int) -> str:
        if self.settings.pod_ip is not None:
            return self.settings.pod_ip(attempt)
        return self._addresses.take(sandbox_id)

    def _hash(self, *parts: str) -> str:
        return hashlib.sha256("\x00".join((self._id_seed, *parts)).encode()).hexdigest()

    async def stop_pod_sandbox(self, sandbox_id: str) -> None:
        info = self._sandbox(sandbox_id)
        await self._take(self.settings.latencies.stop_sandbox)
        if sandbox_id in self._sandboxes:  # it was not removed during the wait
            self._notify_nri("StopPodSandbox", info)
            self._kill_sandbox(info)

    def _kill_sandbox(self, info: SandboxInfo) -> None:
        for container in self._running_in(info):
            self._kill(container, "sandbox")
        self._end_sandbox(info)

    def _kill(self, container: SimulatedContainer, by: Killer) -> None:
        assert container.process is not None
        self.watcher.killed(container.info, by)
        container.process.signal(SIGKILL)

    def _running_in(self, info: SandboxInfo) -> list[SimulatedContainer]:
        containers = map(self._containers.__getitem__, self._by_pod[info.pod_uid][1])
        return [container for container in containers if container.info.sandbox_id == info.id and container.runs()]

    def _end_sandbox(self, info: SandboxInfo) -> None:
        if self._sandboxes[info.id].ready:
            self._addresses.release(info.id)
            self.watcher.sandbox_ended(info, info.id in self._addresses.taken)
            self._sandboxes[info.id] = replace(self._sandboxes[info.id], ready=False, network=SandboxNetwork())
            self._changed(info.pod_uid)
            self._send("CONTAINER_STOPPED_EVENT", info.id, info.id)

    async def remove_pod_sandbox(self, sandbox_id: str) -> None:
        info = self._sandboxes.get(sandbox_id)
        if info is None:
            return
        self._kill_sandbox(info)
        self._send("CONTAINER_DELETED_EVENT", sandbox_id, sandbox_id)
        self._notify_nri("RemovePodSandbox", info)
        self._forget_sandbox(sandbox_id, info)

    def _forget_sandbox(self, sandbox_id: str, info: SandboxInfo) -> None:
        for identifier in list(self._by_pod[info.pod_uid][1]):
            if self._containers[identifier].info.sandbox_id == sandbox_id:
                self._forget_container(identifier)
        del self._sandboxes[sandbox_id]
        self._forget(info.pod_uid, sandbox_id, None)
        self.watcher.sandbox_removed(info)
        self._changed(info.pod_uid)

    def sandbox_dies(self, sandbox_id: str) -> None:
        """The pause process is killed. Containers continue, unless it was PID 1 of their shared namespace."""
        info = self._sandbox(sandbox_id)
        for container in self._running_in(info):
            if container.sandbox.pod.spec.share_process_namespace and container.process is not None:
                container.process.signal(SIGKILL)
        self._end_sandbox(info)

    def pause_exited(self, uid: str, attempt: int) -> None:
        """A container signalled PID 1 of the shared namespace."""
        for sandbox_id in list(self._by_pod.get(uid, ({}, {}))[0]):
            if self._sandboxes[sandbox_id].attempt == attempt:
                self.sandbox_dies(sandbox_id)

    def lose_processes(self) -> None:
        """The node loses power: nothing runs any more, and exit codes are lost."""
        for container in list(self._containers.values()):
            self._lose_process(container)
        for info in list(self._sandboxes.values()):
            self._kill_sandbox(info)

    def _lose_process(self, container: SimulatedContainer) -> None:
        process, info = container.process, container.info
        if info.state == "running" and process is not None:
            # Update the record first: the process's own exit no longer counts.
            container.info = replace(
                info, state="exited", finished_at=self._clock.wall(), exit_code=UNKNOWN_EXIT_CODE, reason="Unknown"
            )
            process.signal(SIGKILL)
            self.watcher.ended(container.info)
            self._notify_waiters(container)

    def lose_everything(self) -> None:
        """All runtime state is lost, and all its containers stop."""
        self.lose_processes()
        for sandbox_id, info in list(self._sandboxes.items()):
            self._forget_sandbox(sandbox_id, info)

    def kill_container(self, container_id: str, signal: int = SIGKILL) -> None:
        """Send a signal from the node to a running container's main process."""
        process = self._container(container_id).process
        if process is not None:
            process.signal(signal)

    def find(self, container_id: str) -> SimulatedContainer:
        """The container object, for operations outside CRI."""
        return self._container(container_id)

    def running(self, pod_uid: str | None = None) -> Iterator[ProcessContext]:
        """Running containers of the node or of one pod."""
        found = self._containers if pod_uid is None else self._by_pod.get(pod_uid, ({}, {}))[1]
        containers = map(self._containers.__getitem__, found)
        return (self._context(container) for container in containers if container.runs())

    def _context(self, container: SimulatedContainer) -> ProcessContext:
        sandbox = self._sandboxes.get(container.info.sandbox_id)
        ip = sandbox.network.ip if sandbox is not None and sandbox.network is not None else ""
        config = container.config
        return ProcessContext(container.sandbox.pod, config.container, config, ip, container.info.id, container.sandbox)

    def knows_pod(self, uid: str) -> bool:
        """Whether the pod has any sandbox or container, running or dead."""
        return uid in self._by_pod

    async def list_pod_sandboxes(self, pod_uid: str | None = None) -> list[SandboxInfo]:
        if pod_uid is None:
            return list(self._sandboxes.values())
        known = self._by_pod.get(pod_uid)
        return list(map(self._sandboxes.__getitem__, known[0])) if known else []

    async def update_pod_sandbox_resources(self, sandbox_id: str, resources: ResourceConfig) -> None:
        """For runtime plugins only: the kubelet updates the cgroup itself."""
        self._sandbox(sandbox_id)

    # -- containers ---------------------------------------------------------------------------------------------

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str:
        info = self._sandbox(sandbox_id)
        await self._take(self.settings.latencies.create_container)
        self._sandbox(sandbox_id)  # it may have been removed during the wait
        others = (self._containers[one] for one in self._by_pod[info.pod_uid][1]) if self.reserves_names else ()
        problem = reserved_name_problem(others, config, sandbox)
        if not problem and config.security_context is not None:
            problem = security_problem(config.security_context, self.settings.security_profiles)
        if problem:
            raise RuntimeCallError(f"{UNKNOWN_ERROR}{problem}")
        identifier = self._container_id(info.pod_uid, config)
        self._check_target(identifier, sandbox_id, config.namespaces)
        container = config.container
        self._containers[identifier] = SimulatedContainer(
            ContainerInfo(
                id=identifier,
                sandbox_id=sandbox_id,
                pod_uid=info.pod_uid,
                name=container.name,
                attempt=config.attempt,
                state="created",
                created_at=self._clock.wall(),
                image=container.image,
                image_id=config.image_ref,
                image_ref=config.image_ref,
                log_path=config.log_path if self.settings.reports_log_paths else "",
                user=self.settings.reported_user(config.user),
                labels=config.labels,
                annotations=config.annotations,
                resources=config.resources,
                stop_signal=config.stop_signal or self.images.stop_signal(container.image) or DEFAULT_STOP_SIGNAL,
            ),
            config,
            sandbox,
        )
        self._by_pod[info.pod_uid][1][identifier] = None
        self._changed(info.pod_uid)
        self._send("CONTAINER_CREATED_EVENT", identifier, sandbox_id, container.name)
        return identifier

    def _check_target(self, identifier: str, sandbox_id: str, namespaces: NamespaceOptions) -> None:
        """Check the running container whose PID namespace is joined (validateTargetContainer)."""
        if namespaces.pid == "TARGET":
            problem = target_problem(self._containers.get(namespaces.target_id), sandbox_id, namespaces.target_id)
            if problem:
                why = f"failed to generate spec opts: invalid target container: {problem}"
                raise RuntimeCallError(f'failed to generate container "{identifier}" spec: {why}')

    def _container_id(self, uid: str, config: ContainerConfig) -> str:
        name, attempt = config.container.name, config.attempt
        if self.settings.container_id is not None:
            return self.settings.container_id(uid, name, attempt)
        return self._hash("container", uid, name, str(attempt), str(self._clock.now()))

    async def start_container(self, container_id: str) -> None:
        container = self._container(container_id)
        context = self._context(container)
        problem = self._dead_sandbox(container) or self._processes.start_error(context)
        latencies = self.settings.latencies
        await self._take(latencies.failed_start if problem else latencies.start_container)
        self._container(container_id)  # it may have been removed during the wait
        problem = problem or self._dead_sandbox(container)
        now = self._clock.wall()
        if problem:
            container.info = replace(
                container.info, state="exited", finished_at=now, exit_code=128, reason="StartError", message=problem
            )
            self.watcher.ended(container.info)
            self._changed(container.info.pod_uid)
            raise RuntimeCallError(problem)
        container.process = self._processes.make(context)
        container.info = replace(container.info, state="running", started_at=now)
        self.watcher.started(container.info, self._has_network(container.info.sandbox_id))
        self._changed(container.info.pod_uid)
        self._send_of("CONTAINER_STARTED_EVENT", container.info)
        container.process.start(lambda exit: self._ended(container, exit))

    def _containers_of(self, sandbox_id: str) -> list[ContainerInfo]:
        return [each.info for each in self._containers.values() if each.info.sandbox_id == sandbox_id]

    def _dead_sandbox(self, container: SimulatedContainer) -> str:
        """The error of a container start in a dead sandbox; empty if it is alive."""
        sandbox = self._sandboxes.get(container.info.sandbox_id)
        dead = sandbox is None or not sandbox.ready
        return f'sandbox container "{container.info.sandbox_id}" is not running' if dead else ""

    def _ended(self, container: SimulatedContainer, exit: Exit) -> None:
        """The program has exited. A very short run is noticed after a minimum time."""
        assert container.info.started_at is not None
        shortest, ran_for = self.settings.latencies.shortest_run, self._clock.wall() - container.info.started_at
        if 0 <= ran_for < shortest:  # negative: the clock was set back
            self._clock.call_at(self._clock.now() + shortest - ran_for, self._exited, container, exit)
        else:
            self._exited(container, exit)

    def _exited(self, container: SimulatedContainer, exit: Exit) -> None:
        container.info = replace(container.info, message=exit.message)  # survives a power loss
        if container.info.state != "running":
            return
        container.info = replace(
            container.info,
            state="exited",
            finished_at=self._clock.wall(),
            exit_code=exit.code,
            reason=exit.reason,
        )
        self.watcher.ended(container.info)
        for listener in self._exit_listeners:
            listener(container.info.id, exit)
        self._notify_waiters(container)
        self._changed(container.info.pod_uid)
        self._send_of("CONTAINER_STOPPED_EVENT", container.info)

    def _notify_waiters(self, container: SimulatedContainer) -> None:
        for waiter in container.exited:
            wake(waiter, None)
        container.exited.clear()

    async def stop_container(self, container_id: str, timeout: int) -> None:
        """Send the container's stop signal (default TERM), then KILL after the timeout; with timeout 0 KILL at once."""
        container = self._container(container_id)
        if container.runs():
            self.watcher.stopping(container.info, timeout)
            await self._end(container, timeout)
            await self._take(self.settings.latencies.stop_container)

    async def _end(self, container: SimulatedContainer, timeout: int) -> None:
        assert container.process is not None
        if not timeout:
            return self._kill(container, "stop")
        container.process.signal(signal_number(container.info.stop_signal))
        if not container.runs():
            return None
        gone: Awaited[None] = Awaited(f"the end of container {container.info.id}")
        container.exited.append(gone)
        timer = self._clock.call_at(self._clock.now() + timeout, self._kill_soon, container)
        try:
            await gone
        finally:
            timer.cancel()
            self.watcher.stop_is_over(container.info)

    def _kill_soon(self, container: SimulatedContainer) -> None:
        """KILL at the timeout, after a container that exits by itself in the same instant."""
        asyncio.get_running_loop().call_soon(self._kill, container, "stop")

    async def remove_container(self, container_id: str) -> None:
        container = self._containers.get(container_id)
        if container is None:
            return
        if container.info.state == "running":
            self._kill(container, "removal")
        self._forget_container(container_id)
        self._changed(container.info.pod_uid)
        self._send_of("CONTAINER_DELETED_EVENT", container.info)

    def _forget_container(self, container_id: str) -> None:
        info = self._containers.pop(container_id).info
        self._forget(info.pod_uid, None, container_id)

    def _forget(self, uid: str, sandbox_id: str | None, container_id: str | None) -> None:
        sandboxes, containers = self._by_pod[uid]
        if sandbox_id is not None:
            del sandboxes[sandbox_id]
        if container_id is not None:
            del containers[container_id]
        if not sandboxes and not containers:
            del self._by_pod[uid]

    async def container_status(self, container_id: str) -> ContainerInfo:
        return self._container(container_id).info

    def _container(self, container_id: str) -> SimulatedContainer:
        container = self._containers.get(container_id)
        if container is None:
            raise NotFound(f'an error occurred when try to find container "{container_id}": not found')
        return container

    async def list_containers(self, pod_uid: str | None = None) -> list[ContainerInfo]:
        known = self._containers if pod_uid is None else self._by_pod.get(pod_uid, ({}, {}))[1]
        return [self._containers[identifier].info for identifier in known]

    async def update_container_resources(self, container_id: str, resources: RuntimeResources) -> None:
        container = self._container(container_id)
        await self._take(self.settings.latencies.update_container)
        container.update(resources)
        self._changed(container.info.pod_uid)

    async def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> ExecResult:
        """Run a command in a container; timeout 0: none."""
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
        container = self._container(container_id)
        if not container.runs() or container.process is None:
            raise RuntimeCallError(f"container not running ({container_id})")
        call = go(container.process.exec(command), f"exec {container_id}")
        ended = asyncio.get_running_loop().create_future()
        container.exited.append(ended)
        timer = self._clock.call_at(self._clock.now() + timeout, wake, ended, None) if timeout else None
        try:
            await asyncio.wait((call, ended), return_when=asyncio.FIRST_COMPLETED)
            if call.done():
                return call.result()
            if container.runs():
                text = f"timeout {timeout // SECOND}s exceeded: context deadline exceeded"
                raise DeadlineExceeded(f"failed to exec in container: {text}")
            return ExecResult(128 + SIGKILL)  # all processes of a container end with it
        finally:
            for waiter in (call, ended, timer):
                if waiter is not None:
                    waiter.cancel()

    # -- images -------------------------------------------------------------------------------------------------

    async def pull_image(self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: object = None) -> str:
        return await self.images.pull(image, auth)

    async def image_status(self, image: str) -> ImageInfo | None:
        return self.images.status(image)

    async def list_images(self) -> list[ImageInfo]:
        return self.images.list()

    async def remove_image(self, image_id: str) -> None:
        self.images.remove(image_id)
