"""The swap limit of a container: `memory.swap.max` of its cgroup.

With LimitedSwap, a container of a Burstable pod gets swap in proportion to its memory request's share of the node's
memory. No swap: NoSwap, critical pods, other QoS classes, a request that equals the limit.

Mirrors: kuberuntime_container_linux.go configureContainerSwapResources, GetContainerSwapBehavior,
calcSwapForBurstablePods
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.pod_kinds import is_critical_pod
from kubesim.api.pods.resources import BURSTABLE, MEMORY, pod_qos_class
from kubesim.api.quantity import quantity
from kubesim.features import FeatureGates
from kubesim.values import value_object

NO_SWAP = "NoSwap"
LIMITED_SWAP = "LimitedSwap"
SWAP_MAX = "memory.swap.max"


@value_object
class NodeSwap:
    """A node's swap and memory in bytes, and the kubelet's memorySwap.swapBehavior."""

    capacity: int
    memory: int
    behavior: str = ""


def container_swap_behavior(pod: Pod, container: Container, behavior: str, gates: FeatureGates) -> str:
    """NoSwap, unless the node uses LimitedSwap and the container qualifies."""
    if behavior != LIMITED_SWAP or not gates.enabled("NodeSwap") or is_critical_pod(pod):
        return NO_SWAP
    resources = container.resources
    request, limit = (quantity(amounts.get(MEMORY, 0)) for amounts in (resources.requests, resources.limits))
    if pod_qos_class(pod, gates) != BURSTABLE or request == limit:
        return NO_SWAP  # also for a container without request and limit
    return LIMITED_SWAP


def container_swap_limit(pod: Pod, container: Container, swap: NodeSwap, gates: FeatureGates) -> int:
    """The swap limit in bytes."""
    if container_swap_behavior(pod, container, swap.behavior, gates) == NO_SWAP:
        return 0
    request = quantity(container.resources.requests.get(MEMORY, 0)).value()
    if swap.memory <= 0 or request > swap.memory:
        return 0
    return int(float(request) / float(swap.memory) * float(swap.capacity))
