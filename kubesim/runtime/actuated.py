"""What resources the kubelet last applied to each container and pod: the yardstick for an in-place resize.

Mirrors: pkg/kubelet/allocation/state (the actuated state that the runtime manager keeps)
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.pod import Container, Pod, ResourceRequirements

_NONE: Mapping[str, ResourceRequirements] = {}


class ActuatedState:
    """By pod uid and container name. A container that was never started has no entry."""

    def __init__(self) -> None:
        self._containers: dict[str, dict[str, ResourceRequirements]] = {}
        self._pods: dict[str, ResourceRequirements] = {}

    def started(self, pod: Pod, container: Container) -> None:
        """A container is created with what its spec says."""
        self._containers.setdefault(pod.metadata.uid, {})[container.name] = container.resources

    def pod_cgroup_made(self, pod: Pod) -> None:
        if pod.spec.resources is not None:
            self._pods[pod.metadata.uid] = pod.spec.resources

    def containers(self, uid: str) -> Mapping[str, ResourceRequirements]:
        return self._containers.get(uid, _NONE)

    def pod(self, uid: str) -> ResourceRequirements | None:
        return self._pods.get(uid)

    def forget(self, uid: str) -> None:
        self._containers.pop(uid, None)
        self._pods.pop(uid, None)
