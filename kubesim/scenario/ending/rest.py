"""Decides whether pods and workloads are idle: nothing more happens to them without a change from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.pod_conditions import READY, is_condition_true

# Owners first: after a deletion in this order, no owner is left to create new pods.
WORKLOADS = ("CronJob", "Deployment", "StatefulSet", "DaemonSet", "Job", "ReplicaSet", "ReplicationController")

Fields = Mapping[str, Any]


def is_settled(pod: Pod) -> bool:
    """Whether a pod has ended, or is ready and not being deleted."""
    if pod.metadata.deletion_timestamp is not None:
        return False
    status = pod.status
    return status.phase in TERMINAL_PHASES or is_condition_true(status.conditions, READY)


def is_idle(workload: ApiObject) -> bool:
    """Whether a workload has all the pods that it requests. A CronJob is idle only while it is suspended."""
    if workload.metadata.deletion_timestamp is not None:
        return False
    content = workload.to_json()
    spec, status = content.get("spec") or {}, content.get("status") or {}
    match workload.kind:
        case "CronJob":
            return bool(spec.get("suspend"))
        case "Job":
            return _job_is_idle(spec, status)
        case "DaemonSet":
            rolling = (spec.get("updateStrategy") or {}).get("type") != "OnDelete"
            counts = _numbers(status, "numberReady", *(("updatedNumberScheduled",) if rolling else ()))
            return _is_observed(workload, status) and counts == {status.get("desiredNumberScheduled", 0)}
        case "Deployment":
            rolling = not spec.get("paused")
            counts = _numbers(status, "replicas", "readyReplicas", *(("updatedReplicas",) if rolling else ()))
            return _is_observed(workload, status) and counts == {spec.get("replicas", 1)}
        case _:
            counts = _numbers(status, "replicas", "readyReplicas")
            return _is_observed(workload, status) and counts == {spec.get("replicas", 1)}


def _job_is_idle(spec: Fields, status: Fields) -> bool:
    """Whether a Job is finished or suspended, or has only ready pods."""
    if finished(status) is not None or spec.get("suspend"):
        return True
    active = status.get("active", 0)
    return bool(active and active == status.get("ready", 0))


def finished(status: Fields) -> Fields | None:
    """The condition that reports the end of a Job."""
    for condition in status.get("conditions") or ():
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return dict(condition)
    return None


def _is_observed(workload: ApiObject, status: Fields) -> bool:
    """Whether the controller has observed the newest spec."""
    return bool(status.get("observedGeneration", 0) >= workload.metadata.generation)


def _numbers(status: Fields, *names: str) -> set[int]:
    return {status.get(name, 0) for name in names}
