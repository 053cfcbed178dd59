"""Pod worker queues of older kubelets, without states: a worker syncs its pod while one update waits.

A deletion is an ordinary sync of a pod with a deletion timestamp. A sync is never cancelled: the newest update that
arrives during it is delivered afterwards, and nothing replaces a kill. A finished pod is not sent to its worker. The
status manager decides whether a pod has finished; workers keep no state.

Pure. It has the interface of `state.py`, which newer kubelets use.

Mirrors: pkg/kubelet/pod_workers.go UpdatePod, checkForUpdates, ForgetNonExistingPodWorkers; pkg/kubelet/kubelet.go
dispatchWork; pkg/kubelet/kubelet_pods.go podIsTerminated, IsPodDeleted (v1.12)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from kubesim.api.pod import ContainerStatus, Pod, PodStatus
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.podworkers.state import KnownPods, NoWork, PodSyncStatuses, PodWork, UpdateDecision
from kubesim.podworkers.sync_status import PodSyncStatus
from kubesim.podworkers.updates import UpdatePodOptions
from kubesim.runtime.types import RuntimePodStatus
from kubesim.values import mutable, part

EVICTED = "Evicted"


@mutable
class Mailbox(PodSyncStatus):
    """`pending_update` is the worker's next update; `undelivered` arrived while it was working."""

    undelivered: UpdatePodOptions | None = None


@part
class PodKnowledge:
    """Queries to the rest of the kubelet about a pod, by UID; `terminate` reports its end."""

    pod: Callable[[str], Pod | None]
    reported: Callable[[str], PodStatus | None]
    observed: Callable[[str], RuntimePodStatus | None]
    terminate: Callable[[Pod], None]


class UndeliveredUpdates(PodSyncStatuses):
    """The queues of all workers."""

    def __init__(self, knowledge: PodKnowledge, *, removes_records: bool = True) -> None:
        super().__init__()
        self._knowledge = knowledge
        self._removes_records = removes_records  # records of a deleted pod, when none of it runs

    # -- updates ------------------------------------------------------------------------------------------------

    def update_pod(
        self, options: UpdatePodOptions, now: int, cached: Callable[[str], RuntimePodStatus | None]
    ) -> UpdateDecision:
        pod = options.pod
        assert pod is not None, "a pod that only the runtime reports has no worker"
        uid, title = pod.metadata.uid, f"{pod.metadata.namespace}/{pod.metadata.name}"
        is_kill = options.update_type == "kill"
        if not is_kill and self.has_ended(pod):
            if pod.metadata.deletion_timestamp is None:
                return UpdateDecision(uid, title, False, "ignored: the pod has ended")
            why = "ignored: the pod has ended, and its status is written once more so that it can be deleted"
            return UpdateDecision(uid, title, False, why, completed=(lambda: self._knowledge.terminate(pod),))
        box = self._mailbox(uid)
        if box is None:
            box = Mailbox(f"{pod.metadata.name}_{pod.metadata.namespace}", now, has_worker=True)
            self.statuses[uid] = box
        if not box.working:
            box.working = True
            box.pending_update = options
            return UpdateDecision(uid, title, True, "the worker will sync the pod")
        if box.undelivered is not None and box.undelivered.update_type == "kill":
            return UpdateDecision(uid, title, False, "ignored: a kill is pending until the current sync ends")
        box.undelivered = options
        return UpdateDecision(uid, title, True, "kept until the current sync ends: a sync is never cancelled")

    def _mailbox(self, uid: str) -> Mailbox | None:
        box = self.statuses.get(uid)
        assert box is None or isinstance(box, Mailbox)
        return box

    def start_pod_sync(self, uid: str, now: int) -> PodWork | NoWork:
        box = self._mailbox(uid)
        if box is None or box.pending_update is None:
            return "nothing"
        options, box.pending_update = box.pending_update, None
        box.active_update = options
        return PodWork("sync", options)

    def complete_work(self, uid: str) -> bool:
        box = self._mailbox(uid)
        if box is None:
            return False  # removed while it worked, with its waiting update
        box.pending_update, box.undelivered = box.undelivered, None
        box.working = box.pending_update is not None
        return box.working

    def forget(self, uid: str) -> None:
        self.statuses.pop(uid, None)

    def sync_known_pods(self, desired: Collection[str], now: int) -> KnownPods:
        """Stop workers of unwanted or finished pods; the pod killer stops their remaining containers."""
        self.pods_synced = True
        gone = [uid for uid in self.statuses if uid not in desired or self.is_pod_known_terminated(uid)]
        for uid in gone:
            self.forget(uid)
        return KnownPods([], gone)

    # -- queries ------------------------------------------------------------------------------------------------

    def has_ended(self, pod: Pod) -> bool:
        return has_ended(pod, self._knowledge.reported(pod.metadata.uid))

    def is_pod_known_terminated(self, uid: str) -> bool:
        pod = self._knowledge.pod(uid)
        return pod is not None and self.has_ended(pod)

    is_pod_termination_requested = is_pod_known_terminated

    def could_have_running_containers(self, uid: str) -> bool:
        pod = self._knowledge.pod(uid)
        return not self.pods_synced if pod is None else not self.has_ended(pod)

    def should_pod_runtime_be_removed(self, uid: str) -> bool:
        pod = self._knowledge.pod(uid)
        ended = self.pods_synced if pod is None else self.has_ended(pod)
        return ended and not self._runs(uid)

    should_pod_containers_be_terminating = should_pod_runtime_be_removed
    should_pod_be_finished = should_pod_runtime_be_removed

    def should_pod_content_be_removed(self, uid: str) -> bool:
        pod = self._knowledge.pod(uid)
        if pod is None:
            return self.pods_synced
        if pod.status.reason == EVICTED and pod.status.phase in TERMINAL_PHASES:
            return True
        return self._removes_records and pod.metadata.deletion_timestamp is not None and not self._runs(uid)

    def _runs(self, uid: str) -> bool:
        observed = self._knowledge.observed(uid)
        return observed is not None and any(record.state == "running" for record in observed.containers)


def not_running(statuses: Sequence[ContainerStatus]) -> bool:
    return all(status.state.terminated is not None or status.state.waiting is not None for status in statuses)


def has_ended(pod: Pod, reported: PodStatus | None) -> bool:
    """Whether the pod has finished: by its phase, or deleted with nothing running. Without a reported status, the API
    server's counts.
    """
    status = pod.status if reported is None else reported
    is_deleted = pod.metadata.deletion_timestamp is not None
    return status.phase in TERMINAL_PHASES or (is_deleted and not_running(status.container_statuses))
