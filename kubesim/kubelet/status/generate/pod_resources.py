"""Pod-level resources in a status: the allocated ones, and those of the pod's cgroup.

Mirrors: pkg/kubelet/kubelet_pods.go convertToAPIPodLevelResourcesStatus, getEffectiveAllocatedResources;
pkg/kubelet/cm/helpers_linux.go CPURequestsFromConfig, CPULimitsFromConfig, MemoryLimitsFromConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.pod import NO_RESOURCES, Pod, PodStatus, ResourceList, ResourceRequirements
from kubesim.api.pods.phases import RUNNING
from kubesim.api.pods.resources import CPU, MEMORY, Resources, asks_for_resources, pod_limits, pod_requests
from kubesim.api.quantity import BINARY_SI, Quantity
from kubesim.kubelet.status.containers.container_resources import MIN_MILLI_CPU_LIMIT, canonical, correct, requirements
from kubesim.kubelet.status.generate.inputs import StatusInputs
from kubesim.runtime.allocation.cgroups import (
    MILLI_CPU_PER_CPU,
    MIN_SHARES,
    NEW_CGROUP,
    ResourceConfig,
    shares_to_milli_cpu,
)
from kubesim.runtime.types import RuntimeResources

_UNREADABLE = ResourceConfig()
_UNLIMITED = NEW_CGROUP.merged(ResourceConfig(cpu_shares=MIN_SHARES))  # for a pod without requests
_NOTHING_ALLOCATED = {"resources": NO_RESOURCES}


def pod_level_resources(inputs: StatusInputs, old: PodStatus) -> Mapping[str, Any]:
    """The fields `resources` and `allocated_resources` of a status; `old` is the previous status."""
    gates = inputs.gates
    if not gates.enabled("InPlacePodLevelResourcesVerticalScaling"):
        return {}
    spec = inputs.pod.spec
    fields = _allocated(inputs.pod, not gates.enabled("PodLevelResources"))
    if inputs.pod.status.phase != RUNNING:
        return fields
    before = old.resources if old.phase == RUNNING and old.resources is not None else NO_RESOURCES
    if fields is _NOTHING_ALLOCATED and before is NO_RESOURCES and inputs.pod_cgroup == _UNLIMITED:
        return fields
    memory = fields["allocated_resources"].get(MEMORY) if "allocated_resources" in fields else None
    cgroup = inputs.pod_cgroup or _UNREADABLE
    limits = cgroup.cpu_shares, cgroup.cpu_quota, cgroup.cpu_period, cgroup.memory
    return {**fields, "resources": _in_force(spec.resources or NO_RESOURCES, memory, before, *limits)}


def _allocated(pod: Pod, skip_pod_level: bool) -> Mapping[str, Any]:
    if not asks_for_resources(pod) and not pod.spec.overhead:
        return _NOTHING_ALLOCATED
    requests = _texts(pod_requests(pod, skip_pod_level=skip_pod_level))
    limits = _texts(pod_limits(pod, skip_pod_level=skip_pod_level))
    resources = requirements(limits, dict(requests), pod.spec.resources)
    return {"resources": resources, "allocated_resources": requests} if requests else {"resources": resources}


def _in_force(
    allocated: ResourceRequirements,
    memory_request: str | None,
    before: ResourceRequirements,
    shares: int | None,
    quota: int | None,
    period: int | None,
    memory: int | None,
) -> ResourceRequirements:
    limits, requests = canonical(allocated.limits), canonical(allocated.requests)
    actual = _reported(shares or 0, quota or 0, period or 0, memory or 0)
    correct(requests, CPU, actual.cpu_request, before.requests, least_milli=MIN_SHARES)
    if MEMORY not in requests and memory_request is not None:
        requests[MEMORY] = memory_request
    # No cgroup stores a memory request, so the previous value stays.
    correct(requests, MEMORY, None, before.requests)
    correct(limits, CPU, actual.cpu_limit, before.limits, least_milli=MIN_MILLI_CPU_LIMIT)
    correct(limits, MEMORY, actual.memory_limit, before.limits)
    return requirements(limits, requests, allocated)


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
