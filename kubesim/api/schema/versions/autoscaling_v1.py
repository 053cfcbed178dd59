"""HorizontalPodAutoscalers of autoscaling/v1: those of autoscaling/v2 with other fields.

v1 knows only a target for the CPU; other metrics and the behavior are in annotations.

Mirrors: pkg/apis/autoscaling/v1/conversion.go; pkg/apis/autoscaling/annotations.go
"""

from __future__ import annotations

import json
from typing import Any

JsonObject = dict[str, Any]

API_VERSION, STORED_VERSION = "autoscaling/v1", "autoscaling/v2"
_METRICS, _BEHAVIOR = "autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/behavior"
# v1 name: path in v2
_SOURCES: dict[str, dict[str, tuple[str, ...]]] = {
    "resource": {
        "name": ("name",),
        "targetAverageUtilization": ("target", "averageUtilization"),
        "targetAverageValue": ("target", "averageValue"),
    },
    "pods": {
        "metricName": ("metric", "name"),
        "targetAverageValue": ("target", "averageValue"),
        "selector": ("metric", "selector"),
    },
    "object": {
        "target": ("describedObject",),
        "metricName": ("metric", "name"),
        "targetValue": ("target", "value"),
        "selector": ("metric", "selector"),
        "averageValue": ("target", "averageValue"),
    },
    "external": {
        "metricName": ("metric", "name"),
        "metricSelector": ("metric", "selector"),
        "targetValue": ("target", "value"),
        "targetAverageValue": ("target", "averageValue"),
    },
}
_SOURCES["containerResource"] = {**_SOURCES["resource"], "container": ("container",)}


def from_v2(autoscaler: JsonObject) -> JsonObject:
    """The stored object in autoscaling/v1."""
    spec, status = dict(autoscaler.get("spec") or {}), {"currentReplicas": 0, **(autoscaler.get("status") or {})}
    metrics, behavior = spec.pop("metrics", None) or [], spec.pop("behavior", None)
    percents = [metric["resource"]["target"]["averageUtilization"] for metric in metrics if _is_cpu(metric)]
    if percents:
        spec["targetCPUUtilizationPercentage"] = percents[-1]
    others = [_metric_in_v1(metric) for metric in metrics if not _is_cpu(metric)]
    notes = {_METRICS: others or None, _BEHAVIOR: behavior}
    current = status.pop("currentMetrics", None) or []
    status.pop("conditions", None)
    for metric in current:
        found = metric.get("resource") or {}
        percent = (found.get("current") or {}).get("averageUtilization")
        if found.get("name") == "cpu" and percent is not None:
            status["currentCPUUtilizationPercentage"] = percent
    return _with_notes(autoscaler, notes, API_VERSION) | {"spec": spec, "status": status}


def to_v2(autoscaler: JsonObject) -> JsonObject:
    """The stored form of an object of autoscaling/v1."""
    spec = dict(autoscaler.get("spec") or {})
    notes = (autoscaler.get("metadata") or {}).get("annotations") or {}
    metrics = [_metric_in_v2(metric) for metric in _read(notes.get(_METRICS), list)]
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics.insert(0, {"type": "Resource", "resource": {"name": "cpu", "target": target}})
    if metrics:
        spec["metrics"] = metrics
    behavior = _read(notes.get(_BEHAVIOR), dict)
    if behavior:
        spec["behavior"] = behavior
    status = dict(autoscaler.get("status") or {})
    status.pop("currentCPUUtilizationPercentage", None)
    return _with_notes(autoscaler, {}, STORED_VERSION) | {"spec": spec, "status": status}


def _with_notes(autoscaler: JsonObject, notes: JsonObject, version: str) -> JsonObject:
    """A copy with these annotations in place of those of an earlier conversion."""
    metadata = dict(autoscaler.get("metadata") or {})
    kept = {name: text for name, text in (metadata.pop("annotations", None) or {}).items()
            if name not in (_METRICS, _BEHAVIOR)}  # fmt: skip
    kept |= {name: json.dumps(value, separators=(",", ":")) for name, value in notes.items() if value}
    if kept:
        metadata["annotations"] = kept
    return {**autoscaler, "metadata": metadata} | ({"apiVersion": version} if autoscaler.get("apiVersion") else {})


def _read(text: Any, kind: type) -> Any:
    """The value of an annotation; empty if it is no valid JSON of this kind, as upstream ignores it then."""
    try:
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, kind) else kind()


def _is_cpu(metric: JsonObject) -> bool:
    source = metric.get("resource") or {}
    percent = (source.get("target") or {}).get("averageUtilization")
    return metric.get("type") == "Resource" and source.get("name") == "cpu" and percent is not None


def _metric_in_v1(metric: JsonObject) -> JsonObject:
    found: JsonObject = {"type": metric.get("type", "")}
    for source, names in _SOURCES.items():
        value = metric.get(source)
        if value is not None:
            parts = {name: _at(value, path) for name, path in names.items()}
            found[source] = {name: part for name, part in parts.items() if part is not None}
    return found


def _metric_in_v2(metric: Any) -> JsonObject:
    found: JsonObject = {}
    for source, names in _SOURCES.items() if isinstance(metric, dict) else ():
        value = metric.get(source)
        if isinstance(value, dict):
            found[source] = _source_in_v2(value, names)
    return {"type": str(metric.get("type", "")) if isinstance(metric, dict) else ""} | found


def _source_in_v2(value: JsonObject, names: dict[str, tuple[str, ...]]) -> JsonObject:
    out: JsonObject = {}
    for name, (*above, last) in names.items():
        if value.get(name) is not None:
            parent = out
            for part in above:
                parent = parent.setdefault(part, {})
            parent[last] = value[name]
    target = out.setdefault("target", {})
    kinds = {"averageUtilization": "Utilization", "value": "Value", "averageValue": "AverageValue"}
    target["type"] = next((kind for field, kind in kinds.items() if field in target), "AverageValue")
    return out


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value
