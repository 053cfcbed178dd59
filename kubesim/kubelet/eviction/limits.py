"""Eviction of pods that exceed their own local storage limits, independent of node pressure.

Mirrors: pkg/kubelet/eviction/eviction_manager.go emptyDirLimitEviction, podEphemeralStorageLimitEviction,
containerEphemeralStorageLimitEviction
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.pod import Container, Pod
from kubesim.api.pods.resources import EPHEMERAL_STORAGE, pod_limits
from kubesim.api.pods.sidecars import is_restartable_init_container
from kubesim.api.quantity import BINARY_SI, Quantity, quantity
from kubesim.golang.text import quoted
from kubesim.kubelet.eviction.stats import FsUsage, PodUsage


def storage_limits_exceeded(
    pod: Pod, usage: PodUsage, *, dedicated_image_fs: bool = False, limits_sidecars: bool = False
) -> Iterator[str]:
    """The eviction message of each exceeded limit, in the order of the checks."""
    yield from _empty_dirs(pod, usage)
    limit = pod_limits(pod).get(EPHEMERAL_STORAGE)
    if limit is not None and _bytes(usage.ephemeral_storage) > limit:
        yield f"Pod ephemeral local storage usage exceeds the total limit of containers {limit}. "
    limited = pod.spec.containers
    if limits_sidecars:
        limited += tuple(filter(is_restartable_init_container, pod.spec.init_containers))
    yield from _containers(limited, usage, dedicated_image_fs)


def has_storage_limits(pod: Pod) -> bool:
    """Whether the pod has any local storage limit."""
    spec = pod.spec
    for volume in spec.volumes:
        if (volume.get("emptyDir") or {}).get("sizeLimit") is not None:
            return True
    return any(EPHEMERAL_STORAGE in container.resources.limits for container in spec.containers + spec.init_containers)


def _empty_dirs(pod: Pod, usage: PodUsage) -> Iterator[str]:
    for volume in pod.spec.volumes:
        size = (volume.get("emptyDir") or {}).get("sizeLimit")
        used = usage.volumes.get(volume["name"])
        if size is None or used is None:
            continue
        limit = quantity(size)
        if limit.sign > 0 and _bytes(used.used_bytes) > limit:
            yield f"Usage of EmptyDir volume {quoted(volume['name'])} exceeds the limit {quoted(str(limit))}. "
            return


def _containers(limited: tuple[Container, ...], usage: PodUsage, dedicated_image_fs: bool) -> Iterator[str]:
    limits = {
        container.name: quantity(container.resources.limits[EPHEMERAL_STORAGE])
        for container in limited
        if EPHEMERAL_STORAGE in container.resources.limits
    }
    for container in usage.containers:
        limit = limits.get(container.name)
        # With a dedicated image file system, writable layers are not on the file system that the limit covers.
        parts = (container.logs,) if dedicated_image_fs else (container.logs, container.rootfs)
        if limit is not None and limit.value() != 0 and _used(*parts) > limit:
            name, text = container.name, quoted(str(limit))
            yield f"Container {name} exceeded its local ephemeral storage limit {text}. "
            return


def _used(*parts: FsUsage | None) -> Quantity:
    return _bytes(sum(part.used_bytes or 0 for part in parts if part is not None))


def _bytes(number: int | None) -> Quantity:
    return Quantity(number or 0, 0, BINARY_SI)
