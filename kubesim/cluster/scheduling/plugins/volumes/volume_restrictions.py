"""VolumeRestrictions: one pod per ReadWriteOncePod claim, and one writer per disk on a node.

Mirrors: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.listers import field
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, PluginState
from kubesim.cluster.scheduling.framework.pod_info import PodInfo
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.plugins.volumes.pod_claims import not_found

NAME = "VolumeRestrictions"
DISK_CONFLICT = "node(s) had no available disk"
READ_WRITE_ONCE_POD_CONFLICT = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")


class _State(PluginState):
    """The pod's ReadWriteOncePod claims, and the number of conflicts with other pods."""

    def __init__(self, namespace: str, claims: frozenset[str], conflicts: int) -> None:
        self.namespace = namespace
        self.claims = claims
        self.conflicts = conflicts

    def copy(self) -> _State:
        return _State(self.namespace, self.claims, self.conflicts)

    def update(self, pod: PodInfo, node: Node, delta: int) -> None:
        if pod.pod.metadata.namespace == self.namespace:
            self.conflicts += delta * sum(claim in self.claims for claim in pod.claims)


def pre_filter(cycle: CycleState) -> PluginState | Status | None:
    namespace, claims = cycle.pod.metadata.namespace, set()
    for name in cycle.info.claims:
        claim = cycle.listers.claim(namespace, name)
        if claim is None:
            return Status(NAME, (not_found(name),), unresolvable=True)
        if "ReadWriteOncePod" in (field(claim, "spec").get("accessModes") or ()):
            claims.add(name)
    conflicts = sum(cycle.snapshot.is_claim_used(namespace, name) for name in claims)
    if not conflicts and not any(disk in volume for volume in cycle.pod.spec.volumes for disk in _DISKS):
        return None
    return _State(namespace, frozenset(claims), conflicts)


def filter_node(cycle: CycleState, node: NodeState) -> Status | None:
    if any(_conflict(cycle.pod, other.pod) for other in node.pods.values()):
        return Status(NAME, (DISK_CONFLICT,))
    state = cycle.states[NAME]
    assert isinstance(state, _State)
    return Status(NAME, (READ_WRITE_ONCE_POD_CONFLICT,)) if state.conflicts > 0 else None


def _conflict(pod: Pod, other: Pod) -> bool:
    return any(_is_same_disk(volume, theirs) for volume in pod.spec.volumes for theirs in other.spec.volumes)


def _is_same_disk(volume: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether both are the same disk and at least one is writable."""
    for kind in _DISKS:
        own, theirs = volume.get(kind), other.get(kind)
        if own is None or theirs is None:
            continue
        if kind == "awsElasticBlockStore":
            return bool(own.get("volumeID") == theirs.get("volumeID"))
        if own.get("readOnly") and theirs.get("readOnly"):
            continue
        if kind == "gcePersistentDisk":
            same = own.get("pdName") == theirs.get("pdName")
        elif kind == "iscsi":
            same = own.get("iqn") == theirs.get("iqn")
        else:
            same = (
                bool(set(own.get("monitors") or ()) & set(theirs.get("monitors") or ()))
                and (own.get("pool") or "rbd") == (theirs.get("pool") or "rbd")
                and own.get("image") == theirs.get("image")
            )
        if same:
            return True
    return False


def is_schedulable_after_pod_deleted(pod: Pod, event: ClusterEvent) -> bool:
    gone = event.old_pod
    if gone is None or gone.metadata.namespace != pod.metadata.namespace:
        return False
    return _conflict(pod, gone) or bool(_claims(pod) & _claims(gone))


def _claims(pod: Pod) -> set[str]:
    named = (volume.get("persistentVolumeClaim") for volume in pod.spec.volumes)
    return {claim.get("claimName", "") for claim in named if claim is not None}


def is_schedulable_after_claim_added(pod: Pod, event: ClusterEvent) -> bool:
    claim = event.new
    return (
        claim is not None and claim.metadata.namespace == pod.metadata.namespace and claim.metadata.name in _claims(pod)
    )


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    events=(
        after("Pod", Action.DELETE, hint=is_schedulable_after_pod_deleted),
        after("Node", Action.ADD, Action.UPDATE_NODE_TAINT),
        after("PersistentVolumeClaim", Action.ADD, hint=is_schedulable_after_claim_added),
    ),
)
