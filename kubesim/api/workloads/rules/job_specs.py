"""Validation of a Job's spec, also inside a CronJob.

Mirrors: pkg/apis/batch/validation/validation.go validateJobSpec, validatePodFailurePolicy, validateSuccessPolicy,
validateIndexesFormat
"""

from __future__ import annotations

import re
from typing import Any

from kubesim.api.validation import formats
from kubesim.api.validation.field import OMITTED, Errors, JsonObject, Named, Raw
from kubesim.api.workloads.rules.pod_templates import validate_pod_template
from kubesim.golang.json import InOrder, dumps
from kubesim.golang.text import quoted

MAX_INDEXED = 100_000  # maximum parallelism and number of failed indexes of an Indexed Job
MANY_COMPLETIONS, MAX_WITH_MANY_COMPLETIONS = 100_000, 10_000
MAX_RULES, MAX_PATTERNS, MAX_EXIT_CODES = 20, 20, 255
MAX_MANAGED_BY = 63
MAX_SUCCEEDED_INDEXES_TEXT = 64 * 1024

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_NUMBER = re.compile(r"[+-]?[0-9]+")
_NONNEGATIVE = ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished",
                "backoffLimitPerIndex", "maxFailedIndexes")  # fmt: skip


def validate_job_spec(errors: Errors, spec: JsonObject, path: str) -> None:
    """Validate everything except the selector, which a Job inside a CronJob does not have."""
    for name in _NONNEGATIVE:
        if spec.get(name) is not None:
            errors.nonnegative(f"{path}.{name}", spec[name])
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if spec.get("managedBy") is not None:
        _validate_managed_by(errors, spec["managedBy"], f"{path}.managedBy")
    _validate_completion_mode(errors, spec, path)
    if spec.get("podFailurePolicy") is not None:
        _validate_pod_failure_policy(errors, spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        if spec.get("completionMode") != "Indexed":
            shown = success_policy_json(spec["successPolicy"])
            errors.invalid(f"{path}.successPolicy", shown, "requires indexed completion mode")
        else:
            _validate_success_policy(errors, spec, f"{path}.successPolicy")
    _validate_pod_replacement_policy(errors, spec, f"{path}.podReplacementPolicy")
    template = spec.get("template") or {}
    validate_pod_template(errors, template, f"{path}.template")
    _validate_restart_policy(errors, spec, template, f"{path}.template.spec.restartPolicy")


def _validate_managed_by(errors: Errors, text: str, path: str) -> None:
    host, slash, rest = text.partition("/")
    if not text:
        errors.required(path)
    elif not slash or not host or not rest:
        errors.invalid(path, text, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        errors.all_invalid(path, host, formats.dns1123_subdomain(host))
        if not re.fullmatch(_PATH, rest):
            errors.invalid(path, rest, formats.regex_error("Invalid path", _PATH))
    if len(text) > MAX_MANAGED_BY:
        errors.too_long(path, MAX_MANAGED_BY)


def _validate_completion_mode(errors: Errors, spec: JsonObject, path: str) -> None:
    mode = spec.get("completionMode")
    if mode is not None:
        errors.unless_one_of(f"{path}.completionMode", mode, ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        _validate_indexed(errors, spec, path)
    elif mode in (None, "NonIndexed"):
        for name in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(name) is not None:
                errors.invalid(f"{path}.{name}", spec[name], "requires indexed completion mode")


def _validate_indexed(errors: Errors, spec: JsonObject, path: str) -> None:
    completions, parallelism, most = spec.get("completions"), spec.get("parallelism"), spec.get("maxFailedIndexes")
    if completions is None:
        errors.required(f"{path}.completions", "when completion mode is Indexed")
    if parallelism is not None and parallelism > MAX_INDEXED:
        detail = f"must be less than or equal to {MAX_INDEXED} when completion mode is Indexed"
        errors.invalid(f"{path}.parallelism", parallelism, detail)
    if completions is not None and most is not None and most > completions:
        errors.invalid(f"{path}.maxFailedIndexes", most, "must be less than or equal to completions")
    if most is not None and most > MAX_INDEXED:
        errors.invalid(f"{path}.maxFailedIndexes", most, f"must be less than or equal to {MAX_INDEXED}")
    if completions is None or completions <= MANY_COMPLETIONS or spec.get("backoffLimitPerIndex") is None:
        return
    if most is None:
        detail = f"must be specified when completions is above {MANY_COMPLETIONS}"
        errors.required(f"{path}.maxFailedIndexes", detail)
    detail = (
        f"must be less than or equal to {MAX_WITH_MANY_COMPLETIONS} when completions are above {MANY_COMPLETIONS} "
        "and used with backoff limit per index"
    )
    for name, value in (("parallelism", parallelism), ("maxFailedIndexes", most)):
        if value is not None and value > MAX_WITH_MANY_COMPLETIONS:
            errors.invalid(f"{path}.{name}", value, detail)


def _validate_pod_replacement_policy(errors: Errors, spec: JsonObject, path: str) -> None:
    policy = spec.get("podReplacementPolicy")
    if policy is not None:
        allowed = ("Failed", "TerminatingOrFailed") if spec.get("podFailurePolicy") is None else ("Failed",)
        errors.unless_one_of(path, policy, allowed)


def _validate_restart_policy(errors: Errors, spec: JsonObject, template: JsonObject, path: str) -> None:
    policy = (template.get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        errors.required(path, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        errors.unsupported(path, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        errors.invalid(path, Named(policy), 'only "Never" is supported when podFailurePolicy is specified')


# -- podFailurePolicy -----------------------------------------------------------------------------------------------


def _validate_pod_failure_policy(errors: Errors, spec: JsonObject, path: str) -> None:
    rules = spec["podFailurePolicy"].get("rules") or ()
    if len(rules) > MAX_RULES:
        errors.too_many(f"{path}.rules", len(rules), MAX_RULES)
    template = (spec.get("template") or {}).get("spec") or {}
    containers = (*(template.get("containers") or ()), *(template.get("initContainers") or ()))
    names = {container.get("name", "") for container in containers}
    for number, rule in enumerate(rules):
        _validate_failure_rule(errors, spec, rule, f"{path}.rules[{number}]", names)


def _validate_failure_rule(errors: Errors, spec: JsonObject, rule: JsonObject, path: str, names: set[str]) -> None:
    action, codes, conditions = rule.get("action", ""), rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if not action:
        errors.required(f"{path}.action", f"valid values: {_listed(_ACTIONS)}")
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            errors.invalid(f"{path}.action", Named(action), "requires the backoffLimitPerIndex to be set")
    else:
        errors.unless_one_of(f"{path}.action", action, _ACTIONS)
    if codes is not None:
        _validate_exit_codes(errors, codes, f"{path}.onExitCodes", names)
    if conditions:
        _validate_conditions(errors, conditions, f"{path}.onPodConditions")
    if codes is not None and conditions:
        errors.invalid(path, OMITTED, "specifying both OnExitCodes and OnPodConditions is not supported")
    if codes is None and not conditions:
        errors.invalid(path, OMITTED, "specifying one of OnExitCodes and OnPodConditions is required")


def _listed(values: tuple[str, ...]) -> str:
    """A list of strings in Go's format."""
    return "[" + " ".join(quoted(value) for value in values) + "]"


def _validate_exit_codes(errors: Errors, codes: JsonObject, path: str, names: set[str]) -> None:
    operator, name, values = codes.get("operator", ""), codes.get("containerName"), codes.get("values") or []
    if not operator:
        errors.required(f"{path}.operator", f"valid values: {_listed(_OPERATORS)}")
    else:
        errors.unless_one_of(f"{path}.operator", operator, _OPERATORS)
    if name is not None and name not in names:
        detail = "must be one of the container or initContainer names in the pod template"
        errors.invalid(f"{path}.containerName", name, detail)
    if not values:
        errors.invalid(f"{path}.values", codes.get("values"), "at least one value is required")
    elif len(values) > MAX_EXIT_CODES:
        errors.too_many(f"{path}.values", len(values), MAX_EXIT_CODES)
    for number, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.invalid(f"{path}.values[{number}]", value, "must not be 0 for the In operator")
        if value in values[:number]:
            errors.duplicate(f"{path}.values[{number}]", value)
    if values != sorted(values):
        errors.invalid(f"{path}.values", values, "must be ordered")


def _validate_conditions(errors: Errors, patterns: list[JsonObject], path: str) -> None:
    if len(patterns) > MAX_PATTERNS:
        errors.too_many(path, len(patterns), MAX_PATTERNS)
    for number, pattern in enumerate(patterns):
        name, status = pattern.get("type", ""), pattern.get("status", "")
        errors.all_invalid(f"{path}[{number}].type", name, formats.label_key(name))
        if not status:
            errors.required(f"{path}[{number}].status", f"valid values: {_listed(_STATUSES)}")
        else:
            errors.unless_one_of(f"{path}[{number}].status", status, _STATUSES)


# -- successPolicy --------------------------------------------------------------------------------------------------


def _validate_success_policy(errors: Errors, spec: JsonObject, path: str) -> None:
    rules = spec["successPolicy"].get("rules") or ()
    if not rules:
        detail = "at least one rules must be specified when the successPolicy is specified"
        errors.required(f"{path}.rules", detail)
    if len(rules) > MAX_RULES:
        errors.too_many(f"{path}.rules", len(rules), MAX_RULES)
    for number, rule in enumerate(rules):
        _validate_success_rule(errors, rule, spec.get("completions") or 0, f"{path}.rules[{number}]")


def _validate_success_rule(errors: Errors, rule: JsonObject, completions: int, path: str) -> None:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if count is None and indexes is None:
        errors.required(path, "at least one of succeededCount or succeededIndexes must be specified")
    total = 0
    if indexes is not None:
        if len(indexes) > MAX_SUCCEEDED_INDEXES_TEXT:
            errors.too_long(f"{path}.succeededIndexes", MAX_SUCCEEDED_INDEXES_TEXT)
        try:
            total = count_indexes(indexes, completions)
        except ValueError as error:
            errors.invalid(f"{path}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
    if count is None:
        return
    errors.nonnegative(f"{path}.succeededCount", count)
    if count > completions:
        detail = f"must be less than or equal to {completions} (the number of specified completions)"
        errors.invalid(f"{path}.succeededCount", count, detail)
    if indexes is not None and count > total:
        detail = (
            f"must be less than or equal to {total} (the number of indexes in the specified succeededIndexes field)"
        )
        errors.invalid(f"{path}.succeededCount", count, detail)


def count_indexes(text: str, completions: int) -> int:
    """The number of indexes in a text such as `0-2,5`; raises ValueError."""
    last, total = -1, 0
    for part in text.split(",") if text else ():
        first, end = _parse_interval(part, completions)
        if last >= first:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        total += end - first + 1
        last = end
    return total


def _parse_interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        problem = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f"the fragment {quoted(text)} {problem}")
    numbers = [_parse_index(limit, completions) for limit in limits]
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise ValueError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]


def _parse_index(text: str, completions: int) -> int:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"cannot convert string to integer for index: {quoted(text)}")
    if int(text) >= completions:
        raise ValueError(f"too large index: {quoted(text)}")
    return int(text)


def success_policy_json(policy: JsonObject | None) -> Raw:
    """The text of a successPolicy in messages: JSON with Go's field names."""
    if policy is None:
        return Raw("null")
    rules = [
        InOrder({"SucceededIndexes": rule.get("succeededIndexes"), "SucceededCount": rule.get("succeededCount")})
        for rule in policy.get("rules") or ()
    ]
    return Raw(dumps({"Rules": rules}))


def failure_policy_json(policy: JsonObject | None) -> Raw:
    """The text of a podFailurePolicy in messages: JSON with Go's field names."""
    if policy is None:
        return Raw("null")
    rules = []
    for rule in policy.get("rules") or ():
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions")
        shown = InOrder({"Action": rule.get("action", ""), "OnExitCodes": None, "OnPodConditions": None})
        if codes is not None:
            named = {"ContainerName": codes.get("containerName"), "Operator": codes.get("operator", "")}
            shown["OnExitCodes"] = InOrder({**named, "Values": codes.get("values")})
        if conditions is not None:
            shown["OnPodConditions"] = [
                InOrder({"Type": pattern.get("type", ""), "Status": pattern.get("status", "")})
                for pattern in conditions
            ]
        rules.append(shown)
    return Raw(dumps({"Rules": rules}))


def default_job_spec(spec: JsonObject) -> None:
    """Set the defaults of a Job's spec except those of the template, in place."""
    defaults: dict[str, Any] = {"parallelism": 1, "completionMode": "NonIndexed", "suspend": False}
    if spec.get("completions") is None and spec.get("parallelism") is None:
        defaults["completions"] = 1
    defaults["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else 2**31 - 1
    policy = spec.get("podFailurePolicy")
    defaults["podReplacementPolicy"] = "TerminatingOrFailed" if policy is None else "Failed"
    defaults["manualSelector"] = False
    for name, value in defaults.items():
        if spec.get(name) is None:
            spec[name] = value


def default_failure_conditions(spec: JsonObject) -> None:
    """Default the status of pod conditions to True, in place."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            pattern["status"] = pattern.get("status") or "True"
