"""Finding the new ReplicaSet of a Deployment, and naming a new one.

Adapted from: util/deployment_util_test.go TestEqualIgnoreHash, TestFindNewReplicaSet, TestFindOldReplicaSets;
sync_test.go TestGenerateReplicaSetName; recreate_test.go TestOldPodsRunning
"""

from __future__ import annotations

import pytest

from kubesim.api.meta import ObjectMeta
from kubesim.api.pod import Pod, PodSpec, PodStatus
from kubesim.api.workloads.apps import ReplicaSet
from kubesim.api.workloads.templates import PodTemplateSpec, template_hash
from kubesim.cluster.controllers.deployment.replica_sets import (
    HASH_LABEL,
    active,
    equal_ignore_hash,
    find_active_or_latest,
    find_new_replica_set,
    find_old_replica_sets,
    new_replica_set,
    old_pods_running,
    replica_set_name,
)
from tests.support.cluster.deployments import deployment, replica_set

Labels = dict[str, str]


def template(node: str, annotations: Labels, labels: Labels) -> PodTemplateSpec:
    return PodTemplateSpec(metadata=ObjectMeta(labels=labels, annotations=annotations), spec=PodSpec(node_name=node))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("n", {}, {HASH_LABEL: "1", "a": "b"}), ("n", {}, {HASH_LABEL: "1", "a": "b"}), True),
        (("n", {}, {HASH_LABEL: "1", "a": "b"}), ("n", {}, {HASH_LABEL: "2", "a": "b"}), True),
        (("n", {}, {"a": "b"}), ("n", {}, {HASH_LABEL: "2", "a": "b"}), True),
        (("n", {}, {"a": "b"}), ("n", {}, {HASH_LABEL: "2"}), False),
        (("n", {}, {HASH_LABEL: "1"}), ("n", {}, {"a": "b"}), False),
        (("n", {}, {HASH_LABEL: "1"}), ("n", {}, {HASH_LABEL: "1", "a": "b"}), False),
        (("n", {"former": "v"}, {"a": "b"}), ("n", {"latter": "v"}, {"a": "b"}), False),
        (("n1", {}, {HASH_LABEL: "1", "a": "b"}), ("n2", {}, {HASH_LABEL: "2", "a": "b"}), False),
        (("n1", {}, {"a": "b"}), ("n2", {}, {HASH_LABEL: "2", "a": "b"}), False),
        (("n1", {}, {"a": "b"}), ("n2", {}, {"nothing": "b"}), False),
    ],
)
def test_templates_are_compared_without_the_hash(
    one: tuple[str, Labels, Labels], other: tuple[str, Labels, Labels], expected: bool
) -> None:
    assert equal_ignore_hash(template(*one), template(*other)) == expected
    assert equal_ignore_hash(template(*other), template(*one)) == expected


def with_template(one: ReplicaSet, node: str) -> ReplicaSet:
    return one.changed(spec=one.spec.changed(template=template(node, {}, {HASH_LABEL: one.metadata.name})))


NEW = with_template(replica_set("new", 1, created=2), "n")
TWIN = with_template(replica_set("twin", 0, created=1), "n")
OLD = with_template(replica_set("old", 0, created=0), "other")


@pytest.mark.parametrize(
    ("found", "new", "old", "with_pods"),
    [
        ([NEW, OLD], NEW, [OLD], []),
        ([NEW, OLD, TWIN], TWIN, [OLD, NEW], [NEW]),
        ([OLD], None, [OLD], []),
        ([NEW], NEW, [], []),
    ],
)
def test_the_oldest_with_the_template_is_new_and_the_others_are_old(
    found: list[ReplicaSet], new: ReplicaSet | None, old: list[ReplicaSet], with_pods: list[ReplicaSet]
) -> None:
    made = deployment(1)
    made = made.changed(spec=made.spec.changed(template=template("n", {}, {})))
    assert find_new_replica_set(made, found) == new
    assert find_old_replica_sets(new, found) == old
    assert active(find_old_replica_sets(new, found)) == with_pods


def test_the_only_active_one_or_else_the_latest() -> None:
    one, two = replica_set("one", 1, created=1), replica_set("two", 1, created=2)
    empty, newer = replica_set("empty", 0, created=1), replica_set("newer", 0, created=2)
    assert find_active_or_latest(empty, [one]) == one
    assert find_active_or_latest(two, [one]) is None
    assert find_active_or_latest(empty, [newer]) == empty
    assert find_active_or_latest(None, [empty, newer]) == newer
    assert find_active_or_latest(None, []) is None


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("my-deployment", "abcde12345", "my-deployment-abcde12345"),
        ("a" * 242, "abcde12345", "a" * 242 + "-abcde12345"),
        ("b" * 250, "abcde12345", "b" * 242 + "-abcde12345"),
        ("d" * 252, "h" * 252, "d" * 252 + "-" + "h" * 252),
    ],
)
def test_a_long_name_is_truncated_before_the_hash(name: str, text: str, expected: str) -> None:
    assert replica_set_name(name, text) == expected


def test_a_new_replica_set_has_the_hash_in_its_name_labels_selector_and_template() -> None:
    made = deployment(3)
    spec = made.spec.changed(selector={"matchLabels": {"app": "web"}}, template=template("n", {}, {"app": "web"}))
    made = made.changed(spec=spec)
    new, text = new_replica_set(made), template_hash(spec.template)
    labels = {"app": "web", HASH_LABEL: text}
    assert new.metadata.name == f"foo-{text}"
    assert new.metadata.labels == new.spec.template.metadata.labels == labels
    assert new.spec.selector == {"matchLabels": labels}
    assert [owner.kind for owner in new.metadata.owner_references] == ["Deployment"]


@pytest.mark.parametrize(
    ("reported", "phases", "expected"),
    [
        ([], [], False),
        ([0, 0], ["Running", "Running"], True),
        ([1], [], True),
        ([0], [], False),
        ([0], ["Failed", "Succeeded"], False),
        ([0], ["Unknown"], True),
        ([0], ["Pending"], True),
        ([0], ["Running"], True),
        ([0], ["Failed", "Succeeded", "Pending"], True),
    ],
)
def test_old_pods_run_until_they_have_finished(reported: list[int], phases: list[str], expected: bool) -> None:
    old = [replica_set(f"old-{n}", 0, actual=actual) for n, actual in enumerate(reported)]
    assert old_pods_running(old, [Pod(status=PodStatus(phase=phase)) for phase in phases]) == expected
