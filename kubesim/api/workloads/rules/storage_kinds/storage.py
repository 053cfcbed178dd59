"""Storage classes, CSIDrivers and CSINodes: defaults and validation; also the table of all storage rules.

Mirrors: pkg/apis/storage/v1/defaults.go; pkg/apis/storage/validation
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.api.workloads.rules.storage_kinds.claims import (
    IMMUTABLE,
    default_claim,
    prepare_claim,
    validate_claim,
    validate_claim_update,
)
from kubesim.api.workloads.rules.storage_kinds.persistent_volumes import (
    default_volume,
    prepare_volume,
    validate_volume,
    validate_volume_update,
)

_DRIVER_MAX = 63
_PARAMETERS_MAX, _PARAMETERS_SIZE_MAX = 512, 256 * 1024
_FS_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES = ("Ephemeral", "Persistent")
_DRIVER_DEFAULTS: Mapping[str, object] = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "requiresRepublish": False,
    "seLinuxMount": False,
}


def _immutable(errors: Errors, new: JsonObject, old: JsonObject, *fields: str) -> None:
    for field in fields:
        if (new.get(field) or None) != (old.get(field) or None):
            errors.invalid(field, new.get(field), IMMUTABLE)


# -- storage classes ------------------------------------------------------------------------------------------------


def _default_class(storage_class: JsonObject) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def _validate_provisioner(errors: Errors, name: str, parameters: Mapping[str, str], path: str) -> None:
    """Validate the driver of a class, and the parameters for it."""
    if not name:
        errors.required(path)
    else:
        errors.all_invalid(path, name.lower(), formats.label_key(name.lower()))
    if len(parameters) > _PARAMETERS_MAX:
        errors.too_long("parameters", _PARAMETERS_MAX)
        return
    if "" in parameters:
        errors.invalid("parameters", "", "field can not be empty.")
    if sum(formats.size(key) + formats.size(value) for key, value in parameters.items()) > _PARAMETERS_SIZE_MAX:
        errors.too_long("parameters", _PARAMETERS_SIZE_MAX)


def _validate_class(errors: Errors, storage_class: JsonObject) -> None:
    parameters = storage_class.get("parameters") or {}
    _validate_provisioner(errors, storage_class.get("provisioner", ""), parameters, "provisioner")
    policy, mode = storage_class.get("reclaimPolicy"), storage_class.get("volumeBindingMode")
    if policy:
        errors.unless_one_of("reclaimPolicy", policy, ("Delete", "Retain"))
    errors.unless_one_of("volumeBindingMode", mode or "", ("Immediate", "WaitForFirstConsumer"))
    seen: list[JsonObject] = []
    for n, term in enumerate(storage_class.get("allowedTopologies") or ()):
        labels = _validate_topology(errors, term, f"allowedTopologies[{n}]")
        if labels in seen:
            errors.duplicate(f"allowedTopologies[{n}].matchLabelExpressions", "")
        seen.append(labels)


def _validate_topology(errors: Errors, term: JsonObject, path: str) -> JsonObject:
    labels: JsonObject = {}
    for n, requirement in enumerate(term.get("matchLabelExpressions") or ()):
        where, key = f"{path}.matchLabelExpressions[{n}]", requirement.get("key", "")
        values = requirement.get("values") or []
        if not values:
            errors.required(f"{where}.values")
        for m, value in enumerate(values):
            if value in values[:m]:
                errors.duplicate(f"{where}.values[{m}]", value)
        errors.all_invalid(f"{where}.key", key, formats.label_key(key))
        if key in labels:
            errors.duplicate(f"{where}.key", key)
        labels[key] = set(values)
    return labels


def _validate_class_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    _immutable(errors, new, old, "parameters", "provisioner", "reclaimPolicy", "volumeBindingMode")


def _validate_attributes(errors: Errors, attributes_class: JsonObject) -> None:
    parameters = attributes_class.get("parameters") or {}
    _validate_provisioner(errors, attributes_class.get("driverName", ""), parameters, "driverName")
    if not parameters:
        errors.required("parameters", "must contain at least one key/value pair")


def _validate_attributes_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    for field in ("driverName", "parameters"):
        if (new.get(field) or None) != (old.get(field) or None):
            errors.forbidden(field, f"updates to {field} are forbidden.")


# -- drivers and nodes ----------------------------------------------------------------------------------------------


def _default_driver(driver: JsonObject) -> None:
    spec = driver.setdefault("spec", {})
    for name, value in _DRIVER_DEFAULTS.items():
        spec.setdefault(name, value)
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _validate_driver(errors: Errors, driver: JsonObject) -> None:
    spec = driver.get("spec") or {}
    errors.unless_one_of("spec.fsGroupPolicy", spec.get("fsGroupPolicy", ""), _FS_GROUP_POLICIES)
    for mode in spec.get("volumeLifecycleModes") or ():
        errors.unless_one_of("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES)
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        path = "spec.nodeAllocatableUpdatePeriodSeconds"
        errors.invalid(path, period, "must be greater than or equal to 10 seconds")


def _validate_driver_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if spec.get("attachRequired") != before.get("attachRequired"):
        errors.invalid("spec.attachedRequired", spec.get("attachRequired"), IMMUTABLE)
    if spec.get("volumeLifecycleModes") != before.get("volumeLifecycleModes"):
        errors.invalid("spec.volumeLifecycleModes", spec.get("volumeLifecycleModes"), IMMUTABLE)


def _validate_driver_name(errors: Errors, name: str, path: str) -> None:
    if not name:
        errors.required(path)
        return
    if formats.size(name) > _DRIVER_MAX:
        errors.too_long(path, _DRIVER_MAX)
    errors.all_invalid(path, name, formats.dns1123_subdomain(name.lower()))


def _validate_node(errors: Errors, node: JsonObject) -> None:
    seen: list[str] = []
    for n, driver in enumerate((node.get("spec") or {}).get("drivers") or ()):
        path, name = f"spec.drivers[{n}]", driver.get("name", "")
        _validate_driver_name(errors, name, f"{path}.name")
        if not driver.get("nodeID"):
            errors.required(f"{path}.nodeID")
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None:
            errors.nonnegative(f"{path}.allocatable.count", count)
        if name in seen:
            errors.duplicate(f"{path}.name", name)
        seen.append(name)
        for key in driver.get("topologyKeys") or ():
            errors.all_invalid(path, key, formats.label_key(key))


def _validate_attachment(errors: Errors, attachment: JsonObject) -> None:
    spec = attachment.get("spec") or {}
    _validate_driver_name(errors, spec.get("attacher", ""), "spec.attacher")
    source = spec.get("source") or {}
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        errors.required("spec.source", detail)
    elif inline is not None and name is not None:
        errors.forbidden("spec.source", detail)
    elif name == "":
        errors.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    node = spec.get("nodeName", "")
    errors.all_invalid("spec.nodeName", node, formats.dns1123_subdomain(node))


def _validate_attachment_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    _immutable(errors, new, old, "spec")


RULES: Mapping[str, KindRules] = {
    "PersistentVolumeClaim": KindRules(default_claim, prepare_claim, validate_claim, validate_claim_update, False),
    "PersistentVolume": KindRules(default_volume, prepare_volume, validate_volume, validate_volume_update, False),
    "StorageClass": KindRules(
        _default_class, validate=_validate_class, validate_update=_validate_class_update, has_generation=False
    ),
    "VolumeAttributesClass": KindRules(
        validate=_validate_attributes, validate_update=_validate_attributes_update, has_generation=False
    ),
    "CSIDriver": KindRules(
        _default_driver, validate=_validate_driver, validate_update=_validate_driver_update, has_generation=False
    ),
    "CSINode": KindRules(validate=_validate_node, has_generation=False),
    "VolumeAttachment": KindRules(
        validate=_validate_attachment, validate_update=_validate_attachment_update, has_generation=False
    ),
}
