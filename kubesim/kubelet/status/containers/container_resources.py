"""Resources in a container's status: the allocated resources, corrected by those the runtime reports.

Mirrors: pkg/kubelet/kubelet_pods.go convertContainerStatusResources (inside convertToAPIContainerStatuses).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.pod import NO_RESOURCES, Container, ContainerStatus, ResourceList, ResourceRequirements
from kubesim.api.pods.resources import CPU, MEMORY
from kubesim.api.quantity import quantity
from kubesim.runtime.allocation.cgroups import MIN_SHARES
from kubesim.runtime.types import ContainerRecord, RuntimeResources

# The smallest limit that a cgroup can express. At or below it (for requests: MIN_SHARES as milli-CPU) the status shows
# the allocated amount, not the cgroup's rounded value.
MIN_MILLI_CPU_LIMIT = 10

_NOTHING_REPORTED = RuntimeResources()


def container_status_resources(
    container: Container, record: ContainerRecord, old: ContainerStatus | None
) -> ResourceRequirements:
    """Allocated resources; for a running container corrected by the runtime's or the previous report."""
    allocated = container.resources
    if not allocated.limits and not allocated.requests:
        return allocated
    limits, requests = canonical(allocated.limits), canonical(allocated.requests)
    if record.state == "running":
        actual = record.resources or _NOTHING_REPORTED
        before = None
        if old is not None and old.state.running is not None and old.container_id == record.id:
            before = old.resources
        if limits:
            known = before.limits if before else {}
            correct(limits, CPU, actual.cpu_limit, known, least_milli=MIN_MILLI_CPU_LIMIT)
            correct(limits, MEMORY, actual.memory_limit, known)
        if requests:
            known = before.requests if before else {}
            correct(requests, CPU, actual.cpu_request, known, least_milli=MIN_SHARES)
            correct(requests, MEMORY, actual.memory_request, known)
    return requirements(limits, requests, allocated)


def correct(
    resources: ResourceList,
    name: str,
    actual: str | None,
    before: Mapping[str, str | int | float],
    least_milli: int = -1,
) -> None:
    """Replace the allocated amount with the actual one, or with the previous one if nothing is reported."""
    if actual is None:
        if name in before:
            resources[name] = before[name]
    elif (
        least_milli < 0
        or quantity(actual).milli_value() > least_milli
        or quantity(resources.get(name, 0)).milli_value() > least_milli
    ):
        resources[name] = str(quantity(actual))


def canonical(resources: ResourceList) -> ResourceList:
    """A copy of the amounts in the API's canonical spelling."""
    return {name: str(quantity(amount)) for name, amount in resources.items()}


def requirements(
    limits: ResourceList, requests: ResourceList, like: ResourceRequirements | None = None
) -> ResourceRequirements:
    """Limits and requests without empty ones, and the other fields (claims) of `like`."""
    fields: dict[str, Any] = {}
    if limits:
        fields["limits"] = limits
    if requests:
        fields["requests"] = requests
    if like is not None and like.claims:
        fields["claims"] = like.claims
    return ResourceRequirements(**fields) if fields else NO_RESOURCES
