"""The pod workers' rules without tasks: what terminates a pod, its grace period, and when it may start or be
removed."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import Randomness
from kubesim.errors import BackoffError, SyncError
from kubesim.features.rules import Rules
from kubesim.podworkers.requeue import Delays, Intervals, requeue_after
from kubesim.podworkers.state import PodSyncStatuses, PodWork, PodWorkerSync, UpdateDecision
from kubesim.podworkers.syncer import min_backoff_expiration
from kubesim.podworkers.updates import (
    KillPodOptions,
    SyncPodType,
    UpdatePodOptions,
    effective_grace_period,
    merge_update,
)
from kubesim.runtime.types import ContainerRecord, RuntimePod, RuntimePodStatus

SECOND = 1_000_000


def make_pod(uid: str = "u", name: str = "p", *, static: bool = False, phase: str = "", **metadata: Any) -> Pod:
    annotations = {"kubernetes.io/config.source": "file"} if static else {}
    metadata = {"uid": uid, "name": name, "namespace": "ns", "annotations": annotations, **metadata}
    return Pod.from_json(
        {"metadata": metadata, "spec": {"terminationGracePeriodSeconds": 30}, "status": {"phase": phase}}
    )


def deleted(grace: int = 10, **kwargs: Any) -> Pod:
    return make_pod(deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=grace, **kwargs)


class Table(PodSyncStatuses):
    """All statuses, with a runtime in which the given pods run."""

    def __init__(self, *running: str) -> None:
        super().__init__()
        self.running = running

    def tell(
        self, pod: Pod, update: SyncPodType = "update", now: int = 1, kill: KillPodOptions | None = None
    ) -> UpdateDecision:
        return self.update_pod(UpdatePodOptions(update, pod, kill=kill), now, self.cached)

    def tell_runtime(self, uid: str = "u", name: str = "p") -> UpdateDecision:
        return self.update_pod(UpdatePodOptions("kill", running_pod=RuntimePod(uid, name, "ns")), 1, self.cached)

    def cached(self, uid: str) -> RuntimePodStatus:
        records = (ContainerRecord("c", "c", "running"),) if uid in self.running else ()
        return RuntimePodStatus(uid, containers=records)

    def started(self, pod: Pod) -> Table:
        self.tell(pod, "create")
        self.begin(pod.metadata.uid, 1)
        return self

    def begin(self, uid: str, now: int) -> PodWork:
        work = self.start_pod_sync(uid, now)
        assert isinstance(work, PodWork)
        return work


@pytest.mark.parametrize(
    ("held", "deletion", "override", "spec", "expected"),
    [
        (0, None, None, 30, 30),
        (0, None, None, None, 1),
        (0, 10, None, 30, 10),
        (0, 10, 5, 30, 5),
        (0, 5, 10, 30, 5),
        (0, 0, None, 30, 1),
        (0, 0, 30, 30, 30),  # 0 means "none yet"
        (7, 10, 20, 30, 7),
        (7, 3, None, 30, 3),
        (7, None, None, 30, 7),
    ],
)
def test_grace_periods(held: int, deletion: int | None, override: int | None, spec: int | None, expected: int) -> None:
    body: dict[str, Any] = {"metadata": {"deletionGracePeriodSeconds": deletion}, "spec": {}}
    body["spec"]["terminationGracePeriodSeconds"] = spec
    assert effective_grace_period(held, Pod.from_json(body), override) == expected


@pytest.mark.parametrize(
    ("held", "deletion", "override", "spec", "expected"),
    [
        (0, 0, None, 30, 30),
        (0, None, 0, 30, 30),  # hard eviction
        (0, None, 0, None, 1),
        (0, 10, 5, 30, 5),
        (7, 0, None, 30, 30),  # a longer grace period again: upstream's comparison allows it
    ],
)
def test_grace_periods_where_zero_counts_as_not_set(
    held: int, deletion: int | None, override: int | None, spec: int | None, expected: int
) -> None:
    """v1.30"""
    body: dict[str, Any] = {"metadata": {"deletionGracePeriodSeconds": deletion}, "spec": {}}
    body["spec"]["terminationGracePeriodSeconds"] = spec
    rules = Rules(honours_zero_grace=False)
    assert effective_grace_period(held, Pod.from_json(body), override, rules) == expected


def test_only_the_first_reason_of_the_termination_is_stored() -> None:
    table = Table().started(make_pod())
    assert table.tell(make_pod(), "kill", kill=KillPodOptions(evict=True)).terminating == "the kubelet evicts it"
    assert not table.tell(deleted()).terminating
    status = table.statuses["u"]
    assert (status.evicted, status.deleted, status.grace_period) == (True, False, 10)


def test_a_shorter_grace_period_cancels_the_sync_in_progress() -> None:
    table = Table().started(make_pod())
    assert table.tell(deleted(20)).cancel
    assert not table.tell(deleted(20)).cancel
    assert table.tell(deleted(5)).cancel
    assert not table.tell(deleted(50)).cancel


def test_a_pod_that_ended_before_the_kubelet_started_is_only_cleaned_up_unless_it_still_runs() -> None:
    table = Table("runs")
    table.tell(make_pod("gone", phase="Succeeded"), "create")
    table.tell(make_pod("runs", phase="Succeeded"), "create")
    assert table.is_pod_known_terminated("gone")
    work = table.begin("gone", 2)
    assert work.work_type == "terminated"
    work = table.begin("runs", 2)
    assert work.work_type == "terminating"


def test_a_create_of_a_terminating_uid_waits_for_housekeeping() -> None:
    table = Table().started(make_pod())
    table.tell(deleted())
    assert not table.tell(make_pod(), "create").accepted
    table.start_pod_sync("u", 2)
    table.complete_terminating("u", 3)
    table.start_pod_sync("u", 3)
    table.complete_terminated("u")
    assert table.sync_known_pods({"u"}, 4).stop == ["u"]
    assert not table.statuses
    assert table.tell(make_pod(), "create").accepted


def test_kill_options_outside_termination_are_completed_immediately_and_the_last_function_counts() -> None:
    table, completed = Table().started(make_pod()), []
    kill = KillPodOptions(completed=lambda: completed.append("early"))
    assert len(table.tell(make_pod(), "update", kill=kill).completed) == 1

    def evicted(status: PodStatus) -> PodStatus:
        return status.changed(reason="Evicted")

    table.tell(make_pod(), "kill", kill=KillPodOptions(status_fn=lambda status: status))
    table.tell(make_pod(), "kill", kill=KillPodOptions(status_fn=evicted, completed=lambda: completed.append("late")))
    table.start_pod_sync("u", 2)
    assert table.acknowledge_terminating("u") is evicted
    assert len(table.complete_terminating("u", 3)) == 1


def test_a_runtime_pod_is_killed_with_its_configuration_if_there_is_one() -> None:
    table = Table().started(make_pod())
    table.tell_runtime()
    work = table.begin("u", 2)
    assert (work.work_type, work.options.pod, work.options.running_pod) == ("terminating", make_pod(), None)

    orphan = Table()
    orphan.tell_runtime()
    work = orphan.begin("u", 2)
    assert work.options.running_pod is not None
    orphan.complete_terminating_runtime_pod("u", 3)
    assert not orphan.statuses


def test_static_pods_of_one_name_run_in_sequence() -> None:
    table = Table().started(make_pod("a", static=True))
    table.tell(make_pod("b", static=True), "create")
    table.tell(make_pod("c", static=True), "create")
    assert [table.start_pod_sync(uid, 2) for uid in "cb"] == ["wait", "wait"]
    table.tell(deleted(uid="a", static=True))
    assert table.is_pod_for_mirror_pod_terminating_by_full_name("p_ns")
    for step in (table.complete_terminating, lambda uid, now: table.complete_terminated(uid)):
        table.start_pod_sync("a", 3)
        step("a", 3)
    assert table.start_pod_sync("c", 4) == "wait"
    assert table.begin("b", 4).work_type == "sync"
    table.tell(deleted(uid="c", static=True))
    assert table.start_pod_sync("c", 5) == "never"
    assert table.should_pod_be_finished("c")


def test_housekeeping_ends_unknown_pods_and_forgets_those_that_never_started() -> None:
    table = Table().started(make_pod("runs", "r"))
    table.started(make_pod("first", static=True))
    table.tell(make_pod("second", static=True), "create")
    table.start_pod_sync("second", 2)
    known = table.sync_known_pods({"first"}, 5)
    assert known.stop == ["second"]
    assert known.wake == ["runs"]
    assert table.worker("runs", {"first"}) == PodWorkerSync("terminating", orphan=True, has_config=True)
    status = table.statuses["runs"]
    assert (status.deleted, status.terminating_at, status.grace_period) == (True, 5, 30)
    work = table.begin("runs", 6)
    assert work.options.kill is None  # so the runtime uses the pod's own grace period
    assert work.options.update_type == "sync"


def test_an_unknown_pod_may_run_until_housekeeping() -> None:
    table = Table()
    assert table.could_have_running_containers("x")
    assert not table.should_pod_content_be_removed("x")
    table.sync_known_pods((), 1)
    assert not table.could_have_running_containers("x")
    assert table.should_pod_content_be_removed("x")
    assert not table.is_pod_termination_requested("x")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, 60),
        (SyncError("boom"), 10),
        (SyncError("network is not ready: cni"), 1),
        (BackoffError("x", 107 * SECOND), 7),
        (BackoffError("x", 90 * SECOND), 0),
        (BackoffError("x", 900 * SECOND), 60),
        (ExceptionGroup("all", [SyncError("y"), BackoffError("x", 130 * SECOND), BackoffError("x", 120 * SECOND)]), 20),
    ],
)
def test_time_of_the_next_check(error: Exception | None, expected: int) -> None:
    assert requeue_after(Intervals(), False, error, 100 * SECOND).delay == expected * SECOND
    assert requeue_after(Intervals(), True, None, 100 * SECOND).delay == 0


def test_an_old_kubelet_does_not_retry_the_network_soon() -> None:
    error = SyncError("network is not ready: [cni]")
    assert requeue_after(Intervals(retries_network_soon=False), False, error, 0).delay == 10 * SECOND


def test_a_back_off_is_found_in_the_error_it_caused() -> None:
    error = SyncError("start failed")
    error.__cause__ = BackoffError("x", 5)
    assert min_backoff_expiration(error) == 5
    assert min_backoff_expiration(SyncError("other")) is None


def test_jitter_adds_up_to_half_and_can_be_disabled() -> None:
    jitter = Delays(Randomness(1))
    draws = [jitter.add_jitter(10 * SECOND, "u", n) for n in range(50)]
    assert all(10 * SECOND <= delay < 15 * SECOND for delay in draws)
    assert len(set(draws)) == 50
    assert draws == [Delays(Randomness(1)).add_jitter(10 * SECOND, "u", n) for n in range(50)]
    assert Delays(Randomness(1), jitter=False).add_jitter(10 * SECOND, "u", 1) == 10 * SECOND


def test_a_pod_with_a_configuration_is_never_treated_as_known_only_to_the_runtime() -> None:
    table = Table()
    both = UpdatePodOptions("update", make_pod(), running_pod=RuntimePod("u", "p", "ns"))
    assert table.update_pod(both, 1, table.cached).accepted
    work = table.begin("u", 1)
    assert work.work_type == "sync"
    assert work.options.running_pod is None


def test_a_worker_whose_pod_was_forgotten_before_its_start_has_nothing_to_do() -> None:
    table = Table()
    table.tell(make_pod())
    assert table.sync_known_pods((), 1).stop == ["u"]
    assert table.start_pod_sync("u", 2) == "nothing"


def test_deleted_static_pods_do_not_block_the_next() -> None:
    """If no pod of the list exists the list is unchanged: upstream forgets only those before the one it finds."""
    table = Table()
    table.tell(make_pod("new", static=True), "create")
    table.waiting_static_pods["p_ns"] = ["gone"]
    assert table.begin("new", 1).work_type == "sync"
    assert table.waiting_static_pods == {"p_ns": ["gone"]}
    assert table.started_static_pods == {"p_ns": "new"}


def test_the_stored_update_keeps_the_configured_pod() -> None:
    pod, running = make_pod(), RuntimePod("u", "p", "ns")
    kept = merge_update(UpdatePodOptions("create", pod), UpdatePodOptions("kill", running_pod=running))
    assert (kept.update_type, kept.pod, kept.running_pod) == ("sync", pod, running)
