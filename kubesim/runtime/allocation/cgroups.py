"""The pod's cgroup: its name with both cgroup drivers, cpu and memory settings, and OOM scores of containers.

SyncPod creates the cgroup before the sandbox; the sandbox and every container are in it, and a resize updates it.
`PodCgroups` simulates the cgroups of the node, which outlive the kubelet.

Mirrors: pkg/kubelet/cm/pod_container_manager_linux.go GetPodContainerName, cgroup_manager_linux.go ToSystemd,
ToCgroupfs, helpers_linux.go ResourceConfigForPod; pkg/kubelet/qos/policy.go GetContainerOOMScoreAdjust;
kuberuntime_manager.go mergeResourceConfig
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import field

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.pod_kinds import is_node_critical_pod
from kubesim.api.pods.resources import (
    BEST_EFFORT,
    BURSTABLE,
    CPU,
    GUARANTEED,
    HUGE_PAGES_PREFIX,
    MEMORY,
    Resources,
    container_requests,
    is_pod_level_requests_set,
    is_pod_level_resources_set,
    pod_limits,
    pod_qos_class,
    pod_requests,
)
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.quantity import ZERO, quantity
from kubesim.errors import RuntimeCallError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.values import value_object

CgroupName = tuple[str, ...]

NODE_ALLOCATABLE_CGROUP = "kubepods"
_QOS_PARENT: Mapping[str, CgroupName] = {GUARANTEED: (), BURSTABLE: ("burstable",), BEST_EFFORT: ("besteffort",)}
_SLICE = ".slice"

MIN_SHARES = 2
MAX_SHARES = 262_144
SHARES_PER_CPU = 1024
QUOTA_PERIOD = 100_000
MIN_QUOTA = 1_000
MILLI_CPU_PER_CPU = 1_000
UNLIMITED = -1

GUARANTEED_OOM_SCORE_ADJ = -997
BEST_EFFORT_OOM_SCORE_ADJ = 1000


@value_object
class ResourceConfig:
    """cgroup settings; None: unchanged. Huge pages: limit by page size, both in bytes."""

    cpu_shares: int | None = None
    cpu_quota: int | None = None
    cpu_period: int | None = None
    memory: int | None = None
    huge_page_limits: Mapping[int, int] = field(default_factory=dict)

    def merged(self, update: ResourceConfig) -> ResourceConfig:
        """Updated settings; those missing in the update stay."""
        return ResourceConfig(
            self.cpu_shares if update.cpu_shares is None else update.cpu_shares,
            self.cpu_quota if update.cpu_quota is None else update.cpu_quota,
            self.cpu_period if update.cpu_period is None else update.cpu_period,
            self.memory if update.memory is None else update.memory,
            self.huge_page_limits,
        )


NEW_CGROUP = ResourceConfig(cpu_shares=SHARES_PER_CPU, cpu_quota=UNLIMITED, cpu_period=QUOTA_PERIOD, memory=UNLIMITED)


class PodCgroups:
    """The pod cgroups of one node, by UID. Read settings are always complete. `errors` are returned by the first
    creations.
    """

    def __init__(self, errors: Sequence[str] = ()) -> None:
        self._groups: dict[str, ResourceConfig] = {}
        self._errors = list(errors)

    def get(self, uid: str) -> ResourceConfig | None:
        return self._groups.get(uid)

    def create(self, uid: str, config: ResourceConfig) -> None:
        """Create a cgroup. Raises RuntimeCallError."""
        if self._errors:
            raise RuntimeCallError(self._errors.pop(0))
        self._groups[uid] = NEW_CGROUP.merged(config)

    def write(self, uid: str, config: ResourceConfig) -> None:
        self._groups[uid] = self._groups[uid].merged(config)

    def destroy(self, uid: str) -> None:
        self._groups.pop(uid, None)

    def uids(self) -> tuple[str, ...]:
        return tuple(self._groups)


def pod_cgroup_name(pod: Pod, cgroup_root: str = "/", gates: FeatureGates = DEFAULT_GATES) -> CgroupName:
    """The parts of the cgroup name for any driver: root, `kubepods`, the QoS class unless Guaranteed, the pod."""
    parent = (NODE_ALLOCATABLE_CGROUP, *_QOS_PARENT[pod_qos_class(pod, gates)])
    return new_cgroup_name(parse_cgroupfs(cgroup_root), *parent, f"pod{pod.metadata.uid}")


def new_cgroup_name(base: CgroupName, *components: str) -> CgroupName:
    """A child name. `_` is rejected because the systemd driver uses it for `-`."""
    for component in components:
        if "/" in component or "_" in component:
            raise ValueError(f'invalid character in component ["{component}"] of CgroupName')
    return (*base, *components)


def parse_cgroupfs(path: str) -> CgroupName:
    path = path.removeprefix("/")
    return tuple(path.split("/")) if path else ()


def to_cgroupfs(name: CgroupName) -> str:
    """The cgroupfs name: `/kubepods/burstable/podUID`."""
    path = "/".join([part for part in name if part])
    return "/" + (posixpath.normpath(path) if "." in path or "//" in path else path)


def to_systemd(name: CgroupName) -> str:
    """`/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podUID.slice`: a slice repeats its parents."""
    if name in ((), ("",)):
        return "/"
    parts = "-".join(part.replace("-", "_") for part in name).split("-")
    if not all(parts) or any("/" in part for part in parts):
        raise ValueError(f"error converting cgroup name {list(name)} to systemd format: invalid slice name")
    return "".join(f"/{'-'.join(parts[: n + 1])}{_SLICE}" for n in range(len(parts)))


def milli_cpu_to_shares(milli_cpu: int) -> int:
    return min(max(milli_cpu * SHARES_PER_CPU // MILLI_CPU_PER_CPU, MIN_SHARES), MAX_SHARES)


def shares_to_milli_cpu(shares: int) -> int:
    return -(-shares * MILLI_CPU_PER_CPU // SHARES_PER_CPU) if shares >= MIN_SHARES else 0


def milli_cpu_to_quota(milli_cpu: int, period: int = QUOTA_PERIOD) -> int:
    """CPU time per period in microseconds; 0: no limit, otherwise at least one millisecond."""
    return max(milli_cpu * period // MILLI_CPU_PER_CPU, MIN_QUOTA) if milli_cpu else 0


def resource_config_for_pod(
    pod: Pod, *, enforce_cpu_limits: bool = True, cpu_period: int = QUOTA_PERIOD, gates: FeatureGates = DEFAULT_GATES
) -> ResourceConfig:
    """The pod cgroup's settings. A Burstable pod is limited only if every container, or the pod itself, has a limit."""
    pod_level = gates.enabled("PodLevelResources")
    requests = pod_requests(pod, skip_pod_level=not pod_level)
    huge_pages = _huge_page_limits(requests)
    qos = pod_qos_class(pod, gates)
    if qos == BEST_EFFORT:
        return ResourceConfig(cpu_shares=MIN_SHARES, huge_page_limits=huge_pages)

    undeclared: set[str] = set()

    def observe(limits: Resources) -> None:
        undeclared.update(name for name in (CPU, MEMORY) if limits.get(name, ZERO).is_zero)

    limits = pod_limits(pod, skip_pod_level=not pod_level, observer=observe)
    if pod.spec.resources is not None and pod_level and is_pod_level_resources_set(pod):
        own_limits = pod.spec.resources.limits
        undeclared -= {name for name, value in own_limits.items() if not quantity(value).is_zero}
    cpu_declared = qos == GUARANTEED or CPU not in undeclared
    memory_declared = qos == GUARANTEED or MEMORY not in undeclared
    quota = milli_cpu_to_quota(limits.get(CPU, ZERO).milli_value(), cpu_period) if enforce_cpu_limits else -1
    return ResourceConfig(
        cpu_shares=milli_cpu_to_shares(requests.get(CPU, ZERO).milli_value()),
        cpu_quota=quota if cpu_declared else None,
        cpu_period=cpu_period if cpu_declared else None,
        memory=limits.get(MEMORY, ZERO).value() if memory_declared else None,
        huge_page_limits=huge_pages,
    )


def _huge_page_limits(requests: Resources) -> dict[int, int]:
    limits: dict[int, int] = {}
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES_PREFIX):
            page_size = quantity(name.removeprefix(HUGE_PAGES_PREFIX)).value()
            limits[page_size] = limits.get(page_size, 0) + amount.value()
    return limits


def container_oom_score_adjust(
    pod: Pod, container: Container, memory_capacity: int, gates: FeatureGates = DEFAULT_GATES
) -> int:
    """The container's oom_score_adj: the smaller its share of the node's memory, the earlier the kernel kills it."""
    qos = pod_qos_class(pod, gates)
    if qos == GUARANTEED or is_node_critical_pod(pod):
        return GUARANTEED_OOM_SCORE_ADJ
    if qos == BEST_EFFORT:
        return BEST_EFFORT_OOM_SCORE_ADJ

    extra = 0
    if gates.enabled("PodLevelResources") and is_pod_level_requests_set(pod):
        extra = _unassigned_memory_per_container(pod)
    adjust = 1000 - _quotient(1000 * (_memory_request(container) + extra), memory_capacity)
    if is_restartable_init_container(container) and any(c.name == container.name for c in pod.spec.init_containers):
        # A sidecar is not killed before the regular container with the smallest request.
        smallest = min(map(_memory_request, pod.spec.containers)) + extra
        adjust = min(adjust, 1000 - _quotient(1000 * smallest, memory_capacity))
    adjust = max(adjust, 1000 + GUARANTEED_OOM_SCORE_ADJ)
    # Below BestEffort. A pod that requests less than its containers passes: upstream tests for equality.
    return adjust - 1 if adjust == BEST_EFFORT_OOM_SCORE_ADJ else adjust


def _unassigned_memory_per_container(pod: Pod) -> int:
    """Each container's share of the pod's request beyond the sum of its containers."""
    resources = pod.spec.resources
    requested = quantity(resources.requests.get(MEMORY, 0)) if resources is not None else ZERO
    if requested.is_zero:
        return 0
    rest = requested.value() - container_requests(pod).get(MEMORY, ZERO).value()
    return _quotient(rest, len(pod.spec.containers) + len(pod.spec.init_containers))


def _memory_request(container: Container) -> int:
    return quantity(container.resources.requests.get(MEMORY, 0)).value()


def _quotient(dividend: int, divisor: int) -> int:
    """Go's integer division: truncates towards zero, also for negative numbers."""
    return dividend // divisor if dividend >= 0 else -(-dividend // divisor)
