"""The memory of each kind that a container or a pod requests, and the memory reserved for the system.

Mirrors: pkg/kubelet/cm/memorymanager/policy_static.go getContainerRequestedResources, getPodRequestedResources,
validatePodScopeResources; memory_manager.go getSystemReservedMemory
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kubesim.api.pod import Container, Pod, ResourceList
from kubesim.api.pods.resources import HUGE_PAGES_PREFIX, MEMORY
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.quantity import ZERO, Quantity, quantity
from kubesim.features import FeatureGates
from kubesim.golang.text import quoted
from kubesim.kubelet.cm.admission import EMPTY_POD_SHARED_POOL, AllocationError
from kubesim.kubelet.cm.cpumanager.requests import is_container_equivalent_qos_guaranteed, manages_pod_level
from kubesim.kubelet.cm.machine import MachineError, MachineInfo
from kubesim.values import value_object

Sizes = dict[str, int]  # bytes, by resource name
SystemReserved = Mapping[int, Mapping[str, int]]  # by NUMA node, then by resource name
_MOST = (1 << 63) - 1


@value_object
class MemoryReservation:
    """An item of the kubelet configuration's reservedMemory."""

    numa_node: int
    limits: Mapping[str, Quantity]


def container_requested_resources(pod: Pod, container: Container, gates: FeatureGates) -> Sizes:
    """The requested memory of a container. Raises AllocationError for a fraction of a byte."""
    if manages_pod_level(pod, gates) and not is_container_equivalent_qos_guaranteed(container):
        return {}
    return _sizes(container.resources.requests)


def pod_requested_resources(pod: Pod, gates: FeatureGates) -> Sizes:
    """Memory that the pod needs at any one time. Only resources that a regular container requests count."""
    if manages_pod_level(pod, gates):
        requests = pod.spec.resources.requests if pod.spec.resources is not None else {}
        return {name: size for name, size in _sizes(requests).items() if size > 0}
    by_init: Counter[str] = Counter()
    by_sidecars: Counter[str] = Counter()
    for container in pod.spec.init_containers:
        for name, size in container_requested_resources(pod, container, gates).items():
            if is_restartable_init_container(container):
                by_sidecars[name] += size
            else:
                by_init[name] = max(by_init[name], by_sidecars[name] + size)
    by_app: Sizes = {}
    for container in pod.spec.containers:
        for name, size in container_requested_resources(pod, container, gates).items():
            by_app[name] = by_app.get(name, 0) + size
    return {name: max(size + by_sidecars[name], by_init[name]) for name, size in by_app.items()}


def validate_pod_scope_resources(pod: Pod, gates: FeatureGates) -> None:
    """Raises AllocationError if the containers that share the pod's memory would have none left."""
    total = pod_requested_resources(pod, gates)
    exclusive: Counter[str] = Counter()
    is_shared = False
    for container in pod.spec.init_containers:
        sizes = container_requested_resources(pod, container, gates)
        if is_restartable_init_container(container):
            exclusive.update(sizes)
            is_shared = is_shared or not sizes
        elif not sizes:
            for name, size in total.items():
                if exclusive[name] >= size:
                    text = f"pod rejected, pod has shared init containers but no {name} available for them"
                    raise AllocationError(text, EMPTY_POD_SHARED_POOL)
    for container in pod.spec.containers:
        sizes = container_requested_resources(pod, container, gates)
        exclusive.update(sizes)
        is_shared = is_shared or not sizes
    for name, size in total.items():
        if is_shared and exclusive[name] >= size:
            raise AllocationError(
                f"pod rejected, sum of exclusive container {name} requests equals pod budget, "
                "leaving no memory for shared containers",
                EMPTY_POD_SHARED_POOL,
            )


def system_reserved_memory(
    machine: MachineInfo, allocatable_reservation: Mapping[str, Quantity], reserved: Sequence[MemoryReservation]
) -> SystemReserved:
    """The reserved memory by NUMA node. Raises MachineError unless its sum equals the node's total reservation."""
    known = {node.id for node in machine.topology}
    total: dict[str, Quantity] = {}
    converted: dict[int, Sizes] = {node.id: {} for node in machine.topology}
    for each in reserved:
        if each.numa_node not in known:
            raise MachineError(
                f"the reserved memory configuration references a NUMA node {each.numa_node} that does not exist on "
                "this machine"
            )
        for name, amount in each.limits.items():
            total[name] = total[name] + amount if name in total else amount
    kept_back = {name: amount for name, amount in allocatable_reservation.items() if is_memory(name)}
    for name in sorted({*total, *kept_back}):
        one, other = total.get(name, ZERO), kept_back.get(name, ZERO)
        if one != other:
            raise MachineError(
                f"the total amount {quoted(str(one))} of type {quoted(name)} is not equal to the value "
                f"{quoted(str(other))} determined by Node Allocatable feature"
            )
    for each in reserved:
        for name, amount in each.limits.items():
            size = as_int64(amount)
            if size is None:
                raise MachineError("could not covert a variable of type Quantity to int64")
            converted[each.numa_node][name] = size
    return converted


def is_memory(resource: str) -> bool:
    return resource == MEMORY or resource.startswith(HUGE_PAGES_PREFIX)


def as_int64(amount: Quantity) -> int | None:
    """The value as int64; None if the conversion would lose precision."""
    value = amount.value()
    return value if amount == Quantity(value, 0) and -_MOST - 1 <= value <= _MOST else None


def _sizes(requests: ResourceList) -> Sizes:
    """Sorted by resource name."""
    sizes: Sizes = {}
    for name in sorted(filter(is_memory, requests)):
        size = as_int64(quantity(requests[name]))
        if size is None:
            raise AllocationError("[memorymanager] failed to represent quantity as int64")
        sizes[name] = size
    return sizes
