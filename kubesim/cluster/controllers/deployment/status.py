"""The status of a Deployment: counts, availability, and progress of the rollout.

Mirrors: pkg/controller/deployment/sync.go calculateStatus; progress.go syncRolloutStatus, requeueStuckDeployment;
util/deployment_util.go DeploymentComplete, DeploymentProgressing, DeploymentTimedOut
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.timestamps import MILLISECOND, SECOND, parse_time
from kubesim.api.workloads.apps import Deployment, DeploymentCondition, DeploymentStatus, ReplicaSet
from kubesim.cluster.controllers.deployment.conditions import (
    AVAILABLE,
    MINIMUM_REPLICAS_AVAILABLE,
    MINIMUM_REPLICAS_UNAVAILABLE,
    NEW_REPLICA_SET_AVAILABLE,
    PROGRESS_DEADLINE_EXCEEDED,
    PROGRESSING,
    REPLICA_FAILURE,
    REPLICA_SET_UPDATED,
    find_condition,
    new_condition,
    with_condition,
    without_condition,
)
from kubesim.cluster.controllers.deployment.limits import max_unavailable, replicas_of
from kubesim.cluster.controllers.deployment.replica_sets import total_size

_NO_DEADLINE = 2**31 - 1
_RATE_LIMITED = 5 * MILLISECOND


def has_progress_deadline(deployment: Deployment) -> bool:
    deadline = deployment.spec.progress_deadline_seconds
    return deadline is not None and deadline != _NO_DEADLINE


def calculate_status(
    deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: int
) -> DeploymentStatus:
    """The counts reported by the ReplicaSets; unavailable pods are relative to their desired sizes."""
    available = sum(one.status.available_replicas for one in sets)
    enough = available >= replicas_of(deployment) - max_unavailable(deployment)
    status = DeploymentStatus(
        observed_generation=deployment.metadata.generation,
        replicas=sum(one.status.replicas for one in sets),
        updated_replicas=new.status.replicas if new is not None else 0,
        ready_replicas=sum(one.status.ready_replicas for one in sets),
        available_replicas=available,
        unavailable_replicas=max(total_size(sets) - available, 0),
        conditions=deployment.status.conditions,
    )
    terminating, collisions = _terminating_replicas(sets), deployment.status.collision_count
    if terminating is not None:
        status = status.changed(terminating_replicas=terminating)
    if collisions is not None:
        status = status.changed(collision_count=collisions)
    condition = new_condition(
        AVAILABLE,
        "True" if enough else "False",
        MINIMUM_REPLICAS_AVAILABLE if enough else MINIMUM_REPLICAS_UNAVAILABLE,
        f"Deployment {'has' if enough else 'does not have'} minimum availability.",
        now,
    )
    return with_condition(status, condition)


def _terminating_replicas(sets: Sequence[ReplicaSet]) -> int | None:
    """The terminating pods; None if a synced ReplicaSet does not report them."""
    synced = [
        one.status for one in sets if one.status.observed_generation or one.status.terminating_replicas is not None
    ]
    if any(status.terminating_replicas is None for status in synced):
        return None
    return sum(status.terminating_replicas or 0 for status in synced)


def calculate_rollout_status(
    deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet | None, now: int
) -> DeploymentStatus:
    """The status with the Progressing condition."""
    status = calculate_status(deployment, sets, new, now)
    if has_progress_deadline(deployment):
        status = _with_progress(deployment, status, new, now)
    else:
        status = without_condition(status, PROGRESSING)
    failure = _replica_failure(sets, new)
    return with_condition(status, failure) if failure is not None else without_condition(status, REPLICA_FAILURE)


def _with_progress(
    deployment: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: int
) -> DeploymentStatus:
    current = find_condition(deployment.status, PROGRESSING)
    was_complete = current is not None and current.reason == NEW_REPLICA_SET_AVAILABLE
    if was_complete and status.replicas == status.updated_replicas:
        return status
    subject = f'ReplicaSet "{new.metadata.name}"' if new is not None else f'Deployment "{deployment.metadata.name}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_condition(status, new_condition(PROGRESSING, "True", NEW_REPLICA_SET_AVAILABLE, message, now))
    if is_progressing(deployment, status):
        condition = new_condition(PROGRESSING, "True", REPLICA_SET_UPDATED, f"{subject} is progressing.", now)
        if current is not None and current.status == "True":
            condition = condition.changed(last_transition_time=current.last_transition_time)
        # Progress updates the time of the condition, so it is replaced even if otherwise equal.
        return with_condition(without_condition(status, PROGRESSING), condition)
    if is_timed_out(deployment, status, now):
        message = f"{subject} has timed out progressing."
        return with_condition(status, new_condition(PROGRESSING, "False", PROGRESS_DEADLINE_EXCEEDED, message, now))
    return status


def is_complete(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether all desired replicas are updated and available, and no old ones are left."""
    counts = status.updated_replicas, status.replicas, status.available_replicas
    seen = status.observed_generation >= deployment.metadata.generation
    return seen and all(count == replicas_of(deployment) for count in counts)


def is_progressing(deployment: Deployment, status: DeploymentStatus) -> bool:
    """Whether there are more updated, ready or available pods than before, or fewer old ones."""
    before = deployment.status
    return (
        status.updated_replicas > before.updated_replicas
        or status.replicas - status.updated_replicas < before.replicas - before.updated_replicas
        or status.ready_replicas > before.ready_replicas
        or status.available_replicas > before.available_replicas
    )


def is_timed_out(deployment: Deployment, status: DeploymentStatus, now: int) -> bool:
    condition = find_condition(status, PROGRESSING)
    if not has_progress_deadline(deployment) or condition is None or condition.reason == NEW_REPLICA_SET_AVAILABLE:
        return False
    return condition.reason == PROGRESS_DEADLINE_EXCEEDED or _deadline(deployment, condition) < now


def _deadline(deployment: Deployment, condition: DeploymentCondition) -> int:
    updated = parse_time(condition.last_update_time) if condition.last_update_time else 0
    return updated + (deployment.spec.progress_deadline_seconds or 0) * SECOND


def next_progress_check(deployment: Deployment, status: DeploymentStatus, now: int) -> int | None:
    """Microseconds until a stalled rollout is checked again; None: no check needed.

    A complete rollout cannot time out, so it needs no check (upstream's check has no effect).
    """
    condition = find_condition(deployment.status, PROGRESSING)
    if not has_progress_deadline(deployment) or condition is None or is_complete(deployment, status):
        return None
    if condition.reason in (PROGRESS_DEADLINE_EXCEEDED, NEW_REPLICA_SET_AVAILABLE):
        return None
    after = _deadline(deployment, condition) - now
    # Upstream polls every few milliseconds below one second, and adds one second otherwise, because of rounding.
    return after + SECOND if after >= SECOND else max(after, 0) + _RATE_LIMITED


def _replica_failure(sets: Sequence[ReplicaSet], new: ReplicaSet | None) -> DeploymentCondition | None:
    """The error of a ReplicaSet that cannot create or delete pods; the new one's first."""
    for one in (*(() if new is None else (new,)), *sets):
        for condition in one.status.conditions:
            if condition.type == REPLICA_FAILURE:
                return DeploymentCondition(
                    type=REPLICA_FAILURE,
                    status=condition.status,
                    last_update_time=condition.last_transition_time,
                    last_transition_time=condition.last_transition_time,
                    reason=condition.reason,
                    message=condition.message,
                )
    return None
