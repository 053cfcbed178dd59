"""Validation of Events: lenient for the core group, strict for events.k8s.io.

Mirrors: pkg/apis/core/validation/events.go
"""

from __future__ import annotations

from typing import Any

from kubesim.api.validation import formats
from kubesim.api.validation.field import Errors

JsonObject = dict[str, Any]

_INSTANCE, _ACTION, _REASON, _NOTE = 128, 128, 128, 1024
_IMMUTABLE = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count", "reason", "type",
    "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def validate_event(errors: Errors, event: JsonObject, *, strict: bool) -> None:
    """Validate a new Event; `strict` if it was sent as events.k8s.io."""
    _validate_always(errors, event, strict=strict)
    if not strict:
        return
    _validate_series(errors, event)
    if not event.get("eventTime"):
        errors.required("eventTime")
    if event.get("type") not in ("Normal", "Warning"):
        errors.invalid("type", "", f"has invalid value: {event.get('type', '')}")
    for field in ("firstTimestamp", "lastTimestamp", "count"):
        if event.get(field):
            errors.invalid(field, "", "needs to be unset")
    source = event.get("source") or {}
    if source.get("component") or source.get("host"):
        errors.invalid("source", "", "needs to be unset")


def validate_event_update(errors: Errors, new: JsonObject, old: JsonObject, *, strict: bool) -> None:
    _validate_always(errors, new, strict=strict)
    if not strict:
        return
    if new.get("series") != old.get("series"):
        _validate_series(errors, new)
    for field in _IMMUTABLE:
        if (new.get(field) or None) != (old.get(field) or None):
            shown = "reportingController" if field == "reportingComponent" else field
            errors.invalid(shown, new.get(field), "field is immutable")


def _validate_series(errors: Errors, event: JsonObject) -> None:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        errors.invalid("series.count", "", "should be at least 2")
    if not series.get("lastObservedTime"):
        errors.required("series.lastObservedTime")


def _validate_always(errors: Errors, event: JsonObject, *, strict: bool) -> None:
    """Checks for both versions: an Event is in the namespace of its object, or in `default` for cluster-scoped ones."""
    about = (event.get("involvedObject") or {}).get("namespace", "")
    own = event["metadata"].get("namespace", "")
    mismatch = "does not match event.namespace"
    if not event.get("eventTime"):
        if about != own and (about or own != "default"):
            errors.invalid("involvedObject.namespace", about, mismatch)
        return
    if not about and own not in ("default", "kube-system"):
        errors.invalid("involvedObject.namespace", about, mismatch)
    controller, field = event.get("reportingComponent", ""), "reportingController" if strict else "reportingComponent"
    if not controller:
        errors.required(field)
    errors.all_invalid(field, controller, formats.label_key(controller))
    for name, limit in (("reportingInstance", _INSTANCE), ("action", _ACTION), ("reason", _REASON)):
        value = event.get(name, "")
        if not value:
            errors.required(name)
        _check_length(errors, name, value, limit)
    _check_length(errors, "message", event.get("message", ""), _NOTE)


def _check_length(errors: Errors, name: str, value: str, limit: int) -> None:
    if len(value.encode(errors="replace")) > limit:
        errors.invalid(name, "", f"can have at most {limit} characters")
