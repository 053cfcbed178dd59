"""Validation rules of each volume source except images.

Mirrors: pkg/apis/core/validation validateHostPathVolumeSource, validateNFSVolumeSource and their siblings
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kubesim.api.quantity import quantity
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, FieldError, JsonObject
from kubesim.api.validation.volumes.claim_template import validate_claim_template
from kubesim.api.validation.volumes.paths import (
    validate_file_mode,
    validate_key_to_path,
    validate_local_descending_path,
    validate_no_backsteps,
)
from kubesim.api.validation.volumes.projected import validate_downward_api, validate_projected

SourceRule = Callable[[Errors, JsonObject, str], None]

_HOST_PATH_TYPES = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)\Z", re.ASCII),
    "eui": re.compile(r"^eui.[A-Za-z0-9]{16}\Z"),
    "naa": re.compile(r"^naa.[A-Za-z0-9]{32}\Z"),
}
_MANAGED_DISK_URI = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK_URI = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_DRIVER_MAX = 63
_TENANT_MAX = 64


def _required(*names: str) -> SourceRule:
    def validate(errors: Errors, source: JsonObject, path: str) -> None:
        for name in names:
            if not source.get(name):
                errors.required(f"{path}.{name}")

    return validate


def _all(*rules: SourceRule) -> SourceRule:
    def validate(errors: Errors, source: JsonObject, path: str) -> None:
        for rule in rules:
            rule(errors, source, path)

    return validate


def _empty_dir(errors: Errors, source: JsonObject, path: str) -> None:
    if source.get("sizeLimit") is not None and quantity(source["sizeLimit"]).sign < 0:
        errors.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(errors: Errors, source: JsonObject, path: str) -> None:
    if not source.get("path"):
        errors.required(f"{path}.path")
        return
    validate_no_backsteps(errors, source["path"], f"{path}.path")
    errors.unless_one_of(f"{path}.type", source.get("type", ""), _HOST_PATH_TYPES)


def _directory(errors: Errors, source: JsonObject, path: str) -> None:
    validate_local_descending_path(errors, source.get("directory", ""), f"{path}.directory")


def _partition(errors: Errors, source: JsonObject, path: str) -> None:
    partition = source.get("partition", 0)
    if not 0 <= partition <= 255:
        errors.invalid(f"{path}.partition", partition, formats.range_error(1, 255))


def _file_items(errors: Errors, source: JsonObject, path: str) -> None:
    validate_file_mode(errors, source.get("defaultMode"), f"{path}.defaultMode")
    for n, item in enumerate(source.get("items") or ()):
        validate_key_to_path(errors, item, f"{path}.items[{n}]")


def _absolute_path(errors: Errors, source: JsonObject, path: str) -> None:
    if not source.get("path", "").startswith("/"):
        errors.invalid(f"{path}.path", source.get("path", ""), "must be an absolute path")


def _iscsi(errors: Errors, source: JsonObject, path: str) -> None:
    if source.get("iqn"):
        errors.all_invalid(f"{path}.iqn", source["iqn"], _iscsi_name(source["iqn"]))
    lun = source.get("lun", 0)
    if not 0 <= lun <= 255:
        errors.invalid(f"{path}.lun", lun, formats.range_error(0, 255))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.required(f"{path}.secretRef")
    if source.get("initiatorName") is not None:
        errors.all_invalid(f"{path}.initiatorname", source["initiatorName"], _iscsi_name(source["initiatorName"]))


def _iscsi_name(name: str) -> list[str]:
    expression = _ISCSI_NAMES.get(name[:3])
    if expression is None:
        return ["must be valid format starting with iqn, eui, or naa"]
    return [] if expression.search(name) else ["must be valid format"]


def _flocker(errors: Errors, source: JsonObject, path: str) -> None:
    name, uuid = source.get("datasetName", ""), source.get("datasetUUID", "")
    if not name and not uuid:
        errors.required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        errors.invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        errors.invalid(f"{path}.datasetName", name, "must not contain '/'")


def _secret_ref_name(errors: Errors, source: JsonObject, path: str) -> None:
    if source.get("secretRef") is not None and not source["secretRef"].get("name"):
        errors.required(f"{path}.secretRef.name")


def _quobyte(errors: Errors, source: JsonObject, path: str) -> None:
    registry, pairs = source.get("registry", ""), "must be a host:port pair or multiple pairs separated by commas"
    if not registry:
        errors.required(f"{path}.registry", pairs)
    elif formats.size(source.get("tenant", "")) > _TENANT_MAX:
        errors.required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not _is_host_port(pair):
                errors.invalid(f"{path}.registry", registry, pairs)
    if not source.get("volume"):
        errors.required(f"{path}.volume")


def _is_host_port(text: str) -> bool:
    """Whether the text is `host:port`, `:port` or `[host]:port`, as accepted by Go's net.SplitHostPort."""
    return bool(re.fullmatch(r"\[[^\[\]]*\]:[^\[\]:]*|[^\[\]:]*:[^\[\]:]*", text))


def _fibre_channel(errors: Errors, source: JsonObject, path: str) -> None:
    targets, wwids, lun = source.get("targetWWNs") or [], source.get("wwids") or [], source.get("lun")
    if not targets and not wwids:
        errors.required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both")
    if targets and wwids:
        errors.invalid(f"{path}.targetWWNs", targets, "targetWWNs and wwids can not be specified simultaneously")
    if not targets:
        return
    if lun is None:
        errors.required(f"{path}.lun", "lun is required if targetWWNs is specified")
    elif not 0 <= lun <= 255:
        errors.invalid(f"{path}.lun", lun, formats.range_error(0, 255))


def _flex_options(errors: Errors, source: JsonObject, path: str) -> None:
    for key in source.get("options") or ():
        namespace = f".{key.partition('/')[0].lower()}"
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            errors.invalid(f"{path}.options[{key}]", key, detail)


def _azure_disk(errors: Errors, source: JsonObject, path: str) -> None:
    """Validate an Azure disk after defaulting."""
    caching, kind, uri = source.get("cachingMode", ""), source.get("kind", ""), source.get("diskURI", "")
    errors.unless_one_of(f"{path}.cachingMode", caching, ("None", "ReadOnly", "ReadWrite"))
    errors.unless_one_of(f"{path}.kind", kind, ("Dedicated", "Managed", "Shared"))
    expected, pattern = ("/subscriptions/", _MANAGED_DISK_URI) if kind == "Managed" else ("https://", _BLOB_DISK_URI)
    if not uri.startswith(expected):
        errors.append(FieldError("Unsupported value", f"{path}.diskURI", uri, f'supported values: "{pattern}"'))


def _storage_os(errors: Errors, source: JsonObject, path: str) -> None:
    name, namespace = source.get("volumeName", ""), source.get("volumeNamespace", "")
    if not name:
        errors.required(f"{path}.volumeName")
    else:
        errors.all_invalid(f"{path}.volumeName", name, formats.dns1123_label(name))
    if namespace:
        errors.all_invalid(f"{path}.volumeNamespace", namespace, formats.dns1123_label(namespace))


def _csi(errors: Errors, source: JsonObject, path: str) -> None:
    driver = source.get("driver", "")
    if not driver:
        errors.required(f"{path}.driver")
    else:
        if formats.size(driver) > _DRIVER_MAX:
            errors.too_long(f"{path}.driver", _DRIVER_MAX)
        errors.all_invalid(f"{path}.driver", driver, formats.dns1123_subdomain(driver.lower()))
    secret = source.get("nodePublishSecretRef")
    if secret is None:
        return
    if not secret.get("name"):
        errors.required(f"{path}.nodePublishSecretRef.name")
    else:
        errors.all_invalid(f"{path}.name", secret["name"], formats.dns1123_subdomain(secret["name"]))


def _ephemeral(errors: Errors, source: JsonObject, path: str) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.required(f"{path}.volumeClaimTemplate")
    else:
        validate_claim_template(errors, template, f"{path}.volumeClaimTemplate")


# In upstream's order; of several sources, only the first is validated.
SOURCES: Mapping[str, SourceRule] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _all(_required("repository"), _directory),
    "gcePersistentDisk": _all(_required("pdName"), _partition),
    "awsElasticBlockStore": _all(_required("volumeID"), _partition),
    "secret": _all(_required("secretName"), _file_items),
    "nfs": _all(_required("server", "path"), _absolute_path),
    "iscsi": _all(_required("targetPortal", "iqn"), _iscsi),
    "glusterfs": _required("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": _required("claimName"),
    "rbd": _required("monitors", "image"),
    "cinder": _all(_required("volumeID"), _secret_ref_name),
    "cephfs": _required("monitors"),
    "quobyte": _quobyte,
    "downwardAPI": validate_downward_api,
    "fc": _fibre_channel,
    "flexVolume": _all(_required("driver"), _flex_options),
    "configMap": _all(_required("name"), _file_items),
    "azureFile": _required("secretName", "shareName"),
    "vsphereVolume": _required("volumePath"),
    "photonPersistentDisk": _required("pdID"),
    "portworxVolume": _required("volumeID"),
    "azureDisk": _all(_required("diskName", "diskURI"), _azure_disk),
    "storageos": _all(_storage_os, _secret_ref_name),
    "projected": validate_projected,
    "scaleIO": _required("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
}
