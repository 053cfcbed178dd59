"""Scheduling constraints of a pod: affinity, tolerations, topology spread, scheduling gates and groups.

Mirrors: pkg/apis/core/validation validateAffinity, ValidateTolerations, validateTopologySpreadConstraints
"""

from __future__ import annotations

import re

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, JsonObject, Named
from kubesim.api.validation.metadata import validate_label_name, validate_label_selector
from kubesim.api.validation.options import PodValidationOptions
from kubesim.golang.text import quoted

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_INT64 = range(-(2**63), 2**63)


def validate_affinity(errors: Errors, affinity: JsonObject, path: str) -> None:
    if affinity.get("nodeAffinity") is not None:
        _validate_node_affinity(errors, affinity["nodeAffinity"], f"{path}.nodeAffinity")
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        for n, term in enumerate(terms.get(_REQUIRED) or ()):
            _validate_pod_affinity_term(errors, term, f"{path}.{kind}.{_REQUIRED}[{n}]")
        for n, weighted in enumerate(terms.get(_PREFERRED) or ()):
            where = f"{path}.{kind}.{_PREFERRED}[{n}]"
            _validate_weight(errors, weighted, where)
            _validate_pod_affinity_term(errors, weighted.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")


def _validate_weight(errors: Errors, term: JsonObject, path: str) -> None:
    weight = term.get("weight", 0)
    if not 1 <= weight <= 100:
        errors.invalid(f"{path}.weight", weight, "must be in the range 1-100")


def _validate_node_affinity(errors: Errors, affinity: JsonObject, path: str) -> None:
    required = affinity.get(_REQUIRED)
    if required is not None:
        validate_node_selector(errors, required, f"{path}.{_REQUIRED}")
    for n, preferred in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.{_PREFERRED}[{n}]"
        _validate_weight(errors, preferred, where)
        preference = preferred.get("preference") or {}
        _validate_node_selector_term(errors, preference, f"{where}.preference", check_values=False)


def validate_node_selector(errors: Errors, selector: JsonObject, path: str) -> None:
    where = f"{path}.nodeSelectorTerms"
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        errors.required(where, "must have at least one node selector term")
    for n, term in enumerate(terms):
        _validate_node_selector_term(errors, term, f"{where}[{n}]", check_values=True)


def _validate_node_selector_term(errors: Errors, term: JsonObject, path: str, *, check_values: bool) -> None:
    for n, requirement in enumerate(term.get("matchExpressions") or ()):
        where = f"{path}.matchExpressions[{n}]"
        _validate_node_requirement(errors, requirement, where, check_values=check_values)
    for n, requirement in enumerate(term.get("matchFields") or ()):
        _validate_node_field_requirement(errors, requirement, f"{path}.matchFields[{n}]")


def _validate_node_requirement(errors: Errors, requirement: JsonObject, path: str, *, check_values: bool) -> None:
    operator, values = requirement.get("operator", ""), requirement.get("values") or []
    where = f"{path}.values"
    if operator in ("In", "NotIn"):
        if not values:
            errors.required(where, "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            errors.forbidden(where, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            errors.required(where, "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        errors.invalid(f"{path}.operator", Named(operator), "not a valid selector operator")
    validate_label_name(errors, requirement.get("key", ""), f"{path}.key")
    if check_values:
        for n, value in enumerate(values):
            errors.all_invalid(f"{where}[{n}]", value, formats.label_value(value))


def _validate_node_field_requirement(errors: Errors, requirement: JsonObject, path: str) -> None:
    operator, values, key = requirement.get("operator", ""), requirement.get("values") or [], requirement.get("key", "")
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            errors.required(f"{path}.values", detail)
    else:
        errors.invalid(f"{path}.operator", Named(operator), "not a valid selector operator")
    if key != "metadata.name":
        errors.invalid(f"{path}.key", key, "not a valid field selector key")
        return
    for n, value in enumerate(values):
        errors.all_invalid(f"{path}.values[{n}]", value, formats.dns1123_subdomain(value))


def _validate_pod_affinity_term(errors: Errors, term: JsonObject, path: str) -> None:
    selector, topology_key = term.get("labelSelector"), term.get("topologyKey", "")
    validate_label_selector(errors, selector, f"{path}.labelSelector")
    validate_label_selector(errors, term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for namespace in term.get("namespaces") or ():
        errors.all_invalid(f"{path}.namespace", namespace, formats.dns1123_label(namespace))
    match, mismatch = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    _validate_label_key_lists(errors, match, mismatch, selector, path)
    if not topology_key:
        errors.required(f"{path}.topologyKey", "can not be empty")
    validate_label_name(errors, topology_key, f"{path}.topologyKey")


def _validate_label_key_lists(
    errors: Errors, match: list[str], mismatch: list[str], selector: JsonObject | None, path: str
) -> None:
    """Check that the keys of matchLabelKeys and mismatchLabelKeys are valid and occur only once."""
    for name, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            errors.forbidden(f"{path}.{name}", "must not be specified when labelSelector is not set")
            continue
        for n, key in enumerate(keys):
            validate_label_name(errors, key, f"{path}.{name}[{n}]")
    if selector is not None:
        position = {key: n for n, key in enumerate(match)}
        selected = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key", "")
            if key in position and key in selected:
                errors.invalid(f"{path}[{position[key]}]", key, "exists in both matchLabelKeys and labelSelector")
            selected.add(key)
    for n, key in enumerate(match):
        if key in mismatch:
            detail = "exists in both matchLabelKeys and mismatchLabelKeys"
            errors.invalid(f"{path}.matchLabelKeys[{n}]", key, detail)


def validate_tolerations(
    errors: Errors, tolerations: list[JsonObject], path: str, options: PodValidationOptions
) -> None:
    for n, toleration in enumerate(tolerations):
        where = f"{path}[{n}]"
        key, operator = toleration.get("key", ""), toleration.get("operator", "")
        effect = toleration.get("effect", "")
        if key:
            validate_label_name(errors, key, f"{where}.key")
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.invalid(f"{where}.operator", Named(operator), detail)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.invalid(f"{where}.effect", Named(effect), detail)
        _validate_toleration_value(errors, operator, toleration.get("value", ""), where, options)
        if effect:
            errors.unless_one_of(f"{where}.effect", effect, _EFFECTS)


def _validate_toleration_value(
    errors: Errors, operator: str, value: str, path: str, options: PodValidationOptions
) -> None:
    if operator in ("Equal", ""):
        complaints = formats.label_value(value)
        if complaints:
            errors.invalid(f"{path}.operator", value, ";".join(complaints))
    elif operator == "Exists":
        if value:
            errors.invalid(f"{path}.operator", value, "value must be empty when `operator` is 'Exists'")
    elif operator not in ("Lt", "Gt"):
        errors.unsupported(f"{path}.operator", operator, ("Equal", "Exists"))
    elif not options.gates.enabled("TaintTolerationComparisonOperators"):
        errors.unsupported(f"{path}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
    else:
        errors.all_invalid(f"{path}.value", value, formats.decimal_integer(value))
        failed = f"strconv.ParseInt: parsing {quoted(value)}"
        if not re.fullmatch("[+-]?[0-9]+", value):
            errors.invalid(f"{path}.value", value, f"{failed}: invalid syntax")
        elif int(value) not in _INT64:
            errors.invalid(f"{path}.value", value, f"{failed}: value out of range")


def validate_topology_spread(
    errors: Errors, constraints: list[JsonObject], path: str, options: PodValidationOptions
) -> None:
    merged = all(options.gates.enabled(f"MatchLabelKeysInPodTopologySpread{more}") for more in ("", "SelectorMerge"))
    for n, constraint in enumerate(constraints):
        where = f"{path}[{n}]"
        key, action = constraint.get("topologyKey", ""), constraint.get("whenUnsatisfiable", "")
        errors.positive(f"{where}.maxSkew", constraint.get("maxSkew", 0))
        if not key:
            errors.required(f"{where}.topologyKey", "can not be empty")
        errors.unless_one_of(f"{where}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
        kinds = [(other.get("topologyKey", ""), other.get("whenUnsatisfiable", "")) for other in constraints[n + 1 :]]
        if (key, action) in kinds:
            errors.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        _validate_min_domains(errors, constraint.get("minDomains"), action, f"{where}.minDomains")
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if constraint.get(name) is not None:
                errors.unless_one_of(f"{where}.{name}", constraint[name], ("Honor", "Ignore"))
        selector, keys = constraint.get("labelSelector"), constraint.get("matchLabelKeys") or []
        if merged:
            _validate_label_key_lists(errors, keys, [], selector, where)
        else:
            _validate_unmerged_label_keys(errors, keys, selector, f"{where}.matchLabelKeys")
        validate_label_selector(errors, selector, f"{where}.labelSelector")


def _validate_unmerged_label_keys(errors: Errors, keys: list[str], selector: JsonObject | None, path: str) -> None:
    """The rule used before keys were merged into the selector: no key may also be in the selector."""
    if keys and selector is None:
        errors.forbidden(path, "must not be specified when labelSelector is not set")
    selected = set((selector or {}).get("matchLabels") or ())
    selected |= {expression.get("key", "") for expression in (selector or {}).get("matchExpressions") or ()}
    for n, key in enumerate(keys):
        validate_label_name(errors, key, f"{path}[{n}]")
        if key in selected:
            errors.invalid(f"{path}[{n}]", key, "exists in both matchLabelKeys and labelSelector")


def _validate_min_domains(errors: Errors, domains: int | None, action: str, path: str) -> None:
    if domains is None:
        return
    errors.positive(path, domains)
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.invalid(path, domains, detail)


def validate_scheduling_gates(errors: Errors, gates: list[JsonObject], path: str) -> None:
    seen: set[str] = set()
    for n, gate in enumerate(gates):
        name = gate.get("name", "")
        errors.all_invalid(f"{path}[{n}]", name, formats.label_key(name))
        if name in seen:
            errors.duplicate(f"{path}[{n}]", name)
        seen.add(name)


def validate_scheduling_group(errors: Errors, group: JsonObject, path: str) -> None:
    name = group.get("podGroupName")
    if name is None:
        errors.invalid(f"{path}.podGroupName", None, "must specify one of: `podGroupName`")
    else:
        errors.all_invalid(f"{path}.podGroupName", name, formats.dns1123_subdomain(name))
