"""The resources that the kubelet last applied to each container and pod; an in-place resize compares against them.

Mirrors: pkg/kubelet/allocation/state (the actuated state that the runtime manager keeps); kuberuntime_manager.go
UpdateActuatedPodLevelResources; kuberuntime_container.go setActuatedContainerResources; pkg/kubelet/util GetLimits
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from kubesim.api.pod import Container, Pod, ResourceList, ResourceRequirements
from kubesim.api.pods.resources import CPU, MEMORY
from kubesim.api.quantity import quantity
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.allocation.state_file import nothing_watches

_NONE: Mapping[str, ResourceRequirements] = {}
_POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"


class ActuatedState:
    """Actuated resources by pod UID and container name. A pod whose cgroup was never created has no entry."""

    CONTENT: ClassVar[tuple[str, ...]] = ("_containers", "_pods")

    def __init__(self) -> None:
        self.on_write: Callable[[], object] = nothing_watches
        self._containers: dict[str, Mapping[str, ResourceRequirements]] = {}  # copied on change
        self._pods: dict[str, ResourceRequirements] = {}

    def started(self, pod: Pod, container: Container, gates: FeatureGates = DEFAULT_GATES) -> None:
        """A container was created or updated with the resources of this spec."""
        actuated, uid = effective_requirements(pod, container.resources, gates), pod.metadata.uid
        known = self._containers.get(uid, _NONE)
        if known.get(container.name) is not actuated:
            self._containers[uid] = {**known, container.name: actuated}
            self.on_write()

    def pod_cgroup_made(self, pod: Pod, gates: FeatureGates = DEFAULT_GATES) -> None:
        """Containers that have not started yet are recorded with the resources that they will start with."""
        uid, spec = pod.metadata.uid, pod.spec
        if uid not in self._containers and uid not in self._pods:
            for container in (*spec.init_containers, *spec.containers):
                self.started(pod, container, gates)
        resources = spec.resources
        if resources is not None and (resources.requests or resources.limits):
            self._pods[uid] = resources
            self.on_write()

    def pod_resized(self, pod: Pod, resource: str) -> None:
        """One pod-level resource now equals its spec."""
        wanted = pod.spec.resources
        if wanted is None:
            return
        before = self._pods.get(pod.metadata.uid) or ResourceRequirements()
        self._pods[pod.metadata.uid] = before.changed(
            requests=_with(before.requests, wanted.requests, resource),
            limits=_with(before.limits, wanted.limits, resource),
        )
        self.on_write()

    def containers(self, uid: str) -> Mapping[str, ResourceRequirements]:
        """The containers' resources; the same object until one of them changes."""
        return self._containers.get(uid, _NONE)

    def pod(self, uid: str) -> ResourceRequirements | None:
        return self._pods.get(uid)

    def uids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self._containers, *self._pods)))

    def forget(self, uid: str) -> None:
        self._containers.pop(uid, None)
        self._pods.pop(uid, None)
        self.on_write()


def effective_requirements(pod: Pod, resources: ResourceRequirements, gates: FeatureGates) -> ResourceRequirements:
    """A container's resources; without its own cpu or memory limit, it has the pod's."""
    pod_level = pod.spec.resources
    if pod_level is None or not pod_level.limits or not gates.enabled(_POD_LEVEL):
        return resources
    limits = dict(resources.limits)
    for name in (CPU, MEMORY):
        own, of_pod = quantity(limits.get(name, 0)), quantity(pod_level.limits.get(name, 0))
        if own.is_zero and not of_pod.is_zero:
            limits[name] = pod_level.limits[name]
    return resources.changed(limits=limits)


def _with(before: ResourceList, wanted: ResourceList, resource: str) -> ResourceList:
    return {**before, resource: wanted.get(resource, "0")} if wanted else before
