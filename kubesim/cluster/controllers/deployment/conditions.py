"""Conditions of a Deployment. A changed condition moves to the end of the list.

Mirrors: pkg/controller/deployment/util/deployment_util.go NewDeploymentCondition, SetDeploymentCondition
"""

from __future__ import annotations

from kubesim.api.timestamps import format_time
from kubesim.api.workloads.apps import DeploymentCondition, DeploymentStatus

AVAILABLE = "Available"
PROGRESSING = "Progressing"
REPLICA_FAILURE = "ReplicaFailure"

REPLICA_SET_UPDATED = "ReplicaSetUpdated"
REPLICA_SET_CREATE_ERROR = "ReplicaSetCreateError"
NEW_REPLICA_SET_CREATED = "NewReplicaSetCreated"
FOUND_NEW_REPLICA_SET = "FoundNewReplicaSet"
NEW_REPLICA_SET_AVAILABLE = "NewReplicaSetAvailable"
PROGRESS_DEADLINE_EXCEEDED = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"
MINIMUM_REPLICAS_AVAILABLE = "MinimumReplicasAvailable"
MINIMUM_REPLICAS_UNAVAILABLE = "MinimumReplicasUnavailable"


def new_condition(type: str, status: str, reason: str, message: str, now: int) -> DeploymentCondition:
    moment = format_time(now)
    return DeploymentCondition(
        type=type,
        status=status,
        last_update_time=moment,
        last_transition_time=moment,
        reason=reason,
        message=message,
    )


def find_condition(status: DeploymentStatus, type: str) -> DeploymentCondition | None:
    return next((condition for condition in status.conditions if condition.type == type), None)


def with_condition(status: DeploymentStatus, condition: DeploymentCondition) -> DeploymentStatus:
    """The conditions with this one; unchanged if status and reason are the same."""
    current = find_condition(status, condition.type)
    if current is not None and current.status == condition.status:
        if current.reason == condition.reason:
            return status
        condition = condition.changed(last_transition_time=current.last_transition_time)
    return status.changed(conditions=(*without_condition(status, condition.type).conditions, condition))


def without_condition(status: DeploymentStatus, type: str) -> DeploymentStatus:
    return status.changed(conditions=tuple(condition for condition in status.conditions if condition.type != type))
