"""Defaults and validation of PodDisruptionBudgets.

Mirrors: pkg/apis/policy/validation/validation.go ValidatePodDisruptionBudgetSpec; pkg/apis/apps/validation
ValidatePositiveIntOrPercent, IsNotMoreThan100Percent
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kubesim.api.validation.field import Errors, JsonObject, Raw
from kubesim.api.validation.formats import regex_error
from kubesim.api.validation.metadata import validate_label_selector
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.golang.json import dumps

_PERCENT = re.compile(r"[0-9]+%")


def _validate(errors: Errors, budget: JsonObject) -> None:
    spec = budget.get("spec") or {}
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        shown = Raw(_spec_json(spec))
        errors.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        if value is not None:
            _validate_int_or_percent(errors, value, f"spec.{name}")
    validate_label_selector(errors, spec.get("selector"), "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        errors.unless_one_of("spec.unhealthyPodEvictionPolicy", policy, ("AlwaysAllow", "IfHealthyBudget"))


def _validate_int_or_percent(errors: Errors, value: int | str, path: str) -> None:
    if isinstance(value, int):
        errors.nonnegative(path, value)
    elif not _PERCENT.fullmatch(value):
        detail = regex_error(
            "a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%"
        )
        errors.invalid(path, value, detail)
    elif int(value[:-1]) > 100:
        errors.invalid(path, value, "must not be greater than 100%")


def _spec_json(spec: JsonObject) -> str:
    """The spec as JSON with the fields of the internal type in order."""
    selector = spec.get("selector")
    fields = {
        "MinAvailable": spec.get("minAvailable"),
        "Selector": selector,
        "MaxUnavailable": spec.get("maxUnavailable"),
        "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
    }
    return "{" + ",".join(f'"{name}":{dumps(value)}' for name, value in fields.items()) + "}"


RULES: Mapping[str, KindRules] = {
    "PodDisruptionBudget": KindRules(validate=_validate),
}
