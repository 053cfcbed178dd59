"""Garbage collection of dead containers and sandboxes: once a minute for the node, and at each exit for one pod.

Pure: the caller passes the runtime's listing and removes the returned objects in order, containers before sandboxes.

Mirrors: kuberuntime_gc.go evictableContainers, evictContainers, evictSandboxes, removeOldestN;
pkg/kubelet/pod_container_deletor.go getContainersToDeleteInPod.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from kubesim.runtime.protocol import ContainerInfo, SandboxInfo
from kubesim.runtime.types import ContainerRecord, RuntimePodStatus
from kubesim.values import value_object

KILL_BEFORE_REMOVAL = "Container is in unknown state, try killing it before removal"

_EvictUnits = dict[tuple[str, str], list[ContainerInfo]]


@value_object
class GCPolicy:
    """Limits on dead containers; a negative number is no limit."""

    min_age: int = 0  # microseconds since creation
    max_per_pod_container: int = 1
    max_containers: int = -1


class PodStateProvider(Protocol):
    """Pod states of the pod workers."""

    def should_pod_content_be_removed(self, uid: str) -> bool: ...
    def should_pod_runtime_be_removed(self, uid: str) -> bool: ...


@value_object
class ContainerEviction:
    """A container to remove. If its state is unknown it is killed first; if that fails, it stays."""

    id: str
    name: str
    kill_first: bool


def evict_containers(
    containers: Iterable[ContainerInfo],
    policy: GCPolicy,
    pod_states: PodStateProvider,
    *,
    now: int,
    all_sources_ready: bool,
    evict_non_deleted_pods: bool = False,
) -> list[ContainerEviction]:
    """The dead containers to remove, in order."""
    units = _evictable_containers(containers, now - policy.min_age)
    evicted: list[ContainerInfo] = []
    if all_sources_ready:
        for uid, name in list(units):
            if _is_pod_removed(uid, pod_states, evict_non_deleted_pods):
                # All are removed; as upstream, they are not sorted: last listed first.
                evicted += reversed(units.pop((uid, name)))
    if policy.max_per_pod_container >= 0:
        _enforce_max_per_unit(units, policy.max_per_pod_container, evicted)
    if policy.max_containers >= 0:
        _enforce_max_containers(units, policy.max_containers, evicted)
    return [ContainerEviction(info.id, info.name, info.state == "unknown") for info in evicted]


def _evictable_containers(containers: Iterable[ContainerInfo], newest_created_at: int) -> _EvictUnits:
    """Containers that are not running and old enough, by pod and container name."""
    units: _EvictUnits = {}
    for info in containers:
        if info.state != "running" and info.created_at <= newest_created_at:
            units.setdefault((info.pod_uid, info.name), []).append(info)
    return units


def _is_pod_removed(uid: str, pod_states: PodStateProvider, evict_non_deleted_pods: bool) -> bool:
    return pod_states.should_pod_content_be_removed(uid) or (
        evict_non_deleted_pods and pod_states.should_pod_runtime_be_removed(uid)
    )


def _enforce_max_per_unit(units: _EvictUnits, limit: int, evicted: list[ContainerInfo]) -> None:
    for key, infos in units.items():
        if len(infos) > limit:
            units[key] = _remove_oldest(infos, len(infos) - limit, evicted)


def _enforce_max_containers(units: _EvictUnits, limit: int, evicted: list[ContainerInfo]) -> None:
    """First an equal share per unit, at least one; then remove the oldest of all."""
    if sum(map(len, units.values())) <= limit:
        return
    _enforce_max_per_unit(units, max(limit // len(units), 1), evicted)
    left = [info for infos in units.values() for info in infos]
    if len(left) > limit:
        _remove_oldest(left, len(left) - limit, evicted)


def _remove_oldest(infos: list[ContainerInfo], count: int, evicted: list[ContainerInfo]) -> list[ContainerInfo]:
    keep = len(infos) - count
    if keep > 0:
        infos = sorted(infos, key=_newest_first)
    evicted += reversed(infos[keep:])
    return infos[:keep]


def _newest_first(info: ContainerInfo | SandboxInfo | ContainerRecord) -> int:
    return -info.created_at


def evict_sandboxes(
    sandboxes: Iterable[SandboxInfo],
    containers: Iterable[ContainerInfo],
    pod_states: PodStateProvider,
    *,
    evict_non_deleted_pods: bool = False,
) -> list[str]:
    """The sandboxes to stop and remove, in order: not ready, without containers, and not the newest of a living pod."""
    in_use = {info.sandbox_id for info in containers}
    by_pod: dict[str, list[SandboxInfo]] = {}
    for sandbox in sandboxes:
        by_pod.setdefault(sandbox.pod_uid, []).append(sandbox)
    evicted: list[str] = []
    for uid, infos in by_pod.items():
        candidates: Sequence[SandboxInfo] = infos
        if not _is_pod_removed(uid, pod_states, evict_non_deleted_pods):
            candidates = sorted(infos, key=_newest_first)[1:]
        evicted += (info.id for info in reversed(candidates) if not info.ready and info.id not in in_use)
    return evicted


def containers_to_delete_in_pod(
    status: RuntimePodStatus, keep: int, died_container_id: str = ""
) -> tuple[ContainerRecord, ...]:
    """The dead containers of one pod beyond the newest `keep`, newest first.

    With a container id, only those of the same container name; an unknown id returns none.
    """
    records: Sequence[ContainerRecord] = status.containers
    if died_container_id:
        names = [record.name for record in records if record.id == died_container_id]
        records = [record for record in records if record.name in names]
    dead = [record for record in records if record.state == "exited"]
    return tuple(sorted(dead, key=_newest_first)[keep:]) if len(dead) > keep else ()
