"""Defaults and validation of HorizontalPodAutoscalers of autoscaling/v2.

Mirrors: pkg/apis/autoscaling/validation/validation.go; pkg/apis/autoscaling/v2/defaults.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.quantity import quantity
from kubesim.api.validation import formats
from kubesim.api.validation.containers.resources import validate_container_resource_name
from kubesim.api.validation.field import Errors, JsonObject, Named
from kubesim.api.validation.network import validate_path_segment
from kubesim.api.workloads.rules.kind_rules import KindRules

_PERIOD_MAX_S, _WINDOW_MAX_S = 1800, 3600
_CPU_PERCENT = 80
_SELECT = ("Disabled", "Max", "Min")
_POLICY_TYPES = ("Percent", "Pods")
_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_SOURCES = ("object", "external", "pods", "resource", "containerResource")  # in the order of the checks
_DOUBLE = {"type": "Percent", "value": 100, "periodSeconds": 15}
_UP = {"stabilizationWindowSeconds": 0, "selectPolicy": "Max",
       "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}, _DOUBLE]}  # fmt: skip
_DOWN = {"selectPolicy": "Max", "policies": [_DOUBLE]}


def _default(autoscaler: JsonObject) -> None:
    spec = autoscaler.setdefault("spec", {})
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": _CPU_PERCENT}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    behavior = spec.get("behavior")
    if behavior is not None:
        for name, rules in (("scaleUp", _UP), ("scaleDown", _DOWN)):
            behavior[name] = rules | (behavior.get(name) or {})


def _validate(errors: Errors, autoscaler: JsonObject) -> None:
    spec = autoscaler.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if least is not None and least < 1:
        errors.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most == 0:
        errors.required("spec.maxReplicas", "must be set and greater than 0")
    elif most < 0:
        errors.invalid("spec.maxReplicas", most, "must be greater than or equal to 1")
    if least is not None and most < least:
        errors.invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = spec.get("scaleTargetRef") or {}
    _validate_reference(errors, target, "spec.scaleTargetRef", core=target.get("kind") == "ReplicationController")
    metrics = spec.get("metrics") or ()
    for n, metric in enumerate(metrics):
        _validate_metric(errors, metric, f"spec.metrics[{n}]")
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        detail = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.forbidden("spec.metrics", detail)
    for name in ("scaleUp", "scaleDown"):
        rules = (spec.get("behavior") or {}).get(name)
        if rules is not None:
            _validate_scaling(errors, rules, f"spec.behavior.{name}")


def _validate_reference(errors: Errors, reference: JsonObject, path: str, *, core: bool) -> None:
    """`core`: whether the kind may belong to the core group."""
    validate_path_segment(errors, reference.get("kind", ""), f"{path}.kind")
    validate_path_segment(errors, reference.get("name", ""), f"{path}.name")
    version = reference.get("apiVersion", "")
    if version.count("/") > 1:
        errors.invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    elif not core and not version.rpartition("/")[0]:
        errors.invalid(f"{path}.apiVersion", version, "apiVersion must specify API group")


def _validate_scaling(errors: Errors, rules: JsonObject, path: str) -> None:
    window, select = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    if window is not None and window < 0:
        errors.invalid(f"{path}.stabilizationWindowSeconds", window, "must be greater than or equal to zero")
    if window is not None and window > _WINDOW_MAX_S:
        detail = f"must be less than or equal to {_WINDOW_MAX_S}"
        errors.invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    if select is not None:
        errors.unless_one_of(f"{path}.selectPolicy", select, _SELECT)
    if not rules.get("policies"):
        errors.required(f"{path}.policies", "must specify at least one Policy")
    for n, policy in enumerate(rules.get("policies") or ()):
        _validate_policy(errors, policy, f"{path}.policies[{n}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and quantity(tolerance).sign < 0:
        errors.invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0")


def _validate_policy(errors: Errors, policy: JsonObject, path: str) -> None:
    errors.unless_one_of(f"{path}.type", policy.get("type", ""), _POLICY_TYPES)
    period = policy.get("periodSeconds", 0)
    errors.positive(f"{path}.value", policy.get("value", 0))
    errors.positive(f"{path}.periodSeconds", period)
    if period > _PERIOD_MAX_S:
        errors.invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_PERIOD_MAX_S}")


def _validate_metric(errors: Errors, metric: JsonObject, path: str) -> None:
    kind = metric.get("type", "")
    if not kind:
        errors.required(f"{path}.type", "must specify a metric source type")
    errors.unless_one_of(f"{path}.type", kind, _TYPES)
    given = [name for name in _SOURCES if metric.get(name) is not None]
    if given:
        _validate_source(errors, given[0], metric[given[0]], f"{path}.{given[0]}")
    expected = kind[:1].lower() + kind[1:]
    if kind not in _TYPES:
        errors.unsupported(f"{path}.type", kind, _TYPES)
    elif expected not in given:
        errors.required(f"{path}.{expected}", "must populate information for the given metric source")
    if len(given) != 1:
        for name in given:
            if name != expected:
                errors.forbidden(f"{path}.{name}", "must populate the given metric source only")


def _validate_source(errors: Errors, kind: str, source: JsonObject, path: str) -> None:
    target = source.get("target") or {}
    value, average, percent = (target.get(name) for name in ("value", "averageValue", "averageUtilization"))
    if kind in ("resource", "containerResource"):
        _validate_resource(errors, kind, source, path)
    elif kind == "object":
        _validate_reference(errors, source.get("describedObject") or {}, f"{path}.describedObject", core=True)
    if kind in ("object", "external", "pods"):
        name = (source.get("metric") or {}).get("name", "")
        if not name:
            errors.required(f"{path}.metric.name", "must specify a metric name")
        else:
            errors.all_invalid(f"{path}.metric.name", name, formats.path_segment(name))
    _validate_target(errors, target, f"{path}.target")
    where = f"{path}.target"
    if kind in ("resource", "containerResource"):
        if percent is None and average is None:
            detail = "must set either a target raw value or a target utilization"
            errors.required(f"{where}.averageUtilization", detail)
        if percent is not None and average is not None:
            errors.forbidden(f"{where}.averageValue", "may not set both a target raw value and a target utilization")
    elif kind == "pods":
        if average is None:
            errors.required(f"{where}.averageValue", "must specify a positive target averageValue")
    elif value is None and average is None:
        detail = (
            "a target value or averageValue" if kind == "object" else "a target value for metric or a per-pod target"
        )
        errors.required(f"{where}.averageValue", f"must set either {detail}")
    elif kind == "external" and value is not None and average is not None:
        errors.forbidden(f"{where}.value", "may not set both a target value for metric and a per-pod target")


def _validate_resource(errors: Errors, kind: str, source: JsonObject, path: str) -> None:
    name, container = source.get("name", ""), source.get("container", "")
    if not name:
        errors.required(f"{path}.name", "must specify a resource name")
    elif kind == "containerResource":
        validate_container_resource_name(errors, name, f"{path}.name")
    if kind == "containerResource":
        if not container:
            errors.required(f"{path}.container", "must specify a container")
        else:
            errors.all_invalid(f"{path}.container", container, formats.dns1123_label(container))


def _validate_target(errors: Errors, target: JsonObject, path: str) -> None:
    kind = target.get("type", "")
    if not kind:
        errors.required(f"{path}.type", "must specify a metric target type")
    if kind not in _TARGET_TYPES:
        errors.invalid(f"{path}.type", Named(kind), "must be either Utilization, Value, or AverageValue")
    for name in ("value", "averageValue"):
        amount: Any = target.get(name)
        if amount is not None and quantity(amount).sign <= 0:
            errors.invalid(f"{path}.{name}", Named(amount), "must be positive")
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        errors.invalid(f"{path}.averageUtilization", percent, "must be greater than 0")


def _validate_status(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    status = new.get("status") or {}
    for name in ("currentReplicas", "desiredReplicas"):
        errors.nonnegative(f"status.{name}", status.get(name, 0))


RULES: Mapping[str, KindRules] = {
    "HorizontalPodAutoscaler": KindRules(
        _default, validate=_validate, validate_status=_validate_status, has_generation=False
    ),
}
