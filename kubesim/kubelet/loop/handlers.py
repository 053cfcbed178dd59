"""Handlers of the sync loop for pods that were added, updated, removed, or need a sync.

Mirrors: pkg/kubelet/kubelet.go HandlePodAdditions, HandlePodUpdates, HandlePodRemoves, HandlePodReconcile,
HandlePodSyncs
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import find_condition
from kubesim.api.pods.pod_kinds import is_mirror_pod
from kubesim.api.pods.resources import CPU, MEMORY, Resources, asks_for_resources, pod_requests
from kubesim.api.quantity import ZERO
from kubesim.api.timestamps import parse_time
from kubesim.kubelet.containers.container_deletor import ContainerDeletor
from kubesim.kubelet.context import KubeletContext, PodViews
from kubesim.kubelet.loop.pod_manager import PodAndMirror
from kubesim.kubelet.resize.allocation_manager import AllocationManager, is_resized
from kubesim.kubelet.status.generate.conditions import generate_containers_ready_condition, generate_pod_ready_condition
from kubesim.kubelet.volumes.manager import VolumeManager
from kubesim.podworkers.updates import UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.values import part


@part
class Handlers:
    context: KubeletContext
    views: PodViews
    workers: PodWorkers
    deletor: ContainerDeletor
    allocation: AllocationManager
    volumes: VolumeManager

    async def handle_pod_additions(self, pods: Sequence[Pod]) -> None:
        """Add pods, oldest first, so that earlier pods are admitted before later ones.

        Blocks while pods are preempted. Resizes that were pending when the kubelet restarted are retried after all pods
        have their previous allocation.
        """
        resized = []
        for added in sorted(pods, key=_creation_time):
            pod, mirror = self._store(added)
            if pod is None:
                continue  # a mirror pod without a known static pod
            self.volumes.pod_added(pod)
            if pod is added and self._is_to_be_admitted(pod):
                if not await self._admit(pod):
                    continue
                if self.allocation.update_pod(pod) is not pod:
                    resized.append(pod.metadata.uid)
            self.workers.update_pod(UpdatePodOptions("create" if pod is added else "update", pod, mirror))
        if self.allocation.enabled:
            self.views.statuses.resize.backfill(pods, self.context.clock.wall())
        for uid in resized:
            await self.allocation.push_pending_resize(uid)
        if resized:
            await self.allocation.retry_pending_resizes()

    def _store(self, pod: Pod) -> PodAndMirror:
        """Store the pod in the pod manager, and schedule a comparison in the status manager's next full pass."""
        found = self.views.manager.update(pod)
        self.views.statuses.pod_changed(pod.metadata.uid)
        return found

    def _is_to_be_admitted(self, pod: Pod) -> bool:
        is_over = _is_terminal(pod.status) and not self.context.gates.rules.admits_finished_pods
        return not is_over and not self.views.states.is_pod_termination_requested(pod.metadata.uid)

    async def _admit(self, pod: Pod) -> bool:
        reason, message = await self.allocation.add_pod(pod)
        if not reason:
            if _is_terminal(pod.status):
                self.allocation.pods_changed()  # the pod no longer uses what was counted for it
            return True
        self.views.reject_pod(pod, reason, message, self.context.events)
        return False

    async def handle_pod_updates(self, pods: Sequence[Pod]) -> None:
        self.allocation.pods_changed()
        for updated in pods:
            old = self.views.manager.by_uid(updated.metadata.uid)
            pod, mirror = self._store(updated)
            if pod is None:
                continue
            if self.allocation.enabled and pod is updated and is_resized(old, updated, self.context.gates):
                await self._resize(updated)
            self.workers.update_pod(UpdatePodOptions("update", pod, mirror))

    async def _resize(self, pod: Pod) -> None:
        """Handle an update that changes the pod's resource requests."""
        uid = pod.metadata.uid
        if self.allocation.update_pod(pod) is pod:
            self.views.statuses.resize.clear_pending(uid)  # the spec no longer requests the pending resize
            return
        await self.allocation.push_pending_resize(uid)
        await self.allocation.retry_pending_resizes()

    async def handle_pod_removes(self, pods: Sequence[Pod]) -> None:
        self.allocation.pods_changed()
        for removed in pods:
            self.views.manager.remove(removed)
            self.allocation.remove_pod(removed.metadata.uid)
            self.views.statuses.pod_changed(removed.metadata.uid)
            self.volumes.pod_may_be_over(removed.metadata.uid)
            pod, mirror = self.views.manager.pod_and_mirror(removed)
            if pod is None:
                continue
            if pod is not removed:
                self.workers.update_pod(UpdatePodOptions("update", pod, mirror))  # a mirror pod was deleted
            elif self.views.sources.all_ready:  # otherwise housekeeping stops it, once every source is received
                self.workers.update_pod(UpdatePodOptions(update_type="kill", pod=pod))
        await self.allocation.retry_pending_resizes()

    async def handle_pod_reconcile(self, pods: Sequence[Pod]) -> None:
        """Handle an update that changes only the status: the status manager compares it in its next full pass."""
        waiting, freed = self.allocation.has_pending_resizes(), False
        for changed in pods:
            if waiting and not freed:
                old = self.views.manager.by_uid(changed.metadata.uid)
                freed = old is not None and self._frees_resources(old, changed)
            pod, mirror = self._store(changed)
            # The status includes allocated resources beyond the current requests.
            if _is_terminal(changed.status) or asks_for_resources(changed):
                self.allocation.pods_changed()
            if pod is None:
                continue
            if need_to_reconcile_pod_readiness(pod):
                self.workers.update_pod(UpdatePodOptions("sync", pod, mirror))
            if pod.status.phase == "Failed" and pod.status.reason == "Evicted":
                status = self.views.cache.known(pod.metadata.uid)
                if status is not None:
                    self.deletor.delete_containers_in_pod("", status, remove_all=True)
        if freed:
            await self.allocation.retry_pending_resizes()

    def _frees_resources(self, old: Pod, new: Pod) -> bool:
        """Whether the pod has terminated, or its status reports fewer resources than before."""
        ended = _is_terminal(new.status) and not _is_terminal(old.status)
        if ended and self.context.gates.rules.retries_resizes_when_pod_ends:
            return True
        before, after = self._requests_in_force(old), self._requests_in_force(new)
        return any(after.get(name, ZERO) < before.get(name, ZERO) for name in (MEMORY, CPU))

    def _requests_in_force(self, pod: Pod) -> Resources:
        gates = self.context.gates
        return pod_requests(
            self.allocation.update_pod(pod),
            use_status=True,
            use_pod_level_status=gates.enabled("InPlacePodLevelResourcesVerticalScaling"),
            skip_pod_level=not gates.enabled("PodLevelResources"),
        )

    def clean_up_containers_in_pod(self, uid: str, exited_id: str) -> None:
        """After a container died: remove dead containers beyond the limit, or all of them if the pod has terminated."""
        status = self.views.cache.known(uid)
        if status is not None:
            remove_all = self.views.states.should_pod_content_be_removed(uid)
            self.deletor.delete_containers_in_pod(exited_id, status, remove_all=remove_all)

    def handle_pod_syncs(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            if not is_mirror_pod(pod):
                self.workers.update_pod(UpdatePodOptions("sync", pod, self.views.manager.mirror_of(pod)))


def need_to_reconcile_pod_readiness(pod: Pod) -> bool:
    """Whether the condition of a readiness gate changed, so that the Ready condition is stale."""
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


def _creation_time(pod: Pod) -> int:
    created = pod.metadata.creation_timestamp
    return parse_time(created) if created else 0
