"""Decides which volumes to attach to which nodes, and the steps.

Mirrors: pkg/controller/volume/attachdetach/reconciler/reconciler.go reconcile, attachDesiredVolumes,
reportMultiAttachError; pkg/volume/util/util.go IsMultiAttachAllowed; pkg/volume/csi/csi_attacher.go getAttachmentName
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from kubesim.api.meta import ApiObject
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.api.timestamps import SECOND
from kubesim.cluster.controllers.volumes.storage_fields import spec_of, status_of
from kubesim.values import value_object

LONGEST_UNMOUNT = 6 * 60 * SECOND  # then a volume is force-detached from a node that is not ready
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"


def attachment_name(driver: str, handle: str, node: str) -> str:
    return "csi-" + hashlib.sha256(f"{handle}{driver}{node}".encode()).hexdigest()


def unique_name(volume: ApiObject) -> str:
    """The unique name of a volume in the status of a node."""
    source = spec_of(volume).get("csi") or {}
    return f"kubernetes.io/csi/{source.get('driver', '')}^{source.get('volumeHandle', '')}"


def needs_attachment(volume: ApiObject, driver: ApiObject | None) -> bool:
    """Whether a volume needs attaching: CSI volumes do, unless the CSIDriver disables it."""
    if spec_of(volume).get("csi") is None:
        return False
    return driver is None or spec_of(driver).get("attachRequired") is not False


def is_multi_attach_allowed(volume: ApiObject) -> bool:
    modes = spec_of(volume).get("accessModes") or ()
    return not modes or "ReadWriteMany" in modes or "ReadOnlyMany" in modes


def is_attached(attachment: ApiObject) -> bool:
    return bool(status_of(attachment).get("attached"))


@value_object
class NodeOfVolume:
    """A node that uses or has the volume; `node` is None if it was deleted."""

    name: str
    node: Node | None
    pods: tuple[Pod, ...] = ()  # pods that use the volume there
    attachment: ApiObject | None = None
    since: int = 0  # since when no pod uses it


@value_object
class AttachTo:
    node: str


@value_object
class ReportAttached:
    """The attachment succeeded: report it in the node's status."""

    node: str


@value_object
class DetachFrom:
    node: str


@value_object
class StillMounted:
    """The node has not unmounted the volume yet."""

    node: str


@value_object
class UsedElsewhere:
    node: str
    messages: tuple[tuple[Pod, str], ...]


AttachStep = AttachTo | ReportAttached | DetachFrom | StillMounted | UsedElsewhere


def decide_attachments(volume: ApiObject, volume_nodes: Sequence[NodeOfVolume], now: int) -> list[AttachStep]:
    """Decide attachments. Detaching comes first, as another node may wait for it."""
    name, steps = unique_name(volume), list[AttachStep]()
    for volume_node in volume_nodes:
        attached = volume_node.attachment is not None and volume_node.attachment.metadata.deletion_timestamp is None
        if attached and not volume_node.pods:
            steps.append(
                DetachFrom(volume_node.name) if _may_detach(volume_node, name, now) else StillMounted(volume_node.name)
            )
    for volume_node in volume_nodes:
        if not volume_node.pods or volume_node.node is None:
            continue
        if volume_node.attachment is not None:
            if is_attached(volume_node.attachment) and not _is_reported(volume_node.node, name):
                steps.append(ReportAttached(volume_node.name))
            continue
        others = [other for other in volume_nodes if other.name != volume_node.name and other.attachment is not None]
        if others and not is_multi_attach_allowed(volume):
            steps.append(UsedElsewhere(volume_node.name, _multi_attach_error(volume, volume_node, others)))
        elif is_multi_attach_allowed(volume) or not any(isinstance(step, AttachTo) for step in steps):
            steps.append(AttachTo(volume_node.name))
    return steps


def _is_reported(node: Node, name: str) -> bool:
    return any(one.get("name") == name for one in node.status.volumes_attached)


def _may_detach(volume_node: NodeOfVolume, name: str, now: int) -> bool:
    node = volume_node.node
    if node is None or name not in node.status.volumes_in_use:
        return True
    if any(taint.key == OUT_OF_SERVICE for taint in node.spec.taints):
        return True
    ready = any(c.type == "Ready" and c.status == "True" for c in node.status.conditions)
    return not ready and now - volume_node.since > LONGEST_UNMOUNT


def _multi_attach_error(
    volume: ApiObject, volume_node: NodeOfVolume, others: Sequence[NodeOfVolume]
) -> tuple[tuple[Pod, str], ...]:
    users = [pod for other in others for pod in other.pods]
    return tuple((pod, _used_elsewhere(volume, pod, users)) for pod in volume_node.pods)


def _used_elsewhere(volume: ApiObject, pod: Pod, users: Sequence[Pod]) -> str:
    """The message of a multi-attach error. It hides the names of pods in other namespaces."""
    start = f'Waiting for detach for volume "{volume.metadata.name}" '
    if not users:
        return start + (
            "Volume is already exclusively attached to one node, waiting on detach before it can be attached to "
            "another node"
        )
    local = [user.metadata.name for user in users if user.metadata.namespace == pod.metadata.namespace]
    foreign = len(users) - len(local)
    if not local:
        return f"{start}Volume is already used by {foreign} pod(s) in different namespaces"
    text = f"{start}Volume is already used by pod(s) {', '.join(local)}"
    return f"{text} and {foreign} pod(s) in different namespaces" if foreign else text


def with_attached(node: Node, name: str, *, attached: bool) -> Node:
    """The node's list of attached volumes, with this one added or removed."""
    others = tuple(one for one in node.status.volumes_attached if one.get("name") != name)
    own: tuple[Mapping[str, str], ...] = ({"name": name, "devicePath": ""},) if attached else ()
    return node.changed(status=node.status.changed(volumes_attached=(*others, *own)))
