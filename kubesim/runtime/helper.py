"""RuntimeHelper: the kubelet's interface for the runtime manager.

Imports point down the layers, so the runtime package defines these Protocols and the kubelet implements them.

Mirrors: pkg/kubelet/container/helpers.go RuntimeHelper and podStateProvider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.dns_config import DNSConfig
from kubesim.errors import KubesimError
from kubesim.runtime.allocation.swap import NodeSwap
from kubesim.runtime.hosts_file import HostsFile
from kubesim.runtime.protocol import ContainerConfig, UserNamespace
from kubesim.runtime.types import ContainerMount, DeviceInfo
from kubesim.values import value_object


class ContainerConfigError(KubesimError):
    """A container's environment or mounts cannot be created (a missing ConfigMap, key or Secret)."""


class DynamicResourcesError(KubesimError):
    """Resource claims of a pod could not be prepared or unprepared."""


class SandboxConfigError(KubesimError):
    """A pod's sandbox cannot be configured (its host name, its DNS, its user namespace, its RuntimeClass)."""


class EventRecorder(Protocol):
    """Emits Events about a pod, or about one of its containers (by name)."""

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None: ...


@value_object
class MemoryUsage:
    """In bytes: of the pod and by container name; None: unknown."""

    pod: int | None
    containers: Mapping[str, int | None]


@value_object
class RunContainerOptions:
    """Options that the kubelet adds to a container's configuration (kubecontainer.RunContainerOptions)."""

    env: tuple[tuple[str, str], ...] = ()
    mounts: tuple[ContainerMount, ...] = ()
    devices: tuple[DeviceInfo, ...] = ()
    cdi_devices: tuple[str, ...] = ()  # fully qualified: vendor.com/class=device
    annotations: tuple[tuple[str, str], ...] = ()
    hosts_file: HostsFile | None = None


@value_object
class PodDNS:
    """DNS settings of a pod. `warned`: every sync emits an Event about a problem with them."""

    config: DNSConfig
    warned: bool = False


class InternalContainerLifecycle(Protocol):
    """Hooks of the container manager before a container is created and started.

    Mirrors: pkg/kubelet/cm/internal_container_lifecycle.go
    """

    def pre_create_container(self, pod: Pod, container: Container, config: ContainerConfig) -> ContainerConfig: ...
    def pre_start_container(self, pod: Pod, container: Container, container_id: str) -> None: ...
    def has_cpu_quota(self, pod: Pod, container: Container | None = None) -> bool:
        """Whether to set a CPU quota. Containers and pods with exclusive CPUs need none."""
        ...


class RuntimeHelper(Protocol):
    """The kubelet's interface for the runtime manager."""

    @property
    def internal_lifecycle(self) -> InternalContainerLifecycle: ...

    @property
    def swap(self) -> NodeSwap | None:
        """None: the node has no swap."""

    async def prepare_dynamic_resources(self, pod: Pod) -> None:
        """Raises DynamicResourcesError."""

    def lookup_runtime_handler(self, pod: Pod) -> str:
        """The handler of the pod's RuntimeClass, empty for the default; raises SandboxConfigError."""
        ...

    def is_pod_termination_requested(self, uid: str) -> bool: ...
    def on_pod_sandbox_ready(self, pod: Pod) -> None: ...
    def request_pod_reinspect(self, uid: str) -> None: ...
    def pod_memory_usage(self, uid: str) -> MemoryUsage | None:
        """The pod's memory usage; None without measurements."""

    def generate_run_container_options(
        self, pod: Pod, container: Container, pod_ips: tuple[str, ...]
    ) -> RunContainerOptions:
        """Raises ContainerConfigError or SandboxConfigError."""
        ...

    def get_pod_dns(self, pod: Pod) -> PodDNS:
        """Raises SandboxConfigError."""
        ...

    def generate_pod_host_name_and_domain(self, pod: Pod) -> tuple[str, str]:
        """Raises SandboxConfigError."""
        ...

    def get_pod_cgroup_parent(self, pod: Pod) -> str: ...

    def get_or_create_user_namespace_mappings(self, pod: Pod) -> UserNamespace | None:
        """None: the mappings are not sent to the runtime. Raises SandboxConfigError."""
        ...
