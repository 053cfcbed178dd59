"""Names, ordinals, volumes and claims.

Mirrors: pkg/controller/statefulset/stateful_set_utils_test.go
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.workloads.apps import StatefulSet
from kubesim.cluster.controllers.statefulset.identity import (
    identity_matches,
    is_at_current_revision,
    is_member_of,
    new_claims,
    new_pod,
    new_versioned_pod,
    ordinals,
    parent_and_ordinal,
    revision_of,
    storage_matches,
    with_identity,
    with_storage,
)
from tests.support.workloads.sets import CLAIM_TEMPLATE, rolling, stateful_set


def _set(replicas: int = 3, **spec: Any) -> StatefulSet:
    body = stateful_set(replicas, **{"volumeClaimTemplates": [CLAIM_TEMPLATE], **spec})
    set_ = StatefulSet.from_json(body)
    return set_.changed(metadata=set_.metadata.changed(namespace="default", uid="set-uid"))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("db-0", ("db", 0)),
        ("my-db-12", ("my-db", 12)),
        ("db", ("", -1)),
        ("db-", ("", -1)),
        ("db-a1", ("", -1)),
        ("db-99999999999", ("db", -1)),
    ],
)
def test_a_name_has_a_parent_and_an_ordinal(name: str, expected: tuple[str, int]) -> None:
    assert parent_and_ordinal(name) == expected


def test_the_first_ordinal_is_configurable() -> None:
    assert list(ordinals(_set(2))) == [0, 1]
    assert list(ordinals(_set(2, ordinals={"start": 5}))) == [5, 6]


def test_a_new_pod_has_an_identity() -> None:
    pod = new_pod(_set(), 1, "db-abc")
    assert (pod.metadata.name, pod.metadata.generate_name, pod.metadata.namespace) == ("db-1", "db-", "default")
    assert (pod.spec.hostname, pod.spec.subdomain) == ("db-1", "db")
    assert pod.metadata.labels == {
        "app": "x",
        "controller-revision-hash": "db-abc",
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
    }
    (owner,) = pod.metadata.owner_references
    assert (owner.kind, owner.name, owner.controller, owner.block_owner_deletion) == ("StatefulSet", "db", True, True)
    assert pod.spec.volumes == ({"name": "data", "persistentVolumeClaim": {"claimName": "data-db-1"}},)


def test_membership_is_by_name() -> None:
    pod = new_pod(_set(), 1, "")
    assert is_member_of(_set(), pod)
    assert not is_member_of(_set(), pod.changed(metadata=pod.metadata.changed(name="other-1")))


@pytest.mark.parametrize(
    "changes", [{"name": "foo"}, {"name": "db-x"}, {"labels": {}}, {"name": "db-01"}], ids=lambda changes: str(changes)
)
def test_an_identity_mismatch_is_repaired_if_the_name_has_an_ordinal(changes: dict[str, Any]) -> None:
    set_ = _set()
    pod = new_pod(set_, 1, "")
    assert identity_matches(set_, pod)
    other = pod.changed(metadata=pod.metadata.changed(**changes))
    assert not identity_matches(set_, other)
    if parent_and_ordinal(other.metadata.name)[1] >= 0:
        assert identity_matches(set_, with_identity(set_, other))


@pytest.mark.parametrize(
    "volumes",
    [
        (),
        ({"name": "data", "emptyDir": {}},),
        ({"name": "data", "persistentVolumeClaim": {"claimName": "data-db-2"}},),
        ({"name": "other", "persistentVolumeClaim": {"claimName": "data-db-1"}},),
    ],
)
def test_a_storage_mismatch_is_repaired(volumes: tuple[dict[str, Any], ...]) -> None:
    set_ = _set()
    pod = new_pod(set_, 1, "")
    assert storage_matches(set_, pod)
    other = pod.changed(spec=pod.spec.changed(volumes=volumes))
    assert not storage_matches(set_, other)
    repaired = with_storage(set_, other)
    assert storage_matches(set_, repaired)
    kept = [volume["name"] for volume in volumes if volume["name"] != "data"]
    assert [volume["name"] for volume in repaired.spec.volumes] == ["data", *kept]


@pytest.mark.parametrize(
    ("own", "selected", "expected"),
    [
        (None, None, {}),
        (None, {"test": "test"}, {"test": "test"}),
        ({"test": "test"}, {"name": "foo"}, {"test": "test", "name": "foo"}),
        ({"test": "test"}, {"test": "foo"}, {"test": "foo"}),
    ],
)
def test_a_claim_has_its_own_labels_and_those_of_the_selector(
    own: dict[str, str] | None, selected: dict[str, str] | None, expected: dict[str, str]
) -> None:
    claim = {**CLAIM_TEMPLATE, "metadata": {"name": "data", **({"labels": own} if own else {})}}
    set_ = _set(volumeClaimTemplates=[claim], selector={"matchLabels": selected} if selected else {})
    (made,) = new_claims(set_, 2)
    assert isinstance(made, ApiObject)
    assert (made.metadata.name, made.metadata.namespace, made.metadata.labels) == ("data-db-2", "default", expected)
    assert made.extra["spec"] == CLAIM_TEMPLATE["spec"]


@pytest.mark.parametrize(
    ("strategy", "current_replicas", "ordinal", "expected"),
    [
        (rolling(partition=2), 0, 1, True),
        (rolling(partition=2), 3, 2, False),
        ({"type": "RollingUpdate"}, 2, 1, True),
        ({"type": "RollingUpdate"}, 2, 2, False),
        ({"type": "OnDelete"}, 3, 0, False),
    ],
)
def test_the_revision_of_a_new_pod(
    strategy: dict[str, Any], current_replicas: int, ordinal: int, expected: bool
) -> None:
    set_ = _set(updateStrategy=strategy)
    set_ = set_.changed(status=set_.status.changed(current_replicas=current_replicas))
    assert is_at_current_revision(set_, ordinal) is expected
    pod = new_versioned_pod(set_, set_, ("db-old", "db-new"), ordinal)
    assert revision_of(pod) == ("db-old" if expected else "db-new")


def test_a_partition_counts_from_the_first_ordinal() -> None:
    set_ = _set(updateStrategy=rolling(partition=1), ordinals={"start": 5})
    assert [is_at_current_revision(set_, ordinal) for ordinal in (5, 6)] == [True, False]
