"""A container's cpu and memory in CRI: conversion to runtime settings and back.

The runtime stores cpu shares, a quota and a memory limit; only the kubelet stores a memory request.

Mirrors: kuberuntime_container_linux.go generateLinuxContainerResources, calculateLinuxResources,
toKubeContainerResources; kuberuntime_container.go toKubeContainerStatus
"""

from __future__ import annotations

from functools import lru_cache

from kubesim.api.pod import Container, Pod, ResourceRequirements
from kubesim.api.pods.resources import CPU, MEMORY
from kubesim.api.quantity import BINARY_SI, Quantity, quantity
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.runtime.allocation.cgroups import (
    MILLI_CPU_PER_CPU,
    QUOTA_PERIOD,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    shares_to_milli_cpu,
)
from kubesim.runtime.allocation.swap import SWAP_MAX, NodeSwap, container_swap_limit
from kubesim.runtime.kuberuntime.decide.resize_actions import container_resources
from kubesim.runtime.types import RuntimeResources
from kubesim.values import replace


def linux_container_resources(
    pod: Pod,
    container: Container,
    gates: FeatureGates = DEFAULT_GATES,
    *,
    has_quota: bool = True,
    swap: NodeSwap | None = None,
) -> RuntimeResources:
    """The resources that a runtime reports for a container created or updated with these."""
    pod_level = pod.spec.resources if gates.enabled("PodLevelResources") else None
    amounts = container_resources(container.resources, pod_level)
    asked = amounts.cpu_request_milli if CPU in container.resources.requests else amounts.cpu_limit_milli
    resources = _reported(asked, amounts.cpu_limit_milli if has_quota else 0, amounts.memory_limit)
    if swap is None:
        return resources
    return replace(resources, unified=((SWAP_MAX, str(container_swap_limit(pod, container, swap, gates))),))


@lru_cache(maxsize=4096)
def _reported(milli_cpu_request: int, milli_cpu_limit: int, memory_limit: int) -> RuntimeResources:
    request = shares_to_milli_cpu(milli_cpu_to_shares(milli_cpu_request))
    limit = milli_cpu_to_quota(milli_cpu_limit) * MILLI_CPU_PER_CPU // QUOTA_PERIOD
    return RuntimeResources(
        cpu_request=str(quantity(f"{request}m")),
        cpu_limit=str(quantity(f"{limit}m")) if limit > 0 else None,
        memory_limit=str(Quantity(memory_limit, 0, BINARY_SI)) if memory_limit > 0 else None,
    )


def updated_resources(before: RuntimeResources | None, update: RuntimeResources) -> RuntimeResources:
    """The result of UpdateContainerResources: a missing cpuset, amount or swap stays unchanged."""
    if before is None:
        return update
    amounts = before if update.cpu_request is None else update
    cpus, mems = update.cpuset_cpus or before.cpuset_cpus, update.cpuset_mems or before.cpuset_mems
    return replace(amounts, cpuset_cpus=cpus, cpuset_mems=mems, unified=update.unified or before.unified)


def with_actuated(reported: RuntimeResources | None, actuated: ResourceRequirements | None) -> RuntimeResources | None:
    """Complete the runtime's report with the resources that the kubelet last applied."""
    if actuated is None:
        return reported
    requests, limits = actuated.requests, actuated.limits
    if reported is None:
        return RuntimeResources(
            cpu_request=str(requests.get(CPU, 0)),
            cpu_limit=str(limits.get(CPU, 0)),
            memory_request=str(requests.get(MEMORY, 0)),
            memory_limit=str(limits.get(MEMORY, 0)),
        )
    if reported.memory_request is not None or MEMORY not in requests or quantity(requests[MEMORY]).is_zero:
        return reported
    return replace(reported, memory_request=str(requests[MEMORY]))
