"""Allocated resources of each pod: those of its admission or last resize.

A pod's spec has the requested resources; until the node has room, the pod runs with its allocation. The state is a
checkpoint on the kubelet's disk: after a restart it determines the resources of admitted pods.

Mirrors: pkg/kubelet/allocation/allocation_manager.go updatePodFromAllocation, allocationFromPod, IsResizableContainer;
pkg/kubelet/allocation/state
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Container as Collection
from typing import ClassVar

from kubesim.api.pod import Container, Pod, PodSpec, ResourceList, ResourceRequirements
from kubesim.api.pods.resources import quantities
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.allocation.state_file import nothing_watches
from kubesim.values import value_object

_POD_LEVEL = "InPlacePodLevelResourcesVerticalScaling"
_INIT_CONTAINERS = "InPlacePodVerticalScalingInitContainers"


@value_object
class PodAllocation:
    """By container name; `pod` is None without pod-level resources."""

    containers: Mapping[str, ResourceRequirements]
    pod: ResourceRequirements | None = None


class AllocationState:
    """Allocations by pod UID."""

    CONTENT: ClassVar[tuple[str, ...]] = ("_pods", "_asked")

    def __init__(self) -> None:
        self.on_write: Callable[[], object] = nothing_watches
        self._pods: dict[str, PodAllocation] = {}
        self._asked: dict[str, PodSpec] = {}  # specs whose requests are fully allocated

    def get(self, uid: str) -> PodAllocation | None:
        return self._pods.get(uid)

    def set(self, pod: Pod, gates: FeatureGates = DEFAULT_GATES) -> None:
        """Allocate the pod's requests."""
        self._asked[pod.metadata.uid] = pod.spec
        self._pods[pod.metadata.uid] = PodAllocation(
            {container.name: container.resources for container in resizable_containers(pod, gates)},
            pod.spec.resources if gates.enabled(_POD_LEVEL) else None,
        )
        self.on_write()

    def remove(self, uid: str) -> None:
        self._pods.pop(uid, None)
        self._asked.pop(uid, None)
        self.on_write()

    def remove_orphans(self, remaining: Collection[str]) -> None:
        orphans = [uid for uid in self._pods if uid not in remaining]
        for uid in orphans:
            del self._pods[uid], self._asked[uid]
        if orphans:
            self.on_write()

    def update_pod(self, pod: Pod, gates: FeatureGates = DEFAULT_GATES) -> Pod:
        """The pod with its allocation instead of its requests; the same object if they are equal."""
        uid = pod.metadata.uid
        if self._asked.get(uid) is pod.spec:
            return pod
        allocation = self._pods.get(uid)
        return pod if allocation is None else update_pod_from_allocation(pod, allocation, gates)


def update_pod_from_allocation(pod: Pod, allocation: PodAllocation, gates: FeatureGates = DEFAULT_GATES) -> Pod:
    spec = pod.spec
    changes: dict[str, object] = {}
    if gates.enabled(_POD_LEVEL) and not _same_of_pod(spec.resources, allocation.pod):
        changes["resources"] = allocation.pod
    containers = _allocated(spec.containers, allocation)
    if containers is not spec.containers:
        changes["containers"] = containers
    init_containers = _allocated(spec.init_containers, allocation)
    if init_containers is not spec.init_containers:
        changes["init_containers"] = init_containers
    return pod.changed(spec=spec.changed(**changes)) if changes else pod


def _allocated(containers: tuple[Container, ...], allocation: PodAllocation) -> tuple[Container, ...]:
    known = allocation.containers
    if all(c.name not in known or same_requirements(c.resources, known[c.name]) for c in containers):
        return containers
    return tuple(c.changed(resources=known[c.name]) if c.name in known else c for c in containers)


def _same_of_pod(one: ResourceRequirements | None, other: ResourceRequirements | None) -> bool:
    if one is None or other is None:
        return one is other
    return same_requirements(one, other)


def same_requirements(one: ResourceRequirements, other: ResourceRequirements) -> bool:
    """Whether the amounts are equal, regardless of their spelling."""
    if one is other or one == other:
        return True
    return (
        _same_amounts(one.limits, other.limits)
        and _same_amounts(one.requests, other.requests)
        and one.claims == other.claims
    )


def _same_amounts(one: ResourceList, other: ResourceList) -> bool:
    return one == other or quantities(one) == quantities(other)


def resizable_containers(pod: Pod, gates: FeatureGates = DEFAULT_GATES) -> Iterator[Container]:
    """Containers whose resources may change while the pod runs: sidecars and regular containers."""
    plain_too = gates.enabled(_INIT_CONTAINERS)
    for container in pod.spec.init_containers:
        if plain_too or is_restartable_init_container(container):
            yield container
    yield from pod.spec.containers
