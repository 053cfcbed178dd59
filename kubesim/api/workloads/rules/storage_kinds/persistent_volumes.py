"""PersistentVolumes: defaults, validation and immutable fields.

Mirrors: pkg/apis/core/v1/defaults.go SetDefaults_PersistentVolume; pkg/apis/core/validation ValidatePersistentVolume,
ValidatePersistentVolumeSpec, ValidatePersistentVolumeUpdate; pkg/registry/core/persistentvolume
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from kubesim.api.quantity import quantity
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.scheduling import validate_node_selector
from kubesim.api.validation.volumes.paths import validate_no_backsteps
from kubesim.api.validation.volumes.volume_sources import SOURCES, SourceRule
from kubesim.api.workloads.rules.storage_kinds.claims import IMMUTABLE, difference

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_POLICIES = ("Delete", "Recycle", "Retain")
_SECRETS = ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef")
_ONE_TYPE = "may not specify more than 1 volume type"


def default_volume(volume: JsonObject) -> None:
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    for name in ("iscsi", "rbd", "scaleIO", "azureDisk", "hostPath"):
        if spec.get(name) is not None:
            for field, value in _SOURCE_DEFAULTS[name].items():
                spec[name].setdefault(field, value)


_SOURCE_DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "hostPath": {"type": ""},
}


def prepare_volume(volume: JsonObject) -> None:
    volume["status"] = {"phase": "Pending"}


def validate_volume(errors: Errors, volume: JsonObject) -> None:
    spec = volume.get("spec") or {}
    _validate_modes(errors, spec.get("accessModes") or ())
    _validate_capacity(errors, spec.get("capacity") or {})
    policy = spec.get("persistentVolumeReclaimPolicy")
    if policy:
        errors.unless_one_of("spec.persistentVolumeReclaimPolicy", policy, _POLICIES)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        if affinity.get("required") is None:
            errors.required("spec.nodeAffinity.required", "must specify required node constraints")
        else:
            validate_node_selector(errors, affinity["required"], "spec.nodeAffinity.required")
    _validate_source(errors, spec)
    if policy == "Recycle" and posixpath.normpath((spec.get("hostPath") or {}).get("path") or ".") == "/":
        detail = "may not be 'recycle' for a hostPath mount of '/'"
        errors.forbidden("spec.persistentVolumeReclaimPolicy", detail)
    name = spec.get("storageClassName")
    if name:
        errors.all_invalid("spec.storageClassName", name, formats.dns1123_subdomain(name))
    if spec.get("volumeMode") is not None:
        errors.unless_one_of("spec.volumeMode", spec["volumeMode"], ("Block", "Filesystem"))
    _validate_attributes_class(errors, spec)


def _validate_modes(errors: Errors, modes: tuple[str, ...]) -> None:
    path = "spec.accessModes"
    if not modes:
        errors.required(path)
    for mode in modes:
        errors.unless_one_of(path, mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in _ACCESS_MODES[:3] for mode in modes):
        errors.forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _validate_capacity(errors: Errors, capacity: JsonObject) -> None:
    if not capacity:
        errors.required("spec.capacity")
    if "storage" not in capacity or len(capacity) > 1:
        shown = "map[" + " ".join(f"{name}:{{...}}" for name in sorted(capacity)) + "]"
        errors.unsupported("spec.capacity", shown, ("storage",))
    for name, amount in sorted(capacity.items()):
        found = quantity(amount)
        if found.sign < 0:
            errors.invalid(f"spec.capacity[{name}]", str(found), "must be a valid resource quantity")
        if found.sign <= 0:
            errors.invalid(f"spec.capacity[{name}]", str(found), "must be greater than zero")


def _validate_attributes_class(errors: Errors, spec: JsonObject) -> None:
    name, path = spec.get("volumeAttributesClassName"), "spec.volumeAttributesClassName"
    if name is None:
        return
    if not name:
        errors.required(path, "an empty string is disallowed")
    else:
        errors.all_invalid(path, name, formats.dns1123_subdomain(name))
    if spec.get("csi") is None:
        errors.required("spec.csi", "has to be specified when using volumeAttributesClassName")


# -- the source -----------------------------------------------------------------------------------------------------


def _local(errors: Errors, source: JsonObject, path: str) -> None:
    if not source.get("path"):
        errors.required(f"{path}.path")
    else:
        validate_no_backsteps(errors, source["path"], f"{path}.path")


def _csi(errors: Errors, source: JsonObject, path: str) -> None:
    SOURCES["csi"](errors, {"driver": source.get("driver", "")}, path)
    if not source.get("volumeHandle"):
        errors.required(f"{path}.volumeHandle")
    for name in _SECRETS:
        secret = source.get(name)
        if secret is not None:
            for field in ("name", "namespace"):
                if not secret.get(field):
                    errors.required(f"{path}.{name}.{field}")


def _nothing(*_: object) -> None: ...


_ORDER = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip
_RULES: Mapping[str, SourceRule] = {"local": _local, "csi": _csi, "storageos": _nothing}
_REFUSED_AS = {"cephfs": "cephFS"}
_LOOKED_INTO_AS = {"gcePersistentDisk": "persistentDisk"}


def _validate_source(errors: Errors, spec: JsonObject) -> None:
    found = ""
    for name in _ORDER:
        source = spec.get(name)
        if source is None:
            continue
        if found and name != "flexVolume":
            errors.forbidden(f"spec.{_REFUSED_AS.get(name, name)}", _ONE_TYPE)
            continue
        found = name
        rule = _RULES.get(name) or SOURCES[name]
        rule(errors, source, f"spec.{_LOOKED_INTO_AS.get(name, name)}")
        if name == "local" and spec.get("nodeAffinity") is None:
            errors.required("spec.nodeAffinity", "Local volume requires node affinity")
    if not found:
        errors.required("spec", "must specify a volume type")


# -- updates --------------------------------------------------------------------------------------------------------


def validate_volume_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    source, had = _source(spec), _source(before)
    if had.get("csi") and "controllerExpandSecretRef" not in had["csi"] and source.get("csi"):
        source["csi"] = {name: v for name, v in source["csi"].items() if name != "controllerExpandSecretRef"}
    if source != had:
        detail = "spec.persistentvolumesource is immutable after creation\n" + difference(had, source)
        errors.forbidden("spec.persistentvolumesource", detail)
    if spec.get("volumeMode") != before.get("volumeMode"):
        errors.invalid("volumeMode", spec.get("volumeMode"), IMMUTABLE)
    if before.get("nodeAffinity") is not None and spec.get("nodeAffinity") != before["nodeAffinity"]:
        detail = f"{IMMUTABLE}, except for updating from beta label to GA"
        errors.invalid("nodeAffinity", spec.get("nodeAffinity"), detail)
    if before.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        errors.forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")


def _source(spec: JsonObject) -> JsonObject:
    return {name: spec[name] for name in _ORDER if spec.get(name) is not None}
