"""Volumes of a pod: names, and exactly one source for each.

Mirrors: pkg/apis/core/validation ValidateVolumes, validateVolumeSource
"""

from __future__ import annotations

from kubesim.api.validation import formats
from kubesim.api.validation.containers.policies import validate_pull_policy
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.options import PodValidationOptions
from kubesim.api.validation.volumes.volume_sources import SOURCES
from kubesim.golang.text import quoted

Volumes = dict[str, JsonObject]

_ISCSI_NAME_MAX = 64

# In upstream's order; of several sources, only the first is validated.
_ORDER = {kind: position for position, kind in enumerate((*SOURCES, "image"))}
# Upstream's spelling of two names in its messages.
_REFUSED_AS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
_LOOKED_INTO_AS = {"gcePersistentDisk": "persistentDisk"}


def validate_volumes(
    errors: Errors, volumes: list[JsonObject], pod_name: str, path: str, options: PodValidationOptions
) -> Volumes:
    """Validate the volumes. Returns those without errors by name, to which mounts may refer."""
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


def _validate_source(
    errors: Errors, volume: JsonObject, path: str, pod_name: str, options: PodValidationOptions
) -> None:
    """Check that there is only one source. Defaulting has turned a volume without a source into an emptyDir."""
    found = False
    for kind in sorted(_ORDER.keys() & volume.keys(), key=_ORDER.__getitem__):
        source = volume[kind]
        if found:
            errors.forbidden(f"{path}.{_REFUSED_AS.get(kind, kind)}", "may not specify more than 1 volume type")
        else:
            found = True
            if kind == "image":
                _validate_image(errors, source, f"{path}.image", options)
            else:
                SOURCES[kind](errors, source, f"{path}.{_LOOKED_INTO_AS.get(kind, kind)}")
            if kind == "ephemeral":
                _validate_claim_name(errors, volume.get("name", ""), pod_name, path)
        if kind == "iscsi":
            _validate_iscsi_name(errors, volume.get("name", ""), source, path)


def _validate_image(errors: Errors, source: JsonObject, path: str, options: PodValidationOptions) -> None:
    if options.resource_is_pod and not source.get("reference"):
        errors.required(f"{path}.reference")
    validate_pull_policy(errors, source.get("pullPolicy", ""), f"{path}.pullPolicy")


def _validate_claim_name(errors: Errors, volume_name: str, pod_name: str, path: str) -> None:
    """Check the name of an ephemeral volume's claim, which consists of the names of pod and volume."""
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
