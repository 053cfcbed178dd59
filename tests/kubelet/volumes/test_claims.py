"""Claims and their volumes; the errors are those of upstream's populator."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.problems import not_found
from kubesim.cluster.store.kinds import resource_of
from kubesim.kubelet.volumes.claims import create_volume_spec
from kubesim.kubelet.volumes.spec import VolumeError, VolumeSpec

POD = Pod.from_json({"metadata": {"name": "web", "namespace": "ns", "uid": "u"}})
DATA = {"name": "data", "persistentVolumeClaim": {"claimName": "c", "readOnly": True}}
SCRATCH = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "web", "uid": "u", "controller": True}


def claim(name: str = "c", **changes: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "ns", "uid": "claim-uid", **changes.pop("metadata", {})}
    whole = {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {"volumeName": "pv"}}
    return {**whole, "status": {"phase": "Bound"}, **changes}


def volume(**spec: Any) -> dict[str, Any]:
    spec = {"claimRef": {"uid": "claim-uid"}, "hostPath": {"path": "/data"}, **spec}
    return {"kind": "PersistentVolume", "metadata": {"name": "pv"}, "spec": spec}


def made(asked: dict[str, Any], *objects: dict[str, Any], mounts: str = "", devices: str = "") -> VolumeSpec:
    found = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}

    def read(kind: str, namespace: str, name: str) -> ApiObject:
        if (kind, namespace, name) not in found:
            raise not_found(resource_of(kind), name)
        return ApiObject.from_json(found[kind, namespace, name])

    return create_volume_spec(asked, POD, mounts.split(), devices.split(), read)


def test_a_volume_without_a_claim_is_unchanged() -> None:
    spec = made({"name": "v", "emptyDir": {}})
    assert (spec.name, spec.persistent_volume, spec.plugin().name) == ("v", None, "kubernetes.io/empty-dir")


def test_a_bound_claim_is_replaced_by_its_volume() -> None:
    spec = made(DATA, claim(), volume(), mounts="data")
    assert (spec.name, spec.read_only, spec.plugin().name) == ("pv", True, "kubernetes.io/host-path")


def test_the_claim_of_an_ephemeral_volume_has_the_names_of_both_and_belongs_to_the_pod() -> None:
    own = claim("web-scratch", metadata={"ownerReferences": [OWNER]})
    assert made(SCRATCH, own, volume()).name == "pv"
    with pytest.raises(VolumeError) as error:
        made(SCRATCH, claim("web-scratch"), volume())
    assert str(error.value) == "PVC ns/web-scratch was not created for pod ns/web (pod is not owner)"


DELETED = {"deletionTimestamp": "2024-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    ("objects", "text"),
    [
        ((), 'failed to fetch PVC from API server: persistentvolumeclaims "c" not found'),
        ((claim(status={"phase": "Pending"}),), "PVC is not bound"),
        ((claim(status=None),), "PVC is not bound"),
        ((claim(spec={}),), "PVC has empty pvc.Spec.VolumeName"),
        ((claim(metadata=DELETED),), "PVC is being deleted"),
        ((claim(),), 'failed to fetch PV pv from API server: persistentvolumes "pv" not found'),
        (
            (claim(), volume(claimRef=None)),
            "found PV object pv but it has a nil pv.Spec.ClaimRef indicating it is not yet bound to the claim",
        ),
        (
            (claim(), volume(claimRef={"uid": "x"})),
            "found PV object pv but its pv.Spec.ClaimRef.UID x does not point to claim.UID claim-uid",
        ),
    ],
)
def test_an_unusable_claim(objects: tuple[dict[str, Any], ...], text: str) -> None:
    with pytest.raises(VolumeError) as error:
        made(DATA, *objects)
    assert str(error.value) == f"error processing PVC ns/c: {text}"


def test_a_claim_that_is_deleted_but_protected_can_be_used() -> None:
    protected = {**DELETED, "finalizers": ["kubernetes.io/pvc-protection"]}
    assert made(DATA, claim(metadata=protected), volume()).name == "pv"


def test_the_mode_of_a_volume_must_match_its_use() -> None:
    with pytest.raises(VolumeError) as error:
        made(DATA, claim(), volume(volumeMode="Block"), mounts="data")
    assert str(error.value) == "volume data has volumeMode Block, but is specified in volumeMounts"
    with pytest.raises(VolumeError) as error:
        made(DATA, claim(), volume(), devices="data")
    assert str(error.value) == "volume data has volumeMode Filesystem, but is specified in volumeDevices"
