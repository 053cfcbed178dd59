"""The three writes that count a terminated pod exactly once.

Adapted from: pkg/controller/job/job_controller_test.go TestTrackJobStatusAndRemoveFinalizers
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.timestamps import MINUTE, format_time
from kubesim.api.workloads.batch import Job, JobCondition, JobStatus, UncountedTerminatedPods
from kubesim.cluster.controllers.job.outcome.backoff import NO_FAILURES
from kubesim.cluster.controllers.job.outcome.counting import NONE_UNCOUNTED, count_pods
from kubesim.cluster.controllers.job.outcome.ending import new_condition
from kubesim.cluster.controllers.job.sync_plan import NO_CHANGES, SyncPlan
from kubesim.cluster.controllers.job.tracking import Tracking, track
from tests.support.cluster.batch import NOW, make_job, make_pod

S, F, R, P = "Succeeded", "Failed", "Running", "Pending"
FAILED = new_condition("Failed", "True", "", "", NOW)
COMPLETE = new_condition("Complete", "True", "", "", NOW)
TARGET = new_condition("FailureTarget", "True", "", "", NOW)
MET = new_condition("SuccessCriteriaMet", "True", "", "", NOW - MINUTE)


def tracked(job: Job, pods: list[Pod], finished: JobCondition | None = None) -> Tracking:
    """Track these pods without creating or deleting any."""
    status = job.status.changed(
        uncounted_terminated_pods=job.status.uncounted_terminated_pods or NONE_UNCOUNTED, ready=0, terminating=0
    )
    job = job.changed(status=status)
    plan = SyncPlan(job, count_pods(job, pods, NO_FAILURES), NO_CHANGES, finished)
    return track(plan, job.status.active, NOW)


def uncounted(succeeded: tuple[str, ...] = (), failed: tuple[str, ...] = ()) -> UncountedTerminatedPods:
    return UncountedTerminatedPods(succeeded=succeeded, failed=failed)


def seen(status: JobStatus | None) -> dict[str, Any] | None:
    """The non-empty status fields of a row."""
    if status is None:
        return None
    pods = status.uncounted_terminated_pods or NONE_UNCOUNTED
    found = {
        "uncounted_succeeded": pods.succeeded,
        "uncounted_failed": pods.failed,
        "succeeded": status.succeeded,
        "failed": status.failed,
        "completed_indexes": status.completed_indexes,
        "failed_indexes": status.failed_indexes,
        "conditions": status.conditions,
    }
    return {name: value for name, value in found.items() if value not in ((), 0, "", None)}


def check(tracking: Tracking, removed: int, *updates: dict[str, Any]) -> None:
    written = [seen(status) for status in (tracking.before, tracking.after) if status is not None]
    assert len(tracking.untrack) == removed
    assert written == list(updates)


def test_no_updates() -> None:
    check(tracked(make_job(), []), 0)


def test_track_finished_pods() -> None:
    pods = [
        make_pod(S, "a"),
        make_pod(F, "b"),
        make_pod(S, "c", deleting=True),
        make_pod(F, "d", deleting=True),
        make_pod(P, "e", deleting=True),
        make_pod(P, "f"),
        make_pod(R, "g"),
    ]
    job = make_job(10, 10)
    plan = SyncPlan(
        job.changed(status=JobStatus(uncounted_terminated_pods=NONE_UNCOUNTED, ready=0, terminating=1)),
        count_pods(job, pods, NO_FAILURES),
        NO_CHANGES,
    )
    check(
        track(plan, 0, NOW),
        5,
        {"uncounted_succeeded": ("a", "c"), "uncounted_failed": ("b", "d", "e")},
        {"succeeded": 2, "failed": 3},
    )


def test_past_and_new_finished_pods() -> None:
    status = JobStatus(active=1, succeeded=2, failed=3, uncounted_terminated_pods=uncounted(("a", "e"), ("b", "f")))
    pods = [
        make_pod(S, "e", tracked=False),
        make_pod(F, "", tracked=False),
        make_pod(P, "x", tracked=False),
        make_pod(S, "a"),
        make_pod(F, "b"),
        make_pod(S, "c"),
        make_pod(F, "d"),
    ]
    check(
        tracked(make_job(10, 10, status=status), pods),
        4,
        {"uncounted_succeeded": ("a", "c"), "uncounted_failed": ("b", "d"), "succeeded": 3, "failed": 4},
        {"succeeded": 5, "failed": 6},
    )


def test_succeeding_job_by_success_policy() -> None:
    tracking = tracked(make_job(), [make_pod(S, "a"), make_pod(F, "b"), make_pod(P, "c")], MET)
    check(
        tracking,
        3,
        {"uncounted_succeeded": ("a",), "uncounted_failed": ("b",), "conditions": (MET,)},
        {"succeeded": 1, "failed": 1, "conditions": (MET, COMPLETE)},
    )
    assert tracking.after is not None
    assert tracking.after.completion_time == format_time(NOW)


def test_failing_job() -> None:
    check(
        tracked(make_job(), [make_pod(S, "a"), make_pod(F, "b"), make_pod(R, "c")], TARGET),
        3,
        {"uncounted_succeeded": ("a",), "uncounted_failed": ("b", "c"), "conditions": (TARGET,)},
        {"succeeded": 1, "failed": 2, "conditions": (TARGET, FAILED)},
    )


def test_deleted_job() -> None:
    job = make_job(10, 10, deleting=True, status=JobStatus(active=1))
    check(
        tracked(job, [make_pod(S, "a"), make_pod(F, "b"), make_pod(R, "c")]),
        3,
        {"uncounted_succeeded": ("a",), "uncounted_failed": ("b",)},
        {"succeeded": 1, "failed": 1},
    )


@pytest.mark.parametrize(
    ("completions", "status", "pods", "removed", "updates"),
    [
        pytest.param(
            6,
            {"active": 1},
            [(S, 1), (S, 3), (S, 3), (R, 5), (S, None)],
            4,
            [{"succeeded": 2, "completed_indexes": "1,3"}],
            id="new successful pods",
        ),
        pytest.param(
            2,
            {"active": 2, "succeeded": 1, "completed_indexes": "3"},
            [(R, 0), (R, 1)],
            0,
            [{}],
            id="earlier successes beyond completions",
        ),
        pytest.param(
            2,
            {"active": 2, "succeeded": 1, "completed_indexes": "3"},
            [(R, 0), (S, 1)],
            1,
            [{"succeeded": 1, "completed_indexes": "1"}],
            id="earlier successes beyond completions and a new one",
        ),
        pytest.param(
            6,
            {"active": 1},
            [(F, 1), (F, 3), (F, 3), (R, 5), (F, None)],
            4,
            [{"uncounted_failed": ("pod-0", "pod-1", "pod-2")}, {"failed": 3}],
            id="new failed pods",
        ),
        pytest.param(
            7,
            {"failed": 2, "succeeded": 5, "completed_indexes": "0-2,4,6,7"},
            [(S, 1), (S, 3), (F, 2), (F, 5)],
            4,
            [
                {
                    "succeeded": 6,
                    "failed": 2,
                    "completed_indexes": "0-4,6",
                    "uncounted_failed": ("pod-2", "pod-3"),
                },
                {"succeeded": 6, "failed": 4, "completed_indexes": "0-4,6"},
            ],
            id="past and new pods",
        ),
    ],
)
def test_indexed_job(
    completions: int,
    status: dict[str, Any],
    pods: list[tuple[str, int | None]],
    removed: int,
    updates: list[dict[str, Any]],
) -> None:
    job = make_job(completions, completions, indexed=True, status=JobStatus(**status))
    made = [make_pod(phase, f"pod-{n}", index=index) for n, (phase, index) in enumerate(pods)]
    check(tracked(job, made), removed, *updates)


def test_too_many_finished() -> None:
    """At most 500 pods are listed at a time; the others wait for the next sync."""
    job = make_job(1000, 1000, status=JobStatus(uncounted_terminated_pods=uncounted(failed=("a", "b"))))
    pods = [*(make_pod(S, str(n)) for n in range(500)), make_pod(F, "b")]
    named = tuple(str(n) for n in range(499))
    check(
        tracked(job, pods),
        499,
        {"uncounted_succeeded": named, "uncounted_failed": ("b",), "failed": 1},
        {"uncounted_failed": ("b",), "succeeded": 499, "failed": 1},
    )


def test_too_many_indexed_finished() -> None:
    job = make_job(501, 501, indexed=True)
    tracking = tracked(job, [make_pod(S, str(n), index=n) for n in range(501)])
    assert len(tracking.untrack) == 500


def test_pod_flips_from_failed_to_succeeded() -> None:
    job = make_job(2, 2, status=JobStatus(uncounted_terminated_pods=uncounted(failed=("a", "b"))))
    check(tracked(job, [make_pod(F, "a"), make_pod(S, "b")], FAILED), 2, {"failed": 2, "conditions": (FAILED,)})


def test_pod_is_terminal() -> None:
    job = make_job(status=JobStatus(uncounted_terminated_pods=uncounted(failed=("a",))))
    check(tracked(job, [make_pod(F, "a")], FAILED), 1, {"failed": 1, "conditions": (FAILED,)})


@pytest.mark.parametrize(
    ("condition", "succeeded", "finished"),
    [pytest.param(TARGET, (), FAILED, id="failure"), pytest.param(MET, ("b",), MET, id="success")],
)
def test_the_final_condition_waits_for_terminating_pods(
    condition: JobCondition, succeeded: tuple[str, ...], finished: JobCondition
) -> None:
    status = JobStatus(uncounted_terminated_pods=uncounted(succeeded, ("a",)), conditions=(condition,))
    tracking = tracked(make_job(status=status), [make_pod(R, "a", tracked=False, deleting=True)], finished)
    expected: dict[str, Any] = {"failed": 1, "conditions": (condition,)}
    check(tracking, 0, expected | ({"succeeded": 1} if succeeded else {}))
    assert tracking.finished is None


@pytest.mark.parametrize(
    ("status", "pods", "removed", "updates"),
    [
        pytest.param({}, [("a", F, 1, 0)], 0, [], id="a failed pod waits for its replacement"),
        pytest.param(
            {"active": 1},
            [("a1", F, 1, 0), ("a2", R, 1, 1)],
            1,
            [{"uncounted_failed": ("a1",)}, {"failed": 1}],
            id="a failed pod is counted when its replacement exists",
        ),
        pytest.param(
            {},
            [("a", F, 1, 1)],
            1,
            [{"uncounted_failed": ("a",), "failed_indexes": "1"}, {"failed": 1, "failed_indexes": "1"}],
            id="the last pod of a failed index is counted",
        ),
        pytest.param(
            {},
            [("a", F, 1, 0), ("b", S, 1, 1)],
            2,
            [
                {"uncounted_failed": ("a",), "succeeded": 1, "completed_indexes": "1"},
                {"failed": 1, "succeeded": 1, "completed_indexes": "1"},
            ],
            id="a failed pod of an index that has succeeded is counted",
        ),
    ],
)
def test_backoff_limit_per_index(
    status: dict[str, Any], pods: list[tuple[str, str, int, int]], removed: int, updates: list[dict[str, Any]]
) -> None:
    before = JobStatus(failed_indexes="", **status)
    job = make_job(6, 6, indexed=True, backoff_limit_per_index=1, status=before)
    made = [make_pod(phase, name, index=index, failures=failures) for name, phase, index, failures in pods]
    check(tracked(job, made), removed, *updates)
