"""How many pods beyond and below the wanted number a Deployment may have during a rollout.

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
    """Pods that there may be beyond the wanted number."""
    return _limits(deployment)[0] if is_rolling_update(deployment) else 0


def max_unavailable(deployment: Deployment) -> int:
    """Pods of the wanted number that need not be available."""
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
    """Surge is rounded up, unavailable down. If nothing is left of both, one pod may be unavailable."""
    more, fewer = scaled_value(surge or 0, replicas, round_up=True), scaled_value(unavailable or 0, replicas)
    return (0, 1) if more == fewer == 0 else (more, fewer)


def scaled_value(value: int | str, total: int, *, round_up: bool = False) -> int:
    """A number, or a percentage of the total."""
    if isinstance(value, int):
        return value
    part = int(value.removesuffix("%")) * total
    return -(-part // 100) if round_up else part // 100
