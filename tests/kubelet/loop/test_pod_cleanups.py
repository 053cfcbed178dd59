"""The effect of a clean-up on pods that are desired, handled by a worker or running, in every combination.

Mirrors: pkg/kubelet/kubelet_pods_test.go TestKubelet_HandlePodCleanups: all 14 rows, with the clean-up and the workers
of the kubelet and, as there, a syncer that only records its calls.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.errors import SyncError
from kubesim.kubelet.context import KubeletContext, PodSources, PodViews
from kubesim.kubelet.loop.housekeeping import Housekeeping
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.podworkers.requeue import Delays
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.podworkers.sync_status import PodSyncStatus
from kubesim.podworkers.syncer import SyncContext, SyncOutcome
from kubesim.podworkers.updates import KillPodOptions, PodStatusFn, SyncPodType, UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import ListedContainer, RuntimePod, RuntimePodStatus
from kubesim.trace import Recorder

UID = "1"
RUNNING = RuntimePod(UID, "pod1", "ns1", containers=(ListedContainer("test://c1", "container-1", "running"),))
ANNOTATION = "kubernetes.io/config.source"
CREATED, KILLED, ORPHAN_KILLED, CLEANED_UP = "create", "kill", "kill runtime pod", "terminated"


def simple_pod(*, phase: str = "", static: bool = False, version: str = "", deleted: bool = False) -> Pod:
    annotations = {ANNOTATION: "file"} if static else {}
    if version:
        annotations["version"] = version
    metadata: dict[str, Any] = {"name": "pod1", "namespace": "ns1", "uid": UID, "annotations": annotations}
    spec: dict[str, Any] = {"containers": [{"name": "container-1"}]}
    if deleted:
        metadata |= {"deletionTimestamp": "1970-01-01T00:00:02Z", "deletionGracePeriodSeconds": 2}
        spec["terminationGracePeriodSeconds"] = 2
    return Pod.from_json({"metadata": metadata, "spec": spec, "status": {"phase": phase}})


class Stage:
    """Implements `PodSyncer`: each call is recorded with its grace period. While `fails`, no pod can be stopped."""

    def __init__(self, *wanted: Pod, running: bool = False, fails: bool = False) -> None:
        self.fails = fails
        self.calls: list[str] = []
        self.rejected: dict[str, PodStatus] = {}
        clock, recorder = LoopClock(0), Recorder(LoopClock(0))
        self.clock = clock
        cache = PodCache()
        cache.update_time(1 << 60)
        resyncs, self.states = Resyncs(clock), PodSyncStatuses()
        delays = Delays(Randomness(1), None, jitter=False)
        self.workers = PodWorkers(clock, self, cache, self.states, resyncs, recorder, cast(Any, self), delays)
        manager = PodManager()
        for pod in wanted:
            manager.update(pod)
        statuses = SimpleNamespace(get_pod_status=self.rejected.get, remove_orphaned_statuses=_nothing)
        views = PodViews(manager, self.states, cache, cast(Any, statuses), resyncs, PodSources(lambda seen: True))
        self.running = {UID: RUNNING} if running else {}
        backoff = SimpleNamespace(gc=_nothing, next_expiry=lambda: 0)
        runtime = SimpleNamespace(get_running_pods=self._get_running_pods, pods_with_cgroup=lambda: (), backoff=backoff)
        context = KubeletContext(clock, Randomness(1), recorder, *cast(Any, (None, None, None)))
        other = cast(Any, SimpleNamespace(cleanup_pods=_nothing, remove_orphaned_pods=_nothing, delete=_nothing))
        other.clean_up_orphans = _nothing
        volumes = cast(Any, SimpleNamespace(cleanup_orphaned_pod_dirs=lambda is_kept: False))
        self.housekeeping = Housekeeping(
            context, views, self.workers, other, other, cast(Any, runtime), other, volumes, other
        )

    async def _get_running_pods(self) -> dict[str, RuntimePod]:
        return self.running

    async def send(self, update: SyncPodType, pod: Pod) -> None:
        self.workers.update_pod(UpdatePodOptions(update, pod))
        await self.clock.sleep(0)

    async def clean_up(self) -> None:
        await self.housekeeping.handle_pod_cleanups()
        await self.clock.sleep(0)

    async def clean_up_again(self) -> None:
        """The error no longer occurs."""
        self.fails = False
        await self.clean_up()

    @property
    def status(self) -> PodSyncStatus:
        assert self.states.statuses.keys() == {UID}
        return self.states.statuses[UID]

    def is_ending(self, *, finished: bool = False, deleted: bool = True) -> bool:
        """Asked to terminate, and its worker has started that."""
        status = self.status
        requested = status.terminating_at is not None and status.started_terminating and not status.working
        return requested and (status.finished, status.deleted) == (finished, deleted)

    def is_syncing(self) -> bool:
        status = self.status
        return status.terminating_at is None and not (status.finished or status.working or status.deleted)

    async def sync_pod(
        self, context: SyncContext, update_type: SyncPodType, pod: Pod, mirror_pod: Pod | None, status: RuntimePodStatus
    ) -> SyncOutcome:
        self.calls.append(update_type)
        return SyncOutcome()

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        self.calls.append(KILLED if grace_period is None else f"{KILLED} {grace_period}")
        self._fail()

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        assert running_pod is RUNNING
        self.calls.append(ORPHAN_KILLED)
        self._fail()

    async def sync_terminated_pod(self, context: SyncContext, pod: Pod, status: RuntimePodStatus) -> None:
        self.calls.append(CLEANED_UP)

    def _fail(self) -> None:
        if self.fails:
            raise SyncError("unable to terminate")

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None: ...


def _nothing(*args: object) -> None: ...


def play(stage: Callable[[], Stage], story: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        made = stage()
        await story(made)
        await made.workers.close()

    run_virtual(main)


def test_missing_pod_is_requested_for_termination_with_short_grace_period() -> None:
    async def story(s: Stage) -> None:
        await s.clean_up()
        assert not s.states.statuses  # a pod that only the runtime knew is forgotten as soon as it has terminated
        assert s.calls == [ORPHAN_KILLED]
        assert s.housekeeping.orphans == 1

    play(lambda: Stage(running=True), story)


def test_terminating_pod_that_errored_and_is_not_in_config_is_notified_by_the_cleanup() -> None:
    async def story(s: Stage) -> None:
        await s.send("create", simple_pod())
        await s.send("kill", simple_pod(deleted=True))
        assert s.calls == [CREATED, "kill 2"]
        await s.clean_up()
        assert s.is_ending()
        assert s.calls == [CREATED, "kill 2", "kill 2"]
        assert s.housekeeping.orphans == 0
        await s.clean_up_again()
        assert s.is_ending(finished=True)
        assert s.calls == [CREATED, "kill 2", "kill 2", "kill 2", CLEANED_UP]

    play(lambda: Stage(running=True, fails=True), story)


def test_terminating_pod_that_errored_and_is_not_in_config_or_worker_is_force_killed_by_the_cleanup() -> None:
    async def story(s: Stage) -> None:
        await s.clean_up()
        assert s.is_ending()
        update = s.status.active_update
        assert update is not None
        assert (update.pod, update.running_pod) == (None, RUNNING)
        assert update.kill == KillPodOptions(grace_period_override=1)
        assert s.calls == [ORPHAN_KILLED]
        await s.clean_up_again()
        assert not s.states.statuses
        assert s.calls == [ORPHAN_KILLED, ORPHAN_KILLED]

    play(lambda: Stage(running=True, fails=True), story)


def test_pod_is_added_to_worker_by_sync_method() -> None:
    async def story(s: Stage) -> None:
        await s.clean_up()
        assert s.is_syncing()
        assert s.calls == [CREATED]
        assert s.housekeeping.restarted == {False: 1}

    play(lambda: Stage(simple_pod()), story)


def test_pod_is_not_added_to_worker_by_sync_method_because_it_is_in_a_terminal_phase() -> None:
    async def story(s: Stage) -> None:
        await s.clean_up()
        assert not s.states.statuses
        assert not s.calls

    play(lambda: Stage(simple_pod(phase="Failed")), story)


def test_pod_is_not_added_to_worker_by_sync_method_because_it_has_been_rejected() -> None:
    async def story(s: Stage) -> None:
        s.rejected[UID] = PodStatus(phase="Failed", reason="Test", message="rejected")
        await s.clean_up()
        assert not s.states.statuses
        assert not s.calls

    play(lambda: Stage(simple_pod()), story)


def test_terminating_pod_that_is_known_to_the_config_gets_no_update_during_pod_cleanup() -> None:
    async def story(s: Stage) -> None:
        await s.send("create", simple_pod())
        await s.send("kill", simple_pod(deleted=True))
        await s.clean_up()
        assert s.is_ending()
        assert s.calls == [CREATED, "kill 2"]

    play(lambda: Stage(simple_pod(deleted=True), running=True, fails=True), story)


async def send_blocked_static_pod(s: Stage) -> None:
    """Another static pod of the same name runs, so this one must not start."""
    s.states.started_static_pods["pod1_ns1"] = "2"
    await s.send("create", simple_pod(static=True))
    assert not s.calls


def test_pod_that_could_not_start_and_is_not_in_config_is_force_terminated_during_pod_cleanup() -> None:
    async def story(s: Stage) -> None:
        await send_blocked_static_pod(s)
        await s.clean_up()
        assert s.is_ending()
        update = s.status.active_update
        assert update is not None
        assert (update.pod, update.running_pod) == (None, RUNNING)
        assert s.calls == [ORPHAN_KILLED]
        await s.clean_up_again()
        assert not s.states.statuses
        assert s.calls == [ORPHAN_KILLED, ORPHAN_KILLED]

    play(lambda: Stage(running=True, fails=True), story)


def test_pod_that_could_not_start_still_has_a_pending_update() -> None:
    async def story(s: Stage) -> None:
        await send_blocked_static_pod(s)
        await s.clean_up()
        assert s.is_syncing()
        assert s.status.active_update is None
        assert s.status.pending_update is not None
        assert not s.status.restart_requested
        assert not s.calls

    play(lambda: Stage(simple_pod(static=True)), story)


def test_pod_that_could_not_start_and_is_not_in_config_is_force_terminated_without_runtime_during_pod_cleanup() -> None:
    async def story(s: Stage) -> None:
        await send_blocked_static_pod(s)
        await s.clean_up()
        assert not s.states.statuses
        assert not s.calls

    play(lambda: Stage(fails=True), story)


def test_pod_that_is_terminating_is_recreated_by_config_with_the_same_uid() -> None:
    async def story(s: Stage) -> None:
        await s.send("create", simple_pod(static=True))
        s.workers.update_pod(UpdatePodOptions("kill", simple_pod(static=True)))
        await s.send("create", simple_pod(static=True, version="2"))
        await s.clean_up()
        assert s.is_ending(deleted=False)
        assert s.status.restart_requested
        assert s.calls == [CREATED, "kill 1"]
        assert not s.housekeeping.restarted

    play(lambda: Stage(simple_pod(static=True, version="2"), running=True, fails=True), story)


def test_started_pod_that_is_not_in_config_is_force_terminated_during_pod_cleanup() -> None:
    async def story(s: Stage) -> None:
        await s.send("create", simple_pod(static=True))
        await s.clean_up()
        assert s.is_ending()
        assert s.calls == [CREATED, KILLED]

    play(lambda: Stage(running=True, fails=True), story)


def test_started_pod_that_is_not_in_config_or_runtime_is_force_terminated_during_pod_cleanup() -> None:
    async def story(s: Stage) -> None:
        pod, mirror = simple_pod(static=True), simple_pod()
        s.workers.update_pod(UpdatePodOptions("create", pod, mirror_pod=mirror))
        await s.clock.sleep(0)
        await s.clean_up()
        assert s.is_ending()
        assert s.calls == [CREATED, KILLED]
        await s.clean_up_again()
        assert s.is_ending(finished=True)
        update = s.status.active_update
        assert update is not None
        assert (update.pod, update.mirror_pod, update.kill) == (pod, mirror, None)
        assert s.calls == [CREATED, KILLED, KILLED, CLEANED_UP]

    play(lambda: Stage(fails=True), story)


def test_terminated_pod_is_restarted_in_the_same_invocation_that_it_is_detected() -> None:
    async def story(s: Stage) -> None:
        await s.send("create", simple_pod())
        s.workers.update_pod(UpdatePodOptions("kill", simple_pod()))
        await s.send("create", simple_pod(version="2"))
        assert s.calls == [CREATED, "kill 1", CLEANED_UP]
        await s.clean_up()
        assert s.is_syncing()
        update = s.status.active_update
        assert update is not None
        assert update.pod is not None
        assert update.pod.metadata.annotations == {"version": "2"}
        assert s.status.pending_update is None
        assert s.calls == [CREATED, "kill 1", CLEANED_UP, CREATED]
        assert s.housekeeping.restarted == {False: 1}

    play(lambda: Stage(simple_pod(version="2")), story)
