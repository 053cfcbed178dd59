"""Pod-level resources in a status: what the pod as a whole was allocated, and what its cgroup says is in force.

Mirrors: pkg/kubelet/kubelet_pods.go convertToAPIPodLevelResourcesStatus, getEffectiveAllocatedResources;
pkg/kubelet/cm/helpers_linux.go CPURequestsFromConfig, CPULimitsFromConfig, MemoryLimitsFromConfig.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from kubesim.api.pod import NO_RESOURCES, ResourceList, ResourceRequirements
from kubesim.api.quantity import BINARY_SI, Quantity
from kubesim.api.resources import CPU, MEMORY, Resources, pod_limits, pod_requests
from kubesim.kubelet.status.container_resources import MIN_MILLI_CPU_LIMIT, canonical, correct, requirements
from kubesim.kubelet.status.inputs import StatusInputs
from kubesim.kubelet.status.phase import RUNNING
from kubesim.runtime.cgroups import MILLI_CPU_PER_CPU, MIN_SHARES, ResourceConfig, shares_to_milli_cpu
from kubesim.runtime.types import RuntimeResources

_UNREADABLE = ResourceConfig()


def pod_level_resources(inputs: StatusInputs) -> dict[str, Any]:
    """The fields `resources` and `allocated_resources` of a status."""
    if not inputs.gates.enabled("InPlacePodLevelResourcesVerticalScaling"):
        return {}
    skip = not inputs.gates.enabled("PodLevelResources")
    requests = _texts(pod_requests(inputs.pod, skip_pod_level=skip))
    if inputs.pod.status.phase == RUNNING:
        resources = _resources_of_running(inputs, requests)
    else:
        resources = requirements(
            _texts(pod_limits(inputs.pod, skip_pod_level=skip)), dict(requests), inputs.pod.spec.resources
        )
    return {"resources": resources, "allocated_resources": requests} if requests else {"resources": resources}


def _resources_of_running(inputs: StatusInputs, aggregated: ResourceList) -> ResourceRequirements:
    allocated = inputs.pod.spec.resources or NO_RESOURCES
    limits, requests = canonical(allocated.limits), canonical(allocated.requests)
    old = inputs.old_status
    before = old.resources if old.phase == RUNNING and old.resources is not None else NO_RESOURCES
    actual = _resources_from_cgroup(inputs.pod_cgroup or _UNREADABLE)
    correct(requests, CPU, actual.cpu_request, before.requests, least_milli=MIN_SHARES)
    if MEMORY not in requests and MEMORY in aggregated:
        requests[MEMORY] = aggregated[MEMORY]
    # No cgroup holds a memory request, so the one that was shown stays shown.
    correct(requests, MEMORY, None, before.requests)
    correct(limits, CPU, actual.cpu_limit, before.limits, least_milli=MIN_MILLI_CPU_LIMIT)
    correct(limits, MEMORY, actual.memory_limit, before.limits)
    return requirements(limits, requests, allocated)


def _resources_from_cgroup(config: ResourceConfig) -> RuntimeResources:
    return _reported(config.cpu_shares or 0, config.cpu_quota or 0, config.cpu_period or 0, config.memory or 0)


@lru_cache(maxsize=1024)
def _reported(shares: int, quota: int, period: int, memory: int) -> RuntimeResources:
    request = shares_to_milli_cpu(shares)
    limit = quota * MILLI_CPU_PER_CPU // period if quota > 0 and period > 0 else 0
    return RuntimeResources(
        cpu_request=f"{request}m" if request > 0 else None,
        cpu_limit=f"{limit}m" if limit > 0 else None,
        memory_limit=str(Quantity(memory, 0, BINARY_SI)) if memory > 0 else None,
    )


def _texts(amounts: Resources) -> ResourceList:
    return {name: str(amount) for name, amount in amounts.items()}
