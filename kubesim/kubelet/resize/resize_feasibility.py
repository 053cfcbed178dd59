"""Resizes that this node can never do, whatever room it has.

Mirrors: pkg/kubelet/allocation/handlers.go podResizesAdmitHandler
"""

from __future__ import annotations

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import CPU, GUARANTEED, MEMORY, pod_qos_class
from kubesim.api.quantity import quantity
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.allocation.allocated import resizable_containers
from kubesim.values import value_object

STATIC = "static"
STATIC_MEMORY = "Static"


@value_object
class NodePolicies:
    """A static manager gives cpus or memory away for good."""

    cpu_manager: str = "none"
    memory_manager: str = "None"


def why_infeasible(pod: Pod, allocated: Pod, policies: NodePolicies, gates: FeatureGates = DEFAULT_GATES) -> str:
    """Empty if the resize is possible as such."""
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


def _changes(pod: Pod, allocated: Pod, resource: str, gates: FeatureGates) -> bool:
    """Requests are enough to look at: a Guaranteed pod's limits are the same."""
    before = {container.name: container.resources.requests for container in resizable_containers(allocated, gates)}
    return any(
        quantity(c.resources.requests.get(resource, 0)) != quantity(before.get(c.name, {}).get(resource, 0))
        for c in resizable_containers(pod, gates)
    )
