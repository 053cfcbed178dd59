"""The runtime process, which can stop and restart, and the kubelets' connections to it.

While it is down, new calls and calls in progress fail; containers keep running. It can also hang: it reports that it is
healthy, but listings do not return. Calls have the kubelet's timeouts: `runtimeRequestTimeout`, twice that for a
sandbox, plus the grace period to stop a container, none for an image pull. When a kubelet ends, its connection closes.

Mirrors: cri-client/pkg remote_runtime.go, remote_image.go (timeouts)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE
from kubesim.clock import Awaited, LoopClock
from kubesim.errors import RuntimeCallError
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.protocol import (
    CallContext,
    ContainerConfig,
    ContainerEventResponse,
    ContainerInfo,
    ExecResult,
    ImageInfo,
    Runtime,
    RuntimeConditions,
    SandboxConfig,
    SandboxInfo,
)
from kubesim.runtime.types import RuntimeResources

T = TypeVar("T")
Call = Coroutine[Any, Any, T]

REFUSED = (
    'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: '
    'dial unix /run/containerd/containerd.sock: connect: connection refused"'
)
CUT_OFF = "rpc error: code = Unavailable desc = error reading from server: EOF"
LATE = "rpc error: code = DeadlineExceeded desc = context deadline exceeded"
REQUEST_TIMEOUT = 2 * MINUTE
_AT_ONCE = (
    "status", "pod_sandbox_status", "list_pod_sandboxes", "container_status", "list_containers", "image_status",
    "list_images", "remove_pod_sandbox", "update_pod_sandbox_resources", "remove_container",
    "update_container_resources", "remove_image",
)  # fmt: skip
CLOSED = "rpc error: code = Canceled desc = grpc: the client connection is closing"


def refusal(call: str) -> str:
    """The error of calls while containerd is down."""
    return REFUSED


class RuntimeService:
    """The socket of a node's runtime. `limits_all_calls`: calls that usually return at once may take time, so they have
    a timeout too. `refusal` returns the error of a call while the runtime is down.
    """

    def __init__(
        self,
        runtime: Runtime,
        clock: LoopClock,
        refusal: Callable[[str], str] = refusal,
        *,
        limits_all_calls: bool = False,
    ) -> None:
        self.limits_all_calls = limits_all_calls
        self.refusal = refusal
        self.runtime = runtime
        self.clock = clock
        self.up = True
        self.hangs = False
        self.disturbed_at = 0  # last time it stopped, hung or recovered
        self._connections: list[RuntimeConnection] = []
        self._waiting: dict[asyncio.Future[None], None] = {}
        runtime.on_change(self._changed)

    def connect(self, request_timeout: int = REQUEST_TIMEOUT, *, limits_sandboxes: bool = True) -> RuntimeConnection:
        """`limits_sandboxes` False: the caller runs sandboxes itself, without a timeout."""
        connection = RuntimeConnection(self, request_timeout, limits_sandboxes)
        self._connections.append(connection)
        connection.reaches(self.runtime if self.up else _Unreachable(self.refusal))
        return connection

    def disconnect(self, connection: RuntimeConnection) -> None:
        if connection in self._connections:
            self._connections.remove(connection)

    def serve(self, runtime: Runtime) -> None:
        """Set the runtime that connections reach from now on."""
        self.runtime = runtime
        for connection in self._connections:
            connection.reaches(runtime)

    def stop(self) -> None:
        self.up = False
        self.disturbed_at = self.clock.now()
        for connection in self._connections:
            connection.reaches(_Unreachable(self.refusal))
            connection.cut_off()
            for listener in connection.listeners:
                listener("")

    def start(self) -> None:
        self.up = True
        self.disturbed_at = self.clock.now()
        self.serve(self.runtime)
        self._changed("")

    def hang(self) -> None:
        """Block listings from now on."""
        self.hangs = True
        self.disturbed_at = self.clock.now()

    def recover(self) -> None:
        """Unblock the waiting listings in the order of their requests."""
        self.hangs = False
        self.disturbed_at = self.clock.now()
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def answers(self) -> None:
        """Returns when it does not hang."""
        future: Awaited[None] = Awaited("the runtime, which hangs")
        self._waiting[future] = None
        try:
            await future
        finally:
            del self._waiting[future]

    def _changed(self, uid: str) -> None:
        if self.up:  # a later start lists everything anyway
            for connection in self._connections:
                for listener in connection.listeners:
                    listener(uid)


class _Unreachable:
    """Replaces an unreachable runtime: every call fails."""

    def __init__(self, why: Callable[[str], str]) -> None:
        self._why = why

    def __getattr__(self, name: str) -> Any:
        raise RuntimeCallError(self._why(name))


class RuntimeConnection:
    """One kubelet's connection; implements `Runtime`."""

    def __init__(self, service: RuntimeService, request_timeout: int, limits_sandboxes: bool) -> None:
        self.name = service.runtime.name
        self._service = service
        self.listeners: list[Callable[[str], None]] = []
        self._request_timeout = request_timeout
        self._sandbox_timeout = request_timeout if limits_sandboxes else None
        self._calls: dict[asyncio.Task[Any], str] = {}  # tasks with a call in progress -> reason for its cancellation
        self._runtime: Runtime  # set by the service
        for name in _AT_ONCE if service.limits_all_calls else ():
            setattr(self, name, self._with_timeout(getattr(self, name)))

    def _with_timeout(self, call: Callable[..., Call[T]]) -> Callable[..., Call[T]]:
        return lambda *args: self._takes_time(call(*args), self._request_timeout)

    def on_change(self, listener: Callable[[str], None]) -> None:
        self.listeners.append(listener)

    def reaches(self, runtime: Runtime | _Unreachable) -> None:
        self._runtime = cast(Runtime, runtime)

    def close(self) -> None:
        self.reaches(_Unreachable(lambda call: CLOSED))
        self.listeners.clear()
        self._service.disconnect(self)

    def cut_off(self) -> None:
        """Fail the calls in progress."""
        for task in self._calls:
            self._give_up(task, CUT_OFF)

    def _give_up(self, task: asyncio.Task[Any], why: str) -> None:
        if not self._calls[task]:
            self._calls[task] = why
            task.cancel(why)

    async def _takes_time(self, call: Call[T], timeout: int | None) -> T:
        """A call with a timeout: its task is cancelled, which becomes an error of the call. Calls can be nested."""
        task, clock = asyncio.current_task(), self._service.clock
        assert task is not None
        outer = self._calls.get(task)
        self._calls[task] = ""
        timer = None if timeout is None else clock.call_at(clock.now() + timeout, self._give_up, task, LATE)
        try:
            return await call
        except asyncio.CancelledError:
            why = self._calls[task]
            if why and task.uncancel() == 0:
                raise RuntimeCallError(why) from None
            raise
        finally:
            if timer is not None:
                timer.cancel()
            if outer is None:
                del self._calls[task]
            else:
                self._calls[task] = outer

    async def _late(self, call: Callable[[Runtime], Call[T]]) -> T:
        """A call to a runtime that hangs."""
        await self._takes_time(self._service.answers(), self._request_timeout)
        return await call(self._runtime)

    # -- immediate calls --------------------------------------------------------------------------------------------

    def status(self) -> Call[RuntimeConditions]:
        return self._runtime.status()

    def pod_sandbox_status(self, sandbox_id: str) -> Call[SandboxInfo]:
        return self._runtime.pod_sandbox_status(sandbox_id)

    def list_pod_sandboxes(self, pod_uid: str | None = None) -> Call[list[SandboxInfo]]:
        if self._service.hangs:
            return self._late(lambda runtime: runtime.list_pod_sandboxes(pod_uid))
        return self._runtime.list_pod_sandboxes(pod_uid)

    def container_status(self, container_id: str) -> Call[ContainerInfo]:
        return self._runtime.container_status(container_id)

    def list_containers(self, pod_uid: str | None = None) -> Call[list[ContainerInfo]]:
        if self._service.hangs:
            return self._late(lambda runtime: runtime.list_containers(pod_uid))
        return self._runtime.list_containers(pod_uid)

    def image_status(self, image: str) -> Call[ImageInfo | None]:
        return self._runtime.image_status(image)

    def list_images(self) -> Call[list[ImageInfo]]:
        return self._runtime.list_images()

    def remove_pod_sandbox(self, sandbox_id: str) -> Call[None]:
        return self._runtime.remove_pod_sandbox(sandbox_id)

    def update_pod_sandbox_resources(self, sandbox_id: str, resources: ResourceConfig) -> Call[None]:
        return self._runtime.update_pod_sandbox_resources(sandbox_id, resources)

    def remove_container(self, container_id: str) -> Call[None]:
        return self._runtime.remove_container(container_id)

    def update_container_resources(self, container_id: str, resources: RuntimeResources) -> Call[None]:
        return self._runtime.update_container_resources(container_id, resources)

    def remove_image(self, image_id: str) -> Call[None]:
        return self._runtime.remove_image(image_id)

    # -- taking their time --------------------------------------------------------------------------------------

    def run_pod_sandbox(self, config: SandboxConfig) -> Call[str]:
        timeout = None if self._sandbox_timeout is None else 2 * self._sandbox_timeout
        return self._takes_time(self._runtime.run_pod_sandbox(config), timeout)

    def stop_pod_sandbox(self, sandbox_id: str) -> Call[None]:
        return self._takes_time(self._runtime.stop_pod_sandbox(sandbox_id), self._sandbox_timeout)

    def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> Call[str]:
        call = self._runtime.create_container(sandbox_id, config, sandbox)
        return self._takes_time(call, self._request_timeout)

    def start_container(self, container_id: str) -> Call[None]:
        return self._takes_time(self._runtime.start_container(container_id), self._request_timeout)

    def stop_container(self, container_id: str, timeout: int) -> Call[None]:
        return self._takes_time(self._runtime.stop_container(container_id, timeout), self._request_timeout + timeout)

    def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> Call[ExecResult]:
        call = self._runtime.exec_sync(container_id, command, timeout, context)
        return self._takes_time(call, self._request_timeout + timeout if timeout else None)

    def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> Call[str]:
        return self._takes_time(self._runtime.pull_image(image, pod, auth, sandbox), None)

    def get_container_events(self, listener: Callable[[ContainerEventResponse], object]) -> Call[None]:
        def received(event: ContainerEventResponse) -> None:
            if self._service.up:
                listener(event)

        return self._takes_time(self._runtime.get_container_events(received), None)
