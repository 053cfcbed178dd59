"""What the runtime manager asks of the kubelet above it.

The layers point down, so the lower one owns these Protocols and the kubelet implements them.
Mirrors: pkg/kubelet/container/helpers.go RuntimeHelper and podStateProvider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kubesim.api.pod import Container, Pod
from kubesim.errors import KubesimError
from kubesim.runtime.types import ContainerMount
from kubesim.values import value_object


class ContainerConfigError(KubesimError):
    """A container's environment or mounts cannot be made (a missing ConfigMap, key or Secret)."""


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


class RuntimeHelper(Protocol):
    """The kubelet as the runtime manager sees it."""

    def is_pod_termination_requested(self, uid: str) -> bool: ...
    def on_pod_sandbox_ready(self, pod: Pod) -> None: ...
    def request_pod_reinspect(self, uid: str) -> None: ...
    def pod_memory_usage(self, uid: str) -> MemoryUsage | None:
        """None where nobody measures it."""

    def generate_run_container_options(
        self, pod: Pod, container: Container, pod_ips: tuple[str, ...]
    ) -> RunContainerOptions:
        """Raises ContainerConfigError."""
        ...
