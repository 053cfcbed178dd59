"""The volumes of a pod: names, and exactly one source each.

Mirrors: pkg/apis/core/validation ValidateVolumes, validateVolumeSource
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.gotext import quoted
from kubesim.api.quantity import quantity
from kubesim.api.validation import formats
from kubesim.api.validation.claim_template import validate_claim_template
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.options import Options
from kubesim.api.validation.policies import validate_pull_policy
from kubesim.api.validation.projected import validate_downward_api, validate_projected
from kubesim.api.validation.volume_sources import SOURCES

Volumes = dict[str, JsonObject]

_ISCSI_NAME_MAX = 64

# In the order in which upstream looks; where two are given, all but the first are refused unread.
_ORDER = (
    "emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker "
    "persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc flexVolume configMap azureFile vsphereVolume "
    "photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi ephemeral image"
)
_PLACE = {kind: place for place, kind in enumerate(_ORDER.split())}
# Upstream's spelling in two of its messages.
_REFUSED_AS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_LOOKED_INTO_AS = {"gcePersistentDisk": "persistentDisk"}


def validate_volumes(errors: Errors, volumes: list[JsonObject], pod_name: str, path: str, options: Options) -> Volumes:
    """The volumes that mounts may refer to: those without a fault, by name."""
    good: Volumes = {}
    created_claims = {
        f"{pod_name}-{volume.get('name', '')}" for volume in volumes if pod_name and volume.get("ephemeral") is not None
    }
    for n, volume in enumerate(volumes):
        where, name = f"{path}[{n}]", volume.get("name", "")
        found = Errors()
        _validate_source(found, volume, where, pod_name, options)
        if not name:
            found.required(f"{where}.name")
        else:
            found.all_invalid(f"{where}.name", name, formats.dns1123_label(name))
        if name in good:
            found.duplicate(f"{where}.name", name)
        if found:
            errors.extend(found)
        else:
            good[name] = volume
        claim_name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim_name in created_claims:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.invalid(f"{where}.persistentVolumeClaim.claimName", claim_name, detail)
    return good


def _validate_source(errors: Errors, volume: JsonObject, path: str, pod_name: str, options: Options) -> None:
    found = False
    for kind in sorted(_PLACE.keys() & volume.keys(), key=_PLACE.__getitem__):
        source = volume[kind]
        if source is None:
            continue
        if found:
            errors.forbidden(f"{path}.{_REFUSED_AS.get(kind, kind)}", "may not specify more than 1 volume type")
        else:
            found = True
            where = f"{path}.{_LOOKED_INTO_AS.get(kind, kind)}"
            _validate_one(errors, kind, source, where, options)
            if kind == "ephemeral":
                _validate_claim_name(errors, volume.get("name", ""), pod_name, path)
        if kind == "iscsi":
            _validate_iscsi_name(errors, volume.get("name", ""), source, path)
    if not found:
        errors.required(path, "must specify a volume type")


def _validate_one(errors: Errors, kind: str, source: JsonObject, path: str, options: Options) -> None:
    special: dict[str, Callable[[Errors, JsonObject, str], None]] = {
        "emptyDir": _validate_empty_dir,
        "downwardAPI": validate_downward_api,
        "projected": validate_projected,
        "ephemeral": _validate_ephemeral,
    }
    if kind == "image":
        if options.resource_is_pod and not source.get("reference"):
            errors.required(f"{path}.reference")
        validate_pull_policy(errors, source.get("pullPolicy", ""), f"{path}.pullPolicy")
    else:
        (special.get(kind) or SOURCES[kind])(errors, source, path)


def _validate_empty_dir(errors: Errors, source: JsonObject, path: str) -> None:
    if source.get("sizeLimit") is not None and quantity(source["sizeLimit"]).sign < 0:
        errors.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _validate_ephemeral(errors: Errors, source: JsonObject, path: str) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        errors.required(f"{path}.volumeClaimTemplate")
    else:
        validate_claim_template(errors, template, f"{path}.volumeClaimTemplate")


def _validate_claim_name(errors: Errors, volume_name: str, pod_name: str, path: str) -> None:
    """The claim that will be made for an ephemeral volume is named after pod and volume."""
    if not pod_name or not volume_name:
        return
    claim_name = f"{pod_name}-{volume_name}"
    for complaint in formats.dns1123_subdomain(claim_name):
        errors.invalid(f"{path}.name", volume_name, f"PVC name {quoted(claim_name)}: {complaint}")


def _validate_iscsi_name(errors: Errors, name: str, source: JsonObject, path: str) -> None:
    if source.get("initiatorName") is None:
        return
    if formats.size(f"{name}:{source.get('targetPortal', '')}") > _ISCSI_NAME_MAX:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        errors.invalid(f"{path}.name", name, detail)
