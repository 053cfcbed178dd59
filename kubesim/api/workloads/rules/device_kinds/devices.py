"""Device classes and resource slices; all rules of resource.k8s.io.

Mirrors: pkg/apis/resource/v1/defaults.go; pkg/apis/resource/validation ValidateDeviceClass, ValidateResourceSlice
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kubesim.api.names import is_extended_resource_name
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject
from kubesim.api.validation.scheduling import validate_node_selector
from kubesim.api.workloads.rules.device_kinds.claims import (
    default_claim,
    default_template,
    validate_claim,
    validate_claim_status,
    validate_claim_update,
    validate_template,
    validate_template_update,
)
from kubesim.api.workloads.rules.device_kinds.parts import (
    CONFIG_MAX,
    IMMUTABLE,
    TAINT_EFFECTS,
    printed,
    validate_binding_conditions,
    validate_configuration,
    validate_driver_name,
    validate_label,
    validate_pool_name,
    validate_qualified_name,
    validate_selectors,
    validate_set,
)
from kubesim.api.workloads.rules.kind_rules import KindRules

_DEVICES_MAX, _ADVANCED_DEVICES_MAX = 128, 64
_ATTRIBUTES_MAX, _VALUE_MAX, _TAINTS_MAX = 32, 64, 16
_COUNTER_SETS_MAX, _COUNTERS_MAX, _CONSUMPTIONS_MAX = 8, 32, 2
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?"
)
_NODES = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
_DEVICE_NODES = (
    "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true "
    "in the ResourceSlice spec"
)


# -- device classes -------------------------------------------------------------------------------------------------


def _validate_class(errors: Errors, device_class: JsonObject) -> None:
    spec = device_class.get("spec") or {}
    validate_selectors(errors, spec.get("selectors") or [], "spec.selectors")
    validate_set(errors, spec.get("config") or [], CONFIG_MAX, validate_configuration, "spec.config")
    name = spec.get("extendedResourceName")
    if name is not None and not is_extended_resource_name(name):
        errors.invalid("spec.extendedResourceName", name, "must be a valid extended resource name")


# -- resource slices ------------------------------------------------------------------------------------------------


def _validate_slice(errors: Errors, resource_slice: JsonObject) -> None:
    spec = resource_slice.get("spec") or {}
    pool = spec.get("pool") or {}
    validate_driver_name(errors, spec.get("driver", ""), "spec.driver")
    validate_pool_name(errors, pool.get("name", ""), "spec.pool.name")
    errors.positive("spec.pool.resourceSliceCount", pool.get("resourceSliceCount", 0))
    if pool.get("generation", 0) < 0:
        errors.invalid("spec.pool.generation", pool["generation"], "must be greater than or equal to zero")
    _validate_slice_nodes(errors, spec)
    devices, counters = spec.get("devices"), spec.get("sharedCounters")
    if counters is not None and devices is not None:
        errors.invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")

    def device(errors: Errors, each: JsonObject, path: str) -> None:
        _validate_device(errors, each, path, per_device=bool(spec.get("perDeviceNodeSelection")))

    advanced = any(each.get("taints") or each.get("consumesCounters") for each in devices or ())
    limit = _ADVANCED_DEVICES_MAX if advanced else _DEVICES_MAX
    validate_set(errors, devices or [], limit, device, "spec.devices", lambda each: each.get("name", ""))
    sets = counters or []
    name = "spec.sharedCounters"
    validate_set(errors, sets, _COUNTER_SETS_MAX, _validate_counter_set, name, lambda each: each.get("name", ""))


def _validate_slice_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    name, had = (spec.get("pool") or {}).get("name", ""), (before.get("pool") or {}).get("name", "")
    if name != had:
        errors.invalid("spec.pool.name", name, IMMUTABLE)
    for field in ("driver", "nodeName"):
        if spec.get(field) != before.get(field):
            errors.invalid(f"spec.{field}", spec.get(field), IMMUTABLE)


def _validate_slice_nodes(errors: Errors, spec: JsonObject) -> None:
    given = _given_nodes(errors, spec, "spec", "must be either unset or set to a non-empty string")
    if spec.get("nodeSelector") is not None and len(spec["nodeSelector"].get("nodeSelectorTerms") or ()) != 1:
        terms = spec["nodeSelector"].get("nodeSelectorTerms")
        path = "spec.nodeSelector.nodeSelectorTerms"
        errors.invalid(path, printed("[]NodeSelectorTerm", terms), "must have exactly one node selector term")
    if spec.get("perDeviceNodeSelection"):
        given.append("`perDeviceNodeSelection`")
    elif spec.get("perDeviceNodeSelection") is not None:
        errors.invalid("spec.perDeviceNodeSelection", False, "must be either unset or set to true")
    if not given:
        errors.required("spec", _NODES)
    elif len(given) > 1:
        errors.invalid("spec", f"{{{', '.join(given)}}}", f"{_NODES}, but multiple fields are set")


def _given_nodes(errors: Errors, of: JsonObject, path: str, when_empty: str) -> list[str]:
    """The node fields that are set, of the three alternatives."""
    given = []
    name = of.get("nodeName")
    if name:
        given.append("`nodeName`")
        errors.all_invalid(f"{path}.nodeName", name, formats.dns1123_subdomain(name))
    elif name is not None:
        errors.invalid(f"{path}.nodeName", name, when_empty)
    if of.get("nodeSelector") is not None:
        given.append("`nodeSelector`")
        validate_node_selector(errors, of["nodeSelector"], f"{path}.nodeSelector")
    if of.get("allNodes"):
        given.append("`allNodes`")
    elif of.get("allNodes") is not None:
        errors.invalid(f"{path}.allNodes", False, "must be either unset or set to true")
    return given


def _validate_counter_set(errors: Errors, counter_set: JsonObject, path: str) -> None:
    _validate_counters(errors, counter_set, "name", path)


def _validate_counters(errors: Errors, of: JsonObject, named: str, path: str) -> None:
    name, counters = of.get(named, ""), of.get("counters") or {}
    if not name:
        errors.required(f"{path}.{named}")
    else:
        validate_label(errors, name, f"{path}.{named}")
    if not counters:
        errors.required(f"{path}.counters")
    elif len(counters) > _COUNTERS_MAX:
        errors.too_many(f"{path}.counters", len(counters), _COUNTERS_MAX)
    else:
        for key in counters:
            validate_label(errors, key, f"{path}.counters")


def _validate_device(errors: Errors, device: JsonObject, path: str, *, per_device: bool) -> None:
    validate_label(errors, device.get("name", ""), f"{path}.name")
    attributes, capacity = device.get("attributes") or {}, device.get("capacity") or {}
    total = len(attributes) + len(capacity)
    if total > _ATTRIBUTES_MAX:
        detail = f"the total number of attributes and capacities must not exceed {_ATTRIBUTES_MAX}"
        errors.invalid(path, total, detail)
    for name, attribute in attributes.items():
        validate_qualified_name(errors, name, f"{path}.attributes")
        _validate_attribute(errors, attribute, f"{path}.attributes[{name}]")
    for name, amount in capacity.items():
        validate_qualified_name(errors, name, f"{path}.capacity")
        if amount.get("requestPolicy") is not None and not device.get("allowMultipleAllocations"):
            where = f"{path}.capacity[{name}].requestPolicy"
            errors.forbidden(where, "allowMultipleAllocations must be true")
    validate_set(errors, device.get("taints") or [], _TAINTS_MAX, _validate_taint, f"{path}.taints")

    def consumption(errors: Errors, each: JsonObject, path: str) -> None:
        _validate_counters(errors, each, "counterSet", path)

    consumed = device.get("consumesCounters") or []
    where = f"{path}.consumesCounters"
    validate_set(errors, consumed, _CONSUMPTIONS_MAX, consumption, where, lambda each: each.get("counterSet", ""))
    _validate_device_nodes(errors, device, path, per_device=per_device)
    validate_binding_conditions(errors, device, path)


def _validate_attribute(errors: Errors, attribute: JsonObject, path: str) -> None:
    given = [name for name in ("int", "bool", "string", "version") if attribute.get(name) is not None]
    for name in given:
        value = attribute[name]
        if name == "version" and not _SEMVER.fullmatch(value):
            detail = "must be a string compatible with semver.org spec 2.0.0"
            errors.invalid(f"{path}.version", value, detail)
        if name in ("string", "version") and formats.size(value) > _VALUE_MAX:
            errors.too_long(f"{path}.{name}", _VALUE_MAX)
    if len(given) != 1:
        shown = printed("DeviceAttribute", attribute) if given else ""
        errors.invalid(path, shown, "exactly one value must be specified")


def _validate_taint(errors: Errors, taint: JsonObject, path: str) -> None:
    key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
    errors.all_invalid(f"{path}.key", key, formats.label_key(key))
    if value:
        errors.all_invalid(f"{path}.value", value, formats.label_value(value))
    if not effect:
        errors.required(f"{path}.effect")
    else:
        errors.unless_one_of(f"{path}.effect", effect, TAINT_EFFECTS)


def _validate_device_nodes(errors: Errors, device: JsonObject, path: str, *, per_device: bool) -> None:
    if not per_device:
        if any(device.get(name) is not None for name in ("nodeName", "nodeSelector", "allNodes")):
            detail = (
                "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
                "in the ResourceSlice spec"
            )
            errors.invalid(path, None, detail)
        return
    given = _given_nodes(errors, device, path, "must not be empty")
    if not given:
        errors.required(path, _DEVICE_NODES)
    elif len(given) > 1:
        errors.invalid(path, f"{{{', '.join(given)}}}", _DEVICE_NODES)


RULES: Mapping[str, KindRules] = {
    "ResourceClaim": KindRules(
        default_claim,
        validate=validate_claim,
        validate_update=validate_claim_update,
        has_generation=False,
        has_fixed_spec=True,
        validate_status=validate_claim_status,
    ),
    "ResourceClaimTemplate": KindRules(
        default_template,
        validate=validate_template,
        validate_update=validate_template_update,
        has_generation=False,
        has_fixed_spec=True,
    ),
    "DeviceClass": KindRules(validate=_validate_class),
    "ResourceSlice": KindRules(validate=_validate_slice, validate_update=_validate_slice_update),
}
