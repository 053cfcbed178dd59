"""The handlers of the sync loop: what is done about pods that were added, changed, removed, or need a sync.

Mirrors: pkg/kubelet/kubelet.go HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile,
HandlePodSyncs
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kubesim.api.phases import TERMINAL_PHASES
from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pod_kinds import is_mirror_pod
from kubesim.api.quantity import ZERO
from kubesim.api.resources import CPU, MEMORY, Resources, pod_qos_class, pod_requests
from kubesim.api.timestamps import parse_time
from kubesim.clock import LoopClock
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.allocation import AllocationManager, is_resized
from kubesim.kubelet.container_deletor import ContainerDeletor
from kubesim.kubelet.pod_manager import PodAndMirror, PodManager
from kubesim.kubelet.status.conditions import (
    find_condition,
    generate_containers_ready_condition,
    generate_pod_ready_condition,
)
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.volumes.manager import VolumeManager
from kubesim.podworkers.updates import UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.pod_cache import PodCache


class Handlers:
    def __init__(
        self,
        pods: PodManager,
        workers: PodWorkers,
        statuses: StatusManager,
        cache: PodCache,
        deletor: ContainerDeletor,
        events: EventRecorder,
        allocation: AllocationManager,
        volumes: VolumeManager,
        clock: LoopClock,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._pods = pods
        self._workers = workers
        self._statuses = statuses
        self._cache = cache
        self._deletor = deletor
        self._events = events
        self._allocation = allocation
        self._volumes = volumes
        self._clock = clock
        self._gates = gates
        self.rejections: Counter[str] = Counter()  # by reason
        self.sources_ready = False  # every source has been heard

    async def handle_pod_additions(self, pods: Sequence[Pod]) -> None:
        """Oldest first, so that earlier pods are admitted before later ones.

        Waits while others are preempted. A resize that was pending when a previous kubelet ended is taken up again
        once all pods have got what they had.
        """
        resized = []
        for added in sorted(pods, key=_creation_time):
            pod, mirror = self._store(added)
            if pod is None:
                continue  # a mirror pod whose static pod is not known
            self._volumes.pod_added(pod)
            if pod is added and self._is_to_be_admitted(pod):
                if not await self._admit(pod):
                    continue
                if self._allocation.update_pod(pod) is not pod:
                    resized.append(pod.metadata.uid)
            self._workers.update_pod(UpdatePodOptions("create" if pod is added else "update", pod, mirror))
        if self._allocation.enabled:
            self._statuses.resize.backfill(pods, self._clock.now())
        for uid in resized:
            await self._allocation.push_pending_resize(uid)
        if resized:
            await self._allocation.retry_pending_resizes()

    def _store(self, pod: Pod) -> PodAndMirror:
        """The pod manager holds it, and the status manager compares it at its next full pass."""
        found = self._pods.update(pod)
        self._statuses.pod_changed(pod.metadata.uid)
        return found

    def _is_to_be_admitted(self, pod: Pod) -> bool:
        return not _is_terminal(pod.status) and not self._workers.states.is_pod_termination_requested(pod.metadata.uid)

    async def _admit(self, pod: Pod) -> bool:
        reason, message = await self._allocation.add_pod(pod)
        if not reason:
            return True
        self.rejections[reason] += 1
        self._events.event(pod, "Warning", reason, message)
        status = PodStatus(
            qos_class=pod_qos_class(pod), phase="Failed", reason=reason, message=f"Pod was rejected: {message}"
        )
        self._statuses.set_pod_status(pod, status)
        return False

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

    async def handle_pod_updates(self, pods: Sequence[Pod]) -> None:
        self._allocation.pods_changed()
        for updated in pods:
            old = self._pods.by_uid(updated.metadata.uid)
            pod, mirror = self._store(updated)
            if pod is None:
                continue
            if self._allocation.enabled and pod is updated and is_resized(old, updated, self._gates):
                await self._resize(updated)
            self._workers.update_pod(UpdatePodOptions("update", pod, mirror))

    async def _resize(self, pod: Pod) -> None:
        """The pod asks for other resources than before."""
        uid = pod.metadata.uid
        if self._allocation.update_pod(pod) is pod:
            self._statuses.resize.clear_pending(uid)  # a resize that was pending has been taken back
            return
        await self._allocation.push_pending_resize(uid)
        await self._allocation.retry_pending_resizes()

    async def handle_pod_removes(self, pods: Sequence[Pod]) -> None:
        self._allocation.pods_changed()
        for removed in pods:
            self._pods.remove(removed)
            self._allocation.remove_pod(removed.metadata.uid)
            self._statuses.pod_changed(removed.metadata.uid)
            self._volumes.pod_may_be_over(removed.metadata.uid)
            pod, mirror = self._pods.pod_and_mirror(removed)
            if pod is None:
                continue
            if pod is not removed:
                self._workers.update_pod(UpdatePodOptions("update", pod, mirror))  # it was the mirror
            elif self.sources_ready:  # otherwise housekeeping ends it, once every source has been heard
                self._workers.update_pod(UpdatePodOptions(update_type="kill", pod=pod))
        await self._allocation.retry_pending_resizes()

    async def handle_pod_reconcile(self, pods: Sequence[Pod]) -> None:
        """Only the status differs: the status manager looks at it when it makes its rounds."""
        waiting, freed = self._allocation.has_pending_resizes(), False
        for changed in pods:
            if waiting and not freed:
                old = self._pods.by_uid(changed.metadata.uid)
                freed = old is not None and self._frees_resources(old, changed)
            pod, mirror = self._store(changed)
            if _is_terminal(changed.status) or _asks_for_resources(changed):
                self._allocation.pods_changed()
            if pod is None:
                continue
            if need_to_reconcile_pod_readiness(pod):
                self._workers.update_pod(UpdatePodOptions("sync", pod, mirror))
            if pod.status.phase == "Failed" and pod.status.reason == "Evicted":
                status = self._cache.known(pod.metadata.uid)
                if status is not None:
                    self._deletor.delete_containers_in_pod("", status, remove_all=True)
        if freed:
            await self._allocation.retry_pending_resizes()

    def _frees_resources(self, old: Pod, new: Pod) -> bool:
        """Has the pod come to its end, or less than before according to its status?"""
        if _is_terminal(new.status) and not _is_terminal(old.status):
            return True
        before, after = self._requests_in_force(old), self._requests_in_force(new)
        return any(after.get(name, ZERO) < before.get(name, ZERO) for name in (MEMORY, CPU))

    def _requests_in_force(self, pod: Pod) -> Resources:
        gates = self._gates
        return pod_requests(
            self._allocation.update_pod(pod),
            use_status=True,
            use_pod_level_status=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
            skip_pod_level=not gates.enabled("PodLevelResources"),
        )

    def handle_pod_syncs(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            if not is_mirror_pod(pod):
                self._workers.update_pod(UpdatePodOptions("sync", pod, self._pods.mirror_of(pod)))


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
    return status.phase in TERMINAL_PHASES


def _asks_for_resources(pod: Pod) -> bool:
    """Then its status has a say in what it uses: the kubelet may have given it more than it asks for now."""
    spec = pod.spec
    if spec.resources is not None:
        return True
    for container in spec.containers + spec.init_containers:
        if container.resources.requests or container.resources.limits:
            return True
    return False


def _creation_time(pod: Pod) -> int:
    created = pod.metadata.creation_timestamp
    return parse_time(created) if created else 0
