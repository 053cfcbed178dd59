"""One sync of a Job as a table: pods in; pods created and deleted, and the status, out.

Adapted from: pkg/controller/job/job_controller_test.go TestControllerSyncJob, TestSyncJobPastDeadline,
TestJobBackoffForOnFailure, TestJobBackoffOnRestartPolicyNever, TestEnsureJobConditions
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND, format_time
from kubesim.api.workloads.batch import Job, JobCondition, JobStatus, PodFailurePolicy
from kubesim.cluster.controllers.job.outcome.backoff import NO_FAILURES, BackoffRecord
from kubesim.cluster.controllers.job.outcome.ending import ensure_condition, new_condition
from kubesim.cluster.controllers.job.sync_plan import plan_sync
from kubesim.cluster.controllers.job.tracking import track
from kubesim.values import value_object
from tests.support.cluster.batch import NOW, make_job, make_pod

S, F, R, P = "Succeeded", "Failed", "Running", "Pending"
FAILS = ["FailureTarget/BackoffLimitExceeded"]
FAILED = [*FAILS, "Failed/BackoffLimitExceeded"]
COMPLETE = ["SuccessCriteriaMet/CompletionsReached", "Complete/CompletionsReached"]


@value_object
class Outcome:
    created: int
    indexes: tuple[int, ...]
    deleted: int
    untracked: int  # finalizers removed, from terminated pods and from deleted pods
    status: JobStatus

    def conditions(self) -> list[str]:
        return [f"{c.type}/{c.reason}" for c in self.status.conditions if c.status == "True"]


def synced(job: Job, pods: list[Pod], backoff: BackoffRecord = NO_FAILURES) -> Outcome:
    """One sync with all writes successful."""
    plan = plan_sync(job, pods, backoff, NOW)
    changes = plan.changes
    tracking = track(plan, len(plan.counts.active) - len(changes.delete) + len(changes.create), NOW)
    untracked = len(tracking.untrack) + (len(changes.delete) if changes.untrack else 0)
    indexes = tuple(index for index in changes.create if index is not None)
    status = tracking.after or tracking.before or plan.job.status
    return Outcome(len(changes.create), indexes, len(changes.delete), untracked, status)


def some_pods(
    pending: int = 0,
    active: int = 0,
    ready: int = 0,
    succeeded: int = 0,
    failed: int = 0,
    terminating: int = 0,
    indexed: tuple[tuple[str, str], ...] = (),
) -> list[Pod]:
    pods: list[tuple[str, dict[str, Any]]] = (
        [(P, {})] * pending + [(R, {})] * (active - ready) + [(R, {"ready": True})] * ready
    )
    pods += [(S, {})] * succeeded + [(F, {})] * failed + [(R, {"deleting": True})] * terminating
    pods += [(phase, {"index": index}) for index, phase in indexed]
    return [make_pod(phase, f"pod-{n}", **options) for n, (phase, options) in enumerate(pods)]


@pytest.mark.parametrize(
    ("job", "pods", "expected"),
    [
        pytest.param((2, 5), {}, {"created": 2, "active": 2}, id="job start"),
        pytest.param((2, None), {}, {"created": 2, "active": 2}, id="WQ job start"),
        pytest.param((2, 5), {"pending": 2}, {"active": 2}, id="pending pods"),
        pytest.param((3, 5), {"active": 3, "ready": 2}, {"active": 3, "ready": 2}, id="correct # of pods"),
        pytest.param((2, None), {"active": 2}, {"active": 2}, id="WQ job: correct # of pods"),
        pytest.param(
            (2, 5),
            {"active": 1, "succeeded": 1},
            {"created": 1, "active": 2, "succeeded": 1, "untracked": 1},
            id="too few active pods",
        ),
        pytest.param(
            (1, None, {"pod_replacement_policy": "Failed"}),
            {"active": 1, "failed": 1, "terminating": 1},
            {"active": 1, "failed": 1, "terminating": 1, "untracked": 1},
            id="WQ job: recreate pods when failed",
        ),
        pytest.param(
            (1, 1),
            {"active": 1, "failed": 1, "terminating": 1},
            {"active": 1, "failed": 2, "terminating": 1, "untracked": 2},
            id="PodReplacementPolicy is not set",
        ),
        pytest.param(
            (1, None, {"pod_replacement_policy": "TerminatingOrFailed"}),
            {"active": 1, "failed": 1, "terminating": 1},
            {"active": 1, "failed": 2, "terminating": 1, "untracked": 2},
            id="WQ job: recreate pods when terminating or failed",
        ),
        pytest.param(
            (1, 1, {"pod_replacement_policy": "Failed"}),
            {"active": 2, "terminating": 4},
            {"deleted": 1, "active": 1, "terminating": 5, "untracked": 1},
            id="more terminating pods than parallelism",
        ),
        pytest.param(
            (1, 1, {"pod_failure_policy": PodFailurePolicy()}),
            {"active": 2, "terminating": 4},
            {"deleted": 1, "active": 1, "terminating": 5, "untracked": 1},
            id="more terminating pods than parallelism; PodFailurePolicy used",
        ),
        pytest.param((2, None), {"active": 1}, {"created": 1, "active": 2}, id="too few active pods, dynamic job"),
        pytest.param(
            (2, 5),
            {"active": 3},
            {"deleted": 1, "active": 2, "terminating": 1, "untracked": 1},
            id="too many active pods",
        ),
        pytest.param(
            (2, 5),
            {"active": 3, "ready": 3},
            {"deleted": 1, "active": 2, "ready": 2, "terminating": 1, "untracked": 1},
            id="count ready pods when too many active pods",
        ),
        pytest.param(
            (2, 5),
            {"active": 1, "succeeded": 1, "failed": 1},
            {"created": 1, "active": 2, "succeeded": 1, "failed": 1, "untracked": 2},
            id="failed + succeed pods: reset backoff delay",
        ),
        pytest.param(
            (2, 5),
            {"active": 1, "failed": 1},
            {"created": 1, "active": 2, "failed": 1, "untracked": 1},
            id="new failed pod",
        ),
        pytest.param(
            (1, 1, {"status": JobStatus(active=1, failed=1)}),
            {"active": 1},
            {"active": 1, "failed": 1},
            id="no new pod",
        ),
        pytest.param(
            (2, 5), {"succeeded": 5}, {"succeeded": 5, "untracked": 5, "conditions": COMPLETE}, id="job finish"
        ),
        pytest.param(
            (2, None),
            {"active": 1, "succeeded": 1},
            {"active": 1, "succeeded": 1, "untracked": 1},
            id="WQ job finishing",
        ),
        pytest.param(
            (2, None),
            {"succeeded": 2},
            {"succeeded": 2, "untracked": 2, "conditions": COMPLETE},
            id="WQ job all finished",
        ),
        pytest.param(
            (2, None),
            {"succeeded": 1, "failed": 1},
            {"succeeded": 1, "failed": 1, "untracked": 2, "conditions": COMPLETE},
            id="WQ job all finished despite one failure",
        ),
        pytest.param(
            (2, 5),
            {"active": 10},
            {"deleted": 8, "active": 2, "terminating": 8, "untracked": 8},
            id="more active pods than parallelism",
        ),
        pytest.param(
            (3, 4),
            {"active": 3, "succeeded": 2},
            {"deleted": 1, "active": 2, "succeeded": 2, "terminating": 1, "untracked": 3},
            id="more active pods than remaining completions",
        ),
        pytest.param(
            (2, 5),
            {"active": 2, "succeeded": 2},
            {"active": 2, "succeeded": 2, "untracked": 2},
            id="status change",
        ),
        pytest.param(
            (2, 5, {"deleting": True}),
            {"pending": 1, "active": 1, "succeeded": 1},
            {"active": 2, "succeeded": 1, "untracked": 3},
            id="deleting job",
        ),
        pytest.param(
            (2, 5, {"deleting": True, "backoff_limit": 0}),
            {"failed": 1},
            {"failed": 1, "untracked": 1, "conditions": FAILED},
            id="too many job failures",
        ),
        pytest.param(
            (2, 3, {"backoff_limit": 0}),
            {"active": 2, "ready": 2, "failed": 1},
            {"deleted": 2, "failed": 3, "terminating": 2, "untracked": 3, "conditions": FAILS},
            id="count ready pods when job fails",
        ),
        pytest.param(
            (2, 4, {"suspend": True}),
            {"active": 2},
            {"deleted": 2, "terminating": 2, "untracked": 2, "conditions": ["Suspended/JobSuspended"]},
            id="suspending a job",
        ),
        pytest.param(
            (2, 4, {"suspend": True}),
            {"active": 2, "ready": 2},
            {"deleted": 2, "terminating": 2, "untracked": 2, "conditions": ["Suspended/JobSuspended"]},
            id="count ready pods when suspending a job",
        ),
        pytest.param(
            (2, 4, {"suspend": True, "deleting": True}),
            {"active": 2},
            {"active": 2, "untracked": 2},
            id="suspending a deleted job",
        ),
    ],
)
def test_sync(job: tuple[Any, ...], pods: dict[str, Any], expected: dict[str, Any]) -> None:
    parallelism, completions, *options = job
    made = make_job(parallelism, completions, **(options[0] if options else {}))
    outcome = synced(made, some_pods(**pods))
    _check(outcome, expected)
    assert (outcome.status.start_time is None) is bool(made.spec.suspend)


def _check(outcome: Outcome, expected: dict[str, Any]) -> None:
    counts = ("active", "ready", "succeeded", "failed", "terminating")
    found = {name: getattr(outcome, name) for name in ("created", "deleted", "untracked")}
    found |= {name: getattr(outcome.status, name) for name in counts}
    assert {name: value for name, value in found.items() if value} == {
        name: value for name, value in expected.items() if name in found
    }
    assert outcome.conditions() == expected.get("conditions", [])


@pytest.mark.parametrize(
    ("job", "pods", "indexes", "completed", "expected"),
    [
        pytest.param((2, 5), {}, (0, 1), "", {"created": 2, "active": 2}, id="start"),
        pytest.param(
            (2, 5, {"pod_replacement_policy": "Failed"}),
            {"terminating": 1},
            (0,),
            "",
            {"created": 1, "active": 1, "terminating": 1},
            id="some pods deleted, podReplacementPolicy Failed",
        ),
        pytest.param(
            (2, 5, {"pod_replacement_policy": "TerminatingOrFailed"}),
            {"terminating": 1},
            (0, 1),
            "",
            {"created": 2, "active": 2, "terminating": 1, "untracked": 1},
            id="some pods deleted, podReplacementPolicy TerminatingOrFailed",
        ),
        pytest.param(
            (2, 3),
            {"indexed": (("0", S), ("1", F), ("1", S), ("2", S))},
            (),
            "0-2",
            {"succeeded": 3, "failed": 1, "untracked": 4, "conditions": COMPLETE},
            id="completed",
        ),
        pytest.param(
            (2, 3, {"backoff_limit": 0}),
            {"indexed": (("0", S), ("1", F), ("2", R))},
            (),
            "0",
            {"succeeded": 1, "failed": 2, "deleted": 1, "terminating": 1, "untracked": 3, "conditions": FAILS},
            id="failed",
        ),
        pytest.param(
            (2, 3),
            {"indexed": (("0", S), ("1", S), ("1", S))},
            (2,),
            "0,1",
            {"created": 1, "active": 1, "succeeded": 2, "untracked": 3},
            id="repeated completed index",
        ),
        pytest.param(
            (8, 20),
            {
                "indexed": (
                    ("0", R),
                    ("2", S),
                    ("3", P),
                    ("4", S),
                    ("5", S),
                    ("7", S),
                    ("8", S),
                    ("9", S),
                )
            },
            (1, 6, 10, 11, 12, 13),
            "2,4,5,7-9",
            {"created": 6, "active": 8, "succeeded": 6, "untracked": 6},
            id="some running and completed pods",
        ),
        pytest.param(
            (3, 4),
            {"indexed": (("0", F), ("1", P), ("2", F))},
            (0, 2),
            "",
            {"created": 2, "active": 3, "failed": 2, "untracked": 2},
            id="some failed pods",
        ),
        pytest.param(
            (2, 5),
            {
                "active": 1,
                "succeeded": 1,
                "failed": 1,
                "indexed": (
                    ("invalid", R),
                    ("invalid", S),
                    ("invalid", F),
                    ("invalid", P),
                    ("0", S),
                    ("1", R),
                    ("2", R),
                ),
            },
            (),
            "0",
            {"deleted": 3, "active": 2, "succeeded": 1, "terminating": 3, "untracked": 8},
            id="some pods without index",
        ),
        pytest.param(
            (5, 5),
            {"succeeded": 1, "failed": 1, "indexed": (("invalid", R), ("0", S), ("1", R), ("2", R), ("2", P))},
            (),
            "0",
            {"deleted": 2, "active": 2, "succeeded": 1, "terminating": 2, "untracked": 5},
            id="repeated indexes",
        ),
        pytest.param(
            (2, 5),
            {"indexed": (("0", S), ("5", R), ("6", S), ("7", P), ("8", F))},
            (),
            "0",
            {"deleted": 2, "succeeded": 1, "terminating": 2, "untracked": 5},
            id="indexes outside of range",
        ),
    ],
)
def test_sync_of_an_indexed_job(
    job: tuple[Any, ...], pods: dict[str, Any], indexes: tuple[int, ...], completed: str, expected: dict[str, Any]
) -> None:
    parallelism, completions, *options = job
    made = make_job(parallelism, completions, indexed=True, **(options[0] if options else {}))
    outcome = synced(made, some_pods(**pods))
    _check(outcome, expected)
    assert (outcome.indexes, outcome.status.completed_indexes) == (indexes, completed)


@pytest.mark.parametrize(
    ("record", "active", "created"),
    [
        pytest.param(BackoffRecord(1, NOW), 0, 0, id="active back-off"),
        pytest.param(BackoffRecord(1, NOW), 1, 0, id="active back-off with running pods"),
        pytest.param(BackoffRecord(0, NOW), 0, 1, id="no back-offs"),
    ],
)
def test_back_off_delays_creation(record: BackoffRecord, active: int, created: int) -> None:
    job = make_job(1 + active, 1 + active, status=JobStatus(start_time=format_time(NOW)))
    outcome = synced(job, some_pods(active=active, ready=active), record)
    assert (outcome.created, outcome.status.active, outcome.status.ready) == (created, active + created, active)


def test_resuming_resets_the_start_time() -> None:
    suspended = new_condition("Suspended", "True", "JobSuspended", "Job suspended", NOW - SECOND)
    outcome = synced(make_job(2, 4, status=JobStatus(conditions=(suspended,))), [])
    (condition,) = outcome.status.conditions
    assert (condition.status, condition.reason, condition.message) == ("False", "JobResumed", "Job resumed")
    assert (outcome.created, outcome.status.start_time) == (2, format_time(NOW))


@pytest.mark.parametrize("type", ["FailureTarget", "SuccessCriteriaMet"])
def test_a_false_condition_does_not_end_the_job(type: str) -> None:
    manual = new_condition(type, "False", "ConditionAddedManually", "Testing", NOW)
    status = JobStatus(active=1, start_time=format_time(NOW), conditions=(manual,))
    outcome = synced(make_job(1, 1, status=status), some_pods(active=1, ready=1))
    assert (outcome.status.active, outcome.status.ready, outcome.status.conditions) == (1, 1, (manual,))


# -- deadlines and limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deadline", "since", "pods", "suspend", "ends"),
    [
        pytest.param(10, 15, {"active": 1, "succeeded": 0}, False, True, id="one active"),
        pytest.param(10, 10, {"active": 1, "succeeded": 1}, False, True, id="one of two has succeeded"),
        pytest.param(1, 2, {}, False, True, id="no pods"),
        pytest.param(10, 15, {}, True, False, id="suspended"),
        pytest.param(10, 9, {"active": 1}, False, False, id="not yet"),
    ],
)
def test_active_deadline(deadline: int, since: int, pods: dict[str, Any], suspend: bool, ends: bool) -> None:
    status = JobStatus(start_time=format_time(NOW - since * SECOND))
    job = make_job(1, 2, suspend=suspend, active_deadline_seconds=deadline, status=status)
    outcome = synced(job, some_pods(**pods))
    assert ("FailureTarget/DeadlineExceeded" in outcome.conditions()) is ends


def test_the_next_sync_is_at_the_deadline() -> None:
    plan = plan_sync(make_job(1, 1, active_deadline_seconds=7), [], NO_FAILURES, NOW)
    assert plan.sync_after == 7 * SECOND


@pytest.mark.parametrize(
    ("parallelism", "completions", "limit", "restarts", "phase", "ends"),
    [
        pytest.param(1, 1, 0, [1], R, True, id="backoffLimit 0 should have 1 pod active"),
        pytest.param(1, 1, 1, [0], R, False, id="backoffLimit 1 with restartCount 0"),
        pytest.param(1, 1, 1, [1], R, True, id="backoffLimit 1 with restartCount 1 and podRunning"),
        pytest.param(1, 1, 1, [1], P, True, id="backoffLimit 1 with restartCount 1 and podPending"),
        pytest.param(1, 5, 2, [1, 1], R, True, id="too many job failures with podRunning - multiple pods"),
        pytest.param(1, 5, 2, [1, 1], P, True, id="too many job failures with podPending - multiple pods"),
        pytest.param(2, 5, 3, [1, 1], R, False, id="not enough failures"),
        pytest.param(2, 4, 6, [1, 1], R, False, id="not enough failures, larger limit"),
        pytest.param(1, 1, 0, [0], R, False, id="backoffLimit 0 without a restart"),
    ],
)
def test_restarts_count_with_on_failure(
    parallelism: int, completions: int, limit: int, restarts: list[int], phase: str, ends: bool
) -> None:
    job = make_job(parallelism, completions, limit, restart_policy="OnFailure")
    pods = [make_pod(phase, f"pod-{n}", restarts=count) for n, count in enumerate(restarts)]
    outcome = synced(job, pods)
    assert outcome.conditions() == (FAILS if ends else [])
    assert outcome.status.failed == (len(pods) if ends else 0)


@pytest.mark.parametrize(
    ("parallelism", "completions", "limit", "active", "failed", "ends"),
    [
        pytest.param(1, 1, 0, 1, 0, False, id="backoffLimit 0, no failure"),
        pytest.param(1, 1, 0, 0, 1, True, id="backoffLimit 0, one failure"),
        pytest.param(1, 1, 1, 0, 1, False, id="not enough failures with backoffLimit 1 - single pod"),
        pytest.param(1, 5, 3, 1, 3, False, id="too few failures"),
        pytest.param(2, 5, 2, 1, 2, False, id="as many failures as the limit"),
        pytest.param(2, 5, 2, 1, 3, True, id="one failure more than the limit"),
    ],
)
def test_failed_pods_count_with_never(
    parallelism: int, completions: int, limit: int, active: int, failed: int, ends: bool
) -> None:
    outcome = synced(make_job(parallelism, completions, limit), some_pods(active=active, failed=failed))
    assert ("FailureTarget/BackoffLimitExceeded" in outcome.conditions()) is ends
    assert outcome.status.failed == failed + (active if ends else 0)


# -- conditions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        pytest.param(None, ("True", "foo", "bar"), True, id="append true condition"),
        pytest.param(None, ("False", "foo", "bar"), False, id="append false condition"),
        pytest.param(("False", "foo", "bar"), ("True", "foo", "bar"), True, id="update true condition status"),
        pytest.param(("True", "foo", "bar"), ("False", "foo", "bar"), True, id="update false condition status"),
        pytest.param(("True", "foo", "bar"), ("True", "foo", "bar"), False, id="unchanged"),
        pytest.param(("False", "foo", "bar"), ("False", "other", "bar"), True, id="update reason"),
    ],
)
def test_ensure_condition(old: tuple[str, str, str] | None, new: tuple[str, str, str], changed: bool) -> None:
    before: tuple[JobCondition, ...] = ()
    if old is not None:
        before = (new_condition("Suspended", *old, NOW),)
    after, was_changed = ensure_condition(before, new_condition("Suspended", *new, NOW + SECOND))
    assert was_changed is changed
    if changed:
        assert [(c.status, c.reason, c.message) for c in after] == [new]
    else:
        assert after == before
