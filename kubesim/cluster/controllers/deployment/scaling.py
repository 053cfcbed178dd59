"""Scaling a Deployment, proportionally during a rollout.

Mirrors: pkg/controller/deployment/sync.go scale, isScalingEvent; util/deployment_util.go GetReplicaSetProportion,
IsSaturated
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kubesim.api.workloads.apps import Deployment, ReplicaSet
from kubesim.cluster.controllers.deployment.limits import is_rolling_update, max_surge, replicas_of
from kubesim.cluster.controllers.deployment.replica_sets import (
    active,
    by_creation,
    find_active_or_latest,
    size,
    total_size,
)
from kubesim.cluster.controllers.deployment.revisions import DESIRED_REPLICAS, MAX_REPLICAS, replicas_annotation
from kubesim.values import value_object


@value_object
class Resize:
    """A ReplicaSet's new size. `force`: write its annotations even if the size stays."""

    replica_set: ReplicaSet
    size: int
    why: str
    force: bool = False


def is_scaling_event(deployment: Deployment, sets: Iterable[ReplicaSet]) -> bool:
    """Whether an active ReplicaSet's annotation has another size than the Deployment."""
    desired = [replicas_annotation(replica_set, DESIRED_REPLICAS) for replica_set in active(sets)]
    return any(number is not None and number != replicas_of(deployment) for number in desired)


def plan_scaling(deployment: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> list[Resize]:
    """The only active ReplicaSet gets all pods; several share them."""
    replicas = replicas_of(deployment)
    only = find_active_or_latest(new, old)
    if only is not None:
        why = f"the Deployment wants {replicas} replicas, so its only ReplicaSet with pods gets that size"
        return [Resize(only, replicas, why)] if size(only) != replicas else []
    if new is not None and is_saturated(deployment, new):
        why = "the new ReplicaSet has all replicas available, so an old one needs none"
        return [Resize(replica_set, 0, why) for replica_set in active(old)]
    if not is_rolling_update(deployment):
        return []
    return _in_proportion(deployment, active((*old, new) if new is not None else old))


def is_saturated(deployment: Deployment, replica_set: ReplicaSet) -> bool:
    """Whether the ReplicaSet has all pods of the Deployment, all available."""
    replicas = replicas_of(deployment)
    desired = replicas_annotation(replica_set, DESIRED_REPLICAS)
    return size(replica_set) == desired == replica_set.status.available_replicas == replicas


def _in_proportion(deployment: Deployment, sets: list[ReplicaSet]) -> list[Resize]:
    """Distribute pods by size, largest first. Of equal sizes, the newest grows first and the oldest shrinks first."""
    replicas = replicas_of(deployment)
    to_add = (replicas + max_surge(deployment) if replicas > 0 else 0) - total_size(sets)
    ordered = sorted(sets, key=by_creation, reverse=to_add > 0)
    ordered.sort(key=size, reverse=True)
    added, sizes = 0, []
    for replica_set in ordered:
        share = proportion(deployment, replica_set, to_add, added)
        sizes.append(size(replica_set) + share)
        added += share
    if sizes:
        sizes[0] = max(sizes[0] + to_add - added, 0)  # the remainder from rounding
    why = f"the Deployment wants {replicas} replicas in the middle of a rollout, so each ReplicaSet gets its share"
    return [Resize(replica_set, number, why, force=True) for replica_set, number in zip(ordered, sizes, strict=True)]


def proportion(deployment: Deployment, replica_set: ReplicaSet, to_add: int, added: int) -> int:
    """One ReplicaSet's share of the pods to add, or to remove if negative."""
    if size(replica_set) == 0 or to_add in (0, added):
        return 0
    share, allowed = _fraction(deployment, replica_set), to_add - added
    return min(share, allowed) if to_add > 0 else max(share, allowed)


def _fraction(deployment: Deployment, replica_set: ReplicaSet) -> int:
    """Growth of a ReplicaSet that keeps its share of the total."""
    replicas, own = replicas_of(deployment), size(replica_set)
    if replicas == 0:
        return -own
    before = replicas_annotation(replica_set, MAX_REPLICAS) or deployment.status.replicas
    if before == 0:
        return 0
    return int(own * (replicas + max_surge(deployment)) / before + 0.5) - own
