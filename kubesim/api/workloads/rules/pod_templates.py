"""Defaults and validation of the pod template in a workload, and of the selector that must match it.

All functions take JSON objects from the decoder. A template has fewer defaults than a pod: some are only set when a
controller creates the pod.

Mirrors: pkg/apis/core/validation ValidatePodTemplateSpec; pkg/apis/core/v1/defaults.go SetDefaults_PodSpec;
pkg/apis/apps/validation ValidatePodTemplateSpecForReplicaSet
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.pods.conversion import convert_pod
from kubesim.api.pods.defaults import set_pod_spec_defaults
from kubesim.api.schema.codec import encode
from kubesim.api.validation import formats
from kubesim.api.validation.annotations import (
    validate_app_armor_agreement,
    validate_pod_annotations,
    validate_seccomp_agreement,
)
from kubesim.api.validation.field import Errors, JsonObject, Named, Raw
from kubesim.api.validation.metadata import validate_annotations, validate_label_selector, validate_labels
from kubesim.api.validation.options import DEFAULT_OPTIONS, PodValidationOptions
from kubesim.api.validation.pod import validate_pod_spec
from kubesim.api.validation.structs import label_selector_json

DOES_NOT_MATCH = "`selector` does not match template `labels`"
IMMUTABLE = "field is immutable"


def default_pod_template(template: JsonObject) -> None:
    """Set the defaults of a pod template, in place."""
    set_pod_spec_defaults(template.setdefault("spec", {}))
    convert_pod(template)


def validate_pod_template(
    errors: Errors, template: JsonObject, path: str, options: PodValidationOptions = DEFAULT_OPTIONS
) -> None:
    """Validate the template itself; the callers check their own requirements (restartPolicy, selector)."""
    meta, spec = template.get("metadata") or {}, template.get("spec") or {}
    validate_labels(errors, meta.get("labels") or {}, f"{path}.labels")
    validate_annotations(errors, meta.get("annotations") or {}, f"{path}.annotations")
    validate_pod_annotations(errors, template, f"{path}.annotations", options)
    validate_pod_spec(errors, spec, {}, f"{path}.spec", options)
    if meta.get("annotations"):
        validate_seccomp_agreement(errors, template, f"{path}.spec")
        validate_app_armor_agreement(errors, template, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        errors.forbidden(f"{path}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def validate_always_running_template(
    errors: Errors, template: JsonObject, selector: JsonObject | None, path: str, kind: str
) -> None:
    """Validate the template of a kind whose pods run until they are deleted; messages contain the kind."""
    validate_matching_labels(errors, template, selector, path)
    validate_pod_template(errors, template, path)
    spec = template.get("spec") or {}
    errors.unless_one_of(f"{path}.spec.restartPolicy", spec.get("restartPolicy", ""), ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        errors.forbidden(f"{path}.spec.activeDeadlineSeconds", f"activeDeadlineSeconds in {kind} is not Supported")


def validate_matching_labels(errors: Errors, template: JsonObject, selector: JsonObject | None, path: str) -> None:
    """Check that the selector matches the labels of the template."""
    labels = (template.get("metadata") or {}).get("labels")
    if not is_empty_selector(selector) and not selector_matches(selector, labels or {}):
        errors.invalid(f"{path}.metadata.labels", labels, DOES_NOT_MATCH)


# -- selectors ------------------------------------------------------------------------------------------------------


def validate_selector(errors: Errors, selector: JsonObject | None, path: str, empty: str) -> bool:
    """Validate a required, non-empty selector. Returns whether it can be compared with labels."""
    if selector is None:
        errors.required(path)
        return True
    before = len(errors)
    validate_label_selector(errors, selector, path)
    understood = len(errors) == before
    if is_empty_selector(selector):
        errors.invalid(path, Raw(label_selector_json(selector)), empty)
    if not understood:
        errors.invalid(path, Raw(label_selector_json(selector)), "invalid label selector")
    return understood


def validate_immutable_selector(errors: Errors, new: JsonObject | None, old: JsonObject | None, path: str) -> None:
    if (new is None) != (old is None) or encode("LabelSelector", new or {}) != encode("LabelSelector", old or {}):
        errors.invalid(path, Raw("null" if new is None else label_selector_json(new)), IMMUTABLE)


def is_empty_selector(selector: Mapping[str, Any] | None) -> bool:
    """Whether the selector is empty and selects everything. A missing selector selects nothing."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def selector_matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_requirement_matches(requirement, labels) for requirement in selector.get("matchExpressions") or ())


def _requirement_matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement.get("key", "")), requirement.get("values") or ()
    match requirement.get("operator", ""):
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case _:
            return value is None


# -- numbers --------------------------------------------------------------------------------------------------------


def validate_int_or_percent(errors: Errors, value: int | str | None, path: str) -> None:
    """Validate a nonnegative number, or a percentage such as `25%`."""
    if isinstance(value, str):
        errors.all_invalid(path, Named(value), formats.percent(value))
    else:
        errors.nonnegative(path, value or 0)


def percentage(value: int | str | None) -> int | None:
    """The number before the percent sign; None for any other value."""
    return int(value[:-1]) if isinstance(value, str) and not formats.percent(value) else None


def validate_at_most_100_percent(errors: Errors, value: int | str | None, path: str) -> None:
    percent = percentage(value)
    if percent is not None and percent > 100:
        errors.invalid(path, Named(value), "must not be greater than 100%")
