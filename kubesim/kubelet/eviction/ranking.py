"""Eviction ranking: by usage above requests, then by priority, then by how much the usage exceeds the requests.

The QoS class has no direct effect: a BestEffort pod has no requests, so all its usage exceeds them. Among equals, a pod
without measurements ranks first.

Mirrors: pkg/kubelet/eviction/helpers.go rankMemoryPressure, rankPIDPressure, rankDiskPressureFunc,
buildSignalToRankFunc; pkg/api/v1/resource/helpers.go GetResourceRequestQuantity
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from kubesim.api.pod import Pod
from kubesim.api.pods.resources import (
    container_requests,
    is_pod_level_resources_set,
    is_supported_pod_level_resource,
    quantities,
)
from kubesim.api.quantity import BINARY_SI, ZERO, Quantity, quantity
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.eviction import signals
from kubesim.kubelet.eviction.stats import FsUsage, PodUsage, PodUsages

FsKind = Literal["root", "logs", "volumes"]

_NODEFS = (signals.NODEFS_AVAILABLE, signals.NODEFS_INODES_FREE)


def rank_for_signal(
    signal: str,
    pods: Iterable[Pod],
    usages: PodUsages,
    *,
    dedicated_image_fs: bool = False,
    gates: FeatureGates = DEFAULT_GATES,
) -> list[Pod]:
    """The pods in eviction order for a starved signal."""
    resource = signals.RESOURCE[signal]
    if resource == signals.MEMORY:
        return rank_memory_pressure(pods, usages, gates)
    if resource == signals.PIDS:
        return rank_pid_pressure(pods, usages)
    kinds = _measured(signal, dedicated_image_fs)
    return rank_disk_pressure(pods, usages, kinds, resource, gates)


def _measured(signal: str, dedicated_image_fs: bool) -> tuple[FsKind, ...]:
    """The parts of a pod that are on the file system of a signal."""
    if not dedicated_image_fs:
        return ("root", "logs", "volumes")
    return ("logs", "volumes") if signal in _NODEFS else ("root",)


def rank_memory_pressure(pods: Iterable[Pod], usages: PodUsages, gates: FeatureGates = DEFAULT_GATES) -> list[Pod]:
    def key(pod: Pod) -> tuple[Any, ...]:
        usage = usages.get(pod.metadata.uid)
        if usage is None:
            return False, False, priority(pod)
        excess = _amount(usage.memory) - requested(pod, signals.MEMORY, gates)
        return True, excess.sign <= 0, priority(pod), -excess

    return sorted(pods, key=key)


def rank_pid_pressure(pods: Iterable[Pod], usages: PodUsages) -> list[Pod]:
    def key(pod: Pod) -> tuple[Any, ...]:
        usage = usages.get(pod.metadata.uid)
        return priority(pod), usage is not None, -((usage.processes or 0) if usage else 0)

    return sorted(pods, key=key)


def rank_disk_pressure(
    pods: Iterable[Pod],
    usages: PodUsages,
    kinds: tuple[FsKind, ...],
    resource: str,
    gates: FeatureGates = DEFAULT_GATES,
) -> list[Pod]:
    """Rank by bytes or inodes. As upstream, the last comparison subtracts the request for storage from inodes too."""

    def key(pod: Pod) -> tuple[Any, ...]:
        usage = usages.get(pod.metadata.uid)
        if usage is None:
            return False, False, priority(pod)
        used = _amount(disk_usage(pod, usage, kinds)[resource])
        within = used <= requested(pod, resource, gates)
        return True, within, priority(pod), requested(pod, signals.EPHEMERAL_STORAGE, gates) - used

    return sorted(pods, key=key)


def disk_usage(pod: Pod, usage: PodUsage, kinds: tuple[FsKind, ...]) -> dict[str, int]:
    """A pod's file system usage in bytes and inodes."""
    parts: list[FsUsage | None] = []
    for container in usage.containers:
        parts.extend([container.rootfs] if "root" in kinds else [])
        parts.extend([container.logs] if "logs" in kinds else [])
    if "volumes" in kinds:
        parts.extend(usage.volumes.get(volume["name"]) for volume in pod.spec.volumes if is_local_volume(volume))
    known = [part for part in parts if part is not None]
    return {
        signals.EPHEMERAL_STORAGE: sum(part.used_bytes or 0 for part in known),
        signals.INODES: sum(part.inodes or 0 for part in known),
    }


def is_local_volume(volume: Mapping[str, Any]) -> bool:
    """Whether the volume uses local disk; an emptyDir in memory does not."""
    if any(volume.get(kind) is not None for kind in ("hostPath", "gitRepo", "configMap")):
        return True
    empty_dir = volume.get("emptyDir")
    return empty_dir is not None and not empty_dir.get("medium")


def priority(pod: Pod) -> int:
    return pod.spec.priority or 0


def requested(pod: Pod, resource: str, gates: FeatureGates = DEFAULT_GATES) -> Quantity:
    """The pod's request. Pod-level resources replace those of the containers."""
    level = pod.spec.resources
    if level is not None and gates.enabled("PodLevelResources") and is_pod_level_resources_set(pod):
        amounts = {n: amount for n, amount in quantities(level.requests).items() if is_supported_pod_level_resource(n)}
    else:
        amounts = container_requests(pod)
    amount = amounts.get(resource, ZERO)
    overhead = pod.spec.overhead.get(resource)
    return amount if overhead is None or amount.is_zero else amount + quantity(overhead)


def _amount(number: int | None) -> Quantity:
    return Quantity(number or 0, 0, BINARY_SI)
