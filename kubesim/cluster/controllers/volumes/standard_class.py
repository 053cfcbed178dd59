"""The default storage class `standard` of every simulated cluster. Its driver provisions immediately and needs no
attaching.

Its uid is fixed, so that creating it changes no other uid.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.cluster.store.store import Store

PROVISIONER = "storage.kubesim.dev"
_UID = "5a4c0000-0000-4000-8000-00000000000{}"

STANDARD_CLASS: Mapping[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "standard",
        "uid": _UID.format(1),
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": PROVISIONER,
    "reclaimPolicy": "Delete",
    "allowVolumeExpansion": True,
    "volumeBindingMode": "Immediate",
}
_DRIVER: Mapping[str, Any] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": PROVISIONER, "uid": _UID.format(2)},
    "spec": {
        "attachRequired": False,
        "podInfoOnMount": False,
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
}


def create_standard_class(store: Store) -> None:
    for manifest in (STANDARD_CLASS, _DRIVER):
        store.create(ApiObject.from_json(manifest))


def remove_standard_class(store: Store) -> None:
    store.remove(STANDARD_CLASS["kind"], "", STANDARD_CLASS["metadata"]["name"])


def yield_to_user_class(store: Store, kind: str, name: str) -> None:
    """Remove the generated class when a user creates one of the same name."""
    if kind != STANDARD_CLASS["kind"]:
        return
    known = store.find(kind, "", name)
    if known is not None and known.metadata.uid == STANDARD_CLASS["metadata"]["uid"]:
        store.remove(kind, "", name)
