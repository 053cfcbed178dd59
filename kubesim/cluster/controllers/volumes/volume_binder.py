"""Claims get their persistent volumes, as the cluster's controllers see to it: one that is there and fits, or a new one
from a storage class.

It stands beside the kubelets. Nothing is reclaimed: a volume whose claim is gone stays as it is.

Mirrors: pkg/controller/volume/persistentvolume/pv_controller.go syncUnboundClaim, index.go findMatchingVolume;
pkg/controller/volume/ephemeral/controller.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.quantity import Quantity, quantity
from kubesim.api.timestamps import MILLISECOND
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.store.watches import WatchEvent

CLAIM, VOLUME, CLASS = "PersistentVolumeClaim", "PersistentVolume", "StorageClass"
DELAY = 5 * MILLISECOND  # from the watch to the write
DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

STANDARD_CLASS: Mapping[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": CLASS,
    "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
    "provisioner": "storage.kubesim.dev",
}

Json = Mapping[str, Any]


def field(found: ApiObject, name: str) -> Json:
    return found.extra.get(name) or {}


def fits(volume: ApiObject, claim: ApiObject, storage_class: str) -> bool:
    """May this volume be bound to this claim?"""
    spec, wanted = field(volume, "spec"), field(claim, "spec")
    reference = spec.get("claimRef")
    if reference is not None:
        return bool(
            reference.get("name") == claim.metadata.name
            and reference.get("namespace") == claim.metadata.namespace
            and reference.get("uid", "") in ("", claim.metadata.uid)
        )
    return (
        (spec.get("storageClassName") or "") == storage_class
        and (spec.get("volumeMode") or "Filesystem") == (wanted.get("volumeMode") or "Filesystem")
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
        and _capacity(volume) >= quantity(_request(claim))
    )


def _capacity(volume: ApiObject) -> Quantity:
    return quantity((field(volume, "spec").get("capacity") or {}).get("storage", 0))


def _request(claim: ApiObject) -> Any:
    resources = field(claim, "spec").get("resources") or {}
    return (resources.get("requests") or {}).get("storage", 0)


class VolumeBinder:
    """Works from when it is made."""

    def __init__(self, context: ControllerContext) -> None:
        self._clock = context.clock
        self._store = store = context.store
        store.watch(CLAIM, self._claim_changed)
        store.watch(VOLUME, self._others_changed)
        store.watch(CLASS, self._others_changed)
        store.watch("Pod", self._pod_changed)

    def _claim_changed(self, change: WatchEvent) -> None:
        if change.type == "ADDED":
            metadata = change.object.metadata
            self._later(metadata.namespace, metadata.name)

    def _others_changed(self, change: WatchEvent) -> None:
        if change.type == "ADDED":
            for claim in self._store.list(CLAIM):
                self._later(claim.metadata.namespace, claim.metadata.name)

    def _later(self, namespace: str, name: str) -> None:
        self._clock.call_at(self._clock.now() + DELAY, self._sync_claim, namespace, name)

    def _pod_changed(self, change: WatchEvent) -> None:
        """A pod's own claims are made with it."""
        pod = change.object
        if change.type != "ADDED" or not isinstance(pod, Pod):
            return
        for volume in pod.spec.volumes:
            template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
            name = f"{pod.metadata.name}-{volume.get('name', '')}"
            if template is not None and self._store.find(CLAIM, pod.metadata.namespace, name) is None:
                self._store.create(_claim_of_pod(pod, name, template))

    def _sync_claim(self, namespace: str, name: str) -> None:
        claim = self._store.find(CLAIM, namespace, name)
        if claim is None or field(claim, "status").get("phase") == "Bound":
            return
        storage_class = field(claim, "spec").get("storageClassName")
        if storage_class is None:
            storage_class = next((c.metadata.name for c in self._store.list(CLASS) if _is_default(c)), "")
        wanted = field(claim, "spec").get("volumeName")
        found = sorted(
            (volume for volume in self._store.list(VOLUME) if fits(volume, claim, storage_class)),
            key=lambda volume: (field(volume, "spec").get("claimRef") is None, _capacity(volume).value()),
        )
        chosen = next((volume for volume in found if not wanted or volume.metadata.name == wanted), None)
        if chosen is None and not wanted:
            chosen = self._provision(claim, storage_class)
        if chosen is not None:
            self._bind(claim, chosen)

    def _provision(self, claim: ApiObject, storage_class: str) -> ApiObject | None:
        found = self._store.find(CLASS, "", storage_class)
        provisioner = found.extra.get("provisioner") if found is not None else None
        if provisioner in (None, NO_PROVISIONER):
            return None
        name, wanted = f"pvc-{claim.metadata.uid}", field(claim, "spec")
        return self._store.create(
            ApiObject.from_json(
                {
                    "apiVersion": "v1",
                    "kind": VOLUME,
                    "metadata": {"name": name},
                    "spec": {
                        "capacity": {"storage": _request(claim)},
                        "accessModes": wanted.get("accessModes") or ["ReadWriteOnce"],
                        "volumeMode": wanted.get("volumeMode") or "Filesystem",
                        "storageClassName": storage_class,
                        "persistentVolumeReclaimPolicy": "Delete",
                        "csi": {"driver": provisioner, "volumeHandle": name},
                    },
                    "status": {"phase": "Available"},
                }
            )
        )

    def _bind(self, claim: ApiObject, volume: ApiObject) -> None:
        metadata, spec = claim.metadata, field(volume, "spec")
        reference = {"kind": CLAIM, "namespace": metadata.namespace, "name": metadata.name, "uid": metadata.uid}
        self._write(volume, {"spec": {**spec, "claimRef": reference}, "status": {"phase": "Bound"}})
        status = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": spec.get("capacity")}
        wanted = {**field(claim, "spec"), "volumeName": volume.metadata.name}
        self._write(claim, {"spec": wanted, "status": status})

    def _write(self, old: ApiObject, changes: Json) -> None:
        self._store.write(old, ApiObject.from_json({**old.to_json(), **changes}))


def _is_default(storage_class: ApiObject) -> bool:
    return storage_class.metadata.annotations.get(DEFAULT_CLASS) == "true"


def _claim_of_pod(pod: Pod, name: str, template: Json) -> ApiObject:
    metadata = pod.metadata
    owner = {"apiVersion": "v1", "kind": "Pod", "name": metadata.name, "uid": metadata.uid, "controller": True}
    given = template.get("metadata") or {}
    return ApiObject.from_json(
        {
            "apiVersion": "v1",
            "kind": CLAIM,
            "metadata": {**given, "name": name, "namespace": metadata.namespace, "ownerReferences": [owner]},
            "spec": template.get("spec") or {},
        }
    )
