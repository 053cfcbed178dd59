"""The handlers of the sync loop: what is done about pods that were added, changed, removed, or need a sync.

Mirrors: pkg/kubelet/kubelet.go HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile,
HandlePodSyncs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.resources import pod_qos_class
from kubesim.api.timestamps import parse_time
from kubesim.kubelet.container_deletor import ContainerDeletor
from kubesim.kubelet.pod_manager import PodManager
from kubesim.kubelet.status.conditions import (
    find_condition,
    generate_containers_ready_condition,
    generate_pod_ready_condition,
)
from kubesim.kubelet.status.manager import StatusManager
from kubesim.podworkers.updates import SyncPodType, UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.pod_cache import PodCache


class Admission(Protocol):
    """May this pod run beside the active ones? An empty reason admits it."""

    def admit(self, pod: Pod, others: Callable[[], Iterable[Pod]]) -> tuple[str, str]: ...

    def pods_changed(self) -> None:
        """Which pods are active, or what they use, may have changed otherwise than by an admission."""


class Handlers:
    def __init__(
        self,
        pods: PodManager,
        workers: PodWorkers,
        statuses: StatusManager,
        cache: PodCache,
        deletor: ContainerDeletor,
        events: EventRecorder,
        admission: Admission | None,
    ) -> None:
        self._pods = pods
        self._workers = workers
        self._statuses = statuses
        self._cache = cache
        self._deletor = deletor
        self._events = events
        self._admission = admission
        self.sources_ready = False  # set by the sync loop once every source has been heard

    def handle_pod_additions(self, pods: Sequence[Pod]) -> None:
        """Oldest first, so that earlier pods are admitted before later ones."""
        for added in sorted(pods, key=_creation_time):
            self._store(added)
            found = self._pods.pod_and_mirror(added)
            if found.pod is None:
                continue  # a mirror pod whose static pod is not known
            if not found.was_mirror and not self._admit(found.pod):
                continue
            self._update(found.pod, found.mirror, "update" if found.was_mirror else "create")

    def _store(self, pod: Pod) -> None:
        """The pod manager holds it, and the status manager compares it at its next full pass."""
        self._pods.update(pod)
        self._statuses.pod_changed(pod.metadata.uid)

    def _admit(self, pod: Pod) -> bool:
        uid = pod.metadata.uid
        if (
            self._admission is None
            or self._workers.states.is_pod_termination_requested(uid)
            or _is_terminal(pod.status)
        ):
            return True

        def others() -> Iterable[Pod]:
            return (other for other in self.active_pods() if other.metadata.uid != uid)

        reason, message = self._admission.admit(pod, others)
        if not reason:
            return True
        self._events.event(pod, "Warning", reason, message)
        status = PodStatus(
            qos_class=pod_qos_class(pod), phase="Failed", reason=reason, message=f"Pod was rejected: {message}"
        )
        self._statuses.set_pod_status(pod, status)
        return False

    def usage_changed(self) -> None:
        """A pod ended, went or changed: what the node has left must be counted anew."""
        if self._admission is not None:
            self._admission.pods_changed()

    def active_pods(self) -> list[Pod]:
        """Pods that may use resources: not finished, not rejected, not known to have ended."""
        return [pod for pod in self._pods.pods() if self.is_active(pod)]

    def is_active(self, pod: Pod) -> bool:
        uid = pod.metadata.uid
        if self._workers.states.is_pod_known_terminated(uid):
            return False
        if self._workers.states.is_pod_termination_requested(uid):
            return True  # it is still being stopped, so it still uses what it has
        cached = self._statuses.get_pod_status(uid)
        return not _is_terminal(pod.status) and (cached is None or not _is_terminal(cached))

    def handle_pod_updates(self, pods: Sequence[Pod]) -> None:
        self.usage_changed()
        for updated in pods:
            self._store(updated)
            found = self._pods.pod_and_mirror(updated)
            if found.pod is not None:
                self._update(found.pod, found.mirror, "update")

    def handle_pod_removes(self, pods: Sequence[Pod]) -> None:
        self.usage_changed()
        for removed in pods:
            self._pods.remove(removed)
            self._statuses.pod_changed(removed.metadata.uid)
            found = self._pods.pod_and_mirror(removed)
            if found.pod is None:
                continue
            if found.was_mirror:
                self._update(found.pod, found.mirror, "update")
            elif self.sources_ready:  # otherwise housekeeping ends it, once every source has been heard
                self._workers.update_pod(UpdatePodOptions(update_type="kill", pod=found.pod))

    def handle_pod_reconcile(self, pods: Sequence[Pod]) -> None:
        """Only the status differs: the status manager looks at it when it makes its rounds."""
        for changed in pods:
            self._store(changed)
            if _is_terminal(changed.status) or _asks_for_resources(changed):
                self.usage_changed()
            found = self._pods.pod_and_mirror(changed)
            if found.pod is None:
                continue
            if need_to_reconcile_pod_readiness(found.pod):
                self._update(found.pod, found.mirror, "sync")
            if found.pod.status.phase == "Failed" and found.pod.status.reason == "Evicted":
                self._deletor.delete_containers_in_pod("", self._cache.get(found.pod.metadata.uid), remove_all=True)

    def handle_pod_syncs(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            found = self._pods.pod_and_mirror(pod)
            if found.pod is not None and not found.was_mirror:
                self._update(found.pod, found.mirror, "sync")

    def _update(self, pod: Pod, mirror: Pod | None, update_type: SyncPodType) -> None:
        self._workers.update_pod(UpdatePodOptions(update_type, pod, mirror))


def need_to_reconcile_pod_readiness(pod: Pod) -> bool:
    """A readiness gate was opened or closed by somebody: is the Ready condition still right?"""
    if not pod.spec.readiness_gates:
        return False
    status = pod.status
    current = find_condition(status.conditions, "Ready")
    if current is None:
        return False
    containers_ready = generate_containers_ready_condition(pod, status, status.container_statuses, status.phase)
    wanted = generate_pod_ready_condition(pod, status, status.conditions, containers_ready)
    return (current.status, current.message) != (wanted.status, wanted.message)


def _is_terminal(status: PodStatus) -> bool:
    return status.phase in ("Succeeded", "Failed")


def _asks_for_resources(pod: Pod) -> bool:
    """Then its status has a say in what it uses: the kubelet may have given it more than it asks for now."""
    containers = (*pod.spec.containers, *pod.spec.init_containers)
    return pod.spec.resources is not None or any(c.resources.requests or c.resources.limits for c in containers)


def _creation_time(pod: Pod) -> int:
    created = pod.metadata.creation_timestamp
    return parse_time(created) if created else 0
