"""maxSurge and maxUnavailable of a Deployment as numbers of pods.

Mirrors: pkg/controller/deployment/util/deployment_util.go ResolveFenceposts, MaxSurge, MaxUnavailable;
apimachinery/pkg/util/intstr GetScaledValueFromIntOrPercent
"""

from __future__ import annotations

from kubesim.api.workloads.apps import Deployment

ROLLING_UPDATE = "RollingUpdate"


def replicas_of(deployment: Deployment) -> int:
    return deployment.spec.replicas or 0


def is_rolling_update(deployment: Deployment) -> bool:
    return deployment.spec.strategy.type == ROLLING_UPDATE


def max_surge(deployment: Deployment) -> int:
    """How many pods may exist beyond `spec.replicas`."""
    return _limits(deployment)[0] if is_rolling_update(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """How many of `spec.replicas` may be unavailable."""
    replicas = replicas_of(deployment)
    if not is_rolling_update(deployment) or replicas == 0:
        return 0
    return min(_limits(deployment)[1], replicas)


def _limits(deployment: Deployment) -> tuple[int, int]:
    rolling, replicas = deployment.spec.strategy.rolling_update, replicas_of(deployment)
    if rolling is None:
        return 0, 1
    return resolve_fenceposts(rolling.max_surge, rolling.max_unavailable, replicas)


def resolve_fenceposts(surge: int | str | None, unavailable: int | str | None, replicas: int) -> tuple[int, int]:
    """Round surge up and unavailable down. If both become 0, one pod may be unavailable."""
    more, fewer = scaled_value(surge or 0, replicas, round_up=True), scaled_value(unavailable or 0, replicas)
    return (0, 1) if more == fewer == 0 else (more, fewer)


def scaled_value(value: int | str, total: int, *, round_up: bool = False) -> int:
    """A number, or a percentage of the total."""
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * total
    return -(-part // 100) if round_up else part // 100
