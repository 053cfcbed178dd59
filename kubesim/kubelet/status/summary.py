"""A short text of a pod status for the trace, without times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kubesim.api.pod import ContainerState, ContainerStatus, PodStatus


def status_summary(status: PodStatus) -> dict[str, Any]:
    """Phase, address, conditions as `False/PodFailed`; containers as `running`, `waiting/Why`, `terminated/1/Why`."""
    out: dict[str, Any] = {"phase": status.phase}
    if status.reason:
        out["reason"] = status.reason
    if status.pod_ip:
        out["podIP"] = status.pod_ip
    if status.resize:
        out["resize"] = status.resize
    out["conditions"] = {c.type: f"{c.status}/{c.reason}" if c.reason else c.status for c in status.conditions}
    out["containers"] = _containers(status.container_statuses)
    for name, statuses in (
        ("initContainers", status.init_container_statuses),
        ("ephemeralContainers", status.ephemeral_container_statuses),
    ):
        if statuses:
            out[name] = _containers(statuses)
    return out


def _containers(statuses: Sequence[ContainerStatus]) -> dict[str, dict[str, Any]]:
    return {status.name: _container(status) for status in statuses}


def _container(status: ContainerStatus) -> dict[str, Any]:
    out: dict[str, Any] = {"state": state_summary(status.state)}
    last_state = state_summary(status.last_state)
    if last_state:
        out["lastState"] = last_state
    if status.allocated_resources_status:
        out["devices"] = {
            device["resourceID"]: device.get("health", "")
            for resource in status.allocated_resources_status
            for device in resource.get("resources", ())
        }
    return out | {"ready": status.ready, "started": bool(status.started), "restartCount": status.restart_count}


def state_summary(state: ContainerState) -> str:
    if state.running is not None:
        return "running"
    if state.terminated is not None:
        return f"terminated/{state.terminated.exit_code}/{state.terminated.reason}"
    if state.waiting is not None:
        return f"waiting/{state.waiting.reason}"
    return ""
