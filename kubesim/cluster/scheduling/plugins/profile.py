"""The default profile: plugins in order, with weights and queueing hints.

The order matters: the first filter that rejects a node gives the reason. Node features are not simulated, as nothing
here requests them.

Mirrors: pkg/scheduler/apis/config/v1/default_plugins.go getDefaultPlugins; pkg/scheduler/scheduler.go
buildQueueingHintMap
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.cluster.scheduling.framework.cluster_event import Action, Registration, after
from kubesim.cluster.scheduling.framework.plugin import Plugin
from kubesim.cluster.scheduling.plugins.devices import dynamic_resources
from kubesim.cluster.scheduling.plugins.nodes import (
    balanced_allocation,
    image_locality,
    node_affinity,
    node_name,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    taint_toleration,
)
from kubesim.cluster.scheduling.plugins.pods import inter_pod_affinity_score, pod_topology_spread_score
from kubesim.cluster.scheduling.plugins.volumes import (
    node_volume_limits,
    volume_binding,
    volume_restrictions,
    volume_zone,
)

PLUGINS: tuple[Plugin, ...] = (
    node_unschedulable.PLUGIN,
    node_name.PLUGIN,
    taint_toleration.PLUGIN,
    node_affinity.PLUGIN,
    node_ports.PLUGIN,
    node_resources_fit.PLUGIN,
    volume_restrictions.PLUGIN,
    node_volume_limits.PLUGIN,
    volume_binding.PLUGIN,
    volume_zone.PLUGIN,
    pod_topology_spread_score.PLUGIN,
    inter_pod_affinity_score.PLUGIN,
    dynamic_resources.PLUGIN,
    balanced_allocation.PLUGIN,
    image_locality.PLUGIN,
)

SCHEDULING_GATES = "SchedulingGates"

# plugin -> events that requeue the pods it rejected
EVENTS: Mapping[str, tuple[Registration, ...]] = {
    **{plugin.name: plugin.events for plugin in PLUGINS},
    SCHEDULING_GATES: (after("Pod", Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED),),
}

WATCHED = ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode", "VolumeAttachment",
           "CSIStorageCapacity", "ResourceClaim", "DeviceClass", "ResourceSlice")  # fmt: skip
