"""`Runtime`: the kubelet's interface to a container runtime, shaped like CRI.

`SimulatedRuntime` implements it; `SandboxedRuntime` adds sandboxes on a real network (`--runtime cni`). Ids are the
runtime's, without the API's `containerd://`. Durations and times are microseconds. A failed call raises
`RuntimeCallError` with the runtime's message, or `NotFound` for a missing object.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal, Protocol, TypeVar

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.errors import RuntimeCallError
from kubesim.runtime.allocation.cgroups import ResourceConfig
from kubesim.runtime.hosts_file import HostsFile
from kubesim.runtime.images.pull_credentials import AuthConfig
from kubesim.runtime.types import (
    ContainerMount,
    ContainerRuntimeState,
    ContainerUser,
    DeviceInfo,
    RuntimeResources,
    SandboxNetwork,
)
from kubesim.values import value_object

T = TypeVar("T")
UNKNOWN_ERROR = "rpc error: code = Unknown desc = "
CANCELLED = "rpc error: code = Canceled desc = context canceled"


class NotFound(RuntimeCallError):
    """The sandbox, container or image does not exist."""


class SetupNetworkFailed(RuntimeCallError):
    """The pod network could not be set up, in a kubelet that called network plugins itself."""


class DeadlineExceeded(RuntimeCallError):
    """A call exceeded its timeout."""


class CallContext(Protocol):
    """Go's context of a call: its cancellation ends a call over the wire immediately."""

    cancelled: bool

    async def race(self, future: asyncio.Future[T]) -> T:
        """The result of the future; raises SyncCancelled if the context is cancelled first."""
        ...


NamespaceMode = Literal["POD", "CONTAINER", "NODE", "TARGET"]


@value_object
class IdMapping:
    """An id range of a user namespace."""

    container_id: int
    host_id: int
    length: int


@value_object
class UserNamespace:
    """With mode POD, the pod's ids are mapped to other ids of the node."""

    uids: tuple[IdMapping, ...] = ()
    gids: tuple[IdMapping, ...] = ()
    mode: NamespaceMode = "POD"


HOST_USERS = UserNamespace(mode="NODE")


@value_object
class NamespaceOptions:
    """CRI's NamespaceOption: each namespace is the pod's, the container's, the node's or another container's."""

    network: NamespaceMode = "POD"
    pid: NamespaceMode = "CONTAINER"
    ipc: NamespaceMode = "POD"
    target_id: str = ""  # for pid TARGET: the container whose namespace is joined
    users: UserNamespace | None = HOST_USERS


PLAIN_NAMESPACES = NamespaceOptions()
_NO_SYSCTLS: Mapping[str, str] = {}


@value_object
class LinuxSandboxConfig:
    """CRI's LinuxPodSandboxConfig."""

    cgroup_parent: str = ""
    sysctls: Mapping[str, str] = field(default_factory=lambda: _NO_SYSCTLS)
    namespaces: NamespaceOptions = PLAIN_NAMESPACES


PLAIN_LINUX = LinuxSandboxConfig()


@value_object
class SecurityProfile:
    """A seccomp or AppArmor profile; `localhost_ref` is the path or name of a profile on the node."""

    profile_type: Literal["RuntimeDefault", "Unconfined", "Localhost"]
    localhost_ref: str = ""


@value_object
class LinuxContainerSecurityContext:
    privileged: bool
    seccomp: SecurityProfile
    apparmor: SecurityProfile | None = None  # None: the runtime's default


@value_object
class SandboxConfig:
    """The argument of RunPodSandbox: the sandbox's identity and its configuration."""

    pod: Pod
    attempt: int
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    hostname: str = ""
    log_directory: str = ""
    dns: DNSConfig | None = None
    linux: LinuxSandboxConfig = PLAIN_LINUX
    runtime_handler: str = ""  # of the pod's RuntimeClass; empty: the runtime's default


@value_object
class ContainerConfig:
    """The argument of CreateContainer."""

    container: Container
    attempt: int
    image_ref: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    log_path: str = ""
    resources: RuntimeResources | None = None
    env: tuple[tuple[str, str], ...] = ()
    mounts: tuple[ContainerMount, ...] = ()
    user: ContainerUser = ContainerUser()
    stop_signal: str = ""  # `SIGUSR1`; empty: the image's
    devices: tuple[DeviceInfo, ...] = ()
    cdi_devices: tuple[str, ...] = ()
    hosts_file: HostsFile | None = None  # mounted at /etc/hosts by the kubelet
    namespaces: NamespaceOptions = PLAIN_NAMESPACES
    security_context: LinuxContainerSecurityContext | None = None  # None: no settings


@value_object
class SandboxInfo:
    """A sandbox in a listing or status."""

    id: str
    pod_uid: str
    pod_name: str
    pod_namespace: str
    attempt: int
    ready: bool
    created_at: int
    network_namespace: Literal["POD", "NODE"] = "POD"
    network: SandboxNetwork | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


@value_object
class ContainerInfo:
    """A container in a listing or status."""

    id: str
    sandbox_id: str
    pod_uid: str
    name: str
    attempt: int
    state: ContainerRuntimeState
    created_at: int
    started_at: int | None = None
    finished_at: int | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    image: str = ""
    image_id: str = ""
    image_ref: str = ""
    log_path: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    resources: RuntimeResources | None = None
    stop_signal: str = ""
    user: ContainerUser | None = None  # None: not reported


ContainerEventType = Literal[
    "CONTAINER_CREATED_EVENT", "CONTAINER_STARTED_EVENT", "CONTAINER_STOPPED_EVENT", "CONTAINER_DELETED_EVENT"
]


@value_object
class ContainerEventResponse:
    """A container event: the state of a sandbox (None: gone) and all its containers after a change.

    `cause` is the trace record of the change.
    """

    type: ContainerEventType
    container_id: str
    created_at: int
    sandbox: SandboxInfo | None
    containers: tuple[ContainerInfo, ...]
    cause: int | None = None


@value_object
class ImageInfo:
    id: str
    tags: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    size: int = 0
    pinned: bool = False
    uid: int | None = None  # the user from the image config; root if uid and username are both empty
    username: str = ""
    stop_signal: str = ""  # `SIGQUIT`; empty: SIGTERM


@value_object
class ExecResult:
    exit_code: int
    stdout: str = ""
    stderr: str = ""


@value_object
class RuntimeHandler:
    """Features of a runtime handler; the empty name is the default handler."""

    name: str = ""
    user_namespaces: bool = True


@value_object
class RuntimeConditions:
    """RuntimeReady and NetworkReady: empty if true, otherwise the reason; and the handlers."""

    runtime_problem: str = ""
    network_problem: str = ""
    handlers: tuple[RuntimeHandler, ...] = (RuntimeHandler(), RuntimeHandler("runc"))


class Runtime(Protocol):
    """The calls of CRI that the kubelet makes. Contract:

    - Removing a sandbox or container that does not exist succeeds; any other call raises NotFound. Stopping one that
      has already stopped succeeds.
    - `run_pod_sandbox` returns after the network is set up. If it fails, it leaves nothing that another call needs to
      clean up, except where CNI's DEL failed.
    - `stop_container` returns after the container has exited, on its stop signal or by SIGKILL after `timeout` s.
    - Lists are snapshots. `pod_uid` restricts them to one pod.
    - A failed call raises RuntimeCallError with the text of the runtime.
    - Listeners of `on_change` are called with the UID of a pod after one of its sandboxes or containers changed.
    """

    name: str

    async def status(self) -> RuntimeConditions: ...

    async def run_pod_sandbox(self, config: SandboxConfig) -> str: ...
    async def stop_pod_sandbox(self, sandbox_id: str) -> None: ...
    async def remove_pod_sandbox(self, sandbox_id: str) -> None: ...
    async def pod_sandbox_status(self, sandbox_id: str) -> SandboxInfo: ...
    async def list_pod_sandboxes(self, pod_uid: str | None = None) -> list[SandboxInfo]: ...
    async def update_pod_sandbox_resources(self, sandbox_id: str, resources: ResourceConfig) -> None: ...

    async def create_container(self, sandbox_id: str, config: ContainerConfig, sandbox: SandboxConfig) -> str: ...
    async def start_container(self, container_id: str) -> None: ...
    async def stop_container(self, container_id: str, timeout: int) -> None: ...
    async def remove_container(self, container_id: str) -> None: ...
    async def container_status(self, container_id: str) -> ContainerInfo: ...
    async def list_containers(self, pod_uid: str | None = None) -> list[ContainerInfo]: ...
    async def update_container_resources(self, container_id: str, resources: RuntimeResources) -> None: ...
    async def exec_sync(
        self, container_id: str, command: tuple[str, ...], timeout: int, context: CallContext | None = None
    ) -> ExecResult: ...

    async def get_container_events(self, listener: Callable[[ContainerEventResponse], object]) -> None:
        """Stream events until the connection breaks, then raise RuntimeCallError."""
        ...

    async def pull_image(
        self, image: str, pod: Pod, auth: AuthConfig | None = None, sandbox: SandboxConfig | None = None
    ) -> str: ...
    async def image_status(self, image: str) -> ImageInfo | None: ...
    async def list_images(self) -> list[ImageInfo]: ...
    async def remove_image(self, image_id: str) -> None: ...

    def on_change(self, listener: Callable[[str], None]) -> None: ...
