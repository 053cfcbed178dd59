"""Volumes in whole scenarios: attaching and detaching, and claim expansion."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.node import NodeCondition
from kubesim.errors import ApiError
from tests.support.cluster.controlled import ControlledCluster, controlled
from tests.support.cluster.storage import claim, node, of_claim, pod, reasons, storage_class, text

Json = dict[str, Any]


# -- attaching --------------------------------------------------------------------------------------------------------


def driver(attach: bool) -> Json:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "disks.example.com"}}
    return {**head, "spec": {"attachRequired": attach}}


def attached(cluster: ControlledCluster, name: str) -> list[str]:
    return [one["name"] for one in cluster.get("Node", name).status.volumes_attached]


def report_in_use(cluster: ControlledCluster, name: str, *volumes: str) -> None:
    """Report the volume in use, as the node's kubelet does."""
    found = cluster.get("Node", name)
    cluster.store.write(found, found.changed(status=found.status.changed(volumes_in_use=volumes)))


async def two_nodes(cluster: ControlledCluster, **spec: Any) -> str:
    """A bound claim, and a pod on n1 that uses it; returns the volume's name on nodes."""
    for name in ("n1", "n2"):
        node(cluster, name)
    cluster.create(storage_class())
    cluster.create(claim(storageClassName="fast", **spec))
    cluster.create(pod())
    await cluster.wait(3)
    (made,) = cluster.all("PersistentVolume")
    return f"kubernetes.io/csi/disks.example.com^{made.metadata.name}"


def test_a_volume_is_attached_to_its_pods_node_and_detached_when_unused() -> None:
    async def story(cluster: ControlledCluster) -> None:
        name = await two_nodes(cluster)
        (attachment,) = cluster.all("VolumeAttachment")
        spec = attachment.extra["spec"]
        assert (spec["attacher"], spec["nodeName"]) == ("disks.example.com", "n1")
        assert (attachment.extra["status"], attached(cluster, "n1")) == ({"attached": True}, [name])
        (volume,) = cluster.all("PersistentVolume")
        reported = text(cluster, "SuccessfulAttachVolume")
        assert reported == f'AttachVolume.Attach succeeded for volume "{volume.metadata.name}" '
        report_in_use(cluster, "n1", name)
        cluster.delete("Pod", "p")
        cluster.remove_ending()
        await cluster.wait(5)
        assert attached(cluster, "n1") == [name]  # still mounted
        report_in_use(cluster, "n1")
        await cluster.wait(0.05)
        assert attached(cluster, "n1") == []
        await cluster.wait(2)
        assert cluster.all("VolumeAttachment") == []

    controlled(story)


def test_a_single_node_volume_must_be_detached_first() -> None:
    async def story(cluster: ControlledCluster) -> None:
        name = await two_nodes(cluster)
        report_in_use(cluster, "n1", name)
        cluster.create(pod("q", node="n2"))
        await cluster.wait(3)
        (volume,) = cluster.all("PersistentVolume")
        start = f'Waiting for detach for volume "{volume.metadata.name}" '
        assert text(cluster, "FailedAttachVolume") == f"{start}Volume is already used by pod(s) p"
        assert attached(cluster, "n2") == []
        cluster.delete("Pod", "p")
        cluster.remove_ending()
        report_in_use(cluster, "n1")
        await cluster.wait(4)
        assert (attached(cluster, "n1"), attached(cluster, "n2")) == ([], [name])

    controlled(story)


def test_a_multi_node_volume_is_attached_to_each_node() -> None:
    async def story(cluster: ControlledCluster) -> None:
        name = await two_nodes(cluster, accessModes=["ReadWriteMany"])
        cluster.create(pod("q", node="n2"))
        await cluster.wait(3)
        assert (attached(cluster, "n1"), attached(cluster, "n2")) == ([name], [name])

    controlled(story)


def test_a_volume_is_detached_from_an_unready_node_after_six_minutes() -> None:
    async def story(cluster: ControlledCluster) -> None:
        name = await two_nodes(cluster)
        report_in_use(cluster, "n1", name)
        found = cluster.get("Node", "n1")
        broken = found.status.changed(conditions=(NodeCondition(type="Ready", status="Unknown"),))
        cluster.store.write(found, found.changed(status=broken))
        cluster.delete("Pod", "p")
        cluster.remove_ending()
        await cluster.wait(5 * 60)
        assert attached(cluster, "n1") == [name]
        await cluster.wait(2 * 60)
        assert (attached(cluster, "n1"), cluster.all("VolumeAttachment")) == ([], [])

    controlled(story)


def test_a_driver_without_attach() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(driver(attach=False))
        await two_nodes(cluster)
        assert (cluster.all("VolumeAttachment"), attached(cluster, "n1")) == ([], [])

    controlled(story)


# -- expansion --------------------------------------------------------------------------------------------------------


def grow(cluster: ControlledCluster, size: str) -> None:
    cluster.patch("PersistentVolumeClaim", "c", {"spec": {"resources": {"requests": {"storage": size}}}})


def test_a_claim_grows_its_volume_first_then_the_file_system_where_it_is_mounted() -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class(allowVolumeExpansion=True))
        cluster.create(claim(storageClassName="fast"))
        await cluster.wait(2)
        grow(cluster, "2Gi")
        await cluster.wait(2)
        (volume,) = cluster.all("PersistentVolume")
        status = of_claim(cluster)["status"]
        assert (volume.extra["spec"]["capacity"], status["capacity"]) == ({"storage": "2Gi"}, {"storage": "1Gi"})
        assert [condition["type"] for condition in status["conditions"]] == ["FileSystemResizePending"]
        assert status["allocatedResourceStatuses"] == {"storage": "NodeResizePending"}
        assert {"ExternalExpanding", "Resizing", "FileSystemResizeRequired"} <= set(reasons(cluster))
        made = cluster.create(pod())
        cluster.set_phase(made, "Running")  # type: ignore[arg-type]
        await cluster.wait(1)
        status = of_claim(cluster)["status"]
        assert (status["capacity"], "conditions" in status) == ({"storage": "2Gi"}, False)
        assert "FileSystemResizeSuccessful" in reasons(cluster)

    controlled(story)


@pytest.mark.parametrize(
    ("allowed", "bound", "size", "problem"),
    [
        (False, True, "2Gi", "only dynamically provisioned pvc can be resized"),
        (True, False, "2Gi", "Only bound persistent volume claims can be expanded"),
        (True, True, "512Mi", "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"),
    ],
)
def test_claims_that_cannot_grow(allowed: bool, bound: bool, size: str, problem: str) -> None:
    async def story(cluster: ControlledCluster) -> None:
        cluster.create(storage_class(allowVolumeExpansion=allowed))
        cluster.create(claim(storageClassName="fast"))
        if bound:
            await cluster.wait(2)
        with pytest.raises(ApiError, match=problem):
            grow(cluster, size)

    controlled(story)
