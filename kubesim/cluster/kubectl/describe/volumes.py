"""Describes the volumes of a pod or a template.

Mirrors: kubectl/pkg/describe describe.go describeVolumes; removed volume plugins are omitted
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.cluster.kubectl.describe.page import DescriptionPage
from kubesim.cluster.tables.table import JsonObject, dig
from kubesim.cluster.tables.texts import NONE, UNSET

_Fields = list[tuple[str, object]]


def describe_volumes(page: DescriptionPage, volumes: Sequence[JsonObject], space: str = "") -> None:
    if not volumes:
        page.field(f"{space}Volumes", NONE)
        return
    page.line(f"{space}Volumes:")
    for volume in volumes:
        page.line(f"{' ' if space else ''}{volume['name']}:", 1)
        kind = source_kind(volume)
        if kind is None:
            page.line(NONE, 1)
            continue
        describe_source(page, kind, volume[kind])


def describe_source(page: DescriptionPage, kind: str, source: JsonObject) -> None:
    text, fields = _KINDS[kind]
    page.field("Type", text, 2)
    for name, value in fields(source):
        page.field(name, value, 2)
    for line in _items(source) if kind == "downwardAPI" else ():
        page.line(line, 3)


def source_kind(owner: JsonObject) -> str | None:
    """The type of a volume source, of a pod's volume or a PersistentVolume."""
    return next((kind for kind in _KINDS if owner.get(kind) is not None), None)


def _word(value: object) -> str:
    return str(bool(value)).lower()


def _host_path(source: JsonObject) -> _Fields:
    return [("Path", source.get("path", "")), ("HostPathType", source.get("type", NONE))]


def _empty_dir(source: JsonObject) -> _Fields:
    limit = source.get("sizeLimit")
    return [("Medium", source.get("medium", "")), ("SizeLimit", limit if limit not in (None, "0") else UNSET)]


def _secret(source: JsonObject) -> _Fields:
    return [("SecretName", source.get("secretName", "")), ("Optional", _word(source.get("optional")))]


def _config_map(source: JsonObject) -> _Fields:
    return [("Name", source.get("name", "")), ("Optional", _word(source.get("optional")))]


def _projected(source: JsonObject) -> _Fields:
    fields: _Fields = []
    for each in source.get("sources") or ():
        for kind, name in (("secret", "SecretName"), ("configMap", "ConfigMapName")):
            if (found := each.get(kind)) is not None:
                fields += [(name, found.get("name", "")), ("Optional", _word(found.get("optional")))]
        if each.get("downwardAPI") is not None:
            fields.append(("DownwardAPI", "true"))
        if (token := each.get("serviceAccountToken")) is not None:
            fields.append(("TokenExpirationSeconds", token.get("expirationSeconds", 3600)))
    return fields


def _claim(source: JsonObject) -> _Fields:
    return [("ClaimName", source.get("claimName", "")), ("ReadOnly", _word(source.get("readOnly")))]


def _nfs(source: JsonObject) -> _Fields:
    read_only = _word(source.get("readOnly"))
    return [("Server", source.get("server", "")), ("Path", source.get("path", "")), ("ReadOnly", read_only)]


def _ephemeral(source: JsonObject) -> _Fields:
    spec = dig(source, "volumeClaimTemplate.spec", {})
    return [
        ("StorageClass", spec.get("storageClassName", "")),
        ("Volume", spec.get("volumeName", "")),
        ("Capacity", ""),
        ("Access Modes", ""),
        ("VolumeMode", spec.get("volumeMode", "Filesystem")),
    ]


def _csi(source: JsonObject) -> _Fields:
    """A CSI source; only a PersistentVolume's has a volume handle."""
    attributes = [f"{key}={value}" for key, value in sorted((source.get("volumeAttributes") or {}).items())]
    handle = [("VolumeHandle", source["volumeHandle"])] if "volumeHandle" in source else []
    return [
        ("Driver", source.get("driver", "")),
        ("FSType", source.get("fsType", "")),
        *handle,
        ("ReadOnly", _word(source.get("readOnly"))),
        ("VolumeAttributes", "\n        \t".join(attributes) or NONE),
    ]


def _image(source: JsonObject) -> _Fields:
    return [("Reference", source.get("reference", "")), ("PullPolicy", source.get("pullPolicy", ""))]


def _items(source: JsonObject) -> list[str]:
    items = source.get("items") or ()
    return [
        f"{dig(each, 'fieldRef.fieldPath') or dig(each, 'resourceFieldRef.resource', '')} -> {each.get('path', '')}"
        for each in items
    ]


_KINDS: dict[str, tuple[str, Callable[[JsonObject], _Fields]]] = {
    "hostPath": ("HostPath (bare host directory volume)", _host_path),
    "emptyDir": ("EmptyDir (a temporary directory that shares a pod's lifetime)", _empty_dir),
    "secret": ("Secret (a volume populated by a Secret)", _secret),
    "configMap": ("ConfigMap (a volume populated by a ConfigMap)", _config_map),
    "local": (
        "LocalVolume (a persistent volume backed by local storage on a node)",
        lambda source: [("Path", source.get("path", ""))],
    ),
    "nfs": ("NFS (an NFS mount that lasts the lifetime of a pod)", _nfs),
    "persistentVolumeClaim": (
        "PersistentVolumeClaim (a reference to a PersistentVolumeClaim in the same namespace)",
        _claim,
    ),
    "ephemeral": (
        "EphemeralVolume (an inline specification for a volume that gets created and deleted with the pod)",
        _ephemeral,
    ),
    "downwardAPI": (
        "DownwardAPI (a volume populated by information about the pod)\n    Items:",
        lambda source: [],
    ),
    "projected": ("Projected (a volume that contains injected data from multiple sources)", _projected),
    "csi": ("CSI (a Container Storage Interface (CSI) volume source)", _csi),
    "image": ("Image (a container image or OCI artifact)", _image),
}
