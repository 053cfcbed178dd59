"""Defaults, generated labels, validation and immutability of Jobs and CronJobs.

A Job selects its pods by its own uid, unless it has a manual selector.

Mirrors: pkg/apis/batch/v1/defaults.go; pkg/registry/batch/job/strategy.go generateSelector, ValidateUpdate;
pkg/apis/batch/validation/validation.go ValidateJob, ValidateJobUpdate, validateCronJobSpec
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from kubesim.api.schema.codec import encode
from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors, FieldError, JsonObject, Named, Raw
from kubesim.api.validation.metadata import validate_label_selector
from kubesim.api.validation.structs import label_selector_json
from kubesim.api.workloads.batch import Job
from kubesim.api.workloads.rules.job_specs import (
    default_failure_conditions,
    default_job_spec,
    failure_policy_json,
    success_policy_json,
    validate_job_spec,
)
from kubesim.api.workloads.rules.kind_rules import KindRules
from kubesim.api.workloads.rules.pod_templates import (
    DOES_NOT_MATCH,
    IMMUTABLE,
    default_pod_template,
    selector_matches,
    validate_immutable_selector,
)
from kubesim.golang.cron import CronError, load_location, parse_schedule

UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
CRON_JOB_NAME_MAX = 52  # the name of a Job has 11 more characters
_POLICIES = ("Allow", "Forbid", "Replace")
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


_IMMUTABLE: Mapping[str, Callable[[Any], Any]] = {  # with the function that formats the value for messages
    "completionMode": lambda mode: Named(mode) if mode else mode,
    "podFailurePolicy": failure_policy_json,
    "backoffLimitPerIndex": lambda limit: limit,
    "managedBy": lambda name: name,
    "successPolicy": success_policy_json,
}


# -- defaults -------------------------------------------------------------------------------------------------------


def _default_job(job: JsonObject) -> None:
    """Set the defaults of a Job. Without labels of its own it shares those of its template, including generated
    ones."""
    spec = job.setdefault("spec", {})
    template = spec.setdefault("template", {})
    default_pod_template(template)
    default_job_spec(spec)
    default_failure_conditions(spec)
    labels = (template.get("metadata") or {}).get("labels")
    if labels is not None and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = template["metadata"]["labels"] = dict(labels)


def _default_cron_job(cron_job: JsonObject) -> None:
    """Set the defaults of a CronJob. The Job template gets most defaults only when a Job is created."""
    spec = cron_job.setdefault("spec", {})
    job_spec = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
    default_pod_template(job_spec.setdefault("template", {}))
    default_failure_conditions(job_spec)
    spec["concurrencyPolicy"] = spec.get("concurrencyPolicy") or "Allow"
    for name, value in (("suspend", False), ("successfulJobsHistoryLimit", 3), ("failedJobsHistoryLimit", 1)):
        if spec.get(name) is None:
            spec[name] = value


def _generate_selector(job: JsonObject) -> None:
    """Add the selector and labels that match only the pods of this Job. Labels set by a client remain, and validation
    may reject them.
    """
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector"):
        return
    template = spec["template"].get("metadata") or {}
    labels = template.get("labels") or {}
    for label, value in (dict.fromkeys(NAME_LABELS, "name") | dict.fromkeys(UID_LABELS, "uid")).items():
        labels.setdefault(label, metadata.get(value, ""))
    spec["template"]["metadata"] = {**template, "labels": labels}
    if not metadata.get("labels"):
        metadata["labels"] = dict(labels)
    selector = spec.get("selector") or {}
    selected = {UID_LABELS[1]: metadata["uid"], **(selector.get("matchLabels") or {})}
    spec["selector"] = {**selector, "matchLabels": selected}


# -- Jobs -----------------------------------------------------------------------------------------------------------


def _validate_job(errors: Errors, job: JsonObject) -> None:
    spec, name = job["spec"], job["metadata"].get("name", "")
    _validate_generated_selector(errors, job)
    _validate_spec_and_selector(errors, spec)
    completions = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and completions:
        longest = f"{name}-{completions - 1}"
        if formats.dns1123_label(longest):
            errors.invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {longest}")


def _validate_spec_and_selector(errors: Errors, spec: JsonObject) -> None:
    validate_job_spec(errors, spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        errors.required("spec.selector")
        return
    before = len(errors)
    validate_label_selector(errors, selector, "spec.selector")
    labels = _template_labels(spec)
    if len(errors) == before and not selector_matches(selector, labels or {}):
        errors.invalid("spec.template.metadata.labels", labels, DOES_NOT_MATCH)


def _template_labels(spec: JsonObject) -> Mapping[str, str] | None:
    labels: Mapping[str, str] | None = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    return labels


def _validate_generated_selector(errors: Errors, job: JsonObject) -> None:
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    labels = _template_labels(spec) or {}
    uid, name = metadata.get("uid", ""), metadata.get("name", "")
    expected = {"controller-uid": uid, "job-name": name, UID_LABELS[1]: uid, NAME_LABELS[1]: name}
    for label, value in expected.items():
        path = f"spec.template.metadata.labels[{label}]"
        if label not in labels:
            errors.required(path, f"must be '{value}'")
        elif labels[label] != value:
            errors.invalid(path, labels, f"must be '{value}'")
    if not selector_matches(spec["selector"], expected):
        errors.invalid("spec.selector", Raw(label_selector_json(spec["selector"])), "`selector` not auto-generated")


def _validate_job_update(errors: Errors, new: JsonObject, old: JsonObject) -> None:
    """Check the immutable fields. The scheduling fields of the template are mutable while the Job is suspended and has
    no pods.
    """
    spec, before = new["spec"], old["spec"]
    _validate_spec_and_selector(errors, spec)
    _validate_completions_update(errors, spec, before)
    validate_immutable_selector(errors, spec.get("selector"), before.get("selector"), "spec.selector")
    _validate_template_update(errors, spec, old)
    for name, shown in _IMMUTABLE.items():
        value = spec.get(name)
        if value != before.get(name):
            errors.invalid(f"spec.{name}", shown(value), IMMUTABLE)


def _validate_completions_update(errors: Errors, spec: JsonObject, before: JsonObject) -> None:
    completions = spec.get("completions")
    if completions == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        errors.invalid("spec.completions", completions, IMMUTABLE)
    elif completions is not None and completions != spec.get("parallelism"):
        detail = "can only be modified in tandem with spec.parallelism"
        errors.invalid("spec.completions", completions, detail)


def _validate_template_update(errors: Errors, spec: JsonObject, old: JsonObject) -> None:
    template, before = spec["template"], deepcopy(old["spec"]["template"])
    suspended = bool(old["spec"].get("suspend"))
    if suspended and _has_no_pods(old.get("status") or {}):
        _allow_placement(template, before)
        _allow_resources(template["spec"], before["spec"])
        path, part = "spec.template.spec", "spec"
        before["metadata"] = template.get("metadata") or {}
    else:
        path, part = "spec.template", ""
    new_value, old_value = _encoded(template), _encoded(before)
    if new_value != old_value:
        errors.invalid(path, new_value[part] if part else new_value, IMMUTABLE)


def _encoded(template: JsonObject) -> JsonObject:
    """A template in canonical form, so that equal templates compare equal."""
    encoded: JsonObject = encode(Job.__name__, {"spec": {"template": template}})["spec"]["template"]
    return encoded


def _has_no_pods(status: JsonObject) -> bool:
    conditions = status.get("conditions") or ()
    suspended = any(c.get("type") == "Suspended" and c.get("status") == "True" for c in conditions)
    return (status.get("startTime") is None or suspended) and not status.get("active")


def _allow_placement(template: JsonObject, before: JsonObject) -> None:
    """Copy node affinity, node selector, tolerations and scheduling gates of the new template to the old one, in
    place."""
    new_spec, old_spec = template["spec"], before["spec"]
    new_affinity, old_affinity = new_spec.get("affinity"), dict(old_spec.get("affinity") or {})
    old_affinity.pop("nodeAffinity", None)
    if new_affinity is not None:
        if new_affinity.get("nodeAffinity") is not None:
            old_affinity["nodeAffinity"] = new_affinity["nodeAffinity"]
        old_spec["affinity"] = old_affinity
    elif old_spec.get("affinity") is not None:
        old_spec["affinity"] = old_affinity or None
    for name in ("nodeSelector", "tolerations", "schedulingGates"):
        old_spec[name] = new_spec.get(name)


def _allow_resources(new: JsonObject, old: JsonObject) -> None:
    for kind in ("containers", "initContainers"):
        containers, before = new.get(kind) or [], old.get(kind) or []
        if len(containers) != len(before):
            continue
        for container, same in zip(containers, before, strict=True):
            if container.get("name") == same.get("name"):
                same["resources"] = container.get("resources")


# -- CronJobs -------------------------------------------------------------------------------------------------------


def _validate_cron_job(errors: Errors, cron_job: JsonObject) -> None:
    spec, name = cron_job["spec"], cron_job["metadata"].get("name", "")
    schedule, zone = spec.get("schedule", ""), spec.get("timeZone")
    if not schedule:
        errors.required("spec.schedule")
    else:
        _validate_schedule(errors, schedule)
    if spec.get("startingDeadlineSeconds") is not None:
        errors.nonnegative("spec.startingDeadlineSeconds", spec["startingDeadlineSeconds"])
    if zone is not None:
        _validate_time_zone(errors, zone)
    errors.unless_one_of("spec.concurrencyPolicy", spec["concurrencyPolicy"], _POLICIES)
    _validate_job_template(errors, spec["jobTemplate"]["spec"], "spec.jobTemplate.spec")
    for limit in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors.nonnegative(f"spec.{limit}", spec[limit])
    if len(name) > CRON_JOB_NAME_MAX:
        errors.invalid("metadata.name", name, f"must be no more than {CRON_JOB_NAME_MAX} characters")


def _validate_schedule(errors: Errors, schedule: str) -> None:
    try:
        parse_schedule(schedule)
    except CronError as error:
        errors.invalid("spec.schedule", schedule, str(error))
    if "TZ" in schedule:
        errors.invalid("spec.schedule", schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")


def _validate_time_zone(errors: Errors, zone: str) -> None:
    path = "spec.timeZone"
    if not zone:
        errors.invalid(path, zone, "timeZone must be nil or non-empty string")
        return
    parts = zone.split("/")
    if any(part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part) for part in parts):
        errors.invalid(path, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        detail = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.invalid(path, zone, detail)
    try:
        load_location(zone)
    except CronError as error:
        errors.invalid(path, zone, str(error))


def _validate_job_template(errors: Errors, spec: JsonObject, path: str) -> None:
    validate_job_spec(errors, spec, path)
    selector: Any = spec.get("selector")
    if selector is not None:
        errors.invalid(f"{path}.selector", Raw(label_selector_json(selector)), "`selector` will be auto-generated")
    if spec.get("manualSelector"):
        detail = 'supported values: "nil", "false"'
        errors.append(FieldError("Unsupported value", f"{path}.manualSelector", True, detail))


RULES: Mapping[str, KindRules] = {
    "Job": KindRules(
        default=_default_job,
        prepare=_generate_selector,
        validate=_validate_job,
        validate_update=_validate_job_update,
    ),
    "CronJob": KindRules(default=_default_cron_job, validate=_validate_cron_job),
}
