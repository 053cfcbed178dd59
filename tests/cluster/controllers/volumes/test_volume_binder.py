"""Claims get volumes: one that is there and fits, or a new one from a storage class."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.timestamps import MILLISECOND
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.volumes.volume_binder import NO_PROVISIONER, STANDARD_CLASS, VolumeBinder, field, fits
from kubesim.cluster.store.store import Store
from kubesim.trace import Recorder

Json = dict[str, Any]


def claim(**spec: Any) -> Json:
    whole = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}, **spec}
    return {"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "ns"}, "spec": whole}


def volume(name: str = "pv", size: str = "2Gi", **spec: Any) -> Json:
    whole = {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/d"}, **spec}
    return {"kind": "PersistentVolume", "metadata": {"name": name}, "spec": whole}


def storage_class(name: str, provisioner: str = "p") -> Json:
    return {"kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner}


def bound(*objects: Json) -> str:
    """The name of the volume that the claim gets; empty if it gets none. All that is bound agrees."""

    async def main() -> str:
        clock = LoopClock(0)
        uids = iter(range(100))
        store = Store(clock.now, lambda: f"uid-{next(uids)}")
        VolumeBinder(ControllerContext(clock, store, Recorder(clock), Randomness(0)))
        for obj in objects:
            store.create(Pod.from_json(obj) if obj["kind"] == "Pod" else ApiObject.from_json(obj))
        await clock.sleep(20 * MILLISECOND)
        (found,) = store.list("PersistentVolumeClaim")
        if field(found, "status").get("phase") != "Bound":
            return ""
        name = str(field(found, "spec")["volumeName"])
        chosen = store.get("PersistentVolume", "", name)
        assert field(chosen, "spec")["claimRef"]["uid"] == found.metadata.uid
        assert field(chosen, "status") == {"phase": "Bound"}
        return name

    return run_virtual(main)


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (volume(size="3Gi"), claim()),
        (volume(accessModes=["ReadWriteOnce", "ReadOnlyMany"]), claim()),
        (volume(storageClassName="fast"), claim(storageClassName="fast")),
        (volume(volumeMode="Block"), claim(volumeMode="Block")),
        (volume(size="1Gi", claimRef={"namespace": "ns", "name": "c"}), claim()),
    ],
)
def test_what_fits(given: Json, asked: Json) -> None:
    for objects in ((given, asked), (asked, given)):
        assert bound(*objects) == "pv"


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (volume(size="1Gi"), claim()),
        (volume(), claim(accessModes=["ReadWriteMany"])),
        (volume(storageClassName="fast"), claim()),
        (volume(), claim(storageClassName="fast")),
        (volume(volumeMode="Block"), claim()),
        (volume(claimRef={"namespace": "ns", "name": "other"}), claim()),
        (volume(), claim(volumeName="another")),
    ],
)
def test_what_does_not_fit(given: Json, asked: Json) -> None:
    assert bound(given, asked) == ""


def test_the_smallest_that_fits_is_taken_but_one_that_waits_for_the_claim_first() -> None:
    small, large = volume("small"), volume("large", "5Gi")
    assert bound(large, small, claim()) == "small"
    mine = volume("mine", "9Gi", claimRef={"namespace": "ns", "name": "c"})
    assert bound(small, mine, claim()) == "mine"


def test_a_storage_class_makes_a_new_one() -> None:
    assert bound(storage_class("fast"), claim(storageClassName="fast")) == "pvc-uid-1"
    assert bound(claim(storageClassName="fast"), storage_class("fast")) == "pvc-uid-0"
    assert bound(dict(STANDARD_CLASS), claim()) == "pvc-uid-1"
    assert bound(dict(STANDARD_CLASS), claim(storageClassName="")) == ""
    assert bound(storage_class("fast", NO_PROVISIONER), claim(storageClassName="fast")) == ""
    assert bound(claim(storageClassName="fast")) == ""


def test_a_claim_of_the_pods_own_is_made_with_the_pod() -> None:
    template = {"spec": claim()["spec"]}
    spec = {"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": template}}]}
    pod = {"kind": "Pod", "metadata": {"name": "web", "namespace": "ns", "uid": "u"}, "spec": spec}
    assert bound(volume(), pod) == "pv"


def test_a_volume_that_is_bound_to_another_claim_of_the_name_does_not_fit() -> None:
    asked = ApiObject.from_json({**claim(), "metadata": {"name": "c", "namespace": "ns", "uid": "new"}})
    for uid, expected in (("", True), ("new", True), ("old", False)):
        given = volume(claimRef={"namespace": "ns", "name": "c", "uid": uid})
        assert fits(ApiObject.from_json(given), asked, "") is expected
