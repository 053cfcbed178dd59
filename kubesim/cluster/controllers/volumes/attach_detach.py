"""The attach/detach controller: keeps a VolumeAttachment for each node whose pods use a volume.

The kubelet mounts a volume once the node's status reports it attached. The controller detaches it once the kubelet
reports it unused.

Mirrors: pkg/controller/volume/attachdetach/attach_detach_controller.go; statusupdater/node_status_updater.go;
pkg/volume/csi/csi_attacher.go Attach, Detach
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.node import Node
from kubesim.api.pod import Pod
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.volumes.attachments import (
    LONGEST_UNMOUNT,
    AttachTo,
    DetachFrom,
    NodeOfVolume,
    ReportAttached,
    StillMounted,
    UsedElsewhere,
    attachment_name,
    decide_attachments,
    needs_attachment,
    unique_name,
    with_attached,
)
from kubesim.cluster.controllers.volumes.storage_fields import (
    ATTACHMENT,
    CLAIM,
    DRIVER,
    VOLUME,
    claim_key,
    claims_of,
    is_terminated,
    phase_of,
    spec_of,
)
from kubesim.cluster.store.watches import WatchEvent

VolumeOnNode = tuple[str, str]  # volume, node


class AttachDetachController(Controller):
    name = "attachdetach-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = context.pods_by_claim()
        self._attachments: dict[str, dict[str, str]] = {}  # volume -> node -> name of the attachment
        self._unwanted: dict[VolumeOnNode, int] = {}  # since when no pod on the node uses the volume
        self._reported: set[VolumeOnNode] = set()  # pods with a multi-attach Event
        for attachment in self.store.list(ATTACHMENT):
            self._note(attachment)
        self.store.watch(ATTACHMENT, self._attachment_changed)
        self.store.watch(CLAIM, self._claim_changed)
        self.store.watch("Pod", self._pod_changed)
        self.store.watch("Node", self._node_changed)
        for claim in self.store.list(CLAIM):
            self._enqueue_volume(claim)

    def _note(self, attachment: ApiObject) -> str:
        spec = spec_of(attachment)
        volume = (spec.get("source") or {}).get("persistentVolumeName") or ""
        self._attachments.setdefault(volume, {})[spec.get("nodeName") or ""] = attachment.metadata.name
        return volume

    def _attachment_changed(self, change: WatchEvent) -> None:
        volume = self._note(change.object)
        if change.type == "DELETED":
            self._attachments[volume].pop(spec_of(change.object).get("nodeName") or "", None)
        self.queue.add(("", volume))

    def _claim_changed(self, change: WatchEvent) -> None:
        self._enqueue_volume(change.object)

    def _enqueue_volume(self, claim: ApiObject) -> None:
        if phase_of(claim) == "Bound" and spec_of(claim).get("volumeName"):
            self.queue.add(("", spec_of(claim)["volumeName"]))

    def _pod_changed(self, change: WatchEvent) -> None:
        pod = change.object
        if not isinstance(pod, Pod) or not pod.spec.volumes or not pod.spec.node_name:
            return
        for name in claims_of(pod):
            claim = self.store.find(CLAIM, pod.metadata.namespace, name)
            if claim is not None:
                self._enqueue_volume(claim)

    def _node_changed(self, change: WatchEvent) -> None:
        node, old = change.object, change.previous
        if not isinstance(node, Node):
            return
        if isinstance(old, Node) and old.status.volumes_in_use == node.status.volumes_in_use:
            if old.spec.taints == node.spec.taints:
                return
        for volume, nodes in self._attachments.items():
            if node.metadata.name in nodes:
                self.queue.add(("", volume))

    # -- one volume ---------------------------------------------------------------------------------------------

    def sync(self, namespace: str, name: str) -> None:
        volume = self.store.find(VOLUME, namespace, name)
        if volume is None:
            return
        driver = (spec_of(volume).get("csi") or {}).get("driver") or ""
        if not needs_attachment(volume, self.store.find(DRIVER, "", driver)):
            return
        volume_nodes = {volume_node.name: volume_node for volume_node in self._volume_nodes(volume)}
        for step in decide_attachments(volume, list(volume_nodes.values()), self.clock.now()):
            volume_node = volume_nodes[step.node]
            match step:
                case AttachTo():
                    self._attach(volume, volume_node, driver)
                case ReportAttached():
                    self._report(volume, volume_node)
                case DetachFrom():
                    self._detach(volume, volume_node)
                case StillMounted():
                    self.queue.add_at(("", name), volume_node.since + LONGEST_UNMOUNT + 1)
                case UsedElsewhere(messages=messages):
                    if (name, volume_node.name) not in self._reported:
                        self._reported.add((name, volume_node.name))
                        for pod, text in messages:
                            self.client.event(pod, "Warning", "FailedAttachVolume", text)

    def _volume_nodes(self, volume: ApiObject) -> list[NodeOfVolume]:
        name, pods = volume.metadata.name, dict[str, list[Pod]]()
        reference = spec_of(volume).get("claimRef")
        claim = None if reference is None else self.store.find(CLAIM, *claim_key(reference))
        if claim is not None and phase_of(claim) == "Bound" and spec_of(claim).get("volumeName") == name:
            for pod in self._pods.pods_of(claim.metadata.namespace, claim.metadata.name):
                if pod.spec.node_name and not is_terminated(pod):
                    pods.setdefault(pod.spec.node_name, []).append(pod)
        attachments = self._attachments.get(name, {})
        return [
            self._volume_node(name, node, tuple(pods.get(node, ())), attachments.get(node, ""))
            for node in dict.fromkeys((*attachments, *pods))
        ]

    def _volume_node(self, volume: str, name: str, pods: tuple[Pod, ...], attachment: str) -> NodeOfVolume:
        node, key = self.store.find("Node", "", name), (volume, name)
        if pods:
            self._unwanted.pop(key, None)
        else:
            self._unwanted.setdefault(key, self.clock.now())
            self._reported.discard(key)
        found = self.store.find(ATTACHMENT, "", attachment) if attachment else None
        known = node if isinstance(node, Node) else None
        return NodeOfVolume(name, known, pods, found, self._unwanted.get(key, 0))

    def _attach(self, volume: ApiObject, volume_node: NodeOfVolume, driver: str) -> None:
        self._reported.discard((volume.metadata.name, volume_node.name))
        handle = (spec_of(volume).get("csi") or {}).get("volumeHandle") or ""
        metadata = ObjectMeta(name=attachment_name(driver, handle, volume_node.name))
        source = {"persistentVolumeName": volume.metadata.name}
        spec = {"attacher": driver, "nodeName": volume_node.name, "source": source}
        attachment = ApiObject(api_version="storage.k8s.io/v1", kind=ATTACHMENT, metadata=metadata)
        why = f"a pod on {volume_node.name} uses the volume {volume.metadata.name}, so it has to be attached there"
        self.client.create(attachment.with_extra({"spec": spec}), why)

    def _report(self, volume: ApiObject, volume_node: NodeOfVolume) -> None:
        assert volume_node.node is not None
        name = unique_name(volume)
        why = f"the volume {volume.metadata.name} is attached, so the kubelet may mount it"
        self.client.patch(
            volume_node.node, with_attached(volume_node.node, name, attached=True), why, "status", {"attached": name}
        )
        for pod in volume_node.pods:
            text = f'AttachVolume.Attach succeeded for volume "{volume.metadata.name}" '
            self.client.event(pod, "Normal", "SuccessfulAttachVolume", text)

    def _detach(self, volume: ApiObject, volume_node: NodeOfVolume) -> None:
        self._unwanted.pop((volume.metadata.name, volume_node.name), None)
        why = f"no pod on {volume_node.name} uses the volume {volume.metadata.name} any more"
        if volume_node.node is not None:
            name = unique_name(volume)
            new = with_attached(volume_node.node, name, attached=False)
            self.client.patch(volume_node.node, new, f"{why}, so it will be detached", "status", {"detached": name})
        if volume_node.attachment is not None:
            self.client.delete(volume_node.attachment, why)
