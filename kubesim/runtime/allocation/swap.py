"""How much of the node's swap a container may use: `memory.swap.max` of its cgroup.

With LimitedSwap, a container of a Burstable pod gets the same share of the swap as its memory request is of the node's
memory. All others get none: with NoSwap, critical pods, other QoS classes, a request that equals the limit.

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
    """The swap of a node, in bytes, with its memory and the kubelet's memorySwap.swapBehavior."""

    capacity: int
    memory: int
    behavior: str = ""


def container_swap_behavior(pod: Pod, container: Container, behavior: str, gates: FeatureGates) -> str:
    """NoSwap unless swap is limited and the container qualifies for a share."""
    if behavior != LIMITED_SWAP or not gates.enabled("NodeSwap") or is_critical_pod(pod):
        return NO_SWAP
    resources = container.resources
    request, limit = (quantity(amounts.get(MEMORY, 0)) for amounts in (resources.requests, resources.limits))
    if pod_qos_class(pod, gates) != BURSTABLE or request == limit:
        return NO_SWAP  # also if the container has neither request nor limit
    return LIMITED_SWAP


def container_swap_limit(pod: Pod, container: Container, swap: NodeSwap, gates: FeatureGates) -> int:
    """In bytes."""
    if container_swap_behavior(pod, container, swap.behavior, gates) == NO_SWAP:
        return 0
    request = quantity(container.resources.requests.get(MEMORY, 0)).value()
    if swap.memory <= 0 or request > swap.memory:
        return 0
    return int(float(request) / float(swap.memory) * float(swap.capacity))
