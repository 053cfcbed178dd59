"""The scheduler: binds pods to the best node, reports why none fits, and retries after changes."""

from __future__ import annotations

import pytest

from kubesim.api.pod import Pod
from kubesim.cluster.registry.deletion import DeleteOptions
from kubesim.trace.records import ApiWrite
from tests.support.cluster.controlled import ControlledCluster
from tests.support.cluster.scheduled import add_nodes, node, pod, scheduled_cluster

NOW = DeleteOptions(grace_s=0)


def node_of(cluster: ControlledCluster, name: str) -> str:
    found = cluster.get("Pod", name)
    assert isinstance(found, Pod)
    return found.spec.node_name


def scheduled(cluster: ControlledCluster, name: str) -> tuple[str, str, str]:
    (found,) = [c for c in cluster.get("Pod", name).status.conditions if c.type == "PodScheduled"]
    return found.status, found.reason, found.message


def failures(cluster: ControlledCluster, name: str) -> list[str]:
    return [e.message for e in cluster.events("FailedScheduling") if e.involved_object.name == name]


NOT_HELPFUL = (
    "no new claims to deallocate, preemption: 0/{0} nodes are available: {0} Preemption is not helpful for scheduling."
)


def test_a_pod_goes_to_the_emptier_node_and_the_trace_has_the_reason() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("a", "800m"))
        await cluster.wait(0.1)
        cluster.create(pod("b", "800m"))
        await cluster.wait(0.1)
        assert [node_of(cluster, name) for name in "ab"] == ["n2", "n2"]
        assert scheduled(cluster, "a") == ("True", "", "")
        event = cluster.events("Scheduled")[0]
        assert event.message == "Successfully assigned default/a to n2"
        assert (event.action, event.reporting_component, event.count) == ("Binding", "default-scheduler", 0)
        assert event.event_time is not None
        assert event.first_timestamp is None
        binding = next(r for r in cluster.trace.records if isinstance(r, ApiWrite))
        assert (binding.by, binding.resource) == ("default-scheduler", "pods/binding")
        assert binding.why == "n2 has the highest score of 2 nodes that fit"

    scheduled_cluster(story, node("n1", "1"), node("n2", "8"))


def test_the_choice_between_equal_nodes_depends_only_on_the_seed() -> None:
    async def story(cluster: ControlledCluster) -> str:
        cluster.create(pod("a"))
        await cluster.wait(0.1)
        return node_of(cluster, "a")

    chosen = [scheduled_cluster(story, node("n1"), node("n2"), seed=seed) for seed in range(12)]
    assert set(chosen) == {"n1", "n2"}
    assert chosen == [scheduled_cluster(story, node("n1"), node("n2"), seed=seed) for seed in range(12)]


def test_an_unschedulable_pod_has_a_reason() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("busy", "1500m"))
        await cluster.wait(0.1)
        cluster.create(pod("big", "1500m"))
        await cluster.wait(0.1)
        message = (
            "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
            "no new claims to deallocate, preemption: 0/3 nodes are available: "
            "1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
        )
        assert scheduled(cluster, "big") == ("False", "Unschedulable", message)
        assert failures(cluster, "big") == [message]

    scheduled_cluster(story, node("n1", "1"), node("n2", "4", taints=("k:NoSchedule",)), node("n3", "2"))


def test_a_cluster_without_nodes_is_retried_with_back_off() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("a"))
        await cluster.wait(20)
        assert set(failures(cluster, "a")) == {"no nodes available to schedule pods"}
        add_nodes(cluster, node("n1"))
        await cluster.wait(12)
        assert node_of(cluster, "a") == "n1"

    scheduled_cluster(story)


def test_pods_of_other_schedulers_and_gated_pods_are_ignored() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("foreign", schedulerName="other"))
        cluster.create(pod("gated", schedulingGates=[{"name": "x"}, {"name": "y"}]))
        await cluster.wait(1)
        cluster.patch("Pod", "gated", {"spec": {"schedulingGates": [{"$patch": "delete", "name": "x"}]}})
        await cluster.wait(1)
        assert [node_of(cluster, name) for name in ("foreign", "gated")] == ["", ""]
        assert cluster.events() == []
        cluster.patch("Pod", "gated", {"spec": {"schedulingGates": [{"$patch": "delete", "name": "y"}]}})
        await cluster.wait(0.1)
        assert node_of(cluster, "gated") == "n1"

    scheduled_cluster(story, node("n1"))


def test_the_pod_of_higher_priority_is_tried_first() -> None:
    async def story(cluster: ControlledCluster) -> None:
        for name, priority in (("low", 0), ("high", 10)):
            cluster.store.create(Pod.from_json(pod(name, "1", priority=priority)))
        await cluster.wait(0.1)
        assert [node_of(cluster, name) for name in ("low", "high")] == ["", "n1"]

    scheduled_cluster(story, node("n1", "1"))


def test_a_terminated_pod_requeues_pods_that_need_room() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("first", "1"))
        await cluster.wait(0.1)
        cluster.create(pod("second", "1"))
        cluster.create(pod("never", "3"))
        await cluster.wait(10)
        assert len(failures(cluster, "second")) == len(failures(cluster, "never")) == 1
        # Resources are free once the pod is terminal, before it is deleted.
        cluster.set_phase(cluster.get("Pod", "first"), "Succeeded")
        await cluster.wait(0.1)
        assert node_of(cluster, "second") == "n1"
        assert len(failures(cluster, "never")) == 2

    scheduled_cluster(story, node("n1", "1"))


def test_a_label_requeues_only_the_pods_that_select_it() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("picky", nodeSelector={"disk": "ssd"}))
        cluster.create(pod("other"))
        await cluster.wait(1)
        cluster.delete("Pod", "other", NOW)
        cluster.patch("Node", "n1", {"metadata": {"labels": {"disk": "hdd"}}})
        await cluster.wait(100)
        assert len(failures(cluster, "picky")) == 1
        cluster.patch("Node", "n1", {"metadata": {"labels": {"disk": "ssd"}}})
        await cluster.wait(0.1)
        assert node_of(cluster, "picky") == "n1"

    scheduled_cluster(story, node("n1"))


def test_an_unschedulable_pod_is_retried_every_five_minutes() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("a", nodeSelector={"x": "y"}))
        await cluster.wait(299)
        assert len(failures(cluster, "a")) == 1
        await cluster.wait(40)
        assert len(failures(cluster, "a")) == 2

    scheduled_cluster(story, node("n1"))


def test_the_second_failure_is_a_new_event_and_the_third_starts_a_series() -> None:
    """The first attempt changes the pod's resource version by its condition, and Events about other versions differ."""

    async def story(cluster: ControlledCluster) -> None:
        cluster.create(pod("a", nodeSelector={"x": "y"}))
        for n in range(4):
            await cluster.wait(2)
            taints = [{"key": f"k{n}", "effect": "PreferNoSchedule"}]
            cluster.patch("Node", "n1", {"spec": {"taints": taints}})  # requeues pods that NodeAffinity rejected
        await cluster.wait(2)
        first, second = cluster.events("FailedScheduling")
        assert first.series is None
        assert second.series is not None
        assert second.series["count"] == 2  # later ones are only counted
        await cluster.wait(1850)  # a continuing series is written every half hour
        _, second = cluster.events("FailedScheduling")
        assert second.series is not None
        assert second.series["count"] >= 4

    scheduled_cluster(story, node("n1"))


@pytest.mark.parametrize("seed", range(3))
def test_preemption_from_the_victim_to_the_binding(seed: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.apply("{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 1000}")
        cluster.create(pod("low", "1"))
        await cluster.wait(1)
        cluster.set_phase(cluster.get("Pod", "low"), "Running")
        cluster.create(pod("high", "1", priorityClassName="high"))
        await cluster.wait(0.2)
        high, low = cluster.get("Pod", "high"), cluster.get("Pod", "low")
        assert high.status.nominated_node_name == "n1"
        assert scheduled(cluster, "high") == ("False", "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.")
        assert low.metadata.deletion_timestamp is not None
        (mark,) = [c for c in low.status.conditions if c.type == "DisruptionTarget"]
        assert (mark.reason, mark.message) == (
            "PreemptionByScheduler", "default-scheduler: preempting to accommodate a higher priority pod",
        )  # fmt: skip
        (event,) = cluster.events("Preempted")
        assert event.message == f"Preempted by pod {high.metadata.uid} on node n1"
        # While the victim terminates, an attempt reports that it waits, and no pod of lower or equal priority gets the
        # room.
        cluster.create(pod("late", "1"))
        await cluster.wait(0.1)
        cluster.set_phase(cluster.get("Pod", "low"), "Failed")
        await cluster.wait(0.1)
        assert [node_of(cluster, name) for name in ("high", "late")] == ["n1", ""]
        assert cluster.get("Pod", "high").status.nominated_node_name == ""

    scheduled_cluster(story, node("n1", "1"), seed=seed)


def test_a_local_volume_is_reserved_and_the_pod_is_bound_a_second_later() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.apply(LOCAL)
        volume = cluster.get("PersistentVolume", "local")
        cluster.store.write(volume, volume.with_extra({**volume.extra, "status": {"phase": "Available"}}))
        cluster.create(pod("user", claims=("data",)))
        await cluster.wait(0.1)
        assert cluster.get("Pod", "user").status.nominated_node_name == "n2"
        reference = cluster.get("PersistentVolume", "local").extra["spec"]["claimRef"]
        assert (reference["name"], reference["uid"]) == (
            "data",
            cluster.get("PersistentVolumeClaim", "data").metadata.uid,
        )
        bind_claim(cluster)
        assert node_of(cluster, "user") == ""
        await cluster.wait(1)
        assert node_of(cluster, "user") == "n2"
        assert cluster.get("Pod", "user").status.nominated_node_name == ""

    scheduled_cluster(story, node("n1"), node("n2"))


def test_a_volume_is_provisioned_for_the_selected_node_and_a_failure_is_retried() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.apply(LOCAL.replace("kubernetes.io/no-provisioner", "csi.example"))
        cluster.delete("PersistentVolume", "local")
        cluster.create(pod("user", claims=("data",)))
        await cluster.wait(0.1)
        claim = cluster.get("PersistentVolumeClaim", "data")
        assert claim.metadata.annotations["volume.kubernetes.io/selected-node"] == "n1"
        cluster.store.write(claim, claim.changed(metadata=claim.metadata.changed(annotations={})))
        await cluster.wait(1)
        problem = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
        assert scheduled(cluster, "user") == ("False", "SchedulerError", problem)
        await cluster.wait(2.5)
        claim = cluster.get("PersistentVolumeClaim", "data")
        assert claim.metadata.annotations["volume.kubernetes.io/selected-node"] == "n1"

    scheduled_cluster(story, node("n1"))


def test_a_pod_deleted_during_binding_releases_its_room() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.apply(LOCAL.replace("kubernetes.io/no-provisioner", "csi.example"))
        cluster.create(pod("user", "1", claims=("data",)))
        await cluster.wait(0.1)
        cluster.create(pod("next", "1"))
        await cluster.wait(0.1)
        assert node_of(cluster, "next") == ""
        cluster.delete("Pod", "user")
        await cluster.wait(0.1)
        assert node_of(cluster, "next") == "n1"

    scheduled_cluster(story, node("n1", "1"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'persistentvolumeclaim "data" not found'),
        (("{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], "
         "storageClassName: '', resources: {requests: {storage: 1Gi}}}}"),
         "pod has unbound immediate PersistentVolumeClaims"),
    ],
)  # fmt: skip
def test_a_missing_or_unbound_claim_blocks_the_pod(text: str, message: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.apply(text)
        cluster.create(pod("user", claims=("data",)))
        await cluster.wait(0.1)
        assert failures(cluster, "user") == [f"0/2 nodes are available: {message}. not found"]

    scheduled_cluster(story, node("n1"), node("n2"))


def test_a_daemon_pod_is_checked_on_its_node_only() -> None:
    async def story(cluster: ControlledCluster) -> None:
        terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        cluster.create(pod("fits", affinity={"nodeAffinity": required}))
        cluster.create(pod("big", "9", affinity={"nodeAffinity": required}))
        await cluster.wait(0.1)
        assert node_of(cluster, "fits") == "n2"
        reasons = "1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]"
        assert failures(cluster, "big") == [f"0/2 nodes are available: {reasons}. {NOT_HELPFUL.format(2)}"]

    scheduled_cluster(story, node("n1"), node("n2"))


LOCAL = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local}
provisioner: kubernetes.io/no-provisioner
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: local}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: local
  local: {path: /mnt}
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n2]}]
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: local
  resources: {requests: {storage: 1Gi}}
"""


def bind_claim(cluster: ControlledCluster) -> None:
    """Bind the claim of a prebound volume, as the PV controller does."""
    claim = cluster.get("PersistentVolumeClaim", "data")
    metadata = claim.metadata.changed(annotations={"pv.kubernetes.io/bind-completed": "yes"})
    spec = {**claim.extra["spec"], "volumeName": "local"}
    cluster.store.write(claim, claim.changed(metadata=metadata).with_extra({**claim.extra, "spec": spec}))
