"""Upstream's table tests for completion indexes.

Adapted from: pkg/controller/job/indexed_job_utils_test.go
"""

from __future__ import annotations

import pytest

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.timestamps import SECOND
from kubesim.api.workloads.batch import JobStatus
from kubesim.cluster.controllers.job.new_pods import new_pod
from kubesim.cluster.controllers.job.outcome.backoff import NO_FAILURES
from kubesim.cluster.controllers.job.outcome.counting import count_pods
from kubesim.cluster.controllers.job.outcome.indexes import Indexes, parse_indexes
from kubesim.cluster.controllers.job.outcome.job_pods import index_failure_count, pods_for_removal
from tests.support.cluster.batch import NOW, failure_policy, make_job, make_pod

S, F, R, P = "Succeeded", "Failed", "Running", "Pending"
DISRUPTED = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


@pytest.mark.parametrize(
    ("before", "pods", "completions", "expected"),
    [
        pytest.param("", [("1", S)], 2, "1", id="one index"),
        pytest.param("", [("2", F), ("5", S), ("5", S), ("10", F), ("10", S)], 11, "5,10", id="two separate"),
        pytest.param(
            "",
            [("0", R), ("1", P), ("2", S), ("3", S), ("5", S), ("6", S), ("7", S)],
            8,
            "2,3,5-7",
            id="two intervals",
        ),
        pytest.param(
            "",
            [("0", S), ("1", F), ("2", S), ("3", S), ("4", S), ("5", S), (None, S), ("-2", S)],
            6,
            "0,2-5",
            id="one index and one interval",
        ),
        pytest.param(
            "",
            [("0", S), ("1", S), ("2", S), ("3", F), ("4", S), ("5", S), (None, S), ("-2", S)],
            5,
            "0-2,4",
            id="out of range",
        ),
        pytest.param("0-5,8-10", [], 8, "0-5", id="prev interval out of range"),
        pytest.param("0-5,8-10", [], 10, "0-5,8,9", id="prev interval partially out of range"),
        pytest.param(
            "0,4,5,10-12", [("2", S), ("7", S), ("8", S)], 13, "0,2,4,5,7,8,10-12", id="prev and new separate"
        ),
        pytest.param("3,4,6", [("2", S), ("7", S), ("8", S)], 9, "2-4,6-8", id="prev between new"),
        pytest.param("2,7,8", [("3", S), ("4", S), ("6", S)], 9, "2-4,6-8", id="new between prev"),
        pytest.param("2-7", [("0", S), ("3", S), ("5", S), ("9", S)], 10, "0,2-7,9", id="new within prev"),
        pytest.param("0,1-foo,bar", [("3", S)], 4, "0,3", id="corrupted interval"),
    ],
)
def test_succeeded_indexes(before: str, pods: list[tuple[str | None, str]], completions: int, expected: str) -> None:
    job = make_job(completions=completions, indexed=True, status=JobStatus(completed_indexes=before))
    counts = count_pods(job, [make_pod(phase, index=index) for index, phase in pods], NO_FAILURES)
    assert str(counts.indexes.succeeded) == expected


@pytest.mark.parametrize(
    ("limit", "pod", "rules"),
    [
        pytest.param(0, make_pod(F, index=0, failures=0), (), id="limit 0"),
        pytest.param(1, make_pod(F, index=1, failures=1), (), id="limit 1"),
        pytest.param(
            1,
            make_pod(F, index=0, failures=0, exit_code=3),
            ({"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [3]}},),
            id="matching FailIndex pod failure policy",
        ),
    ],
)
def test_index_fails(limit: int, pod: Pod, rules: tuple[dict[str, object], ...]) -> None:
    policy = failure_policy(*rules) if rules else None
    job = make_job(completions=2, indexed=True, backoff_limit_per_index=limit, pod_failure_policy=policy)
    failed = count_pods(job, [pod], NO_FAILURES).indexes.failed
    assert failed is not None
    assert failed.total() == 1


@pytest.mark.parametrize(
    ("before", "limit", "pods", "expected"),
    [
        pytest.param(None, 1, [(0, 0, True), (1, 1, True)], "1", id="one new index failed"),
        pytest.param(None, 0, [(0, 0, False)], "", id="pod without finalizer is ignored"),
        pytest.param(None, 0, [(3, 0, True)], "", id="pod outside completions is ignored"),
        pytest.param("0", 0, [(1, 0, True)], "0,1", id="extend the failed indexes"),
        pytest.param("", 0, [(1, 0, True)], "1", id="prev failed indexes empty"),
        pytest.param("9", 0, [(1, 0, True)], "1", id="prev failed indexes outside the completions"),
    ],
)
def test_failed_indexes(before: str | None, limit: int, pods: list[tuple[int, int, bool]], expected: str) -> None:
    status = JobStatus(failed_indexes=before)
    job = make_job(completions=2, indexed=True, backoff_limit_per_index=limit, status=status)
    made = [make_pod(F, index=index, failures=failures, tracked=tracked) for index, failures, tracked in pods]
    assert str(count_pods(job, made, NO_FAILURES).indexes.failed) == expected


@pytest.mark.parametrize(
    ("completions", "limit", "pods", "expected"),
    [
        pytest.param(
            3,
            1,
            [
                make_pod(F, "a", index=0, failures=0),
                make_pod(F, "b", index=1, failures=1),
                make_pod(F, "c", index=2, failures=0),
            ],
            {"a", "c"},
            id="failed pods of indexes that have not failed",
        ),
        pytest.param(2, 0, [make_pod(F, "a", index=0, failures=0, tracked=False)], set(), id="without finalizer"),
        pytest.param(2, 0, [make_pod(F, "a", index=4, failures=0)], set(), id="index outside of completions"),
        pytest.param(
            2,
            1,
            [make_pod(F, "a1", index=0, failures=0), make_pod(R, "a2", index=0, failures=1)],
            set(),
            id="replaced by an active pod",
        ),
        pytest.param(
            2,
            1,
            [make_pod(F, "a1", index=0, failures=0), make_pod(S, "a2", index=0, failures=1)],
            set(),
            id="replaced by a pod that succeeded",
        ),
        pytest.param(
            2,
            4,
            [make_pod(F, name, index=0, failures=count) for name, count in (("a1", 0), ("a3", 2), ("a2", 1))],
            {"a3"},
            id="the highest failure count is kept",
        ),
        pytest.param(
            2,
            4,
            [
                make_pod(F, name, index=0, failures=1, finished_at=None, deleted_at=NOW + offset * SECOND)
                for name, offset in (("a1", -1), ("a3", 0), ("a2", -2))
            ],
            {"a3"},
            id="the last failed pod is kept",
        ),
    ],
)
def test_pods_that_wait_for_their_replacement(
    completions: int, limit: int, pods: list[Pod], expected: set[str]
) -> None:
    job = make_job(completions=completions, indexed=True, backoff_limit_per_index=limit)
    delayed = count_pods(job, pods, NO_FAILURES).indexes.delayed
    assert {pod.metadata.uid for pod in delayed.values()} == expected


@pytest.mark.parametrize(
    ("replaced", "failures"),
    [
        pytest.param(None, "0", id="first pod created"),
        pytest.param(make_pod(F, index=0, failures=0), "1", id="after 0 failures"),
        pytest.param(make_pod(F, index=0, failures=3), "4", id="after 3 failures"),
    ],
)
def test_a_replacement_inherits_the_failure_count(replaced: Pod | None, failures: str) -> None:
    pod = new_pod(make_job(indexed=True, backoff_limit_per_index=9), 0, replaced)
    annotations = pod.metadata.annotations
    assert annotations["batch.kubernetes.io/job-index-failure-count"] == failures
    assert "batch.kubernetes.io/job-index-ignored-failure-count" not in annotations


def test_ignored_failures_have_their_own_count() -> None:
    disruption = PodCondition(type="DisruptionTarget", status="True")
    disrupted = make_pod(F, index=3, failures=3, conditions=(disruption,))
    job = make_job(indexed=True, backoff_limit_per_index=9, pod_failure_policy=failure_policy(DISRUPTED))
    annotations = new_pod(job, 3, disrupted).metadata.annotations
    assert annotations["batch.kubernetes.io/job-index-failure-count"] == "3"
    assert annotations["batch.kubernetes.io/job-index-ignored-failure-count"] == "1"


@pytest.mark.parametrize(
    ("intervals", "index", "expected"),
    [
        pytest.param((), 4, False, id="empty"),
        pytest.param(((2, 4), (5, 7)), 1, False, id="before all"),
        pytest.param(((2, 4), (6, 8)), 9, False, id="after all"),
        pytest.param(((2, 4), (6, 8)), 5, False, id="in between"),
        pytest.param(((2, 4), (6, 8)), 2, True, id="in first"),
        pytest.param(((2, 4), (6, 8)), 8, True, id="in second"),
    ],
)
def test_membership(intervals: tuple[tuple[int, int], ...], index: int, expected: bool) -> None:
    assert (index in Indexes(intervals)) is expected


@pytest.mark.parametrize(
    ("count", "completions", "done", "expected"),
    [
        pytest.param(5, 3, "", [0, 1, 2], id="cnt greater than completions"),
        pytest.param(2, 5, "", [0, 1], id="cnt less than completions"),
        pytest.param(3, 10, "0,1", [2, 3, 4], id="first pods active"),
        pytest.param(6, 6, "4-6", [0, 1, 2, 3], id="last pods active or succeeded"),
        pytest.param(5, 20, "2-5,8,9", [0, 1, 6, 7, 10], id="mixed"),
        pytest.param(5, 20, "1-3,5-7,9", [0, 4, 8, 10, 11], id="with failed indexes"),
    ],
)
def test_first_pending_indexes(count: int, completions: int, done: str, expected: list[int]) -> None:
    assert parse_indexes(done, 100).first_missing(count, completions) == expected


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param(
            [(None, P), ("2", P), ("5", R), ("6", R)],
            [(None, P), ("6", R)],
            id="all unique",
        ),
        pytest.param(
            [("5", P), ("0", R), ("3", P), ("0", R), ("3", R), ("0", P), ("6", R), ("6", P)],
            [("6", R), ("6", P), ("0", P), ("0", R), ("3", P)],
            id="all with index",
        ),
        pytest.param(
            [(None, P), ("invalid", R), ("-2", R), ("0", P), ("1", P), ("1", P), ("1", R)],
            [(None, P), ("invalid", R), ("-2", R), ("1", P), ("1", P)],
            id="mixed",
        ),
    ],
)
def test_pods_with_a_duplicate_index_are_deleted(
    pods: list[tuple[str | None, str]], expected: list[tuple[str | None, str]]
) -> None:
    job = make_job(completions=6, indexed=True)
    removed = pods_for_removal(job, [make_pod(phase, index=index) for index, phase in pods], 0)
    key = "batch.kubernetes.io/job-completion-index"
    assert [(pod.metadata.annotations.get(key), pod.status.phase) for pod in removed] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("indexed-job", "indexed-job-1-"),
        ("hhhhhooooo" * 7, "hhhhhooooo" * 5 + "hhhhh-1-"),
        ("hhhhhooooo" * 5 + "hhhhhoo", "hhhhhooooo" * 5 + "hhhhh-1-"),
    ],
)
def test_a_truncated_name_keeps_the_index(name: str, expected: str) -> None:
    job = make_job(indexed=True)
    job = job.changed(metadata=job.metadata.changed(name=name))
    assert new_pod(job, 1).metadata.generate_name == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [(None, 0), ("2", 2), (str(2**31 - 1), 2**31 - 1), (str(2**31), 0), ("-1", 0), ("xyz", 0)],
)
def test_failure_count_of_a_pod(text: str | None, expected: int) -> None:
    assert index_failure_count(make_pod(F, failures=text)) == expected
