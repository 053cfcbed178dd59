"""Resource claims and their templates: defaults, validation of device requests, and of a claim's status.

Mirrors: pkg/apis/resource/v1/defaults.go; pkg/apis/resource/validation ValidateResourceClaim,
ValidateResourceClaimStatusUpdate, ValidateResourceClaimTemplate
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.schema.codec import encode
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Named
from kubesim.api.validation.scheduling import validate_node_selector
from kubesim.api.validation.volumes.claim_template import validate_template_metadata
from kubesim.api.workloads.rules.device_kinds.parts import (
    CONFIG_MAX,
    CONSTRAINTS_MAX,
    IMMUTABLE,
    REQUESTS_MAX,
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

_SUB_REQUESTS_MAX = 8
_RESERVED_MAX = 256
_RESULTS_MAX = 32
_NOT_A_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_ONE_OF = "exactly one of `exactly` or `firstAvailable` is required"

RequestNames = Mapping[str, frozenset[str]]  # the names of the subrequests of each request


def default_claim(claim: JsonObject) -> None:
    default_claim_spec(claim.setdefault("spec", {}))


def default_template(template: JsonObject) -> None:
    default_claim_spec(template.setdefault("spec", {}).setdefault("spec", {}))


def default_claim_spec(spec: JsonObject) -> None:
    for request in (spec.get("devices") or {}).get("requests") or ():
        exactly = request.get("exactly")
        for each in (*([exactly] if exactly is not None else []), *(request.get("firstAvailable") or ())):
            each["allocationMode"] = each.get("allocationMode") or "ExactCount"
            if each["allocationMode"] == "ExactCount" and not each.get("count"):
                each["count"] = 1


def validate_claim(errors: Errors, claim: JsonObject) -> None:
    validate_claim_spec(errors, claim.get("spec") or {}, "spec")


def validate_claim_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    _unchanged(errors, "ResourceClaimSpec", new, old)


def validate_template(errors: Errors, template: JsonObject) -> None:
    spec = template.get("spec") or {}
    validate_template_metadata(errors, spec.get("metadata") or {}, "spec.metadata")
    validate_claim_spec(errors, spec.get("spec") or {}, "spec.spec")


def validate_template_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    _unchanged(errors, "ResourceClaimTemplateSpec", new, old)


def _unchanged(errors: Errors, struct: str, new: JsonObject, old: JsonObject) -> None:
    spec = new.get("spec") or {}
    if encode(struct, spec) != encode(struct, old.get("spec") or {}):
        errors.invalid("spec", printed(struct, spec), IMMUTABLE)


# -- spec: requests --------------------------------------------------------------------------------------------------


def validate_claim_spec(errors: Errors, spec: JsonObject, path: str) -> None:
    devices, where = spec.get("devices") or {}, f"{path}.devices"
    names = _request_names(devices)
    requests = devices.get("requests") or []
    validate_set(errors, requests, REQUESTS_MAX, _validate_request, f"{where}.requests", _name)

    def constraint(errors: Errors, each: JsonObject, path: str) -> None:
        _validate_request_references(errors, each.get("requests") or [], names, f"{path}.requests")
        _validate_constraint(errors, each, path)

    def config(errors: Errors, each: JsonObject, path: str) -> None:
        _validate_request_references(errors, each.get("requests") or [], names, f"{path}.requests")
        validate_configuration(errors, each, path)

    validate_set(errors, devices.get("constraints") or [], CONSTRAINTS_MAX, constraint, f"{where}.constraints")
    validate_set(errors, devices.get("config") or [], CONFIG_MAX, config, f"{where}.config")


def _name(item: JsonObject) -> str:
    name: str = item.get("name", "")
    return name


def _request_names(devices: JsonObject) -> RequestNames:
    return {
        _name(request): frozenset(_name(each) for each in request.get("firstAvailable") or ())
        for request in devices.get("requests") or ()
    }


def _validate_request(errors: Errors, request: JsonObject, path: str) -> None:
    validate_label(errors, _name(request), f"{path}.name")
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable") or []
    if exactly is None and not alternatives:
        errors.required(path, _ONE_OF)
    elif exactly is not None and alternatives:
        errors.invalid(path, None, f"{_ONE_OF}, but multiple fields are set")
    elif exactly is not None:
        _validate_device_request(errors, exactly, f"{path}.exactly")
    else:
        where = f"{path}.firstAvailable"
        validate_set(errors, alternatives, _SUB_REQUESTS_MAX, _validate_sub_request, where, _name)


def _validate_sub_request(errors: Errors, request: JsonObject, path: str) -> None:
    validate_label(errors, _name(request), f"{path}.name")
    _validate_device_request(errors, request, path)


def _validate_device_request(errors: Errors, request: JsonObject, path: str) -> None:
    class_name = request.get("deviceClassName", "")
    if not class_name:
        errors.required(f"{path}.deviceClassName")
    else:
        errors.all_invalid(f"{path}.deviceClassName", class_name, formats.dns1123_subdomain(class_name))
    validate_selectors(errors, request.get("selectors") or [], f"{path}.selectors")
    mode, count = request.get("allocationMode", ""), request.get("count", 0)
    if mode == "All":
        if count:
            errors.invalid(f"{path}.count", count, f"must not be specified when allocationMode is '{mode}'")
    elif mode == "ExactCount":
        errors.positive(f"{path}.count", count)
    else:
        errors.unsupported(f"{path}.allocationMode", mode, ("All", "ExactCount"))
    for n, toleration in enumerate(request.get("tolerations") or ()):
        _validate_toleration(errors, toleration, f"{path}.tolerations[{n}]")


def _validate_toleration(errors: Errors, toleration: JsonObject, path: str) -> None:
    key, value = toleration.get("key", ""), toleration.get("value", "")
    if key:
        errors.all_invalid(f"{path}.key", key, formats.label_key(key))
    match toleration.get("operator", ""):
        case "Exists":
            if value:
                errors.invalid(f"{path}.value", value, "must be empty for operator `Exists`")
        case "Equal":
            errors.all_invalid(f"{path}.value", value, formats.label_value(value))
        case "":
            errors.required(f"{path}.operator")
        case other:
            errors.unsupported(f"{path}.operator", other, ("Equal", "Exists"))
    if toleration.get("effect"):
        errors.unless_one_of(f"{path}.effect", toleration["effect"], TAINT_EFFECTS)


def _validate_constraint(errors: Errors, constraint: JsonObject, path: str) -> None:
    for name in ("matchAttribute", "distinctAttribute"):
        attribute = constraint.get(name)
        if attribute is not None:
            validate_qualified_name(errors, attribute, f"{path}.{name}")
            if "/" not in attribute:
                detail = "a fully qualified name must be a domain and a name separated by a slash"
                errors.invalid(f"{path}.{name}", Named(attribute), detail)
            return
    detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set'
    errors.required(path, detail)


def _validate_request_references(errors: Errors, references: list[str], names: RequestNames, path: str) -> None:
    def reference(errors: Errors, name: str, path: str) -> None:
        _validate_request_reference(errors, name, names, path)

    validate_set(errors, references, REQUESTS_MAX, reference, path, str)


def _validate_request_reference(errors: Errors, name: str, names: RequestNames, path: str) -> None:
    parts = name.split("/")
    if len(parts) > 2:
        errors.invalid(path, name, _NOT_A_REQUEST)
        return
    for part in parts:
        validate_label(errors, part, path)
    if parts[0] not in names or (len(parts) == 2 and parts[1] not in names[parts[0]]):
        errors.invalid(path, name, _NOT_A_REQUEST)


# -- status: allocations ---------------------------------------------------------------------------------------------


def validate_claim_status(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    status, before = new.get("status") or {}, old.get("status") or {}
    allocation = status.get("allocation")
    reserved = status.get("reservedFor") or []
    validate_set(
        errors, reserved, _RESERVED_MAX, _validate_consumer, "status.reservedFor", lambda each: each.get("uid")
    )
    allocated = [_device_id(each) for each in ((allocation or {}).get("devices") or {}).get("results") or ()]

    def device(errors: Errors, each: JsonObject, path: str) -> None:
        _validate_device_status(errors, each, allocated, path)

    validate_set(errors, status.get("devices") or [], -1, device, "status.devices", _device_id)
    if reserved and allocation is None:
        errors.forbidden("status.reservedFor", "may not be specified when `allocated` is not set")
    elif new["metadata"].get("deletionTimestamp") and any(
        each not in (before.get("reservedFor") or ()) for each in reserved
    ):
        detail = "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set"
        errors.forbidden("status.reservedFor", detail)
    if allocation is None:
        return
    if before.get("allocation") is None:
        _validate_allocation(errors, allocation, new, "status.allocation")
    elif encode("AllocationResult", allocation) != encode("AllocationResult", before["allocation"]):
        errors.invalid("status.allocation", printed("AllocationResult", allocation), IMMUTABLE)


def _validate_consumer(errors: Errors, consumer: JsonObject, path: str) -> None:
    for name in ("resource", "name", "uid"):
        if not consumer.get(name):
            errors.required(f"{path}.{name}")


def _device_id(device: JsonObject) -> str:
    """A device in messages: driver/pool/device, with the share ID of a shared device."""
    shown = "/".join(device.get(name, "") for name in ("driver", "pool", "device"))
    return f"{shown}/{device['shareID']}" if device.get("shareID") else shown


def _validate_device_status(errors: Errors, device: JsonObject, allocated: list[str], path: str) -> None:
    validate_driver_name(errors, device.get("driver", ""), f"{path}.driver")
    validate_pool_name(errors, device.get("pool", ""), f"{path}.pool")
    validate_label(errors, device.get("device", ""), f"{path}.device")
    if _device_id(device) not in allocated:
        errors.invalid(path, _device_id(device), "must be an allocated device in the claim")
    if len(device.get("conditions") or ()) > 8:
        errors.too_many(f"{path}.conditions", len(device["conditions"]), 8)


def _validate_allocation(errors: Errors, allocation: JsonObject, claim: JsonObject, path: str) -> None:
    names = _request_names((claim.get("spec") or {}).get("devices") or {})
    devices = allocation.get("devices") or {}

    def result(errors: Errors, each: JsonObject, path: str) -> None:
        _validate_request_reference(errors, each.get("request", ""), names, f"{path}.request")
        validate_driver_name(errors, each.get("driver", ""), f"{path}.driver")
        validate_pool_name(errors, each.get("pool", ""), f"{path}.pool")
        validate_label(errors, each.get("device", ""), f"{path}.device")
        validate_binding_conditions(errors, each, path)

    def config(errors: Errors, each: JsonObject, path: str) -> None:
        source = each.get("source", "")
        if not source:
            errors.required(f"{path}.source")
        else:
            errors.unless_one_of(f"{path}.source", source, ("FromClaim", "FromClass"))
        _validate_request_references(errors, each.get("requests") or [], names, f"{path}.requests")
        validate_configuration(errors, each, path)

    validate_set(errors, devices.get("results") or [], _RESULTS_MAX, result, f"{path}.devices.results")
    validate_set(errors, devices.get("config") or [], 2 * CONFIG_MAX, config, f"{path}.devices.config")
    if allocation.get("nodeSelector") is not None:
        validate_node_selector(errors, allocation["nodeSelector"], f"{path}.nodeSelector")
