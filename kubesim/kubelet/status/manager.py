"""The status manager: caches the newest status of every pod and writes it to the API server.

Syncs and probe results store statuses (`set_pod_status` ... `terminate_pod`); each change wakes one writer (`run`). A
batch contains the statuses at its start; later changes go into the next one. Every 10 s a full pass also writes
statuses that differ from the API server's, for pods that changed here or in the pod manager since the last pass
(`pod_changed`).

Mirrors: pkg/kubelet/status/status_manager.go.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.pod_conditions import DISRUPTION_TARGET, find_condition
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.api.timestamps import SECOND, format_time
from kubesim.clock import NEVER, LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.api_client import ApiClient
from kubesim.concurrency import Channel, Select, Ticker
from kubesim.errors import ApiError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.status import manager_rules as rules
from kubesim.kubelet.status.resize_conditions import ResizeConditions
from kubesim.kubelet.status.summary import status_summary
from kubesim.kubelet.status.terminate import terminated_status, with_empty_states
from kubesim.trace.recorder import Recorder
from kubesim.trace.records import ApiWrite, StatusSet
from kubesim.values import replace, value_object

SYNC_PERIOD = 10 * SECOND


@value_object
class VersionedStatus:
    """A status and its version number."""

    version: int
    pod_name: str
    pod_namespace: str
    status: PodStatus
    pod_is_finished: bool = False  # set at the end of sync_terminated_pod, or later
    cause: int | None = None  # the record of the change, for the trace


class StatusManager:
    """The status manager of one kubelet. Without an API server there is no client, and nothing is written.

    `could_have_running_containers` is called with the API server's pod before each write.
    """

    def __init__(
        self,
        client: ApiClient | None,
        pods: PodManager,
        could_have_running_containers: Callable[[Pod], bool],
        clock: LoopClock,
        recorder: Recorder,
        *,
        node: str = "",
        stream: Stream | None = None,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.may_be_removed: Callable[[Pod, PodStatus], bool] | None = None  # for kubelets without a last sync
        self._client = client
        self._pods = pods
        self._could_have_running_containers = could_have_running_containers
        self._clock = clock
        self._recorder = recorder
        self._node = node
        self._stream = stream
        self._gates = gates
        self.resize = ResizeConditions()
        self._statuses: dict[str, VersionedStatus] = {}
        self.api_status_versions: dict[str, int] = {}  # by API UID: for a static pod, its mirror pod's
        self._static: dict[str, Pod] = {}  # static pods with a status; their API UID exists while the mirror pod does
        self._dirty: dict[str, None] = {}  # superset of the pods with an unwritten status, in order of change
        self._unchecked: dict[str, None] = {}  # pods to check in the next full pass
        self._wake: Channel[None] = Channel("status change", 1)

    # ---- callers' interface

    def get_pod_status(self, uid: str) -> PodStatus | None:
        found = self._statuses.get(uid) or self._statuses.get(self._pods.translate_uid(uid))
        return None if found is None else found.status

    def versioned_status(self, uid: str) -> VersionedStatus | None:
        return self._statuses.get(uid)

    def set_pod_status(self, pod: Pod, status: PodStatus) -> bool:
        """Store a generated status; true if it is new. For a pod being deleted every status counts as new, so that
        termination proceeds.
        """
        generation = self._generation_observed(pod)
        return self._update(pod, status, generation, force=pod.metadata.deletion_timestamp is not None)

    def _generation_observed(self, pod: Pod) -> int:
        if self._gates.enabled("PodObservedGenerationTracking") or pod.status.observed_generation:
            return pod.metadata.generation
        return 0

    def set_container_readiness(self, uid: str, container_id: str, ready: bool) -> None:
        pod = self._pods.by_uid(uid)
        cached = self._statuses.get(uid)
        if pod is None or cached is None:
            return
        status = rules.with_container_readiness(pod, cached.status, container_id, ready, self._gates)
        if status is not None:
            self._update(pod, status, status.observed_generation)

    def set_container_startup(self, uid: str, container_id: str, started: bool) -> None:
        pod = self._pods.by_uid(uid)
        cached = self._statuses.get(uid)
        if pod is None or cached is None:
            return
        status = rules.with_container_startup(cached.status, container_id, started)
        if status is not None:
            self._update(pod, status, status.observed_generation)

    def terminate_pod(self, pod: Pod) -> None:
        """Finalize the status of a terminated pod, and delete its API object if allowed."""
        cached = self._statuses.get(pod.metadata.uid)
        status = pod.status if cached is None else cached.status
        if self._gates.rules.pod_worker_states:
            status = terminated_status(pod, status)
        else:
            status = with_empty_states(status)
        self._update(pod, status, status.observed_generation, force=True, finished=True)

    def remove_orphaned_statuses(self, uids: Container[str]) -> None:
        """Remove the statuses of all pods except these."""
        for uid in [uid for uid in self._statuses if uid not in uids]:
            self._delete_pod_status(uid)

    def pod_changed(self, uid: str) -> None:
        """The pod manager changed this pod (or its mirror pod): the next full pass compares it."""
        uid = self._pods.translate_uid(uid)
        if uid in self._statuses:
            self._unchecked[uid] = None

    # ---- the cache

    def _update(
        self, pod: Pod, status: PodStatus, generation: int, *, force: bool = False, finished: bool = False
    ) -> bool:
        uid = pod.metadata.uid
        cached = self._statuses.get(uid)
        if cached is not None:
            old = cached.status
            finished = finished or (cached.pod_is_finished and not is_static_pod(pod))
        else:
            mirror = self._pods.mirror_of(pod)
            old = pod.status if mirror is None else mirror.status
        force = force or cached is None
        new = self._new_status(pod, status, generation, old, force=force)
        if new is None:
            return False
        self._store(pod, new, 1 if cached is None else cached.version + 1, finished)
        return True

    def _new_status(
        self, pod: Pod, status: PodStatus, generation: int, old: PodStatus, *, force: bool
    ) -> PodStatus | None:
        """The status to store; None if the transition is invalid or nothing changed."""
        if rules.check_container_state_transition(old, status, pod.spec, self._gates):
            return None
        now = self._clock.wall()
        status = status.changed(
            start_time=old.start_time or status.start_time or format_time(now),
            observed_generation=max(old.observed_generation, generation),
            conditions=rules.with_transition_times(status.conditions, old.conditions, now),
        )
        status = rules.normalize_status(pod, status)
        if not force and rules.is_pod_status_by_kubelet_equal(old, status, self._gates):
            return None
        return status

    def _store(self, pod: Pod, status: PodStatus, version: int, finished: bool) -> None:
        meta = pod.metadata
        cause = None
        if self._recorder.on:
            cause = self._recorder.record(
                StatusSet(
                    node=self._node,
                    pod=f"{meta.namespace}/{meta.name}",
                    uid=meta.uid,
                    phase=status.phase,
                    version=version,
                )
            )
        self._statuses[meta.uid] = VersionedStatus(version, meta.name, meta.namespace, status, finished, cause)
        if is_static_pod(pod):
            self._static[meta.uid] = pod
        self._dirty[meta.uid] = None
        self._unchecked[meta.uid] = None
        self._wake.try_send(None)

    def _delete_pod_status(self, uid: str) -> None:
        if self._statuses.pop(uid, None) is None:
            return
        for by_uid in (self._static, self._dirty, self._unchecked):
            by_uid.pop(uid, None)
        self.resize.forget(uid)

    # ---- writing

    async def run(self) -> None:
        """Write statuses forever."""
        if self._client is None:
            return
        ticker = Ticker(self._clock, "status tick", SYNC_PERIOD)
        turns = Select((self._wake, ticker.channel), self._stream)
        try:
            while True:
                chosen = await turns.next()
                is_tick = chosen.channel is ticker.channel
                tried = await self.sync_batch(everything=is_tick)
                if is_tick:
                    ticker.done(0 if tried or self._unchecked else NEVER)
        finally:
            turns.close()
            ticker.stop()

    async def sync_batch(self, everything: bool) -> int:
        """Write unwritten statuses; `everything` adds a full pass. Returns the number of attempts."""
        if everything:
            self._forget_orphaned_versions()
        batch = self._due_in_full_pass() if everything else self._due()
        for uid, status in batch:
            await self._sync_pod(uid, status)
        return len(batch)

    def _forget_orphaned_versions(self) -> None:
        translate = self._pods.translate_uid
        orphans = [uid for uid in self.api_status_versions if uid not in self._statuses and translate(uid) == uid]
        for uid in orphans:
            del self.api_status_versions[uid]

    def _due(self) -> list[tuple[str, VersionedStatus]]:
        """The pods to write. Static pods are always checked: a new mirror pod needs the status again."""
        due = [uid for uid in dict.fromkeys((*self._dirty, *self._static)) if self._is_due(uid)]
        self._dirty = dict.fromkeys(due)
        return [(uid, self._statuses[uid]) for uid in due]

    def _is_due(self, uid: str) -> bool:
        api_uid = self._api_uid(uid)
        return api_uid != "" and self.api_status_versions.get(api_uid, 0) < self._statuses[uid].version

    def _due_in_full_pass(self) -> list[tuple[str, VersionedStatus]]:
        """As `_due`, plus pods to delete or with a different API status, which the next full pass checks again."""
        due = []
        for uid in dict.fromkeys((*self._dirty, *self._static, *self._unchecked)):
            api_uid = self._api_uid(uid)
            status = self._statuses[uid]
            if api_uid and self._needs_update(api_uid, status):
                due.append((uid, status))
            elif api_uid and self.needs_reconcile(uid):
                self.api_status_versions.pop(api_uid, None)  # marks it as unwritten until it is written
                self._dirty[uid] = None
                due.append((uid, status))
            elif not self._is_watched(api_uid):
                self._unchecked.pop(uid, None)
        return due

    def _api_uid(self, uid: str) -> str:
        """The pod's UID at the API server; empty for a static pod without a mirror pod."""
        pod = self._static.get(uid)
        if pod is None:
            return uid
        mirror = self._pods.mirror_of(pod)
        if mirror is not None and self._pods.translate_uid(mirror.metadata.uid) == uid:
            return mirror.metadata.uid
        return uid if self._pods.by_uid(uid) is None else ""

    def _needs_update(self, api_uid: str, status: VersionedStatus) -> bool:
        if self.api_status_versions.get(api_uid, 0) < status.version:
            return True
        pod = self._pods.by_uid(api_uid)
        return pod is not None and self._can_be_deleted(pod, status)

    def _can_be_deleted(self, pod: Pod, status: VersionedStatus) -> bool:
        if self.may_be_removed is not None:
            return self.may_be_removed(pod, status.status)
        return rules.can_be_deleted(pod, status.pod_is_finished)

    def _is_watched(self, api_uid: str) -> bool:
        """Whether every full pass checks the pod. No status reports that a deleted pod has released its resources."""
        if self.may_be_removed is None:
            return False
        pod = self._pods.by_uid(api_uid)
        return pod is not None and pod.metadata.deletion_timestamp is not None

    def needs_reconcile(self, uid: str) -> bool:
        """Whether the pod manager's version of the API status differs from the kubelet's status."""
        pod = self._pods.by_uid(uid)
        cached = self._statuses.get(uid)
        if pod is None or cached is None:
            return False
        if is_static_pod(pod):
            pod = self._pods.mirror_of(pod)
            if pod is None:
                return False
        reported = rules.normalize_status(pod, pod.status)
        return not rules.is_pod_status_by_kubelet_equal(reported, cached.status, self._gates)

    async def _sync_pod(self, uid: str, status: VersionedStatus) -> None:
        """GET, merge, PATCH, and DELETE if allowed. A failure is retried at the next change or full pass."""
        client = self._client
        assert client is not None
        Recorder.because(status.cause)
        try:
            pod = await client.get_pod(status.pod_namespace, status.pod_name)
            known_as = self._pods.translate_uid(pod.metadata.uid)
            if known_as and known_as != uid:
                self._delete_pod_status(uid)  # the pod was deleted and recreated with the same name
                return
            merged = self._merged(uid, pod, status)
            if merged != pod.status:
                meta = pod.metadata
                pod = await client.patch_pod_status(meta.namespace, meta.name, meta.uid, pod.status, merged)
                self._record_patch(pod, status, held_back=merged.phase != status.status.phase)
            self.api_status_versions[pod.metadata.uid] = status.version
            if self._can_be_deleted(pod, status):
                await self._delete(client, pod)
                self._delete_pod_status(uid)
        except ApiError:
            return

    def _merged(self, uid: str, pod: Pod, status: VersionedStatus) -> PodStatus:
        """The status to send; None if the API server has it."""
        could_run = self._could_have_running_containers(pod)
        merged = rules.merge_pod_status(pod, pod.status, status.status, could_run, self._clock.wall(), self._gates)
        if rules.becomes_terminal(pod.status, merged):
            self._keep_disruption_time(uid, status, merged)
        return merged

    def _keep_disruption_time(self, uid: str, status: VersionedStatus, merged: PodStatus) -> None:
        """Store the sent DisruptionTarget time in the cache too: upstream shares the list of conditions."""
        cached = find_condition(status.status.conditions, DISRUPTION_TARGET)
        if cached is None or self._statuses.get(uid) is not status:
            return
        sent = find_condition(merged.conditions, DISRUPTION_TARGET)
        conditions = tuple(sent if condition is cached else condition for condition in status.status.conditions)
        self._statuses[uid] = replace(status, status=status.status.changed(conditions=conditions))

    async def _delete(self, client: ApiClient, pod: Pod) -> None:
        meta = pod.metadata
        await client.delete_pod(meta.namespace, meta.name, meta.uid, grace_period_seconds=0)
        if self._recorder.on:
            why = "the pod is marked for deletion, its phase is terminal and the kubelet has finished with it"
            if self.may_be_removed is not None:
                why = "the pod is marked for deletion and holds no resources of the node any more"
            self._record_write(pod, "delete", "pods", why, {"gracePeriodSeconds": 0})

    def _record_patch(self, pod: Pod, status: VersionedStatus, *, held_back: bool) -> None:
        if self._recorder.on:
            why = f"version {status.version} of the status had not been written"
            if held_back:
                why += f"; the phase {status.status.phase} is held back while containers may be running"
            self._record_write(pod, "patch", "pods/status", why, status_summary(pod.status))

    def _record_write(self, pod: Pod, verb: str, resource: str, why: str, summary: dict[str, Any]) -> None:
        meta = pod.metadata
        self._recorder.record(
            ApiWrite(
                node=self._node,
                pod=f"{meta.namespace}/{meta.name}",
                uid=meta.uid,
                verb=verb,
                resource=resource,
                by="kubelet",
                summary=summary,
                why=why,
            )
        )
