"""The pod workers' state machine: accepts updates, selects a worker's next sync, and applies the outcome of a sync.

Pure: no task, no clock, no I/O; time is an argument. Each transition returns what the shell (`workers.py`) must do:
start a worker, wake it, cancel its sync, notify the waiters of a kill.

Mirrors: pkg/kubelet/pod_workers.go UpdatePod, startPodSync, allowPodStart, acknowledgeTerminating, complete...,
SyncKnownPods, removeTerminatedWorker
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod
from kubesim.api.pods.pod_kinds import is_static_pod
from kubesim.features.rules import DEFAULT_RULES, Rules
from kubesim.podworkers.sync_status import PodSyncStatus, PodWorkerQueries, PodWorkerState
from kubesim.podworkers.updates import (
    KillPodOptions,
    PodStatusFn,
    UpdatePodOptions,
    effective_grace_period,
    merge_update,
)
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from kubesim.values import replace, value_object

Callbacks = tuple[Callable[[], None], ...]

_DEFAULT_KILL = KillPodOptions()


@value_object
class UpdateDecision:
    """The effect of an update. `terminating` is the reason if it started the termination of the pod."""

    uid: str
    pod: str  # namespace/name
    accepted: bool
    why: str = ""
    terminating: str = ""
    cancel: bool = False  # cancel the sync in progress: it is obsolete
    completed: Callbacks = ()


@value_object
class PodWork:
    """A worker's next sync and its arguments."""

    work_type: PodWorkerState
    options: UpdatePodOptions


# Why a worker has no work. `wait`: a static pod of the same name runs; `never`: the pod was terminated before it
# started, so the worker stops; `nothing`: no update is pending.
NoWork = Literal["wait", "never", "nothing"]


@value_object
class PodWorkerSync:
    """A worker's state for housekeeping."""

    state: PodWorkerState
    orphan: bool
    has_config: bool = False
    static: bool = False


@value_object
class KnownPods:
    """Result of housekeeping: the workers to wake (they must terminate their pod), and the workers to stop."""

    wake: list[str]
    stop: list[str]


class PodSyncStatuses(PodWorkerQueries):
    """The states of all workers."""

    def __init__(self, pod_from_allocation: Callable[[Pod], Pod] | None = None, rules: Rules = DEFAULT_RULES) -> None:
        super().__init__()
        self.waiting_static_pods: dict[str, list[str]] = {}  # full name -> UIDs, first come first served
        self.restart_requested: set[str] = set()  # UIDs with a requested restart, for housekeeping
        self._pod_from_allocation = pod_from_allocation
        self._rules = rules

    # -- updates ------------------------------------------------------------------------------------------------

    def update_pod(
        self, options: UpdatePodOptions, now: int, cached: Callable[[str], RuntimePodStatus | None]
    ) -> UpdateDecision:
        """Accept an update. `cached` returns the runtime cache's status of a pod, None if it has none."""
        from_runtime = options.pod is None
        about: ObjectMeta | RuntimePod  # both have the pod's UID, name and namespace
        if options.pod is None:
            assert options.running_pod is not None, "an update has a pod or a running pod"
            about = options.running_pod
        else:
            about = options.pod.metadata
            if options.running_pod is not None:
                options = replace(options, running_pod=None)
        uid, title = about.uid, f"{about.namespace}/{about.name}"
        if from_runtime and options.update_type != "kill":
            return UpdateDecision(uid, title, False, "ignored: a pod that only the runtime reports can only be killed")

        status = self.statuses.get(uid)
        first_time = status is None
        if status is None:
            status = self.statuses[uid] = _first_sight(options, f"{about.name}_{about.namespace}", now, cached(uid))
        if from_runtime:
            options = _with_known_config(status, options)
        ending = status.terminating_at is not None
        if ending and not first_time and options.update_type == "create":
            status.restart_requested = True
            self.restart_requested.add(uid)
            return UpdateDecision(
                uid, title, False, "delayed: this uid is still terminating; it starts again after that"
            )
        if status.finished:
            return UpdateDecision(uid, title, False, "ignored: the worker has finished with this uid")

        reason = "" if ending else _begin_termination(status, options, from_runtime, now)
        if from_runtime and status.terminated_at is not None:
            return UpdateDecision(uid, title, False, "ignored: the pod's containers have stopped; clean-up continues")
        options, completed, shortened = _apply_kill(status, options, self._rules)
        self._store(uid, status, options)
        return UpdateDecision(
            uid,
            title,
            True,
            _why_accepted(status, first_time, shortened),
            reason,
            bool(reason) or shortened,
            completed,
        )

    def _store(self, uid: str, status: PodSyncStatus, options: UpdatePodOptions) -> None:
        """Store the update as pending; it replaces an older one."""
        if not status.has_worker:
            status.has_worker = True
            if options.pod is not None and is_static_pod(options.pod):
                self.waiting_static_pods.setdefault(status.fullname, []).append(uid)
        if options.pod is not None and self._pod_from_allocation is not None:
            allocated = self._pod_from_allocation(options.pod)
            options = options if allocated is options.pod else replace(options, pod=allocated)
        status.pending_update = options
        status.working = True

    # -- start of a sync ----------------------------------------------------------------------------------------

    def start_pod_sync(self, uid: str, now: int) -> PodWork | NoWork:
        """The worker's next sync."""
        status = self.statuses.get(uid)
        if status is None:
            return "nothing"
        options = status.pending_update
        assert options is not None, "a worker is woken only with an update"
        work_type = status.work_type()
        if status.started_at is None and not (options.running_pod is not None and work_type == "terminating"):
            verdict = self._allow_pod_start(uid, status, options)
            if verdict == "never":
                status.pending_update = None
                self._finish(uid, status, now)
            elif verdict == "wait":
                status.working = False
            if verdict != "go":
                return verdict
            status.started_at = now
        status.pending_update = None
        status.active_update = merge_update(status.active_update, options)
        return PodWork(work_type, options)

    def _allow_pod_start(
        self, uid: str, status: PodSyncStatus, options: UpdatePodOptions
    ) -> Literal["go", "wait", "never"]:
        if options.pod is None or not is_static_pod(options.pod):
            return "go"
        if status.terminating_at is not None:
            return "never"
        return "go" if self._allow_static_pod_start(status.fullname, uid) else "wait"

    def _allow_static_pod_start(self, fullname: str, uid: str) -> bool:
        """Whether a static pod may start: one per full name runs at a time, in order of arrival."""
        started = self.started_static_pods.get(fullname)
        if started is not None:
            return started == uid
        waiting = self.waiting_static_pods.get(fullname, [])
        for position, other in enumerate(waiting):
            status = self.statuses.get(other)
            if status is None or status.terminating_at is not None or status.terminated_at is not None:
                continue
            if other != uid:
                self.waiting_static_pods[fullname] = waiting[position:]
                return False
            waiting = waiting[position + 1 :]
            break
        # If all on the list are gone, the list stays: upstream removes only those before the one that it starts.
        if waiting:
            self.waiting_static_pods[fullname] = waiting
        else:
            self.waiting_static_pods.pop(fullname, None)
        self.started_static_pods[fullname] = uid
        return True

    def acknowledge_terminating(self, uid: str) -> PodStatusFn | None:
        """The worker starts to terminate the pod; of several status functions the last one is used."""
        status = self.statuses[uid]
        status.started_terminating = True
        return status.status_post_terminating[-1] if status.status_post_terminating else None

    # -- end of a sync ------------------------------------------------------------------------------------------

    def complete_sync(self, uid: str, now: int) -> None:
        """SyncPod returned a terminal outcome; the worker continues with the termination."""
        status = self.statuses[uid]
        if status.terminating_at is None:
            status.terminating_at = now
        status.started_terminating = True
        status.replay()

    def complete_terminating(self, uid: str, now: int) -> Callbacks:
        """All containers have stopped. Notifies kill waiters; the worker continues with the cleanup."""
        status = self.statuses[uid]
        status.terminated_at = now
        completed = status.notify_post_terminating
        status.notify_post_terminating = ()
        status.status_post_terminating = ()
        status.replay()
        return completed

    def complete_terminating_runtime_pod(self, uid: str, now: int) -> None:
        """A runtime-only pod has no further state, so it is removed."""
        self._finish(uid, self.statuses[uid], now)
        del self.statuses[uid]
        self.restart_requested.discard(uid)

    def complete_terminated(self, uid: str) -> None:
        """The worker has finished; its status stays until housekeeping finds that no source wants the pod."""
        status = self.statuses[uid]
        self._finish(uid, status, status.terminated_at)

    def complete_work(self, uid: str) -> bool:
        """Mark the work as done; true if an update is pending."""
        status = self.statuses[uid]
        if status.pending_update is not None:
            return True
        status.working = False
        return False

    def _finish(self, uid: str, status: PodSyncStatus, terminated_at: int | None) -> None:
        status.terminated_at = terminated_at
        status.finished = True
        status.working = False
        self._forget_worker(uid, status)

    def _forget_worker(self, uid: str, status: PodSyncStatus) -> None:
        status.has_worker = False
        if self.started_static_pods.get(status.fullname) == uid:
            del self.started_static_pods[status.fullname]

    # -- housekeeping -------------------------------------------------------------------------------------------

    def sync_known_pods(self, desired: Collection[str], now: int) -> KnownPods:
        """Remove finished and unwanted pods, and terminate unwanted ones."""
        self.pods_synced = True
        known = KnownPods([], [])
        for uid in [uid for uid in self.statuses if uid not in desired or uid in self.restart_requested]:
            status = self.statuses[uid]
            if self._remove_terminated_worker(uid, status, uid not in desired, now, known):
                del self.statuses[uid]
                self.restart_requested.discard(uid)
                self._forget_worker(uid, status)
                known.stop.append(uid)
        return known

    def worker(self, uid: str, desired: Collection[str]) -> PodWorkerSync:
        """A worker's state for housekeeping."""
        status = self.statuses[uid]
        update = status.active_update or status.pending_update
        pod = update.pod if update is not None else None
        static = pod is not None and is_static_pod(pod)
        return PodWorkerSync(status.work_type(), uid not in desired, pod is not None, static)

    def _remove_terminated_worker(
        self, uid: str, status: PodSyncStatus, orphan: bool, now: int, known: KnownPods
    ) -> bool:
        """Whether to remove the worker. It also terminates an orphan without a config, which no source would."""
        if status.finished:
            return True
        if not orphan:
            return False
        status.deleted = True
        if status.started_at is None and not status.observed_runtime:
            return True
        if status.terminating_at is None:
            status.terminating_at = now
            pod = status.active_update.pod if status.active_update is not None else None
            held = status.grace_period
            status.grace_period = 1 if pod is None else effective_grace_period(held, pod, None, self._rules)
        if status.replay():
            known.wake.append(uid)
        return False


def _first_sight(options: UpdatePodOptions, fullname: str, now: int, cached: RuntimePodStatus | None) -> PodSyncStatus:
    """A pod with a terminal status and nothing in the runtime was terminated before the kubelet restarted."""
    status = PodSyncStatus(fullname, now)
    ended = options.pod is not None and options.pod.status.phase in ("Failed", "Succeeded")
    if ended and cached is not None and is_cache_terminal(cached):
        status.terminating_at = status.terminated_at = now
        status.started_terminating = True
    return status


def is_cache_terminal(status: RuntimePodStatus) -> bool:
    return not any(container.state == "running" for container in status.containers) and not any(
        sandbox.ready for sandbox in status.sandboxes
    )


def _with_known_config(status: PodSyncStatus, options: UpdatePodOptions) -> UpdatePodOptions:
    """Kill a running pod as the configured pod, if its configuration is known after all."""
    status.observed_runtime = True
    for update in (status.pending_update, status.active_update):
        if update is not None and update.pod is not None:
            return replace(options, pod=update.pod, running_pod=None)
    return options


def _begin_termination(status: PodSyncStatus, options: UpdatePodOptions, from_runtime: bool, now: int) -> str:
    """Whether this update starts the termination. Only the first reason sets the flags."""
    pod = options.pod
    if from_runtime:
        status.deleted = True
        reason = "it is running, but no source lists it"
    elif pod is not None and pod.metadata.deletion_timestamp is not None:
        status.deleted = True
        reason = "it was deleted at the API server"
    elif pod is not None and pod.status.phase in ("Failed", "Succeeded"):
        reason = f"its phase is {pod.status.phase}"
    elif options.update_type == "kill":
        status.evicted = options.kill is not None and options.kill.evict
        reason = "the kubelet evicts it" if status.evicted else "the kubelet kills it"
    else:
        return ""
    status.terminating_at = now
    return reason


def _apply_kill(
    status: PodSyncStatus, options: UpdatePodOptions, rules: Rules
) -> tuple[UpdatePodOptions, Callbacks, bool]:
    """Kill options apply only to a terminating pod: from then on every update is a kill, and grace can only decrease.

    Returns the update to store, with the callback of its waiter, and whether the grace period changed.
    """
    kill = options.kill
    if status.terminated_at is not None or status.terminating_at is None:
        if kill is None:
            return options, (), False
        return replace(options, kill=None), (kill.completed,) if kill.completed is not None else (), False
    kill = kill or _DEFAULT_KILL
    if kill.completed is not None:
        status.notify_post_terminating += (kill.completed,)
    if kill.status_fn is not None:
        status.status_post_terminating += (kill.status_fn,)
    grace = effective_grace_period(status.grace_period, options.pod, kill.grace_period_override, rules)
    shortened = status.grace_period not in (0, grace)
    status.grace_period = grace
    return replace(options, kill=replace(kill, grace_period_override=grace)), (), shortened


def _why_accepted(status: PodSyncStatus, first_time: bool, shortened: bool) -> str:
    if shortened:
        return f"the grace period is now {status.grace_period} s, so the kill in progress starts again"
    if first_time:
        return "the pod is new to the pod workers, so it gets a worker"
    if status.terminated_at is not None:
        return "the pod's containers have stopped: the worker cleans up"
    if status.terminating_at is not None:
        return f"the pod is terminating: the worker stops it with a grace period of {status.grace_period} s"
    return "the worker will sync the pod"
