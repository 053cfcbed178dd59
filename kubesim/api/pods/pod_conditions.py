"""The conditions of a pod: their types, finding one, setting one.

Mirrors: pkg/api/v1/pod/util.go GetPodConditionFromList, UpdatePodCondition.
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import PodCondition

TRUE = "True"
FALSE = "False"

POD_SCHEDULED = "PodScheduled"
READY = "Ready"
INITIALIZED = "Initialized"
CONTAINERS_READY = "ContainersReady"
POD_READY_TO_START_CONTAINERS = "PodReadyToStartContainers"
POD_RESIZE_PENDING = "PodResizePending"
POD_RESIZE_IN_PROGRESS = "PodResizeInProgress"
DISRUPTION_TARGET = "DisruptionTarget"


def find_condition(conditions: Sequence[PodCondition], condition_type: str) -> PodCondition | None:
    for condition in conditions:
        if condition.type == condition_type:
            return condition
    return None


def is_condition_true(conditions: Sequence[PodCondition], condition_type: str) -> bool:
    return TRUE in [condition.status for condition in conditions if condition.type == condition_type]


def with_condition(conditions: tuple[PodCondition, ...], new: PodCondition) -> tuple[PodCondition, ...]:
    """The conditions with `new` in place of the condition with its type, or at the end."""
    made = list(conditions)
    put_condition(made, new)
    return tuple(made)


def put_condition(conditions: list[PodCondition], new: PodCondition) -> None:
    """Like `with_condition`, in place in the caller's list."""
    for n, present in enumerate(conditions):
        if present.type == new.type:
            conditions[n] = new
            return
    conditions.append(new)
