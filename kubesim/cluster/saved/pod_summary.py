"""Summarizes a pod's status from the API server, as the trace summarizes the kubelet's status updates.

`kubelet/status/summary.py` does the same with the kubelet's types; a test compares both.
"""

from __future__ import annotations

from typing import Any

from kubesim.cluster.saved.history import ObjectChange

_CONTAINERS = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "ephemeralContainers",
}


def shown_pod(change: ObjectChange) -> tuple[str, str, dict[str, Any] | None]:
    """Namespace and name, node, and status summary; None if the pod is gone."""
    metadata = change.object["metadata"]
    name = f"{metadata.get('namespace', '')}/{metadata['name']}"
    summary = None if change.type == "DELETED" else _summary(change.object.get("status") or {})
    return name, change.object.get("spec", {}).get("nodeName", ""), summary


def _summary(status: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {name: status[name] for name in ("phase", "reason") if status.get(name)}
    found["conditions"] = {
        each["type"]: "/".join(filter(None, (each["status"], each.get("reason"))))
        for each in status.get("conditions", ())
    }
    for field, kind in _CONTAINERS.items():
        found[kind] = {each["name"]: _container(each) for each in status.get(field, ())}
    return found


def _container(status: dict[str, Any]) -> dict[str, Any]:
    count = status.get("restartCount", 0)
    return {"state": _state(status.get("state") or {}), "ready": status.get("ready", False), "restartCount": count}


def _state(state: dict[str, Any]) -> str:
    if "terminated" in state:
        return f"terminated/{state['terminated'].get('exitCode', 0)}/{state['terminated'].get('reason', '')}"
    if "waiting" in state:
        return f"waiting/{state['waiting'].get('reason', '')}"
    return "running" if "running" in state else ""
