"""A rolling update: how far to scale up the new ReplicaSet, and how far to scale down the old ones.

All sums use desired sizes, so a pod that is still terminating does not count.

Mirrors: pkg/controller/deployment/rolling.go; util/deployment_util.go NewRSNewReplicas
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.workloads.apps import Deployment, ReplicaSet
from kubesim.cluster.controllers.deployment.limits import (
    is_rolling_update,
    max_surge,
    max_unavailable,
    replicas_of,
    scaled_value,
)
from kubesim.cluster.controllers.deployment.replica_sets import active, by_creation, size, total_size
from kubesim.cluster.controllers.deployment.scaling import Resize


def new_size(deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet) -> int:
    """The size of the new ReplicaSet, even if it does not exist yet. `sets` are all ReplicaSets including it."""
    replicas = replicas_of(deployment)
    if not is_rolling_update(deployment):
        return replicas
    rolling = deployment.spec.strategy.rolling_update
    surge = scaled_value(rolling.max_surge or 0, replicas, round_up=True) if rolling is not None else 0
    room = replicas + surge - total_size(sets)
    return size(new) + min(room, replicas - size(new)) if room > 0 else size(new)


def reconcile_new_replica_set(deployment: Deployment, sets: Sequence[ReplicaSet], new: ReplicaSet) -> Resize | None:
    replicas = replicas_of(deployment)
    if size(new) == replicas:
        return None
    if size(new) > replicas:
        why = f"the new ReplicaSet has more than the {replicas} replicas that are wanted, so it is scaled down"
        return Resize(new, replicas, why)
    grown = new_size(deployment, sets, new)
    most = replicas + max_surge(deployment)
    why = f"at most {most} pods may exist during the rollout, so the new ReplicaSet is scaled up to {grown}"
    return Resize(new, grown, why) if grown != size(new) else None


def reconcile_old_replica_sets(deployment: Deployment, old: Sequence[ReplicaSet], new: ReplicaSet) -> list[Resize]:
    """Scale down unavailable pods of old ReplicaSets first, then others while enough stay available."""
    running = active(old)
    if not running:
        return []
    least = replicas_of(deployment) - max_unavailable(deployment)
    unavailable_new = size(new) - new.status.available_replicas
    budget = total_size((*old, new)) - least - unavailable_new
    if budget <= 0:
        return []
    unhealthy, is_settled = cleanup_unhealthy_replicas(running, budget)
    if not is_settled:
        return unhealthy
    cleaned = {resize.replica_set.metadata.name: resize.size for resize in unhealthy}
    left = [one.changed(spec=one.spec.changed(replicas=cleaned.get(one.metadata.name, size(one)))) for one in running]
    return [*unhealthy, *scale_down_old_replica_sets(left, new, least)]


def cleanup_unhealthy_replicas(old: Sequence[ReplicaSet], budget: int) -> tuple[list[Resize], bool]:
    """Scale down pods that are not ready, oldest ReplicaSet first.

    A ReplicaSet that reports more available pods than its size is still scaling down. Then the second value is False,
    and the rollout waits for its next status.
    """
    plan: list[Resize] = []
    for replica_set in sorted(old, key=by_creation):
        if budget <= 0:
            break
        unhealthy = size(replica_set) - replica_set.status.available_replicas
        if size(replica_set) == 0 or unhealthy == 0:
            continue
        if unhealthy < 0:
            return plan, False
        count = min(budget, unhealthy)
        why = f"unavailable pods of an old ReplicaSet: {unhealthy}, so {count} can go at once"
        plan.append(Resize(replica_set, size(replica_set) - count, why))
        budget -= count
    return plan, True


def scale_down_old_replica_sets(old: Sequence[ReplicaSet], new: ReplicaSet, least: int) -> list[Resize]:
    """Scale down available pods beyond the minimum, oldest ReplicaSet first."""
    available = sum(one.status.available_replicas for one in (*old, new))
    surplus, plan = available - least, []
    for replica_set in sorted(old, key=by_creation):
        count = min(size(replica_set), surplus)
        if count <= 0:
            continue
        why = f"{available} pods are available and {least} are needed, so {count} of the old ones can go"
        plan.append(Resize(replica_set, size(replica_set) - count, why))
        surplus -= count
    return plan
