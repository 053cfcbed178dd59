"""Deployments and ReplicaSets with only the fields that matter for decisions."""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.api.meta import ObjectMeta
from kubesim.api.workloads.apps import (
    Deployment,
    DeploymentCondition,
    DeploymentSpec,
    DeploymentStatus,
    DeploymentStrategy,
    ReplicaSet,
    ReplicaSetSpec,
    ReplicaSetStatus,
    RollingUpdateDeployment,
)


def deployment(
    replicas: int,
    max_surge: int | str | None = None,
    max_unavailable: int | str | None = None,
    *,
    strategy: str = "RollingUpdate",
    deadline: int | None = None,
    status: DeploymentStatus | None = None,
) -> Deployment:
    rolling = RollingUpdateDeployment(max_surge=max_surge, max_unavailable=max_unavailable)
    return Deployment(
        kind="Deployment",
        metadata=ObjectMeta(name="foo", namespace="default", uid="d"),
        spec=DeploymentSpec(
            replicas=replicas,
            strategy=DeploymentStrategy(type=strategy, rolling_update=rolling if strategy == "RollingUpdate" else None),
            progress_deadline_seconds=deadline,
        ),
        status=status or DeploymentStatus(),
    )


def counted(
    replicas: int, updated: int, available: int, ready: int = 0, conditions: tuple[DeploymentCondition, ...] = ()
) -> DeploymentStatus:
    return DeploymentStatus(
        replicas=replicas,
        updated_replicas=updated,
        available_replicas=available,
        ready_replicas=ready,
        conditions=conditions,
    )


def replica_set(
    name: str,
    replicas: int,
    *,
    created: int = 0,
    annotations: Mapping[str, str] | None = None,
    actual: int = 0,
    available: int = 0,
) -> ReplicaSet:
    """A ReplicaSet; `created` is an hour of the day."""
    return ReplicaSet(
        kind="ReplicaSet",
        metadata=ObjectMeta(
            name=name,
            namespace="default",
            uid=name,
            annotations=dict(annotations or {}),
            creation_timestamp=f"2016-05-20T{created:02}:00:00Z",
        ),
        spec=ReplicaSetSpec(replicas=replicas),
        status=ReplicaSetStatus(replicas=actual, available_replicas=available),
    )
