"""Runtime types of sandboxes, containers and pods, which the PLEG caches and decisions read.

Mirrors: pkg/kubelet/container/runtime.go (PodStatus, Status, Pod, Container). Times are microseconds since the epoch,
None is Go's zero time. Container ids are in their API form, `containerd://<id>`, in old profiles
`docker://<id>`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from kubesim.values import value_object

ContainerRuntimeState = Literal["created", "running", "exited", "unknown"]
ProbeResult = Literal["success", "failure", "unknown"]

RUNTIME_NAME = "containerd"


def container_id(bare: str, runtime_name: str = RUNTIME_NAME) -> str:
    """The API form of a runtime's container id."""
    return f"{runtime_name}://{bare}"


def bare_id(identifier: str) -> str:
    """The runtime's id of an API form."""
    return identifier.partition("://")[2] or identifier


@value_object
class ContainerMount:
    """A mount of a container: a volume or a host path (kubecontainer.Mount).

    On a simulated node, the volume's name and the path in it identify the host path.
    """

    name: str
    container_path: str
    sub_path: str = ""
    read_only: bool = False
    recursive_read_only: bool = False
    propagation: str = "private"
    host_path: str = ""  # for a device plugin's mount, which has no volume


@value_object
class DeviceInfo:
    """A host device in a container (kubecontainer.DeviceInfo)."""

    path_on_host: str
    path_in_container: str
    permissions: str


@value_object
class ContainerUser:
    """User and groups of a container's processes; `supplemental_groups` exclude `gid`."""

    uid: int = 0
    gid: int = 0
    supplemental_groups: tuple[int, ...] = ()


@value_object
class RuntimeResources:
    """A container's resources as reported by the runtime, as quantity text; None: not reported.

    An update without a cpu request changes only the cpuset.
    """

    cpu_request: str | None = None
    cpu_limit: str | None = None
    memory_request: str | None = None
    memory_limit: str | None = None
    cpuset_cpus: str = ""  # `0-3,7`; empty: all
    cpuset_mems: str = ""
    unified: tuple[tuple[str, str], ...] = ()  # other cgroup v2 files, by name


NO_RESOURCES = RuntimeResources()


@value_object
class ContainerRecord:
    """A container of the runtime, running or dead (kubecontainer.Status)."""

    id: str
    name: str
    state: ContainerRuntimeState
    hash: int = 0
    restart_count: int = 0
    created_at: int = 0
    started_at: int | None = None
    finished_at: int | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""
    image: str = ""
    image_id: str = ""
    image_ref: str = ""
    active: bool = True  # belongs to the newest sandbox, which is ready
    resources: RuntimeResources | None = None
    stop_signal: str = ""
    user: ContainerUser | None = None  # None: the runtime does not report it


@value_object
class SandboxNetwork:
    ip: str = ""
    additional_ips: tuple[str, ...] = ()


@value_object
class SandboxRecord:
    id: str
    attempt: int = 0
    ready: bool = True
    created_at: int = 0
    network_namespace: Literal["POD", "NODE"] = "POD"
    network: SandboxNetwork | None = None


@value_object
class RuntimePodStatus:
    """The runtime status of one pod (kubecontainer.PodStatus). Both lists are newest first."""

    uid: str
    name: str = ""
    namespace: str = ""
    ips: tuple[str, ...] = ()
    sandboxes: tuple[SandboxRecord, ...] = ()
    containers: tuple[ContainerRecord, ...] = ()

    def find(self, name: str) -> ContainerRecord | None:
        """The newest record of a container name."""
        for record in self.containers:
            if record.name == name:
                return record
        return None


@value_object
class ListedContainer:
    """A listed container or sandbox (kubecontainer.Container)."""

    id: str
    name: str
    state: ContainerRuntimeState
    hash: int = 0
    sandbox_id: str = ""


@value_object
class RuntimePod:
    """A listed pod (kubecontainer.Pod), which the PLEG compares between relists."""

    uid: str
    name: str = ""
    namespace: str = ""
    created_at: int = 0
    containers: tuple[ListedContainer, ...] = ()
    sandboxes: tuple[ListedContainer, ...] = field(default=())
