"""What the runtime manager asks of the kubelet above it.

The layers point down, so the lower one owns these Protocols and the kubelet implements them.
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
    """The resource claims of a pod cannot be prepared, or not be unprepared."""


class SandboxConfigError(KubesimError):
    """A pod's sandbox cannot be configured (its host name, its DNS, its user namespace, its RuntimeClass)."""


class EventRecorder(Protocol):
    """Tells about a pod, or about one of its containers (by name)."""

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None: ...


@value_object
class MemoryUsage:
    """In bytes, of the pod as a whole and by container name; None: not known."""

    pod: int | None
    containers: Mapping[str, int | None]


@value_object
class RunContainerOptions:
    """What the kubelet adds to the configuration of a container (kubecontainer.RunContainerOptions)."""

    env: tuple[tuple[str, str], ...] = ()
    mounts: tuple[ContainerMount, ...] = ()
    devices: tuple[DeviceInfo, ...] = ()
    cdi_devices: tuple[str, ...] = ()  # fully qualified names: vendor.com/class=device
    annotations: tuple[tuple[str, str], ...] = ()
    hosts_file: HostsFile | None = None


@value_object
class PodDNS:
    """The DNS settings of a pod. `warned`: an Event reports a problem with them, at every sync."""

    config: DNSConfig
    warned: bool = False


class InternalContainerLifecycle(Protocol):
    """What the container manager does before a container is created, and before it is started.

    Mirrors: pkg/kubelet/cm/internal_container_lifecycle.go
    """

    def pre_create_container(self, pod: Pod, container: Container, config: ContainerConfig) -> ContainerConfig: ...
    def pre_start_container(self, pod: Pod, container: Container, container_id: str) -> None: ...
    def has_cpu_quota(self, pod: Pod, container: Container | None = None) -> bool:
        """A container, or else a pod, with CPUs of its own needs none."""
        ...


class RuntimeHelper(Protocol):
    """The kubelet as the runtime manager sees it."""

    @property
    def internal_lifecycle(self) -> InternalContainerLifecycle: ...

    @property
    def swap(self) -> NodeSwap | None:
        """None: the node has none."""

    async def prepare_dynamic_resources(self, pod: Pod) -> None:
        """Raises DynamicResourcesError."""

    def lookup_runtime_handler(self, pod: Pod) -> str:
        """The handler of the pod's RuntimeClass, empty for the default; raises SandboxConfigError."""
        ...

    def is_pod_termination_requested(self, uid: str) -> bool: ...
    def on_pod_sandbox_ready(self, pod: Pod) -> None: ...
    def request_pod_reinspect(self, uid: str) -> None: ...
    def pod_memory_usage(self, uid: str) -> MemoryUsage | None:
        """None if it is not measured."""

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
        """None: not to be mentioned to the runtime. Raises SandboxConfigError."""
        ...
