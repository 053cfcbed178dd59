"""Claims and volumes in whole stories: when they are bound, made, held and given back."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster.controllers.volumes.standard_class import create_standard_class, yield_to_user_class
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.cluster.storage import claim, node, of_claim, phase, pod, reasons, storage_class, text, volume

Json = dict[str, Any]


# -- binding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_a_claim_that_comes_after_the_volume_is_bound_immediately(seed: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(volume())
        cluster.create(claim())
        await cluster.wait(0.1)
        assert (phase(cluster), phase(cluster, "PersistentVolume", "v")) == ("Bound", "Bound")
        assert reasons(cluster) == []

    controlled(story, seed)


@pytest.mark.parametrize("seed", range(5))
def test_a_volume_that_comes_after_the_claim_waits_for_the_next_look_every_15_seconds(seed: int) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(claim())
        cluster.create(volume())
        await cluster.wait(0.1)
        assert (phase(cluster), phase(cluster, "PersistentVolume", "v")) in (
            ("Pending", "Available"),
            ("Bound", "Bound"),  # the look came just then
        )
        assert text(cluster, "FailedBinding") == (
            "no persistent volumes available for this claim and no storage class is set"
        )
        await cluster.wait(15)
        assert phase(cluster) == "Bound"

    controlled(story, seed)


def test_the_checks_repeat_the_event_and_end_with_the_claim() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(claim())
        await cluster.wait(60)
        (event,) = cluster.events("FailedBinding")
        assert event.count == 5
        cluster.delete("PersistentVolumeClaim", "c")
        await cluster.wait(1)
        last = cluster.events("FailedBinding")[0].count
        await cluster.wait(60)
        assert cluster.events("FailedBinding")[0].count == last

    controlled(story)


def test_each_object_that_is_written_says_which_step_of_the_binding_it_is() -> None:
    async def story(cluster: ControlledCluster) -> None:
        steps: list[str] = []
        for kind in ("PersistentVolume", "PersistentVolumeClaim"):
            cluster.store.watch(kind, lambda change: steps.append(f"{change.object.kind} {change.type}"))
        cluster.create(volume())
        cluster.create(claim())
        await cluster.wait(0.2)
        assert steps == [
            "PersistentVolume ADDED",
            "PersistentVolumeClaim ADDED",
            "PersistentVolume MODIFIED",  # Available
            "PersistentVolume MODIFIED",  # its claimRef
            "PersistentVolume MODIFIED",  # Bound
            "PersistentVolumeClaim MODIFIED",  # its volumeName
            "PersistentVolumeClaim MODIFIED",  # Bound
        ]
        assert of_claim(cluster)["status"] == {
            "phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}
        }  # fmt: skip

    controlled(story)


# -- classes ----------------------------------------------------------------------------------------------------------


def test_a_claim_without_a_class_gets_the_default_one_when_it_is_created() -> None:
    async def story(cluster: ControlledCluster) -> None:
        create_standard_class(cluster.store)
        cluster.create(claim())
        cluster.create(claim("none", storageClassName=""))
        assert of_claim(cluster)["spec"]["storageClassName"] == "standard"
        await cluster.wait(1)
        assert (phase(cluster), phase(cluster, name="none")) == ("Bound", "Pending")

    controlled(story)


def test_a_default_class_that_comes_later_is_given_to_the_claims_that_wait() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(claim())
        await cluster.wait(1)
        create_standard_class(cluster.store)
        await cluster.wait(16)
        assert of_claim(cluster)["spec"]["storageClassName"] == "standard"
        assert phase(cluster) == "Bound"

    controlled(story)


def test_of_two_default_classes_the_newer_counts_and_a_class_of_the_users_replaces_the_built_in_one() -> None:
    async def story(cluster: ControlledCluster) -> None:
        create_standard_class(cluster.store)
        await cluster.wait(1)
        mine = storage_class("mine")
        mine["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
        cluster.create(mine)
        cluster.create(claim())
        assert of_claim(cluster)["spec"]["storageClassName"] == "mine"
        yield_to_user_class(cluster.store, "StorageClass", "standard")
        cluster.create(storage_class("standard"))
        yield_to_user_class(cluster.store, "StorageClass", "standard")
        assert cluster.get("StorageClass", "standard").extra["provisioner"] == "disks.example.com"

    controlled(story)


# -- provisioning -----------------------------------------------------------------------------------------------------


def test_a_provisioner_makes_a_volume_and_deletes_it_with_the_claim() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class(mountOptions=["ro"]))
        cluster.create(claim(size="3Gi", storageClassName="fast"))
        await cluster.wait(2)
        uid = cluster.get("PersistentVolumeClaim", "c").metadata.uid
        made = cluster.get("PersistentVolume", f"pvc-{uid}")
        assert made.extra["spec"]["csi"] == {"driver": "disks.example.com", "volumeHandle": f"pvc-{uid}"}
        assert made.extra["spec"]["capacity"] == {"storage": "3Gi"}
        assert made.extra["spec"]["mountOptions"] == ["ro"]
        assert made.metadata.annotations == {"pv.kubernetes.io/provisioned-by": "disks.example.com"}
        assert set(reasons(cluster)) == {"ExternalProvisioning", "Provisioning", "ProvisioningSucceeded"}
        assert text(cluster, "ProvisioningSucceeded") == f"Successfully provisioned volume pvc-{uid}"
        assert phase(cluster) == "Bound"
        cluster.delete("PersistentVolumeClaim", "c")
        await cluster.wait(0.08)
        assert phase(cluster, "PersistentVolume", f"pvc-{uid}") == "Released"
        await cluster.wait(2)
        assert cluster.all("PersistentVolume") == []

    controlled(story)


def test_a_volume_that_is_to_be_kept_stays_released() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class(reclaimPolicy="Retain"))
        cluster.create(claim(storageClassName="fast"))
        await cluster.wait(2)
        cluster.delete("PersistentVolumeClaim", "c")
        await cluster.wait(30)
        (kept,) = cluster.all("PersistentVolume")
        assert kept.extra["status"]["phase"] == "Released"

    controlled(story)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (None, 'storageclass.storage.k8s.io "fast" not found'),
        ("kubernetes.io/no-provisioner", "no volume plugin matched name: kubernetes.io/no-provisioner"),
        ("kubernetes.io/glusterfs", "no volume plugin matched name: kubernetes.io/glusterfs"),
    ],
)
def test_a_class_that_cannot_make_volumes(made: str | None, problem: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        if made is not None:
            cluster.create(storage_class(provisioner=made))
        cluster.create(claim(storageClassName="fast"))
        await cluster.wait(1)
        assert text(cluster, "ProvisioningFailed") == problem
        assert phase(cluster) == "Pending"

    controlled(story)


def test_a_provisioner_of_old_is_the_csi_driver_that_took_over() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class(provisioner="kubernetes.io/aws-ebs"))
        cluster.create(claim(storageClassName="fast"))
        await cluster.wait(2)
        (made,) = cluster.all("PersistentVolume")
        assert made.extra["spec"]["csi"]["driver"] == "ebs.csi.aws.com"

    controlled(story)


# -- waiting for the first consumer -----------------------------------------------------------------------------------


def test_a_claim_that_waits_for_a_pod_says_for_which() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class(volumeBindingMode="WaitForFirstConsumer"))
        cluster.create(claim(storageClassName="fast"))
        await cluster.wait(0.1)
        assert text(cluster, "WaitForFirstConsumer") == "waiting for first consumer to be created before binding"
        cluster.create(pod("one", node=""))
        await cluster.wait(16)
        assert text(cluster, "WaitForPodScheduled") == "waiting for pod one to be scheduled"
        cluster.create(pod("two", node=""))
        await cluster.wait(16)
        assert cluster.events("WaitForPodScheduled")[-1].message == "waiting for pods one,two to be scheduled"
        assert (phase(cluster), cluster.all("PersistentVolume")) == ("Pending", [])

    controlled(story)


def choose(cluster: ControlledCluster, name: str) -> None:
    """What the scheduler does with a claim that has to be provisioned."""
    annotations = {"volume.kubernetes.io/selected-node": name}
    cluster.patch("PersistentVolumeClaim", "c", {"metadata": {"annotations": annotations}})


ZONES = [{"matchLabelExpressions": [{"key": "zone", "values": ["a", "b"]}]}]


def test_the_chosen_node_decides_where_the_volume_is() -> None:
    async def story(cluster: ControlledCluster) -> None:
        node(cluster, "n1", zone="b")
        cluster.create(storage_class(volumeBindingMode="WaitForFirstConsumer", allowedTopologies=ZONES))
        cluster.create(claim(storageClassName="fast"))
        await cluster.wait(1)
        choose(cluster, "n1")
        await cluster.wait(2)
        (made,) = cluster.all("PersistentVolume")
        (term,) = made.extra["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": "zone", "operator": "In", "values": ["b"]}]
        assert phase(cluster) == "Bound"

    controlled(story)


@pytest.mark.parametrize("chosen", ["elsewhere", "missing"])
def test_a_node_for_which_no_volume_can_be_made_is_given_back_to_the_scheduler(chosen: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        node(cluster, "elsewhere", zone="c")
        cluster.create(storage_class(volumeBindingMode="WaitForFirstConsumer", allowedTopologies=ZONES))
        cluster.create(claim(storageClassName="fast"))
        choose(cluster, chosen)
        await cluster.wait(2)
        assert text(cluster, "ProvisioningFailed").startswith('failed to provision volume with StorageClass "fast": ')
        annotations = cluster.get("PersistentVolumeClaim", "c").metadata.annotations
        assert "volume.kubernetes.io/selected-node" not in annotations

    controlled(story)


def test_without_a_pod_the_first_place_that_the_class_allows_is_taken() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class(allowedTopologies=ZONES))
        cluster.create(claim(storageClassName="fast"))
        await cluster.wait(2)
        (made,) = cluster.all("PersistentVolume")
        (term,) = made.extra["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [{"key": "zone", "operator": "In", "values": ["a"]}]

    controlled(story)


# -- protection -------------------------------------------------------------------------------------------------------


def test_a_claim_in_use_stays_until_its_pod_is_gone_and_its_volume_then_is_released() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(volume())
        cluster.create(claim())
        cluster.create(pod())
        await cluster.wait(1)
        cluster.delete("PersistentVolumeClaim", "c")
        await cluster.wait(5)
        assert cluster.get("PersistentVolumeClaim", "c").metadata.deletion_timestamp is not None
        cluster.delete("Pod", "p")
        await cluster.wait(1)
        assert phase(cluster) == "Bound"
        cluster.remove_ending()
        await cluster.wait(0.1)
        assert (phase(cluster), phase(cluster, "PersistentVolume", "v")) == ("", "Released")

    controlled(story)


def test_a_pod_without_a_node_holds_no_claim() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(claim())
        cluster.create(pod(node=""))
        cluster.delete("PersistentVolumeClaim", "c")
        await cluster.wait(0.1)
        assert phase(cluster) == ""

    controlled(story)


def test_a_bound_volume_stays_until_its_claim_is_gone_and_a_claim_without_its_volume_is_lost() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(volume())
        cluster.create(claim())
        await cluster.wait(0.2)
        cluster.delete("PersistentVolume", "v")
        await cluster.wait(1)
        assert phase(cluster, "PersistentVolume", "v") == "Bound"
        cluster.store.remove("PersistentVolume", "", "v")  # somebody takes its finalizer away
        await cluster.wait(0.1)
        assert phase(cluster) == "Lost"
        assert text(cluster, "ClaimLost") == "Bound claim has lost its PersistentVolume. Data on the volume is lost!"

    controlled(story)


# -- ephemeral volumes ------------------------------------------------------------------------------------------------


def ephemeral(name: str = "s") -> Json:
    spec = {**claim()["spec"], "storageClassName": "fast"}
    return {"name": name, "ephemeral": {"volumeClaimTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": spec}}}


def test_an_ephemeral_volume_gets_a_claim_that_its_pod_owns() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class())
        made = cluster.create(pod("p", volumes=[ephemeral()]))
        await cluster.wait(2)
        found = cluster.get("PersistentVolumeClaim", "p-s")
        (owner,) = found.metadata.owner_references
        assert (owner.kind, owner.uid, owner.controller) == ("Pod", made.metadata.uid, True)
        assert (found.metadata.labels, phase(cluster, name="p-s")) == ({"a": "b"}, "Bound")
        cluster.store.remove("PersistentVolumeClaim", "default", "p-s")
        await cluster.wait(0.1)
        assert cluster.get("PersistentVolumeClaim", "p-s").metadata.uid != found.metadata.uid

    controlled(story)


def test_a_claim_of_that_name_that_belongs_to_another_client_is_an_error() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(claim("p-s"))
        cluster.create(pod("p", volumes=[ephemeral()]))
        await cluster.wait(0.1)
        messages = {event.message for event in cluster.events() if event.involved_object.kind == "Pod"}
        problem = "PVC default/p-s was not created for pod default/p (pod is not owner)"
        assert messages == {f"ephemeral volume s: {problem}"}

    controlled(story)
