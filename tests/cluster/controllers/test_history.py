"""Revisions: their names equal those of the real controllers, and equal templates share a revision.

Mirrors: pkg/controller/history/controller_history_test.go
"""

from __future__ import annotations

from kubesim.api.meta import ObjectMeta
from kubesim.api.workloads.apps import ControllerRevision
from kubesim.cluster.controllers.controller import ControllerClient
from kubesim.cluster.controllers.history import (
    RevisionHistory,
    by_revision,
    hash_revision,
    new_revision,
    next_revision,
    revision_name,
    template_of,
    template_patch,
)
from kubesim.cluster.store.selectors import selector_from
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.workloads.sets import get_set, settle, stateful_set

# A StatefulSet's template as a v1.36 API server defaults it. A real controller named its revision db-6b698dfbfc.
_TEMPLATE = {
    "$patch": "replace",
    "metadata": {"labels": {"app": "db"}},
    "spec": {
        "containers": [
            {
                "command": ["sh", "-c", 'trap "exit 0" TERM; sleep 100000 & wait'],
                "image": "local/busybox:1",
                "imagePullPolicy": "IfNotPresent",
                "name": "main",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "volumeMounts": [{"mountPath": "/d", "name": "d"}],
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "nodeSelector": {"kubernetes.io/hostname": "real-0"},
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    },
}


def test_the_hash_equals_the_recorded_one() -> None:
    assert hash_revision({"spec": {"template": _TEMPLATE}}, 0) == "6b698dfbfc"


def test_a_collision_changes_the_hash() -> None:
    data = {"spec": {"template": _TEMPLATE}}
    assert len({hash_revision(data, count) for count in (None, 0, 1)}) == 3


def test_a_name_has_at_most_253_characters() -> None:
    assert revision_name("db", "6b698dfbfc") == "db-6b698dfbfc"
    assert len(revision_name("a" * 253, "6b698dfbfc")) == 223 + 11


def _revision(name: str, number: int, created: str = "2026-01-01T00:00:00Z") -> ControllerRevision:
    return ControllerRevision(metadata=ObjectMeta(name=name, creation_timestamp=created), revision=number)


def test_revisions_are_sorted_by_number_then_time_then_name() -> None:
    late = "2026-01-01T00:00:01Z"
    revisions = [_revision("d", 2), _revision("c", 1, late), _revision("b", 1), _revision("a", 1)]
    assert [each.metadata.name for each in sorted(revisions, key=by_revision)] == ["a", "b", "c", "d"]


def test_numbers_start_at_1_and_continue_after_the_highest() -> None:
    assert next_revision([]) == 1
    assert next_revision([_revision("a", 4), _revision("b", 2)]) == 5


def _history(cluster: ControlledCluster) -> RevisionHistory:
    client = ControllerClient(cluster.context, "test")
    return RevisionHistory(cluster.store, client, cluster.context.owned("ControllerRevision"))


def test_data_restores_the_template() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1))
        await settle(cluster, 2)
        (revision,) = cluster.all("ControllerRevision")
        set_ = get_set(cluster)
        assert revision.data == template_patch(set_)
        assert template_of(revision) == set_.spec.template

    controlled(story)


def test_an_existing_revision_with_other_data_is_a_collision() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1))
        await settle(cluster, 2)
        set_, history = get_set(cluster), _history(cluster)
        data = {"spec": {"template": {"a": 1}}}
        taken = new_revision(set_, revision_name("db", hash_revision(data, 0)), {}, {"other": 1}, 5)
        history.create_named(taken)
        created, collisions = history.create(new_revision(set_, "", {}, data, 6), 0)
        assert collisions == 1
        assert created.metadata.name == revision_name("db", hash_revision(data, 1))
        same, collisions = history.create(new_revision(set_, "", {}, data, 7), 1)
        assert (same, collisions) == (created, 1)

    controlled(story)


def test_revisions_of_another_owner_or_with_other_labels_are_not_listed() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(stateful_set(1))
        await settle(cluster, 2)
        set_, history = get_set(cluster), _history(cluster)
        for name, labels, owned in (("orphan", {"app": "x"}, False), ("stranger", {"app": "y"}, False)):
            revision = new_revision(set_, name, labels, {"spec": {}}, 9)
            if not owned:
                revision = revision.changed(metadata=revision.metadata.changed(owner_references=()))
            history.create_named(revision)
        other = set_.changed(metadata=set_.metadata.changed(uid="another", name="another"))
        history.create_named(new_revision(other, "other", {"app": "x"}, {"spec": {}}, 9))
        listed = {each.metadata.name for each in history.listed(set_, selector_from(set_.spec.selector))}
        assert listed == {"orphan", set_.status.current_revision}
        history.adopt_orphans(set_, selector_from(set_.spec.selector))
        orphan = history.find("default", "orphan")
        assert orphan is not None
        assert [owner.uid for owner in orphan.metadata.owner_references] == [set_.metadata.uid]

    controlled(story)
