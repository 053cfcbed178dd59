"""Defaults and validation of LimitRanges and ResourceQuotas.

Mirrors: pkg/apis/core/validation ValidateLimitRange, ValidateResourceQuota; pkg/apis/core/v1/defaults.go
SetDefaults_LimitRangeItem; pkg/apis/core/helper IsResourceQuotaScopeValidForResource
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.pods.resources import quantities
from kubesim.api.quantity import Quantity, quantity
from kubesim.api.validation import formats
from kubesim.api.validation.containers.resources import (
    is_overcommit_allowed,
    is_standard_quota_resource,
    validate_container_resource_name,
    validate_quantity,
    validate_resource_name,
)
from kubesim.api.validation.field import Errors, JsonObject, Named, Raw
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.golang.json import dumps

_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_COMPUTE = {"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"}
_SCOPED = {
    **dict.fromkeys(
        ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity"), _COMPUTE
    ),
    "BestEffort": {"pods"},
    "VolumeAttributesClass": {"persistentvolumeclaims", "requests.storage"},
}
_ONLY_EXISTS = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_CONFLICTING = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_MILLI_MAX = ((1 << 63) - 1) // 1000


# -- LimitRanges ----------------------------------------------------------------------------------------------------


def _default(limit_range: JsonObject) -> None:
    for limit in (limit_range.get("spec") or {}).get("limits") or ():
        if limit.get("type") == "Container":
            limit["default"] = {**(limit.get("max") or {}), **(limit.get("default") or {})}
            limit["defaultRequest"] = {
                **(limit.get("min") or {}), **limit["default"], **(limit.get("defaultRequest") or {})
            }  # fmt: skip


def _validate(errors: Errors, limit_range: JsonObject) -> None:
    seen = set()
    for n, limit in enumerate((limit_range.get("spec") or {}).get("limits") or ()):
        path, kind = f"spec.limits[{n}]", limit.get("type", "")
        complaints = formats.label_key(kind)
        errors.all_invalid(f"{path}.type", Named(kind), complaints)
        if not complaints and "/" not in kind and kind not in _LIMIT_TYPES:
            errors.invalid(f"{path}.type", Named(kind), "must be a standard limit type or fully qualified")
        if kind in seen:
            errors.duplicate(f"{path}.type", Named(kind))
        seen.add(kind)
        _validate_limit(errors, limit, path)


def _validate_limit(errors: Errors, limit: JsonObject, path: str) -> None:
    kind = limit.get("type", "")
    amounts = {name: quantities(limit.get(name) or {}) for name in _LISTS}
    valid_name = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    for name in _LISTS:
        if name == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim":
            if "storage" not in amounts["min"] and "storage" not in amounts["max"]:
                detail = "either minimum or maximum storage value is required, but neither was provided"
                errors.required(f"{path}.limits", detail)
        if kind == "Pod" and name in ("default", "defaultRequest"):
            if amounts.pop(name):
                errors.forbidden(f"{path}.{name}", "may not be specified when `type` is 'Pod'")
            amounts[name] = {}
            continue
        for resource in amounts[name]:
            valid_name(errors, resource, f"{path}.{name}[{resource}]")
    for resource in sorted({resource for found in amounts.values() for resource in found}):
        _validate_amounts(errors, {name: amounts[name].get(resource) for name in _LISTS}, resource, path)


def _validate_amounts(errors: Errors, amounts: Mapping[str, Quantity | None], resource: str, path: str) -> None:
    least, most, limit, request, ratio = (
        amounts[name] for name in ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")
    )

    def ordered(
        low: Quantity | None, low_name: str, high: Quantity | None, high_name: str, field: str, shown: Quantity | None
    ) -> None:
        if low is not None and high is not None and low > high:
            detail = f"{low_name} value {low} is greater than {high_name} value {high}"
            errors.invalid(f"{path}.{field}[{resource}]", Named(str(shown)), detail)

    ordered(least, "min", most, "max", "min", least)
    ordered(least, "min", request, "default request", "defaultRequest", request)
    ordered(request, "default request", most, "max", "defaultRequest", request)
    ordered(request, "default request", limit, "default limit", "defaultRequest", request)
    ordered(least, "min", limit, "default", "default", least)
    ordered(limit, "default", most, "max", "default", most)
    if ratio is not None:
        _validate_ratio(errors, ratio, least, most, f"{path}.maxLimitRequestRatio[{resource}]")
    if not is_overcommit_allowed(resource) and limit is not None and request is not None and limit != request:
        detail = f"default value {limit} must equal to defaultRequest value {request} in {resource}"
        errors.invalid(f"{path}.defaultRequest[{resource}]", Named(str(request)), detail)


def _validate_ratio(errors: Errors, ratio: Quantity, least: Quantity | None, most: Quantity | None, path: str) -> None:
    if ratio < quantity(1):
        errors.invalid(path, Named(str(ratio)), f"ratio {ratio} is less than 1")
    if least is None or most is None or not least.value():
        return
    wanted, bottom, top = float(ratio.value()), least.value(), most.value()
    if max(ratio.value(), bottom, top) < _MILLI_MAX:
        wanted, bottom, top = ratio.milli_value() / 1000, least.milli_value(), most.milli_value()
    if wanted > top / bottom:
        errors.invalid(path, Named(str(ratio)), f"ratio {ratio} is greater than max/min = {top / bottom:f}")


# -- ResourceQuotas -------------------------------------------------------------------------------------------------


def _validate_hard(errors: Errors, resources: Mapping[str, str], path: str) -> None:
    for name, amount in resources.items():
        where = f"{path}[{name}]"
        validate_resource_name(errors, name, where)
        if "/" not in name and not is_standard_quota_resource(name):
            errors.invalid(where, Named(name), "must be a standard resource for quota")
        validate_quantity(errors, name, quantity(amount), where)


def _validate_quota(errors: Errors, quota: JsonObject) -> None:
    spec = quota.get("spec") or {}
    hard, scopes, selector = spec.get("hard") or {}, spec.get("scopes") or [], spec.get("scopeSelector")
    _validate_hard(errors, hard, "spec.hard")
    for scope in scopes:
        if scope not in _SCOPED:
            errors.invalid("spec.scopes", scopes, "unsupported scope")
        for _ in _unsuitable(scope, hard):
            errors.invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    _validate_pairs(errors, set(scopes), scopes, "spec.scopes")
    if selector is not None:
        _validate_selector(errors, spec, selector.get("matchExpressions") or ())


def _unsuitable(scope: str, hard: Mapping[str, str]) -> list[str]:
    """The standard resources that a scope does not apply to."""
    if scope not in _SCOPED:
        return []
    return [name for name in sorted(hard) if is_standard_quota_resource(name) and name not in _SCOPED[scope]]


def _validate_pairs(errors: Errors, scopes: set[str], shown: list[str] | None, path: str) -> None:
    for pair in _CONFLICTING:
        if pair <= scopes:
            errors.invalid(path, shown, "conflicting scopes")


def _validate_selector(errors: Errors, spec: JsonObject, requirements: list[JsonObject] | tuple[()]) -> None:
    path = "spec.scopeSelector.matchExpressions"
    for each in requirements:
        scope, operator, values = each.get("scopeName", ""), each.get("operator", ""), each.get("values") or []
        if scope not in _SCOPED:
            errors.invalid(f"{path}.scopeName", Named(scope), "unsupported scope")
        for _ in _unsuitable(scope, spec.get("hard") or {}):
            errors.invalid(path, Raw(_selector_json(requirements)), "unsupported scope applied to resource")
        if scope in _ONLY_EXISTS and operator != "Exists":
            detail = (
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, "
                "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
                "ResourceQuotaScopeCrossNamespacePodAffinity"
            )
            errors.invalid(f"{path}.operator", Named(operator), detail)
        if operator in ("In", "NotIn"):
            if not values:
                detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
                errors.required(f"{path}.values", detail)
        elif operator in ("Exists", "DoesNotExist"):
            if values:
                detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
                errors.invalid(f"{path}.values", values, detail)
        else:
            errors.invalid(f"{path}.operator", Named(operator), "not a valid selector operator")
    _validate_pairs(errors, {each.get("scopeName", "") for each in requirements}, spec.get("scopes"), path)


def _selector_json(requirements: list[JsonObject] | tuple[()]) -> str:
    """A scope selector as JSON with the fields of the internal type."""
    parts = [
        {"ScopeName": each.get("scopeName", ""), "Operator": each.get("operator", ""), "Values": each.get("values")}
        for each in requirements
    ]
    return dumps({"MatchExpressions": parts})


def _validate_quota_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    scopes, before = ((obj.get("spec") or {}).get("scopes") for obj in (new, old))
    if set(scopes or ()) != set(before or ()):
        errors.invalid("spec.scopes", scopes, "field is immutable")


def _validate_quota_status(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    status = new.get("status") or {}
    for name in ("hard", "used"):
        _validate_hard(errors, status.get(name) or {}, f"status.{name}")


RULES: Mapping[str, KindRules] = {
    "LimitRange": KindRules(_default, validate=_validate, has_generation=False),
    "ResourceQuota": KindRules(
        validate=_validate_quota,
        validate_update=_validate_quota_update,
        validate_status=_validate_quota_status,
        has_generation=False,
    ),
}
