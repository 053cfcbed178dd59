"""A Deployment: rollouts, scaling, pausing, rollback, and its status.

Sequences of sizes, conditions and Events are recorded from a real controller.
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.workloads.apps import Deployment, ReplicaSet
from kubesim.cluster.store.watches import WatchEvent
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.cluster.workload_manifests import image, workload

REVISION = "deployment.kubernetes.io/revision"


class Watcher:
    """Records sizes of ReplicaSets by first revision, and conditions of the Deployment."""

    def __init__(self, cluster: ControlledCluster) -> None:
        self.sizes: dict[str, list[int]] = {}
        self.conditions: list[list[str]] = []
        self.statuses: list[dict[str, object]] = []
        cluster.store.watch("ReplicaSet", self._resized)
        cluster.store.watch("Deployment", self._reported)

    def _resized(self, change: WatchEvent) -> None:
        one = change.object
        assert isinstance(one, ReplicaSet)
        sizes = self.sizes.setdefault(one.metadata.name, [])
        if not sizes or sizes[-1] != one.spec.replicas:
            sizes.append(one.spec.replicas or 0)

    def _reported(self, change: WatchEvent) -> None:
        assert isinstance(change.object, Deployment)
        status = change.object.status
        found = [condition.reason for condition in status.conditions]
        if not self.conditions or self.conditions[-1] != found:
            self.conditions.append(found)
        shown = status.to_json()
        shown.pop("conditions", None)
        self.statuses.append(shown)


def scalings(cluster: ControlledCluster) -> list[str]:
    """The sizes, without names."""
    names = {one.metadata.name: n for n, one in enumerate(by_revision(cluster), 1)}
    texts = [event.message for event in cluster.events("ScalingReplicaSet")]
    for name, n in names.items():
        texts = [text.replace(f"replica set {name}", f"#{n}") for text in texts]
    return texts


def by_revision(cluster: ControlledCluster) -> list[ReplicaSet]:
    sets = [one for one in cluster.store.list("ReplicaSet") if isinstance(one, ReplicaSet)]
    return sorted(sets, key=lambda one: int(one.metadata.annotations[REVISION]))


def on_nodes(cluster: ControlledCluster) -> None:
    """Run the pods on nodes, so that they terminate slowly."""
    for pod in cluster.pods():
        if not pod.spec.node_name:
            cluster.store.write(pod, pod.changed(spec=pod.spec.changed(node_name="n")))
    cluster.make_all_ready()


async def started(cluster: ControlledCluster, manifest: dict[str, object]) -> None:
    cluster.create(manifest)
    await cluster.wait(0.2)
    on_nodes(cluster)
    await cluster.wait(0.8)


async def rolled_out(cluster: ControlledCluster, steps: int = 12) -> None:
    """Make new pods ready, and terminate old ones."""
    for _ in range(steps):
        await cluster.wait(0.5)
        on_nodes(cluster)
        cluster.remove_ending()
    await cluster.wait(0.5)


def reasons(obj: ApiObject) -> dict[str, tuple[str, str]]:
    assert isinstance(obj, Deployment)
    return {condition.type: (condition.status, condition.reason) for condition in obj.status.conditions}


def test_creation_is_reported_step_by_step() -> None:
    async def story(cluster: ControlledCluster) -> None:
        watcher = Watcher(cluster)
        cluster.create(workload("Deployment"))
        await cluster.wait()
        cluster.make_all_ready()
        await cluster.wait()
        assert watcher.statuses == [
            {},
            {},
            {"observedGeneration": 1, "unavailableReplicas": 3, "terminatingReplicas": 0},
            {
                "observedGeneration": 1,
                "replicas": 3,
                "updatedReplicas": 3,
                "unavailableReplicas": 3,
                "terminatingReplicas": 0,
            },
            {
                "observedGeneration": 1,
                "replicas": 3,
                "updatedReplicas": 3,
                "readyReplicas": 3,
                "availableReplicas": 3,
                "terminatingReplicas": 0,
            },
        ]
        assert watcher.conditions == [
            [],
            ["NewReplicaSetCreated"],
            ["NewReplicaSetCreated", "MinimumReplicasUnavailable"],
            ["MinimumReplicasUnavailable", "ReplicaSetUpdated"],
            ["MinimumReplicasAvailable", "NewReplicaSetAvailable"],
        ]
        [one] = by_revision(cluster)
        text = one.metadata.labels["pod-template-hash"]
        assert one.metadata.name == f"web-{text}"
        assert one.metadata.annotations == {
            REVISION: "1",
            "deployment.kubernetes.io/desired-replicas": "3",
            "deployment.kubernetes.io/max-replicas": "4",
        }
        assert cluster.get("Deployment", "web").metadata.annotations == {REVISION: "1"}
        assert {pod.metadata.labels["pod-template-hash"] for pod in cluster.pods()} == {text}
        assert scalings(cluster) == ["Scaled up #1 from 0 to 3"]

    controlled(story)


def test_a_rolling_update_of_four_with_the_default_limits() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=4))
        watcher = Watcher(cluster)
        cluster.patch("Deployment", "web", image("app:2"))
        await rolled_out(cluster)
        old, new = (one.metadata.name for one in by_revision(cluster))
        # The limits allow two new pods. They become ready at the same time, so the second step replaces two at once.
        assert watcher.sizes == {new: [1, 2, 4], old: [3, 1, 0]}
        status = cluster.get("Deployment", "web")
        assert reasons(status) == {
            "Available": ("True", "MinimumReplicasAvailable"),
            "Progressing": ("True", "NewReplicaSetAvailable"),
        }
        assert len(cluster.pods()) == 4
        assert cluster.get("Deployment", "web").metadata.annotations[REVISION] == "2"

    controlled(story)


def test_a_new_pod_starts_while_the_old_one_is_still_terminating() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=4))
        cluster.patch("Deployment", "web", image("app:2"))
        await cluster.wait(0.5)
        ending = [pod for pod in cluster.pods() if pod.metadata.deletion_timestamp is not None]
        assert (len(cluster.pods()), len(ending)) == (6, 1), "1 of surge, 1 unavailable, and 1 that stops"
        assert cluster.get("Deployment", "web").status.terminating_replicas == 1

    controlled(story)


def test_without_surge_old_pods_are_deleted_first() -> None:
    async def story(cluster: ControlledCluster) -> None:
        strategy = {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
        await started(cluster, workload("Deployment", replicas=2, strategy=strategy))
        watcher = Watcher(cluster)
        cluster.patch("Deployment", "web", image("app:2"))
        await rolled_out(cluster)
        old, new = (one.metadata.name for one in by_revision(cluster))
        assert watcher.sizes == {new: [0, 1, 2], old: [1, 0]}
        assert scalings(cluster)[1:] == [
            "Scaled down #1 from 2 to 1",
            "Scaled up #2 from 0 to 1",
            "Scaled down #1 from 1 to 0",
            "Scaled up #2 from 1 to 2",
        ]

    controlled(story)


def test_pods_of_a_superseded_rollout_are_deleted_immediately() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=4))
        cluster.patch("Deployment", "web", image("app:2"))
        await cluster.wait(0.5)
        cluster.patch("Deployment", "web", image("app:3"))
        await cluster.wait(0.5)
        assert [one.spec.replicas for one in by_revision(cluster)] == [3, 0, 2]
        await rolled_out(cluster)
        assert [one.spec.replicas for one in by_revision(cluster)] == [0, 0, 4]

    controlled(story)


def test_recreate_stops_all_old_pods_before_it_starts_new_ones() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", strategy={"type": "Recreate"}))
        cluster.patch("Deployment", "web", image("app:2"))
        await cluster.wait(2)
        [old] = by_revision(cluster)
        assert old.spec.replicas == 0
        assert len(cluster.pods()) == 3, "they are still stopping"
        for pod in cluster.pods():
            cluster.set_phase(pod, "Succeeded")
        await cluster.wait(0.3)
        assert [one.spec.replicas for one in by_revision(cluster)] == [0, 3]
        assert len(cluster.pods()) == 6, "a pod that has finished need not be gone"
        assert scalings(cluster) == [
            "Scaled up #1 from 0 to 3",
            "Scaled down #1 from 3 to 0",
            "Scaled up #2 from 0 to 3",
        ]

    controlled(story)


def test_recreate_continues_when_the_last_old_pod_is_deleted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=1, strategy={"type": "Recreate"}))
        cluster.patch("Deployment", "web", image("app:2"))
        await cluster.wait()
        cluster.remove_ending()
        await cluster.wait()
        assert [one.spec.replicas for one in by_revision(cluster)] == [0, 1]

    controlled(story)


def test_scaling_keeps_a_complete_rollout_complete() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment"))
        watcher = Watcher(cluster)
        cluster.patch("Deployment", "web", {"spec": {"replicas": 5}})
        await cluster.wait()
        cluster.make_all_ready()
        await cluster.wait()
        assert watcher.conditions == [
            ["MinimumReplicasAvailable", "NewReplicaSetAvailable"],
            ["NewReplicaSetAvailable", "MinimumReplicasUnavailable"],
            ["NewReplicaSetAvailable", "MinimumReplicasAvailable"],
        ]
        assert cluster.get("Deployment", "web").status.observed_generation == 2
        assert scalings(cluster)[1:] == ["Scaled up #1 from 3 to 5"]

    controlled(story)


def test_scaling_during_a_rollout_is_proportional() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=5))
        cluster.patch("Deployment", "web", image("app:2"))
        await cluster.wait(0.5)
        assert [one.spec.replicas for one in by_revision(cluster)] == [4, 3]
        cluster.patch("Deployment", "web", {"spec": {"replicas": 8}})
        await cluster.wait(0.03)
        assert [one.spec.replicas for one in by_revision(cluster)] == [6, 4], "7 of 5+2 become 10 of 8+2"

    controlled(story)


def test_a_paused_deployment_scales_without_a_rollout() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=2))
        watcher = Watcher(cluster)
        cluster.patch("Deployment", "web", {"spec": {"paused": True}})
        await cluster.wait()
        cluster.patch("Deployment", "web", image("app:2"))
        await cluster.wait()
        assert cluster.get("Deployment", "web").status.updated_replicas == 0
        cluster.patch("Deployment", "web", {"spec": {"replicas": 4}})
        await cluster.wait()
        on_nodes(cluster)
        await cluster.wait()
        [only] = by_revision(cluster)
        assert only.spec.replicas == 4
        cluster.patch("Deployment", "web", {"spec": {"paused": False}})
        await rolled_out(cluster)
        assert [one.spec.replicas for one in by_revision(cluster)] == [0, 4]
        assert [
            names for names in watcher.conditions if "DeploymentPaused" in names or "DeploymentResumed" in names
        ] == [
            ["MinimumReplicasAvailable", "DeploymentPaused"],
            ["DeploymentPaused", "MinimumReplicasUnavailable"],
            ["DeploymentPaused", "MinimumReplicasAvailable"],
            ["MinimumReplicasAvailable", "DeploymentResumed"],
        ]

    controlled(story)


def test_a_deployment_created_paused_has_no_replica_set() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("Deployment", paused=True))
        await cluster.wait()
        assert by_revision(cluster) == []
        assert reasons(cluster.get("Deployment", "web")) == {
            "Progressing": ("Unknown", "DeploymentPaused"),
            "Available": ("False", "MinimumReplicasUnavailable"),
        }

    controlled(story)


def test_a_rollback_reuses_the_old_replica_set() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=2))
        [first] = by_revision(cluster)
        cluster.patch("Deployment", "web", image("bad:1"))
        await cluster.wait()
        cluster.patch("Deployment", "web", image("app:1"))
        await rolled_out(cluster)
        bad, good = by_revision(cluster)
        assert good.metadata.uid == first.metadata.uid
        assert good.metadata.annotations[REVISION] == "3"
        assert good.metadata.annotations["deployment.kubernetes.io/revision-history"] == "1"
        assert cluster.get("Deployment", "web").metadata.annotations[REVISION] == "3"
        assert (good.spec.replicas, bad.spec.replicas) == (2, 0)

    controlled(story)


def test_a_rollout_without_progress_times_out_and_recovers() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=2, progressDeadlineSeconds=30))
        cluster.patch("Deployment", "web", image("bad:1"))
        await cluster.wait(29)
        assert reasons(cluster.get("Deployment", "web"))["Progressing"] == ("True", "ReplicaSetUpdated")
        await cluster.wait(3)
        found = cluster.get("Deployment", "web")
        assert reasons(found)["Progressing"] == ("False", "ProgressDeadlineExceeded")
        new = by_revision(cluster)[1].metadata.name
        assert found.status.conditions[-1].message == f'ReplicaSet "{new}" has timed out progressing.'
        on_nodes(cluster)
        await rolled_out(cluster)
        assert reasons(cluster.get("Deployment", "web"))["Progressing"] == ("True", "NewReplicaSetAvailable")

    controlled(story)


def test_without_a_deadline_there_is_no_progressing_condition() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", progressDeadlineSeconds=2**31 - 1))
        assert list(reasons(cluster.get("Deployment", "web"))) == ["Available"]

    controlled(story)


def test_old_replica_sets_beyond_the_history_limit_are_deleted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=1, revisionHistoryLimit=1))
        for version in range(2, 5):
            cluster.patch("Deployment", "web", image(f"app:{version}"))
            await rolled_out(cluster, 3)
        assert [one.metadata.annotations[REVISION] for one in by_revision(cluster)] == ["3", "4"]

    controlled(story)


def test_a_name_collision_changes_the_hash() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(workload("Deployment", "probe", replicas=0))
        await cluster.wait()
        [other] = by_revision(cluster)
        manifest = workload("Deployment", "taken", replicas=0)
        manifest["spec"]["selector"] = {"matchLabels": {"app": "probe"}}
        manifest["spec"]["template"]["metadata"]["labels"] = {"app": "probe"}
        text = other.metadata.labels["pod-template-hash"]
        cluster.create(workload("ReplicaSet", f"taken-{text}", replicas=0))
        cluster.create(manifest)
        await cluster.wait()
        assert cluster.get("Deployment", "taken").status.collision_count == 1
        assert any(
            one.metadata.name.startswith("taken-") and one.metadata.owner_references
            for one in cluster.store.list("ReplicaSet")
        )

    controlled(story)


def test_a_matching_orphan_replica_set_is_adopted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        manifest = workload("ReplicaSet", "older", replicas=1)
        manifest["spec"]["selector"] = {"matchLabels": {"app": "web"}}
        manifest["spec"]["template"]["metadata"]["labels"] = {"app": "web"}
        manifest["metadata"]["labels"] = {"app": "web"}
        cluster.create(manifest)
        cluster.create(workload("Deployment", replicas=1))
        await cluster.wait()
        older = cluster.get("ReplicaSet", "older")
        assert [owner.name for owner in older.metadata.owner_references] == ["web"]
        assert older.metadata.annotations[REVISION] == "1", "it has the template, so it is the new one"
        assert reasons(cluster.get("Deployment", "web"))["Progressing"][1] != "NewReplicaSetCreated"

    controlled(story)


def test_annotations_and_min_ready_seconds_are_copied_to_the_new_replica_set() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment"))
        generation = cluster.get("Deployment", "web").metadata.generation
        cluster.patch("Deployment", "web", {"metadata": {"annotations": {"kubernetes.io/change-cause": "test"}}})
        assert cluster.get("Deployment", "web").metadata.generation == generation + 1
        cluster.patch("Deployment", "web", {"spec": {"minReadySeconds": 7}})
        await cluster.wait()
        [one] = by_revision(cluster)
        assert one.metadata.annotations["kubernetes.io/change-cause"] == "test"
        assert one.spec.min_ready_seconds == 7

    controlled(story)


def test_pods_that_cannot_be_created_are_reported_by_the_deployment() -> None:
    async def story(cluster: ControlledCluster) -> None:
        manifest = workload("Deployment", replicas=1)
        manifest["spec"]["template"]["spec"]["priorityClassName"] = "missing"
        cluster.create(manifest)
        await cluster.wait()
        assert reasons(cluster.get("Deployment", "web"))["ReplicaFailure"] == ("True", "FailedCreate")

    controlled(story)


def test_a_deployment_being_deleted_only_updates_its_status() -> None:
    async def story(cluster: ControlledCluster) -> None:
        manifest = workload("Deployment", replicas=1)
        manifest["metadata"]["finalizers"] = ["example.com/wait"]
        await started(cluster, manifest)
        cluster.delete("Deployment", "web")
        cluster.patch("Deployment", "web", image("app:2"))
        await cluster.wait()
        assert len(by_revision(cluster)) == 1
        assert cluster.get("Deployment", "web").status.updated_replicas == 0

    controlled(story)


def test_the_deprecated_rollback_annotation_rolls_back() -> None:
    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=1))
        cluster.patch("Deployment", "web", image("app:2"))
        await rolled_out(cluster, 3)
        annotation = "deprecated.deployment.rollback.to"
        cluster.patch("Deployment", "web", {"metadata": {"annotations": {annotation: "1"}}})
        await rolled_out(cluster, 3)
        found = cluster.get("Deployment", "web")
        assert found.spec.template.spec.containers[0].image == "app:1"
        assert annotation not in found.metadata.annotations
        assert [event.message for event in cluster.events("DeploymentRollback")] == [
            'Rolled back deployment "web" to revision 1'
        ]
        cluster.patch("Deployment", "web", {"metadata": {"annotations": {annotation: "77"}}})
        await cluster.wait()
        assert [event.message for event in cluster.events("DeploymentRollbackRevisionNotFound")] == [
            "Unable to find the revision to rollback to."
        ]

    controlled(story)


def test_a_relabelled_replica_set_changes_its_owner() -> None:
    """Adapted from: deployment_controller_test.go TestGetReplicaSetsForDeploymentAdoptRelease, TestUpdateReplicaSet."""

    async def story(cluster: ControlledCluster) -> None:
        for name in ("one", "two"):
            await started(cluster, workload("Deployment", name, replicas=0))
        [moved] = [one for one in by_revision(cluster) if one.metadata.name.startswith("one-")]
        cluster.patch("ReplicaSet", moved.metadata.name, {"metadata": {"labels": {"app": "none"}}})
        await cluster.wait()
        assert cluster.get("ReplicaSet", moved.metadata.name).metadata.owner_references == ()
        cluster.patch("ReplicaSet", moved.metadata.name, {"metadata": {"labels": {"app": "two"}}})
        await cluster.wait()
        [owner] = cluster.get("ReplicaSet", moved.metadata.name).metadata.owner_references
        assert owner.name == "two"

    controlled(story)


def test_a_deleted_replica_set_is_recreated() -> None:
    """Adapted from: deployment_controller_test.go TestDeleteReplicaSet."""

    async def story(cluster: ControlledCluster) -> None:
        await started(cluster, workload("Deployment", replicas=1))
        [one] = by_revision(cluster)
        cluster.delete("ReplicaSet", one.metadata.name)
        await cluster.wait()
        [again] = by_revision(cluster)
        assert again.metadata.name == one.metadata.name
        assert again.metadata.uid != one.metadata.uid

    controlled(story)
