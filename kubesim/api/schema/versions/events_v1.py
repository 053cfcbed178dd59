"""Events of the group events.k8s.io: the objects of the core group with other field names.

Mirrors: pkg/apis/events/v1/conversion.go, zz_generated.conversion.go
"""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

API_VERSION = "events.k8s.io/v1"
# events.k8s.io: core
_NAMES = {
    "reportingController": "reportingComponent",
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_CORE_NAMES = {core: name for name, core in _NAMES.items()}
# In the order of the type's declaration.
_ORDER = (
    "kind", "apiVersion", "metadata", "eventTime", "series", "reportingController", "reportingInstance", "action",
    "reason", "regarding", "related", "note", "type", "deprecatedSource", "deprecatedFirstTimestamp",
    "deprecatedLastTimestamp", "deprecatedCount",
)  # fmt: skip
_OMITTED_IF_EMPTY = ("reportingController", "reportingInstance")


def from_core(event: JsonObject) -> JsonObject:
    """A core Event converted to events.k8s.io."""
    renamed = {_CORE_NAMES.get(name, name): value for name, value in event.items()}
    for name in _OMITTED_IF_EMPTY:
        if not renamed.get(name):
            renamed.pop(name, None)
    if renamed.get("apiVersion"):
        renamed["apiVersion"] = API_VERSION
    return {name: renamed[name] for name in _ORDER if name in renamed}


def to_core(event: JsonObject) -> JsonObject:
    """An Event of events.k8s.io converted to its stored form, a core Event."""
    return {_NAMES.get(name, name): value for name, value in event.items()}


def field_path(name: str) -> str:
    """The core name of a field in a field selector for Events of this group: `regarding.kind`,
    `reportingController`."""
    first, dot, rest = name.partition(".")
    return _NAMES.get(first, first) + dot + rest
