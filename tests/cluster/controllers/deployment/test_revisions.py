"""Revision numbers, their history, and deletion of old ReplicaSets.

Adapted from: util/deployment_util_test.go TestAnnotationUtils, TestGetNonNegativeInt32FromAnnotation,
TestReplicasAnnotationsNeedUpdate; sync_test.go TestDeploymentController_cleanupDeployment, ...cleanupDeploymentOrder
"""

from __future__ import annotations

import pytest

from kubesim.api.workloads.apps import ReplicaSet
from kubesim.cluster.controllers.deployment.revisions import (
    DESIRED_REPLICAS,
    LAST_APPLIED,
    MAX_REPLICAS,
    REVISION,
    REVISION_HISTORY,
    ROLLBACK_TO,
    last_revision,
    max_revision,
    new_replica_set_annotations,
    replica_sets_to_delete,
    replicas_annotation,
    replicas_annotations,
    rollback_revision,
    rollback_target,
    rolled_back_annotations,
)
from kubesim.cluster.controllers.deployment.scaling import is_saturated
from tests.support.cluster.deployments import deployment, replica_set


def test_the_history_keeps_the_newest_revisions_that_fit() -> None:
    annotations: dict[str, str] = {}
    for revision in range(11, 21):
        annotations = new_replica_set_annotations(deployment(1), annotations, revision, exists=True, limit=5)
        assert annotations[REVISION] == str(revision)
        if revision > 12:
            assert annotations[REVISION_HISTORY] == f"{revision - 2},{revision - 1}"


def test_a_revision_never_decreases() -> None:
    """Older ReplicaSets may have been deleted since this one got its number."""
    annotations = {REVISION: "7"}
    assert new_replica_set_annotations(deployment(1), annotations, 3, exists=True) == annotations


def test_a_new_replica_set_has_the_annotations_of_the_deployment_and_its_size() -> None:
    made = deployment(10, 1, 0)
    own = {"team": "a", LAST_APPLIED: "{}", REVISION: "4"}
    made = made.changed(metadata=made.metadata.changed(annotations=own))
    assert new_replica_set_annotations(made, {}, 5, exists=False) == {
        "team": "a",
        REVISION: "5",
        DESIRED_REPLICAS: "10",
        MAX_REPLICAS: "11",
    }


def test_saturated_replica_sets() -> None:
    made = deployment(1, 1, 0)
    assert is_saturated(made, replica_set("one", 1, available=1, annotations={DESIRED_REPLICAS: "1"}))
    assert not is_saturated(made, replica_set("one", 1, available=1, annotations={DESIRED_REPLICAS: "2"}))
    assert not is_saturated(made, replica_set("one", 1, available=0, annotations={DESIRED_REPLICAS: "1"}))


@pytest.mark.parametrize(
    ("annotations", "is_current"),
    [
        ({}, False),
        ({DESIRED_REPLICAS: "8", MAX_REPLICAS: "20"}, False),
        ({DESIRED_REPLICAS: "10", MAX_REPLICAS: "16"}, False),
        ({DESIRED_REPLICAS: "10", MAX_REPLICAS: "20"}, True),
    ],
)
def test_size_annotations(annotations: dict[str, str], is_current: bool) -> None:
    assert ({**annotations, **replicas_annotations(deployment(10, 10))} == annotations) == is_current


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        ("", None),
        ("invalid", None),
        ("-1", None),
        ("0", 0),
        ("13", 13),
        ("2147483647", 2147483647),
        ("2147483648", None),
        ("4294967296", None),
    ],
)
def test_numeric_annotations(text: str | None, expected: int | None) -> None:
    one = replica_set("one", 0, annotations={} if text is None else {MAX_REPLICAS: text, "foo": "2"})
    assert replicas_annotation(one, MAX_REPLICAS) == expected


# -- old ReplicaSets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "limit", "expected"),
    [
        ([(0, 0), (0, 0), (0, 0)], 1, 2),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], 0, 1),
        ([(0, 0), (0, 0)], 0, 2),
        ([(1, 1), (1, 1)], 0, 0),
        ([(0, 0), (0, 0), (0, 0)], 2**31 - 1, 0),
    ],
)
def test_only_replica_sets_without_pods_are_deleted(old: list[tuple[int, int]], limit: int, expected: int) -> None:
    sets = [replica_set(f"foo-{n}", size, actual=actual) for n, (size, actual) in enumerate(old)]
    assert len(replica_sets_to_delete(sets, limit)) == expected


def test_a_replica_set_being_deleted_is_skipped() -> None:
    one = replica_set("one", 0)
    going = one.changed(metadata=one.metadata.changed(deletion_timestamp="2016-05-20T03:00:00Z"))
    assert replica_sets_to_delete([going], 0) == []


def test_a_replica_set_with_an_outdated_status_stays() -> None:
    one = replica_set("one", 0)
    assert replica_sets_to_delete([one.changed(metadata=one.metadata.changed(generation=2))], 0) == []


@pytest.mark.parametrize(
    ("old", "limit", "expected"),
    [
        ([(0, "1"), (0, "2")], 1, {"foo-1"}),
        ([(0, "2"), (0, "1")], 1, {"foo-2"}),
        ([(0, "1"), (0, "")], 1, {"foo-2"}),
        ([(0, ""), (0, "2")], 1, {"foo-1"}),
        ([(1, "1"), (0, "2"), (0, "3")], 1, {"foo-2"}),
        ([(1, "1"), (1, "2"), (0, "3")], 1, set()),
        ([(0, "3"), (0, "1"), (0, "4"), (0, "2")], 2, {"foo-2", "foo-4"}),
    ],
)
def test_the_lowest_revisions_are_deleted_first(old: list[tuple[int, str]], limit: int, expected: set[str]) -> None:
    sets = [_numbered(f"foo-{n}", revision, size, n) for n, (size, revision) in enumerate(old, 1)]
    assert {one.metadata.name for one in replica_sets_to_delete(sets, limit)} == expected


def _numbered(name: str, revision: str, size: int = 0, created: int = 0) -> ReplicaSet:
    annotations = {REVISION: revision} if revision else {}
    return replica_set(name, size, actual=size, created=created, annotations=annotations)


# -- rollback -------------------------------------------------------------------------------------------------------


def test_highest_and_second_highest_revision() -> None:
    sets = [_numbered("a", "2"), _numbered("b", "5"), _numbered("c", "x"), _numbered("d", "")]
    assert (max_revision(sets), last_revision(sets)) == (5, 2)
    assert (max_revision([]), last_revision(sets[:1])) == (0, 0)


def test_a_rollback_goes_to_a_revision_or_to_the_last_one() -> None:
    sets = [_numbered("a", "2"), _numbered("b", "5"), _numbered("c", "3")]
    found = [rollback_target(revision, sets) for revision in (2, 0, 4)]
    assert [one and one.metadata.name for one in found] == ["a", "c", None]


@pytest.mark.parametrize(("text", "expected"), [("3", 3), ("0", 0), ("", None), ("three", None)])
def test_an_annotation_requests_a_rollback(text: str, expected: int | None) -> None:
    made = deployment(1)
    made = made.changed(metadata=made.metadata.changed(annotations={ROLLBACK_TO: text}))
    assert rollback_revision(made) == expected


def test_a_rollback_copies_the_annotations_of_the_replica_set() -> None:
    made = deployment(1)
    made = made.changed(metadata=made.metadata.changed(annotations={"cause": "edit", REVISION: "2", ROLLBACK_TO: "1"}))
    target = replica_set("a", 0, annotations={"cause": "create", REVISION: "1", MAX_REPLICAS: "3"})
    assert rolled_back_annotations(made, target) == {"cause": "create", REVISION: "2", ROLLBACK_TO: "1"}
