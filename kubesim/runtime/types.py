"""What the kubelet knows of a pod's sandboxes and containers: the records that PLEG caches and decisions read.

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
    """The API form of a runtime's id."""
    return f"{runtime_name}://{bare}"


def bare_id(identifier: str) -> str:
    """The runtime's own id of an API form."""
    return identifier.partition("://")[2] or identifier


@value_object
class ContainerMount:
    """A volume in a container, or a path of the host (kubecontainer.Mount).

    On a simulated node the name of a volume and the path in it identify the path on the host.
    """

    name: str
    container_path: str
    sub_path: str = ""
    read_only: bool = False
    recursive_read_only: bool = False
    propagation: str = "private"
    host_path: str = ""  # of a device plugin's mount, which is of no volume


@value_object
class DeviceInfo:
    """A device of the host in a container (kubecontainer.DeviceInfo)."""

    path_on_host: str
    path_in_container: str
    permissions: str


@value_object
class ContainerUser:
    """The user and the groups of a container's processes; `supplemental_groups` are those beside the group `gid`."""

    uid: int = 0
    gid: int = 0
    supplemental_groups: tuple[int, ...] = ()


@value_object
class RuntimeResources:
    """Resources of a container as the runtime reports them, as quantity text; None = not reported.

    An update without a cpu request is only about the cpuset.
    """

    cpu_request: str | None = None
    cpu_limit: str | None = None
    memory_request: str | None = None
    memory_limit: str | None = None
    cpuset_cpus: str = ""  # `0-3,7`; empty: all
    cpuset_mems: str = ""
    unified: tuple[tuple[str, str], ...] = ()  # what else is written to the cgroup (v2), by file name


NO_RESOURCES = RuntimeResources()


@value_object
class ContainerRecord:
    """One container of the runtime, alive or dead (kubecontainer.Status)."""

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
    active: bool = True  # belongs to the newest sandbox, and that one is ready
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
    """Everything the runtime knows of one pod (kubecontainer.PodStatus). Both lists are newest first."""

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
    """A container or sandbox in a listing (kubecontainer.Container)."""

    id: str
    name: str
    state: ContainerRuntimeState
    hash: int = 0
    sandbox_id: str = ""


@value_object
class RuntimePod:
    """A pod in a listing (kubecontainer.Pod): what PLEG compares from one relist to the next."""

    uid: str
    name: str = ""
    namespace: str = ""
    created_at: int = 0
    containers: tuple[ListedContainer, ...] = ()
    sandboxes: tuple[ListedContainer, ...] = field(default=())
