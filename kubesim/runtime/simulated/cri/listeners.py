"""Notifications of a simulated runtime: conditions, sandboxes, changes, exits, container events, trace steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kubesim.clock import Awaited, LoopClock
from kubesim.runtime.protocol import (
    ContainerEventResponse,
    ContainerEventType,
    ContainerInfo,
    NotFound,
    RuntimeConditions,
    SandboxInfo,
)
from kubesim.runtime.simulated.addresses import Addresses
from kubesim.runtime.simulated.containers.container_process import Exit
from kubesim.runtime.simulated.cri.watcher import RuntimeWatcher
from kubesim.runtime.simulated.settings import SimulatedSettings
from kubesim.trace import Recorder
from kubesim.trace.records import ContainerEvent
from kubesim.values import replace

if TYPE_CHECKING:
    from kubesim.runtime.simulated.cri.sandbox_walk import SandboxWalk

ExitListener = Callable[[str, Exit], None]


class RuntimeListeners:
    """The notifying part of a runtime; `_containers_of` is the runtime's."""

    def __init__(self, clock: LoopClock, settings: SimulatedSettings | None) -> None:
        self.settings = settings or SimulatedSettings()
        self._clock = clock
        self._sandboxes: dict[str, SandboxInfo] = {}
        self._addresses = Addresses(self.settings.first_ip)
        self._listeners: list[Callable[[str], None]] = []
        self._exit_listeners: list[ExitListener] = []
        self._event_listeners: list[Callable[[ContainerEventResponse], object]] = []
        self._conditions = RuntimeConditions(handlers=self.settings.reported_handlers)
        self._recorder: Recorder | None = None
        self._node = ""
        self._walk: SandboxWalk | None = None
        self.watcher = RuntimeWatcher()

    def on_change(self, listener: Callable[[str], None]) -> None:
        self._listeners.append(listener)

    def on_exit(self, listener: ExitListener) -> None:
        """Call the listener with the id and exit of every container that ends."""
        self._exit_listeners.append(listener)

    def trace_to(self, recorder: Recorder, node: str) -> None:
        """Record the steps of calls as details in this trace; faults in steps require one."""
        self._recorder, self._node = recorder, node

    async def get_container_events(self, listener: Callable[[ContainerEventResponse], object]) -> None:
        """Send every event to the listener until the caller stops."""
        self._event_listeners.append(listener)
        try:
            await Awaited[None]("container events")
        finally:
            self._event_listeners.remove(listener)

    def sandbox_walk(self) -> SandboxWalk | None:
        """The steps of RunPodSandbox, if a trace needs them or one has a fault."""
        recorder = self._recorder
        if recorder is None or not (recorder.details or self.settings.sandbox_faults):
            return None
        if self._walk is None:
            from kubesim.runtime.simulated.cri.sandbox_walk import SandboxWalk  # needed by few runs

            self._walk = SandboxWalk(recorder, self._node, self.settings)
        return self._walk

    async def status(self) -> RuntimeConditions:
        return self._conditions

    def set_conditions(self, conditions: RuntimeConditions) -> None:
        """Set the runtime's and network's readiness. Listeners are notified without a pod UID."""
        self._conditions = replace(conditions, handlers=self.settings.reported_handlers)
        self._changed("")

    def go_down(self) -> None:
        """The runtime process stops. Its state on disk survives."""

    def start_up(self) -> None:
        """The runtime process starts again."""
        self.trace_start_up()

    def trace_start_up(self) -> None:
        """Record its start-up steps as details of the trace."""
        walk = self.sandbox_walk()
        if walk is not None:
            from kubesim.runtime.simulated.cri.start_up import START_UP, START_UP_1

            for step in START_UP_1 if self.settings.containerd == "1.7" else START_UP:
                walk.record_step("CRI plugin", step, "")

    def _changed(self, uid: str) -> None:
        for listener in self._listeners:
            listener(uid)

    def _send(self, type: ContainerEventType, identifier: str, sandbox_id: str, name: str = "") -> None:
        """Send a container event; `name` is empty for the sandbox itself."""
        recorder, sandbox = self._recorder, self._sandboxes.get(sandbox_id)
        if recorder is not None and recorder.details:
            pod = "" if sandbox is None else f"{sandbox.pod_namespace}/{sandbox.pod_name}"
            recorder.detail(ContainerEvent(node=self._node, pod=pod, container=name, type=type, id=identifier))
        if self._event_listeners:
            cause = None if recorder is None else recorder.cause()
            containers = tuple(self._containers_of(sandbox_id))
            event = ContainerEventResponse(type, identifier, self._clock.now(), sandbox, containers, cause)
            for listener in self._event_listeners:
                listener(event)

    def _send_of(self, type: ContainerEventType, info: ContainerInfo) -> None:
        self._send(type, info.id, info.sandbox_id, info.name)

    def _notify_nri(self, event: str, info: SandboxInfo) -> None:
        walk = self.sandbox_walk()
        if walk is not None:
            walk.record_step("NRI", event, f"{info.pod_namespace}/{info.pod_name}")

    def _sandbox_is_up(self, info: SandboxInfo) -> None:
        """containerd's actions after storing a sandbox."""
        self._send("CONTAINER_CREATED_EVENT", info.id, info.id)
        walk = self.sandbox_walk()
        if walk is not None:
            walk.record_step("RunPodSandbox", "watch for the sandbox' exit", f"{info.pod_namespace}/{info.pod_name}")
        self._send("CONTAINER_STARTED_EVENT", info.id, info.id)

    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxInfo:
        return self._sandbox(sandbox_id)

    def _sandbox(self, sandbox_id: str) -> SandboxInfo:
        info = self._sandboxes.get(sandbox_id)
        if info is None:
            raise NotFound(f'an error occurred when try to find sandbox "{sandbox_id}": not found')
        return info

    def _has_network(self, sandbox_id: str) -> bool:
        """Whether the containers of a sandbox have a network at their start: the sandbox's or the node's."""
        info = self._sandboxes[sandbox_id]
        return info.network_namespace == "NODE" or (info.network is not None and bool(info.network.ip))

    def _containers_of(self, sandbox_id: str) -> list[ContainerInfo]:
        raise NotImplementedError
