"""Volumes that the cluster attaches: the kubelet waits for them, and reports those in use."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.kubelet.volumes.spec import VolumeError, VolumeSpec, unique_volume_name
from kubesim.trace.records import ApiWrite, CriCall, EventRecorded
from tests.support.played import Played, pod

Json = dict[str, Any]
CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "disk"},
    "provisioner": "disks.example.com",
}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "c"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "disk",
    },
}


def user(name: str, node: str, volume: Json | None = None) -> Json:
    source = volume or {"persistentVolumeClaim": {"claimName": "c"}}
    made = pod(name, nodeName=node, volumes=[{"name": "d", **source}], automountServiceAccountToken=False)
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "d", "mountPath": "/d"}]
    return made


def moments(story: Played, reason: str, name: str) -> list[float]:
    events = (r for r in story.records if isinstance(r, EventRecorded) and r.pod == f"default/{name}")
    return [r.t / 1_000_000 for r in events if r.reason == reason]


def test_a_pod_starts_after_its_volume_is_attached_and_the_next_node_gets_it_afterwards() -> None:
    story = Played(
        {"at": "60s", "apply": user("two", "n2")},
        {"at": "80s", "delete": {"pod": "one"}},
        objects=[CLASS, CLAIM, user("one", "n1")],
        nodes=[{"name": "n1"}, {"name": "n2"}],
        duration="150s",
    )
    (attached,) = moments(story, "SuccessfulAttachVolume", "one")
    reported = [
        r.t / 1_000_000 for r in story.records if isinstance(r, ApiWrite) and r.by == "kubelet" and r.node == "n1"
        and r.resource == "nodes/status"
    ]  # fmt: skip
    (begun,) = story.when(CriCall, "one", call="RunPodSandbox")
    assert attached < reported[0] < begun
    (refused,) = moments(story, "FailedAttachVolume", "two")
    (then,) = moments(story, "SuccessfulAttachVolume", "two")
    assert 60 < refused < 61
    assert then > reported[1] > 80
    assert story.result.phases["default/two"] == "Running"


def test_the_built_in_class_needs_no_attachment() -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    story = Played(objects=[{**CLAIM, "spec": spec}, user("one", "n1")], nodes=[{"name": "n1"}], duration="40s")
    assert story.result.phases == {"default/one": "Running"}
    assert not [r for r in story.records if isinstance(r, ApiWrite) and r.resource.startswith("volumeattachments")]


ISCSI = {"iscsi": {"targetPortal": "10.0.0.1", "iqn": "iqn.2001-04.com.example:disk", "lun": 2}}
FC = {"fc": {"targetWWNs": ["500a0982991b8dc5", "500a0982891b8dc5"], "lun": 1}}


@pytest.mark.parametrize("source", [ISCSI, FC, {"awsElasticBlockStore": {"volumeID": "vol-1"}}])
def test_network_disks_are_mounted(source: Json) -> None:
    story = Played(objects=[user("one", "n1", source)], nodes=[{"name": "n1"}], duration="5s")
    assert story.result.phases == {"default/one": "Running"}


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (ISCSI, "kubernetes.io/iscsi/10.0.0.1:3260:iqn.2001-04.com.example:disk:2"),
        (FC, "kubernetes.io/fc/[500a0982991b8dc5 500a0982891b8dc5]:1"),
        ({"fc": {"wwids": ["w"]}}, "kubernetes.io/fc/[w]"),
        ({"csi": {"driver": "d", "volumeHandle": "h"}}, "kubernetes.io/csi/d^h"),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, "kubernetes.io/csi/ebs.csi.aws.com^vol-1"),
        ({"local": {"path": "/d"}}, "kubernetes.io/local-volume/v"),
    ],
)
def test_the_name_of_a_volume_on_its_node(source: Json, name: str) -> None:
    spec = VolumeSpec("v", source, ApiObject(kind="PersistentVolume"))
    assert unique_volume_name(spec, spec.plugin(), "uid") == name


@pytest.mark.parametrize(
    "field", ["glusterfs", "rbd", "cephfs", "flocker", "quobyte", "scaleIO", "storageos", "flexVolume"]
)
def test_removed_volume_plugins(field: str) -> None:
    with pytest.raises(VolumeError, match="no volume plugin matched"):
        VolumeSpec("v", {field: {}}).plugin()
