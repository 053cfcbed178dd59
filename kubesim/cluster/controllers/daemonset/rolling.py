"""The rolling update of a DaemonSet: which old pods to delete, and where to create new ones first.

Without a surge, old pods are deleted within maxUnavailable, and replaced when they have terminated. With a surge, new
pods are created within maxSurge, and each old pod is deleted when its replacement is available.

Mirrors: pkg/controller/daemon/update.go rollingUpdate, findUpdatedPodsOnNode, updatedDesiredNodeCounts;
daemon/util/daemonset_util.go SurgeCount, UnavailableCount
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import DaemonSet
from kubesim.cluster.controllers.daemonset.placement import Fit, is_updated
from kubesim.cluster.controllers.pods import is_pod_available
from kubesim.cluster.problems import internal_error
from kubesim.values import value_object


@value_object
class DaemonRollout:
    """Candidates, and how many of them may be changed now. The choice is random, as Go's map order is."""

    delete: tuple[Pod, ...] = ()
    delete_candidates: tuple[Pod, ...] = ()
    delete_count: int = 0
    create: tuple[str, ...] = ()  # names of nodes
    create_candidates: tuple[str, ...] = ()
    create_count: int = 0


@value_object
class PodsOfNode:
    """The pods of one node that are not being deleted, at most one of each kind."""

    new: Pod | None = None
    old: Pod | None = None


def plan_rolling_update(
    set_: DaemonSet, fits: Mapping[str, Fit], pods: Mapping[str, Sequence[Pod]], revision_hash: str, now: int
) -> DaemonRollout:
    desired = [node for node, fit in fits.items() if fit.should_run]
    surge, unavailable = max_surge(set_, len(desired)), max_unavailable(set_, len(desired))
    if desired and not surge and not unavailable:
        unavailable = 1
    nodes = {**dict.fromkeys(desired, ()), **pods}
    found = {node: pods_of_node(set_, there, revision_hash) for node, there in nodes.items()}
    if surge == 0:
        return _replace(set_, found, unavailable, now)
    return _surge(set_, found, fits, len(desired), surge, now)


def pods_of_node(set_: DaemonSet, pods: Sequence[Pod], revision_hash: str) -> PodsOfNode | None:
    """The pods of a node by kind. None if there are several of one kind, which are cleaned up first."""
    alive = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    new = [pod for pod in alive if is_updated(set_, pod, revision_hash)]
    old = [pod for pod in alive if not is_updated(set_, pod, revision_hash)]
    if len(new) > 1 or len(old) > 1:
        return None
    return PodsOfNode(new[0] if new else None, old[0] if old else None)


def _replace(set_: DaemonSet, found: Mapping[str, PodsOfNode | None], max_unavailable: int, now: int) -> DaemonRollout:
    """Delete old pods; unavailable ones are not limited by maxUnavailable."""
    unavailable, broken, candidates = 0, [], []
    for node in found.values():
        if node is None or (node.old is None) == (node.new is None):
            unavailable += 1
        elif node.old is None:
            assert node.new is not None
            unavailable += not is_pod_available(node.new, set_.spec.min_ready_seconds, now)
        elif is_pod_available(node.old, set_.spec.min_ready_seconds, now):
            candidates.append(node.old)
        else:
            broken.append(node.old)
            unavailable += 1
    count = max(0, max_unavailable - unavailable)
    return DaemonRollout(tuple(broken), tuple(candidates), min(count, len(candidates)))


def _surge(
    set_: DaemonSet,
    found: Mapping[str, PodsOfNode | None],
    fits: Mapping[str, Fit],
    desired: int,
    max_surge: int,
    now: int,
) -> DaemonRollout:
    """Create surge pods and delete replaced ones. Pods on nodes that no longer match are deleted only within the limit
    of unavailable pods.
    """
    surging = available = 0
    delete: list[Pod] = []
    leaving: list[Pod] = []
    create: list[str] = []
    candidates: list[str] = []
    for name, node in found.items():
        if node is None:
            surging += 1
            continue
        counted = node.old or node.new
        healthy = counted is not None and is_pod_available(counted, set_.spec.min_ready_seconds, now)
        available += healthy
        if node.old is None:
            continue
        if node.new is not None:
            if is_pod_available(node.new, set_.spec.min_ready_seconds, now):
                delete.append(node.old)
            else:
                surging += 1
        elif name not in fits:
            raise internal_error(f'couldn\'t get node for nodeName "{name}": node "{name}" not found')
        elif fits[name].should_run:
            (candidates if healthy else create).append(name)
        else:
            (leaving if healthy else delete).append(node.old)
    return DaemonRollout(
        delete=tuple(delete),
        delete_candidates=tuple(leaving),
        delete_count=min(max(0, available - desired), len(leaving)),
        create=tuple(create),
        create_candidates=tuple(candidates),
        create_count=min(max(0, max_surge - surging), len(candidates)),
    )


# -- how many -------------------------------------------------------------------------------------------------------


def allows_surge(set_: DaemonSet) -> bool:
    """Whether a node may run two pods of the set."""
    return max_surge(set_, 1) > 0


def max_surge(set_: DaemonSet, desired: int) -> int:
    rolling = set_.spec.update_strategy.rolling_update
    if set_.spec.update_strategy.type != "RollingUpdate" or rolling is None:
        return 0
    return _scaled(rolling.max_surge, desired)


def max_unavailable(set_: DaemonSet, desired: int) -> int:
    rolling = set_.spec.update_strategy.rolling_update
    if set_.spec.update_strategy.type != "RollingUpdate" or rolling is None:
        return 0
    return _scaled(rolling.max_unavailable, desired)


def _scaled(value: int | str | None, total: int) -> int:
    """A number, or a percentage of the total, rounded up."""
    if isinstance(value, str):
        return -(-int(value.removesuffix("%")) * total // 100)
    return value or 0
