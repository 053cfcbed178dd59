"""The status of a ReplicaSet or ReplicationController, calculated from its pods.

Mirrors: pkg/controller/replicaset/replica_set_utils.go calculateStatus, SetCondition
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from kubesim.api.pod import Pod
from kubesim.api.timestamps import format_time
from kubesim.api.workloads.apps import (
    ReplicaSet,
    ReplicaSetCondition,
    ReplicaSetStatus,
    ReplicationController,
    ReplicationControllerCondition,
    ReplicationControllerStatus,
)
from kubesim.api.workloads.templates import PodTemplateSpec
from kubesim.cluster.controllers.pods import is_pod_available, is_pod_ready
from kubesim.values import value_object

REPLICA_FAILURE = "ReplicaFailure"
Replicated = ReplicaSet | ReplicationController
Condition = TypeVar("Condition", ReplicaSetCondition, ReplicationControllerCondition)


@value_object
class ReplicaCounts:
    """Numbers of pods of a ReplicaSet."""

    replicas: int
    fully_labeled_replicas: int
    ready_replicas: int
    available_replicas: int


def count_replicas(pods: Sequence[Pod], template: PodTemplateSpec, min_ready_seconds: int, now: int) -> ReplicaCounts:
    """Count the active pods."""
    labels = template.metadata.labels.items()
    ready = [pod for pod in pods if is_pod_ready(pod)]
    return ReplicaCounts(
        replicas=len(pods),
        fully_labeled_replicas=sum(labels <= pod.metadata.labels.items() for pod in pods),
        ready_replicas=len(ready),
        available_replicas=sum(is_pod_available(pod, min_ready_seconds, now) for pod in ready),
    )


def failure_reason(existing: int, wanted: int) -> str:
    """The reason of the ReplicaFailure condition."""
    return "FailedCreate" if existing < wanted else "FailedDelete" if existing > wanted else ""


def calculate_status(
    owner: Replicated, counts: ReplicaCounts, terminating: int, failure: tuple[str, str] | None, now: int
) -> ReplicaSetStatus | ReplicationControllerStatus:
    """The new status. `failure` is the reason and message if pods could not be created or deleted."""
    fields: dict[str, Any] = {
        "replicas": counts.replicas,
        "fully_labeled_replicas": counts.fully_labeled_replicas,
        "ready_replicas": counts.ready_replicas,
        "available_replicas": counts.available_replicas,
        "observed_generation": owner.metadata.generation,
    }
    if isinstance(owner, ReplicaSet):
        conditions = _conditions(owner.status.conditions, ReplicaSetCondition, failure, now)
        return ReplicaSetStatus(**fields, terminating_replicas=terminating, conditions=conditions)
    # A ReplicationController does not report terminatingReplicas.
    controller_conditions = _conditions(owner.status.conditions, ReplicationControllerCondition, failure, now)
    return ReplicationControllerStatus(**fields, conditions=controller_conditions)


def _conditions(
    conditions: tuple[Condition, ...], make: type[Condition], failure: tuple[str, str] | None, now: int
) -> tuple[Condition, ...]:
    """ReplicaFailure while pods cannot be created or deleted. The first reason stays."""
    is_failing = any(condition.type == REPLICA_FAILURE for condition in conditions)
    if failure is not None and not is_failing:
        reason, message = failure
        moment = format_time(now)
        new = make(type=REPLICA_FAILURE, status="True", last_transition_time=moment, reason=reason, message=message)
        return conditions + (new,)  # noqa: RUF005  # mypy cannot infer the type of an unpacked type variable
    if failure is None and is_failing:
        return tuple(condition for condition in conditions if condition.type != REPLICA_FAILURE)
    return conditions


def status_reason(counts: ReplicaCounts, wanted: int) -> str:
    """Why the status is written, for the trace."""
    ready, available = counts.ready_replicas, counts.available_replicas
    return f"{counts.replicas} of {wanted} replicas exist, {ready} ready and {available} available"
