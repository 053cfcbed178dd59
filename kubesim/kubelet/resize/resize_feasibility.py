"""Rules for infeasible resizes, independent of the node's free resources.

Mirrors: pkg/kubelet/allocation/handlers.go podResizesAdmitHandler, disallowResizeForSwappableContainers
"""

from __future__ import annotations

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.resources import CPU, GUARANTEED, MEMORY, pod_qos_class
from kubesim.api.quantity import Quantity, quantity
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.allocation.allocated import resizable_containers
from kubesim.runtime.allocation.swap import NO_SWAP, NodeSwap, container_swap_behavior
from kubesim.values import value_object

STATIC = "static"
STATIC_MEMORY = "Static"


@value_object
class NodePolicies:
    """Policies of the node's managers. A static manager assigns cpus or memory permanently."""

    cpu_manager: str = "none"
    memory_manager: str = "None"


def why_infeasible(
    pod: Pod,
    allocated: Pod,
    policies: NodePolicies,
    gates: FeatureGates = DEFAULT_GATES,
    swap: NodeSwap | None = None,
) -> str:
    """The reason why the resize is infeasible; empty if it is feasible."""
    if swap is not None and _changes_swap(pod, allocated, swap, gates):
        return "In-place resize of containers with swap is not supported."
    pod_level = "InPlacePodLevelResourcesVerticalScaling"
    if pod.spec.resources != allocated.spec.resources and not gates.enabled(pod_level):
        return f"{pod_level} is disabled"
    if pod_qos_class(pod, gates) != GUARANTEED:
        return ""
    for kind, policy, static, resource in (
        ("CPU", policies.cpu_manager, STATIC, CPU),
        ("Memory", policies.memory_manager, STATIC_MEMORY, MEMORY),
    ):
        exclusive = f"InPlacePodVerticalScalingExclusive{'CPUs' if resource == CPU else 'Memory'}"
        if policy == static and not gates.enabled(exclusive) and _changes(pod, allocated, resource, gates):
            return f'Resize is infeasible for Guaranteed Pods alongside {kind} Manager policy "{policy}"'
    return ""


def _changes_swap(pod: Pod, allocated: Pod, swap: NodeSwap, gates: FeatureGates) -> bool:
    """Whether the memory request of a running container with swap would change."""
    before = {container.name: container for container in (*allocated.spec.containers, *allocated.spec.init_containers)}
    for wanted in (*pod.spec.containers, *pod.spec.init_containers):
        has = before.get(wanted.name)
        if has is None or _memory_request(wanted) == _memory_request(has) or _restarts_for_memory(has):
            continue
        behaviors = {
            container_swap_behavior(pod, wanted, swap.behavior, gates),
            container_swap_behavior(allocated, has, swap.behavior, gates),
        }
        if behaviors != {NO_SWAP}:
            return True
    return False


def _memory_request(container: Container) -> Quantity:
    return quantity(container.resources.requests.get(MEMORY, 0))


def _restarts_for_memory(container: Container) -> bool:
    found = (policy.restart_policy for policy in container.resize_policy if policy.resource_name == MEMORY)
    return next(found, "") == "RestartContainer"


def _changes(pod: Pod, allocated: Pod, resource: str, gates: FeatureGates) -> bool:
    """Compares requests only: a Guaranteed pod has equal limits."""
    before = {container.name: container.resources.requests for container in resizable_containers(allocated, gates)}
    return any(
        quantity(c.resources.requests.get(resource, 0)) != quantity(before.get(c.name, {}).get(resource, 0))
        for c in resizable_containers(pod, gates)
    )
