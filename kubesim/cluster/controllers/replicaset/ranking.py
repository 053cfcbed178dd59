"""The order in which surplus pods are deleted.

The first criterion that differs decides. Ages are compared by their logarithm, so that the choice among pods of similar
age is random.

Mirrors: pkg/controller/controller_utils.go ActivePodsWithRanks; replica_set.go getPodsToDelete
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cmp_to_key

from kubesim.api.pod import Pod
from kubesim.api.timestamps import parse_time
from kubesim.api.validation.annotations import DELETION_COST, is_deletion_cost
from kubesim.cluster.controllers.pods import is_pod_active, ready_since
from kubesim.values import value_object

_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}
_NANOSECONDS = 1000  # in a microsecond


@value_object
class RankedPod:
    """The properties of a pod that determine the order of deletion."""

    pod: Pod
    is_assigned: bool
    phase: int
    ready_since: int | None
    deletion_cost: int
    doubled_up: int  # active pods of the same owner on the same node
    restarts: tuple[int, int]  # of containers, of sidecars
    created: int


def pods_to_delete(pods: Sequence[Pod], related: Iterable[Pod], count: int, now: int) -> list[Pod]:
    """The first `count` pods to delete. `related` are the pods of all ReplicaSets of the same owner."""
    if count >= len(pods):
        return list(pods)
    on_node = Counter(pod.spec.node_name for pod in related if is_pod_active(pod))
    # Equal pods are ordered by uid, which is effectively random.
    ranked = [rank(pod, on_node[pod.spec.node_name]) for pod in sorted(pods, key=lambda pod: pod.metadata.uid)]
    ranked.sort(key=cmp_to_key(lambda one, other: compare(one, other, now)))
    return [entry.pod for entry in ranked[:count]]


def rank(pod: Pod, doubled_up: int = 0) -> RankedPod:
    created = pod.metadata.creation_timestamp
    return RankedPod(
        pod=pod,
        is_assigned=bool(pod.spec.node_name),
        phase=_PHASES.get(pod.status.phase, 0),
        ready_since=ready_since(pod),
        deletion_cost=_deletion_cost(pod),
        doubled_up=doubled_up,
        restarts=_max_restarts(pod),
        created=parse_time(created) if created else 0,
    )


def compare(one: RankedPod, other: RankedPod, now: int) -> int:
    """Negative if the first pod is deleted before the second."""
    if one.is_assigned != other.is_assigned:
        return one.is_assigned - other.is_assigned
    if one.phase != other.phase:
        return one.phase - other.phase
    ready, ready_other = one.ready_since, other.ready_since
    if (ready is None) != (ready_other is None):
        return -1 if ready is None else 1
    if one.deletion_cost != other.deletion_cost:
        return one.deletion_cost - other.deletion_cost
    if one.doubled_up != other.doubled_up:
        return other.doubled_up - one.doubled_up
    if ready is not None and ready_other is not None and ready != ready_other:
        return _younger_first(ready, ready_other, one, other, now)
    if one.restarts != other.restarts:
        return -1 if one.restarts > other.restarts else 1
    if one.created != other.created:
        return _younger_first(one.created, other.created, one, other, now)
    return 0


def _younger_first(time: int, other_time: int, one: RankedPod, other: RankedPod, now: int) -> int:
    """Newer first; an unknown time counts as newest. Ages within the same power of two are ordered by uid."""
    if not time or not other_time:
        return -1 if not time else 1
    difference = _magnitude(now - time) - _magnitude(now - other_time)
    if difference:
        return difference
    uid, other_uid = one.pod.metadata.uid, other.pod.metadata.uid
    return (uid > other_uid) - (uid < other_uid)


def _magnitude(age: int) -> int:
    """The integer base-2 logarithm of nanoseconds."""
    return (age * _NANOSECONDS).bit_length() - 1 if age > 0 else -1


def _deletion_cost(pod: Pod) -> int:
    text = pod.metadata.annotations.get(DELETION_COST, "0")
    return int(text) if is_deletion_cost(text) else 0


def _max_restarts(pod: Pod) -> tuple[int, int]:
    sidecars = {container.name for container in pod.spec.init_containers if container.restart_policy == "Always"}
    status = pod.status
    return (
        max((container.restart_count for container in status.container_statuses), default=0),
        max((c.restart_count for c in status.init_container_statuses if c.name in sidecars), default=0),
    )
