"""NodeVolumeLimits: limits the volumes of a CSI driver on a node to the number in its CSINode.

Mirrors: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.cluster_event import Action, ClusterEvent, after
from kubesim.cluster.scheduling.framework.listers import Listers, field
from kubesim.cluster.scheduling.framework.node_state import NodeState
from kubesim.cluster.scheduling.framework.plugin import CycleState, Plugin, PluginState
from kubesim.cluster.scheduling.framework.status import Status
from kubesim.cluster.scheduling.plugins.volumes.pod_claims import claim_class, pod_claims, uses_claim, volume_name

NAME = "NodeVolumeLimits"
MAX_VOLUME_COUNT_EXCEEDED = "node(s) exceed max volume count"

CsiVolume = tuple[str, str]  # driver and handle


def pre_filter(cycle: CycleState) -> PluginState | None:
    return PluginState() if any(True for _ in pod_claims(cycle.pod)) else None


def filter_node(cycle: CycleState, node: NodeState) -> Status | None:
    listers = cycle.listers
    limits = volume_limits(listers.csi_node(node.name))
    if not limits:
        return None
    new = set(_csi_volumes(cycle.pod, listers))
    if not new:
        return None
    attached = {volume for other in node.pods.values() for volume in _csi_volumes(other.pod, listers)}
    used = Counter(driver for driver, _ in attached | set(_attachments(node.name, listers)))
    for driver, count in Counter(driver for driver, _ in new - attached).items():
        if driver in limits and used[driver] + count > limits[driver]:
            return Status(NAME, (MAX_VOLUME_COUNT_EXCEEDED,))
    return None


def volume_limits(csi_node: ApiObject | None) -> dict[str, int]:
    """The maximum number of volumes per driver; an unknown driver has no limit."""
    drivers = () if csi_node is None else field(csi_node, "spec").get("drivers") or ()
    counted = ((driver.get("name", ""), (driver.get("allocatable") or {}).get("count")) for driver in drivers)
    return {name: count for name, count in counted if count is not None}


def _csi_volumes(pod: Pod, listers: Listers) -> Iterator[CsiVolume]:
    """The counted volumes of a pod. A volume that does not exist yet counts for the driver of its class."""
    for each in pod_claims(pod):
        claim = listers.claim(pod.metadata.namespace, each.name)
        if claim is None:
            continue
        volume = listers.volume(volume_name(claim)) if volume_name(claim) else None
        if volume is not None:
            source = field(volume, "spec").get("csi")
            if source is not None:
                yield source.get("driver", ""), source.get("volumeHandle", "")
            continue
        storage_class = listers.storage_class(claim_class(claim))
        if storage_class is not None:
            yield storage_class.extra.get("provisioner", ""), f"{claim.metadata.namespace}/{claim.metadata.name}"


def _attachments(node: str, listers: Listers) -> Iterator[CsiVolume]:
    for spec in listers.attachments(node):
        name = (spec.get("source") or {}).get("persistentVolumeName")
        volume = listers.volume(name) if name else None
        source = None if volume is None else field(volume, "spec").get("csi")
        if source is not None and spec.get("attacher"):
            yield spec["attacher"], source.get("volumeHandle", "")


def is_schedulable_after_pod_deleted(_: Pod, event: ClusterEvent) -> bool:
    gone = event.old_pod
    if gone is None or not (gone.spec.node_name or gone.status.nominated_node_name):
        return False
    return any(True for _ in pod_claims(gone))


def is_schedulable_after_claim_added(pod: Pod, event: ClusterEvent) -> bool:
    return event.new is not None and uses_claim(pod, event.new)


def is_schedulable_after_attachment_deleted(pod: Pod, _: ClusterEvent) -> bool:
    return any(not claim.ephemeral for claim in pod_claims(pod))


def is_schedulable_after_csi_node_updated(_: Pod, event: ClusterEvent) -> bool:
    before = volume_limits(event.old)
    return any(count > before.get(driver, 0) for driver, count in volume_limits(event.new).items())


PLUGIN = Plugin(
    NAME,
    pre_filter=pre_filter,
    filter=filter_node,
    events=(
        after("CSINode", Action.ADD),
        after("CSINode", Action.UPDATE, hint=is_schedulable_after_csi_node_updated),
        after("Pod", Action.DELETE, hint=is_schedulable_after_pod_deleted),
        after("PersistentVolumeClaim", Action.ADD, hint=is_schedulable_after_claim_added),
        after("VolumeAttachment", Action.DELETE, hint=is_schedulable_after_attachment_deleted),
    ),
)
