"""Upstream's table of single syncs of the PV controller (binder_test.go), row by row, in a compact notation.

A row has the volumes and the claim before, the synced object, and both after. A volume is written `phase>claim:uid*`, a
claim `phase>volume`; `*` means bound by the controller, `+` that the binding of the claim is complete.
"""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.api.event import Event
from kubesim.api.meta import ApiObject
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.volumes.binding.pv_controller import PersistentVolumeController
from kubesim.cluster.controllers.volumes.storage_fields import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    SELECTED_NODE,
    phase_of,
    spec_of,
    status_of,
)
from kubesim.cluster.store.store import Store
from kubesim.errors import ApiError
from kubesim.trace import Recorder

Json = dict[str, Any]
MODES = ["ReadWriteOnce", "ReadOnlyMany"]
LABELS = {"foo": "true", "bar": "false"}


def volume(text: str, size: str = "1Gi", name: str = "v", **changes: Any) -> Json:
    """A volume; `text` is its phase, and after `>` the claim with its uid."""
    phase, _, bound = text.partition(">")
    by_controller, (claim, _, uid) = bound.endswith("*"), bound.rstrip("*").partition(":")
    metadata: Json = {"name": name, "labels": changes.pop("labels", {}), "annotations": changes.pop("annotations", {})}
    if by_controller:
        metadata["annotations"] = {**metadata["annotations"], BOUND_BY_CONTROLLER: "yes"}
    spec = {"capacity": {"storage": size}, "accessModes": MODES, "persistentVolumeReclaimPolicy": "Retain"}
    spec |= {"volumeMode": "Filesystem", "gcePersistentDisk": {"pdName": "d"}, **changes}
    if claim:
        spec["claimRef"] = {"namespace": "ns", "name": claim, **({"uid": uid} if uid else {})}
    return {"kind": "PersistentVolume", "metadata": metadata, "spec": spec, "status": {"phase": phase}}


def claim(text: str, size: str = "1Gi", **changes: Any) -> Json:
    phase, _, bound = text.partition(">")
    annotations = dict(changes.pop("annotations", {}))
    if "*" in bound:
        annotations[BOUND_BY_CONTROLLER] = "yes"
    if "+" in bound:
        annotations[BIND_COMPLETED] = "yes"
    metadata = {"name": "c", "namespace": "ns", "uid": changes.pop("uid", "u"), "annotations": annotations}
    spec = {"accessModes": MODES, "resources": {"requests": {"storage": size}}, "volumeMode": "Filesystem", **changes}
    name = bound.rstrip("*+")
    if name:
        spec["volumeName"] = name
    status: Json = {"phase": phase}
    if phase == "Bound":
        status |= {"accessModes": MODES, "capacity": {"storage": size}}
    return {"kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec, "status": status}


def selecting(labels: Json) -> Json:
    return {"selector": {"matchLabels": labels}}


def waiting_class() -> Json:
    return {
        "kind": "StorageClass",
        "metadata": {"name": "wait"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def shown_volume(found: ApiObject) -> str:
    reference = spec_of(found).get("claimRef") or {}
    bound = reference.get("name", "") + (f":{reference['uid']}" if reference.get("uid") else "")
    return f"{phase_of(found)}>{bound}{'*' * (BOUND_BY_CONTROLLER in found.metadata.annotations)}"


def shown_claim(found: ApiObject) -> str:
    annotations = found.metadata.annotations
    marks = "*" * (BOUND_BY_CONTROLLER in annotations) + "+" * (BIND_COMPLETED in annotations)
    return f"{phase_of(found)}>{spec_of(found).get('volumeName', '')}{marks}"


def synced(kind: str, *objects: Json) -> tuple[dict[str, str], str, list[str], str]:
    """The volumes, the claim and the Events after one sync, and the claim's capacity."""

    async def main() -> tuple[dict[str, str], str, list[str], str]:
        clock = LoopClock(0)
        store = Store(clock.now, lambda: "made")
        for obj in sorted(objects, key=lambda obj: obj["kind"] == "PersistentVolumeClaim"):
            store.put(ApiObject.from_json(obj))
        controller = PersistentVolumeController(ControllerContext(clock, store, Recorder(clock), Randomness(0)))
        try:
            if kind == "claim":
                controller.sync("ns", "c")
            else:
                controller.sync("", kind)
        except ApiError:
            store.put(ApiObject.from_json({"kind": "Failed", "metadata": {"name": "it"}}))
        volumes = {found.metadata.name: shown_volume(found) for found in store.list("PersistentVolume")}
        found = store.find("PersistentVolumeClaim", "ns", "c")
        events = [f"{e.type} {e.reason}" for e in store.list("Event") if isinstance(e, Event)]
        events += ["failed" for _ in store.list("Failed")]
        size = "" if found is None else (status_of(found).get("capacity") or {}).get("storage", "")
        return volumes, "" if found is None else shown_claim(found), events, size

    return run_virtual(main)


BINDING_FAILED = ["Normal FailedBinding"]
MISMATCH = ["Warning VolumeMismatch"]
BOUND = "Bound>c:u*"
CLAIM_ROWS = {
    "1-1 bind": ([volume("Available")], claim("Pending"), {"v": BOUND}, "Bound>v*+", []),
    "1-2 too small": ([volume("Available")], claim("Pending", "10Gi"), {"v": "Available>"}, "Pending>", BINDING_FAILED),
    "1-3 back to Pending": (
        [volume("Available")],
        claim("Bound", "9Gi"),
        {"v": "Available>"},
        "Pending>",
        BINDING_FAILED,
    ),
    "1-4 the smallest": (
        [volume("Available", "10Gi", "large"), volume("Available", name="small")],
        claim("Pending"),
        {"large": "Available>", "small": BOUND},
        "Bound>small*+",
        [],
    ),
    "1-5 one that names it first": (
        [volume("Available>c", "10Gi", "large"), volume("Available", name="small")],
        claim("Pending"),
        {"large": "Bound>c:u", "small": "Available>"},
        "Bound>large*+",
        [],
    ),
    "1-6 by uid": (
        [volume("Available>c:u", "10Gi", "large"), volume("Available", name="small")],
        claim("Pending"),
        {"large": "Bound>c:u", "small": "Available>"},
        "Bound>large*+",
        [],
    ),
    "1-7 of another uid": (
        [volume("Available>c:x", "10Gi")],
        claim("Pending"),
        {"v": "Available>c:x"},
        "Pending>",
        BINDING_FAILED,
    ),
    "1-8 after a crash": ([volume("Available>c:u*")], claim("Pending"), {"v": BOUND}, "Bound>v*+", []),
    "1-9 after a later crash": ([volume("Bound>c:u*")], claim("Pending"), {"v": BOUND}, "Bound>v*+", []),
    "1-10 after the last crash": ([volume("Bound>c:u*")], claim("Pending>v*+"), {"v": BOUND}, "Bound>v*+", []),
    "1-11 selector": (
        [volume("Available", labels=LABELS)],
        claim("Pending", **selecting(LABELS)),
        {"v": BOUND},
        "Bound>v*+",
        [],
    ),
    "1-12 selector differs": (
        [volume("Available")],
        claim("Pending", **selecting(LABELS)),
        {"v": "Available>"},
        "Pending>",
        BINDING_FAILED,
    ),
    "1-13 delayed": (
        [waiting_class(), volume("Available", storageClassName="wait")],
        claim("Pending", storageClassName="wait"),
        {"v": "Available>"},
        "Pending>",
        ["Normal WaitForFirstConsumer"],
    ),
    "1-14 delayed, but named": (
        [waiting_class(), volume("Available>c", storageClassName="wait")],
        claim("Pending", storageClassName="wait"),
        {"v": "Bound>c:u"},
        "Bound>v*+",
        [],
    ),
    "1-15 names a volume": (
        [volume("Available", "10Gi", "large"), volume("Available", name="small")],
        claim("Pending>large"),
        {"large": BOUND, "small": "Available>"},
        "Bound>large+",
        [],
    ),
    "1-16 other access modes": (
        [volume("Available")],
        claim("Pending>v", accessModes=["ReadWriteMany"]),
        {"v": "Available>"},
        "Pending>v",
        MISMATCH,
    ),
    "1-17 not available": (
        [volume(phase, name=phase.lower() or "empty") for phase in ("Pending", "Failed", "Released", "")],
        claim("Pending"),
        {"pending": "Pending>", "failed": "Failed>", "released": "Released>", "empty": ">"},
        "Pending>",
        BINDING_FAILED,
    ),
    "1-18 a node was chosen": (
        [waiting_class(), volume("Available>c:u", storageClassName="wait")],
        claim("Pending", storageClassName="wait", annotations={SELECTED_NODE: "n"}),
        {"v": "Bound>c:u"},
        "Bound>v*+",
        [],
    ),
    "2-1 no such volume": ([], claim("Pending>v"), {}, "Pending>v", []),
    "2-2 no such volume, reset": ([], claim("Bound>v"), {}, "Pending>v", []),
    "2-3 names a free volume": ([volume("Available")], claim("Pending>v"), {"v": BOUND}, "Bound>v+", []),
    "2-4 both name each other": ([volume("Available>c")], claim("Pending>v"), {"v": "Bound>c:u"}, "Bound>v+", []),
    "2-5 and by uid": ([volume("Available>c:u")], claim("Pending>v"), {"v": "Bound>c:u"}, "Bound>v+", []),
    "2-6 taken": ([volume("Bound>d:x")], claim("Bound>v"), {"v": "Bound>d:x"}, "Pending>v", ["Warning FailedBinding"]),
    "2-7 taken, bound by the controller": (
        [volume("Bound>d:x")],
        claim("Bound>v*"),
        {"v": "Bound>d:x"},
        "Bound>v*",
        ["Warning FailedBinding", "failed"],
    ),
    "2-8 selector of a claim that names a volume": (
        [volume("Available")],
        claim("Pending>v", **selecting(LABELS)),
        {"v": BOUND},
        "Bound>v+",
        [],
    ),
    "2-9 named one is too small": (
        [volume("Available")],
        claim("Bound>v", "2Gi"),
        {"v": "Available>"},
        "Pending>v",
        MISMATCH,
    ),
    "2-10 named one has a class": (
        [volume("Available", storageClassName="gold")],
        claim("Bound>v"),
        {"v": "Available>"},
        "Pending>v",
        MISMATCH,
    ),
    "2-11 attributes class differs": (
        [volume("Available", volumeAttributesClassName="gold")],
        claim("Bound>v"),
        {"v": "Available>"},
        "Pending>v",
        MISMATCH,
    ),
    "2-12 attributes class": (
        [volume("Available", volumeAttributesClassName="gold")],
        claim("Pending>v", volumeAttributesClassName="gold"),
        {"v": BOUND},
        "Bound>v+",
        [],
    ),
    "3-1 no name any more": ([], claim("Bound>*+"), {}, "Lost>*+", ["Warning ClaimLost"]),
    "3-2 no volume any more": ([], claim("Bound>v*+"), {}, "Lost>v*+", ["Warning ClaimLost"]),
    "3-3 volume came unbound": ([volume("Available")], claim("Pending>v*+"), {"v": BOUND}, "Bound>v*+", []),
    "3-4 of another uid": (
        [volume("Available>c:x")],
        claim("Pending>v*+"),
        {"v": "Available>c:x"},
        "Lost>v*+",
        ["Warning ClaimMisbound"],
    ),
    "3-5 all is well": ([volume("Available>c:u")], claim("Pending>v+"), {"v": "Bound>c:u"}, "Bound>v+", []),
    "3-6 of another claim": (
        [volume("Available>d:x")],
        claim("Pending>v+"),
        {"v": "Available>d:x"},
        "Lost>v+",
        ["Warning ClaimMisbound"],
    ),
    "3-7 selector does not matter": (
        [volume("Available")],
        claim("Pending>v*+", **selecting(LABELS)),
        {"v": BOUND},
        "Bound>v*+",
        [],
    ),
    "13-1 class": (
        [volume("Available", name="small"), volume("Available", "9Gi", "gold", storageClassName="gold")],
        claim("Pending", storageClassName="gold"),
        {"small": "Available>", "gold": BOUND},
        "Bound>gold*+",
        [],
    ),
    "13-2 without a class": (
        [volume("Available", name="gold", storageClassName="gold"), volume("Available", "9Gi", "none")],
        claim("Pending"),
        {"gold": "Available>", "none": BOUND},
        "Bound>none*+",
        [],
    ),
    "13-3 one of two classes": (
        [volume("Available", name="s", storageClassName="s"), volume("Available", "9Gi", "g", storageClassName="g")],
        claim("Pending", storageClassName="g"),
        {"s": "Available>", "g": BOUND},
        "Bound>g*+",
        [],
    ),
    "13-4 the empty class": (
        [volume("Available")],
        claim("Pending", storageClassName=""),
        {"v": BOUND},
        "Bound>v*+",
        [],
    ),
    "13-5 no class": ([volume("Available")], claim("Pending"), {"v": BOUND}, "Bound>v*+", []),
    "14-1 block": (
        [volume("Available", volumeMode="Block")],
        claim("Pending", volumeMode="Block"),
        {"v": BOUND},
        "Bound>v*+",
        [],
    ),
    "14-3 block asked for": (
        [volume("Available")],
        claim("Pending", volumeMode="Block"),
        {"v": "Available>"},
        "Pending>",
        BINDING_FAILED,
    ),
    "14-4 block there": (
        [volume("Available", volumeMode="Block")],
        claim("Pending"),
        {"v": "Available>"},
        "Pending>",
        BINDING_FAILED,
    ),
    "14-7 named, block": (
        [volume("Available>c:u", volumeMode="Block")],
        claim("Pending", volumeMode="Block"),
        {"v": "Bound>c:u"},
        "Bound>v*+",
        [],
    ),
    "14-8 names one of another mode": (
        [volume("Available", volumeMode="Block")],
        claim("Pending>v"),
        {"v": "Available>"},
        "Pending>v",
        MISMATCH,
    ),
    "14-8-1 the other way round": (
        [volume("Available")],
        claim("Pending>v", volumeMode="Block"),
        {"v": "Available>"},
        "Pending>v",
        MISMATCH,
    ),
    "14-9 names one of its mode": (
        [volume("Available", volumeMode="Block")],
        claim("Pending>v", volumeMode="Block"),
        {"v": BOUND},
        "Bound>v+",
        [],
    ),
    "14-11 names one with a file system": ([volume("Available")], claim("Pending>v"), {"v": BOUND}, "Bound>v+", []),
}


@pytest.mark.parametrize("row", CLAIM_ROWS.values(), ids=CLAIM_ROWS)
def test_the_sync_of_a_claim(row: tuple[list[Json], Json, dict[str, str], str, list[str]]) -> None:
    volumes, asked, after, claim_after, events = row
    found, text, reported, _ = synced("claim", *volumes, asked)
    assert (found, text, reported) == (after, claim_after, events)


def test_a_claim_gets_the_size_of_its_volume() -> None:
    assert synced("claim", volume("Available", "10Gi"), claim("Pending"))[3] == "10Gi"


DELETE: Json = {"persistentVolumeReclaimPolicy": "Delete"}
PROVISIONED: Json = {"annotations": {PROVISIONED_BY: "driver"}, **DELETE}
VOLUME_ROWS = {
    "4-1 pending": ([volume("Pending")], None, "Available>", []),
    "4-2 names a claim": ([volume("Pending>c")], None, "Available>c", []),
    "4-3 claim is gone": ([volume("Bound>c:u")], None, "Released>c:u", []),
    "4-4 claim of another uid": ([volume("Bound>c:u")], claim("Bound>v+", uid="x"), "Released>c:u", []),
    "4-5 claim is not bound yet": ([volume("Bound>c:u*")], claim("Pending"), "Bound>c:u*", []),
    "4-5 by the user": ([volume("Bound>c:u")], claim("Pending"), "Bound>c:u", []),
    "4-6 bound": ([volume("Available>c:u")], claim("Bound>v"), "Bound>c:u", []),
    "4-7 claim is bound elsewhere": ([volume("Bound>c:u*")], claim("Bound>other*+"), "Available>", []),
    "4-8 elsewhere, by the user": ([volume("Bound>c:u")], claim("Bound>other*+"), "Available>c", []),
    "4-9 bound, policy Delete": ([volume("Bound>c:u", **DELETE)], claim("Bound>v"), "Bound>c:u", []),
    "4-10 nothing can delete it": (
        [volume("Available>c:u", **DELETE)],
        None,
        "Failed>c:u",
        ["Warning VolumeFailedDelete"],
    ),
    "9-x made for a claim that took another": (
        [volume("Bound>c:u", **PROVISIONED)],
        claim("Bound>other*+"),
        "Released>c:u",
        [],
    ),
    "14-13 modes differ": (
        [volume("Available>c:u", volumeMode="Block")],
        claim("Pending"),
        "Available>c:u",
        MISMATCH * 2,
    ),
    "14-13-1 the other way round": (
        [volume("Available>c:u")],
        claim("Pending", volumeMode="Block"),
        "Available>c:u",
        MISMATCH * 2,
    ),
    "14-14 modes match": (
        [volume("Available>c:u", volumeMode="Block")],
        claim("Pending", volumeMode="Block"),
        "Available>c:u",
        [],
    ),
    "14-14-1 file system": ([volume("Available>c:u")], claim("Pending"), "Available>c:u", []),
}


@pytest.mark.parametrize("row", VOLUME_ROWS.values(), ids=VOLUME_ROWS)
def test_the_sync_of_a_volume(row: tuple[list[Json], Json | None, str, list[str]]) -> None:
    volumes, asked, after, events = row
    found, _, reported, _ = synced("v", *volumes, *([] if asked is None else [asked]))
    assert (found["v"], sorted(reported)) == (after, events)


@pytest.mark.parametrize(
    ("changes", "after", "events"),
    [
        ({"hostPath": {"path": "/tmp/data"}, **DELETE}, None, []),
        ({"hostPath": {"path": "/data"}, **DELETE}, "Failed>c:u", ["Warning VolumeFailedDelete"]),
        ({"nfs": {"server": "s", "path": "/"}, **DELETE}, "Failed>c:u", ["Warning VolumeFailedDelete"]),
        ({"csi": {"driver": "d", "volumeHandle": "h"}, **DELETE}, "Released>c:u", []),
        (PROVISIONED, "Released>c:u", []),
        ({"persistentVolumeReclaimPolicy": "Other"}, "Failed>c:u", ["Warning VolumeUnknownReclaimPolicy"]),
        ({"persistentVolumeReclaimPolicy": "Recycle"}, "Failed>c:u", ["Warning VolumeFailedRecycle"]),
        (
            {"persistentVolumeReclaimPolicy": "Recycle", "hostPath": {"path": "/d"}},
            "Available>c",
            ["Normal VolumeRecycled"],
        ),
    ],
)
def test_reclaim_policies(changes: Json, after: str | None, events: list[str]) -> None:
    released = volume("Bound>c:u", **changes)
    if len(changes) > 1 and "annotations" not in changes:
        del released["spec"]["gcePersistentDisk"]
    found, _, reported, _ = synced("v", released)
    assert (found.get("v"), reported) == (after, events)
