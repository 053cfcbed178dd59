"""VolumeZone: a bound volume with zone or region labels requires a node of that zone or region.

Mirrors: pkg/scheduler/framework/plugins/volumezone/volume_zone.go
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, PluginState
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.plugins.volumes.pod_claims import (
    WAIT_FOR_FIRST_CONSUMER,
    not_found,
    uses_claim,
    volume_name,
)

NAME = "VolumeZone"
CONFLICT = "node(s) had no available volume zone"
# Deprecated labels and their replacements.
_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}


class _State(PluginState):
    """Zone and region labels with their allowed values."""

    def __init__(self, topologies: list[tuple[str, frozenset[str]]]) -> None:
        self.topologies = topologies


def pre_filter(cycle: CycleState) -> PluginState | Status | None:
    topologies: list[tuple[str, frozenset[str]]] = []
    for name in cycle.info.claims:
        claim = cycle.listers.claim(cycle.pod.metadata.namespace, name)
        if claim is None:
            return Status(NAME, (not_found(name),), unresolvable=True)
        bound = volume_name(claim)
        if not bound:
            continue  # it waits for its first consumer; VolumeBinding rejects all others
        volume = cycle.listers.volume(bound)
        if volume is None:
            return Status(NAME, (f'persistentvolume "{bound}" not found',), unresolvable=True)
        topologies += _topologies(volume)
    return _State(topologies) if topologies else None


def _topologies(volume: ApiObject) -> list[tuple[str, frozenset[str]]]:
    labels = volume.metadata.labels
    return [(key, frozenset(labels[key].split("__"))) for key in _LABELS if key in labels]


def filter_node(cycle: CycleState, node: NodeState) -> Status | None:
    labels = node.labels
    if not any(key in labels for key in _LABELS):
        return None  # a cluster with a single zone has no such labels
    state = cycle.states[NAME]
    assert isinstance(state, _State)
    for key, values in state.topologies:
        if labels.get(key, labels.get(_LABELS[key])) not in values:
            return Status(NAME, (CONFLICT,), unresolvable=True)
    return None


def is_schedulable_after_class_added(_: Pod, event: ClusterEvent) -> bool:
    return event.new is not None and event.new.extra.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER


def is_schedulable_after_claim_change(pod: Pod, event: ClusterEvent) -> bool:
    return event.new is not None and uses_claim(pod, event.new)


def is_schedulable_after_volume_change(_: Pod, event: ClusterEvent) -> bool:
    """Whether the volume is new, or its zone changed."""
    return event.new is not None and (event.old is None or _topologies(event.old) != _topologies(event.new))


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    events=(
        after("StorageClass", Action.ADD, hint=is_schedulable_after_class_added),
        after("Node", Action.ADD, Action.UPDATE_NODE_LABEL, Action.UPDATE_NODE_TAINT),
        after("PersistentVolumeClaim", Action.ADD, Action.UPDATE, hint=is_schedulable_after_claim_change),
        after("PersistentVolume", Action.ADD, Action.UPDATE, hint=is_schedulable_after_volume_change),
    ),
)
