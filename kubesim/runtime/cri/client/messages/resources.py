"""Resources as messages of CRI, and back.

Mirrors: kuberuntime_container_linux.go generateLinuxContainerResources, GetHugepageLimitsFromResources,
toKubeContainerResources; pkg/kubelet/cm/helpers_linux.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.resources import CPU, HUGE_PAGES_PREFIX, MEMORY, pod_limits, pod_requests
from kubesim.api.quantity import BINARY_SI, ZERO, Quantity, quantity
from kubesim.runtime.allocation.cgroups import (
    MILLI_CPU_PER_CPU,
    QUOTA_PERIOD,
    ResourceConfig,
    container_oom_score_adjust,
    milli_cpu_to_quota,
    milli_cpu_to_shares,
    shares_to_milli_cpu,
)
from kubesim.runtime.cri.client.machine import MachineFacts
from kubesim.runtime.cri.wire import cri_pb2 as pb
from kubesim.runtime.types import RuntimeResources

_UNITS = ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB"))


def update_message(resources: RuntimeResources) -> pb.LinuxContainerResources:
    """A field that is empty stays as it is."""
    message = pb.LinuxContainerResources(
        cpuset_cpus=resources.cpuset_cpus, cpuset_mems=resources.cpuset_mems, unified=dict(resources.unified)
    )
    if resources.cpu_request is not None:
        message.cpu_shares = milli_cpu_to_shares(quantity(resources.cpu_request).milli_value())
        limit = 0 if resources.cpu_limit is None else quantity(resources.cpu_limit).milli_value()
        message.cpu_period = QUOTA_PERIOD
        message.cpu_quota = milli_cpu_to_quota(limit)
    if resources.memory_limit is not None:
        message.memory_limit_in_bytes = quantity(resources.memory_limit).value()
    return message


def container_message(
    pod: Pod, container: Container, resources: RuntimeResources | None, machine: MachineFacts
) -> pb.LinuxContainerResources:
    """Of a new container."""
    message = update_message(resources or RuntimeResources())
    message.oom_score_adj = container_oom_score_adjust(pod, container, machine.memory)
    for size in machine.huge_page_sizes:
        name = page_size_text(size)
        message.hugepage_limits.add(page_size=name, limit=_huge_page_limits(pod, container).get(size, 0))
    message.unified.update(machine.unified)
    return message


def page_size_text(size: int) -> str:
    """`2MB`, `1GB`: as the kernel names the files of the controller."""
    factor, unit = next((each for each in _UNITS if size >= each[0]), (1, ""))
    return f"{size // factor}{unit}"


def _huge_page_limits(pod: Pod, container: Container) -> Mapping[int, int]:
    """In bytes, by page size; those of a container override those of its pod."""
    of_pod = {} if pod.spec.resources is None else pod.spec.resources.limits
    limits = {**of_pod, **container.resources.limits}
    return {
        quantity(name.removeprefix(HUGE_PAGES_PREFIX)).value(): quantity(amount).value()
        for name, amount in limits.items()
        if name.startswith(HUGE_PAGES_PREFIX)
    }


def sandbox_message(pod: Pod, machine: MachineFacts) -> pb.LinuxContainerResources:
    """The resources of all containers of a pod (calculateSandboxResources)."""
    requests, limits = dict(pod_requests(pod)), dict(pod_limits(pod))
    limit = limits.get(CPU, ZERO).milli_value()
    request = requests[CPU].milli_value() if CPU in requests else limit
    return pb.LinuxContainerResources(
        cpu_shares=milli_cpu_to_shares(request),
        cpu_period=QUOTA_PERIOD,
        cpu_quota=milli_cpu_to_quota(limit),
        memory_limit_in_bytes=limits.get(MEMORY, ZERO).value(),
        unified=machine.unified,
    )


def overhead_message(pod: Pod, machine: MachineFacts) -> pb.LinuxContainerResources:
    overhead = pod.spec.overhead
    if not overhead:
        return pb.LinuxContainerResources()
    cpu = quantity(overhead.get(CPU, 0)).milli_value()
    return pb.LinuxContainerResources(
        cpu_shares=milli_cpu_to_shares(cpu),
        cpu_period=QUOTA_PERIOD,
        cpu_quota=milli_cpu_to_quota(cpu),
        memory_limit_in_bytes=quantity(overhead.get(MEMORY, 0)).value(),
        unified=machine.unified,
    )


def cgroup_message(config: ResourceConfig) -> pb.LinuxContainerResources:
    """Of UpdatePodSandboxResources."""
    return pb.LinuxContainerResources(
        cpu_period=config.cpu_period or 0,
        cpu_quota=config.cpu_quota or 0,
        cpu_shares=config.cpu_shares or 0,
        memory_limit_in_bytes=config.memory or 0,
    )


def reported_resources(message: pb.LinuxContainerResources) -> RuntimeResources | None:
    """None if cpu and memory are not reported at all."""
    limit = request = memory = None
    if message.cpu_period > 0 and message.cpu_quota > 0:
        milli = message.cpu_quota * MILLI_CPU_PER_CPU // message.cpu_period
        limit = str(quantity(f"{milli}m")) if milli > 0 else None
    if message.cpu_shares > 0 and (milli := shares_to_milli_cpu(message.cpu_shares)) > 0:
        request = str(quantity(f"{milli}m"))
    if message.memory_limit_in_bytes > 0:
        memory = str(Quantity(message.memory_limit_in_bytes, 0, BINARY_SI))
    if limit is None and request is None and memory is None:
        return None
    return RuntimeResources(
        cpu_request=request,
        cpu_limit=limit,
        memory_limit=memory,
        cpuset_cpus=message.cpuset_cpus,
        cpuset_mems=message.cpuset_mems,
        unified=tuple(_written(message.unified)),
    )


def _written(unified: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    yield from sorted(unified.items())
