"""The overlay: the live pods of a node, with the statuses that our own kubelet would write.

The overlay is the in-memory API server of the attached node. `ApiServerSource` copies the live pods here; each change
updates their specs, labels, annotations, deletions and the conditions set by others. The status is always that of our
kubelet: a pod that has not finished starts with an empty status, because its containers are not running here yet. A pod
that our kubelet would have deleted stays removed until the real one is gone.

The overlay has no static pods: their files are on the node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from typing import Protocol

from kubesim.api.pod import Pod, PodCondition, PodStatus
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import (
    CONTAINERS_READY,
    INITIALIZED,
    POD_READY_TO_START_CONTAINERS,
    POD_RESIZE_IN_PROGRESS,
    POD_RESIZE_PENDING,
    READY,
)
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.pods.resources import compute_pod_qos
from kubesim.cluster.store.store import Store

Name = tuple[str, str]  # namespace, name
_OURS = frozenset({
    READY, INITIALIZED, CONTAINERS_READY, POD_READY_TO_START_CONTAINERS, POD_RESIZE_PENDING, POD_RESIZE_IN_PROGRESS,
})  # fmt: skip


class PodFollower(Protocol):
    """Receives every live pod before our kubelet does."""

    def pod_updated(self, pod: Pod) -> None: ...
    def pod_removed(self, pod: Pod) -> None: ...


class PodOverlay:
    """Implements `PodReceiver`. `listed` is called after the first list."""

    def __init__(
        self, store: Store, updates: Sized, listed: Callable[[], None], followers: Iterable[PodFollower] = ()
    ) -> None:
        self.updates = updates
        self._store = store
        self._listed: Callable[[], None] | None = listed
        self._followers = tuple(followers)
        self._live: dict[Name, Pod] = {}

    def snapshot(self, source: str, pods: Iterable[Pod]) -> None:
        found = {(pod.metadata.namespace, pod.metadata.name): pod for pod in pods}
        for name in [name for name in self._live if name not in found]:
            self._lose(name)
        for pod in found.values():
            self.upsert(source, pod)
        if self._listed is not None:
            listed, self._listed = self._listed, None
            listed()

    def upsert(self, source: str, pod: Pod) -> None:
        if is_mirror_pod(pod):
            return
        name = (pod.metadata.namespace, pod.metadata.name)
        before = self._live.get(name)
        if before is not None and before.metadata.uid != pod.metadata.uid:
            self._lose(name)
            before = None
        self._live[name] = pod
        for follower in self._followers:
            follower.pod_updated(pod)
        ours = self._store.find("Pod", *name)
        if isinstance(ours, Pod):
            merged = with_our_status(pod, ours.status)
            if merged.changed(metadata=merged.metadata.changed(resource_version="")) != ours.changed(
                metadata=ours.metadata.changed(resource_version="")
            ):
                self._store.put(merged)
        elif before is None:
            self._store.put(first_seen(pod))

    def remove(self, source: str, namespace: str, name: str) -> None:
        if (namespace, name) in self._live:
            self._lose((namespace, name))

    def _lose(self, name: Name) -> None:
        pod = self._live.pop(name)
        for follower in self._followers:
            follower.pod_removed(pod)
        if self._store.find("Pod", *name) is not None:
            self._store.remove("Pod", *name)


def first_seen(pod: Pod) -> Pod:
    """A live pod as a new kubelet sees it that has none of its containers."""
    pod = pod.changed(api_version="v1", kind="Pod")
    if pod.status.phase in TERMINAL_PHASES:
        return pod
    conditions = _by_others(pod.status)
    return pod.changed(status=PodStatus(phase="Pending", qos_class=compute_pod_qos(pod), conditions=conditions))


def with_our_status(pod: Pod, ours: PodStatus) -> Pod:
    """A live pod with our status, plus the conditions that other controllers have set at the live API server."""
    others = {condition.type: condition for condition in _by_others(pod.status)}
    kept = tuple(others.pop(known.type, known) for known in ours.conditions if known.type in _OURS | others.keys())
    return pod.changed(api_version="v1", kind="Pod", status=ours.changed(conditions=(*kept, *others.values())))


def _by_others(status: PodStatus) -> tuple[PodCondition, ...]:
    return tuple(condition for condition in status.conditions if condition.type not in _OURS)
