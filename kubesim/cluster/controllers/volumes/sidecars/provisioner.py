"""The external provisioner: creates a volume for each claim of its driver, and deletes released ones.

One provisioner serves all drivers. The latency of a driver is drawn from the seed.

Mirrors: sigs.k8s.io/sig-storage-lib-external-provisioner controller.go shouldProvision, provisionClaimOperation,
shouldDelete, deleteVolumeOperation
"""

from __future__ import annotations

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller, ControllerClient
from kubesim.cluster.controllers.volumes.sidecars.topology import TopologyError, node_affinity
from kubesim.cluster.controllers.volumes.standard_class import PROVISIONER
from kubesim.cluster.controllers.volumes.storage_fields import (
    CLAIM,
    CLASS,
    CSI_NODE,
    DELETION_PROTECTION,
    PROVISIONED_BY,
    SELECTED_NODE,
    STORAGE_PROVISIONER,
    VOLUME,
    Json,
    class_of,
    mode_of,
    phase_of,
    reference_to,
    request_of,
    spec_of,
    with_annotations,
    without_finalizer,
)

USUAL = (100 * MILLISECOND, 1 * SECOND)
AT_ONCE = (5 * MILLISECOND, 15 * MILLISECOND)  # the driver of the class `standard`


class CsiProvisioner(Controller):
    name = "csi-provisioner"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._stream = context.randomness.stream("sidecar", self.name)
        self._clients: dict[str, ControllerClient] = {}  # by driver
        self._ready: dict[str, int] = {}  # uid of a claim or a volume -> when the driver finishes
        self.watch(CLAIM)
        self.watch(VOLUME)

    def _client(self, driver: str) -> ControllerClient:
        if driver not in self._clients:
            self._clients[driver] = ControllerClient(self.context, driver)
        return self._clients[driver]

    def sync(self, namespace: str, name: str) -> None:
        found = self.store.find(CLAIM if namespace else VOLUME, namespace, name)
        if found is None:
            return
        if namespace:
            self._sync_claim(found)
        elif should_delete(found):
            self._sync_volume(found)

    def _has_worked(self, obj: ApiObject, driver: str) -> bool:
        """Whether the driver has finished. The first call starts it."""
        uid, now = obj.metadata.uid, self.clock.now()
        if uid not in self._ready:
            self._ready[uid] = now + self._stream.randint(*(AT_ONCE if driver == PROVISIONER else USUAL))
        if now < self._ready[uid]:
            self.queue.add_at((obj.metadata.namespace, obj.metadata.name), self._ready[uid])
            return False
        del self._ready[uid]
        return True

    # -- provisioning -------------------------------------------------------------------------------------------

    def _sync_claim(self, claim: ApiObject) -> None:
        storage_class = self.store.find(CLASS, "", class_of(claim))
        if storage_class is None or not should_provision(claim, storage_class):
            return
        driver = claim.metadata.annotations[STORAGE_PROVISIONER]
        client, metadata = self._client(driver), claim.metadata
        if self.store.find(VOLUME, "", f"pvc-{metadata.uid}") is not None:
            return
        if metadata.uid not in self._ready:
            text = f'External provisioner is provisioning volume for claim "{metadata.namespace}/{metadata.name}"'
            client.event(claim, "Normal", "Provisioning", text)
        if not self._has_worked(claim, driver):
            return
        try:
            affinity = self._affinity(claim, driver, storage_class)
        except TopologyError as error:
            text = f'failed to provision volume with StorageClass "{storage_class.metadata.name}": {error}'
            client.event(claim, "Warning", "ProvisioningFailed", text)
            why = "the volume cannot be made for the chosen node, so the scheduler has to choose again"
            client.patch(claim, with_annotations(claim, {SELECTED_NODE: None}), why)
            return
        volume = provisioned_volume(claim, storage_class, driver, affinity)
        made = client.create(ApiObject.from_json(volume), f"the claim {metadata.namespace}/{metadata.name} asks for it")
        client.event(claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {made.metadata.name}")

    def _affinity(self, claim: ApiObject, driver: str, storage_class: ApiObject) -> Json | None:
        selected = claim.metadata.annotations.get(SELECTED_NODE, "")
        node = self.store.find("Node", "", selected) if selected else None
        if selected and node is None:
            raise TopologyError(f'nodes "{selected}" not found')
        csi_node = self.store.find(CSI_NODE, "", selected) if selected else None
        drivers = () if csi_node is None else spec_of(csi_node).get("drivers") or ()
        keys = next((one.get("topologyKeys") or () for one in drivers if one.get("name") == driver), ())
        return node_affinity(node, keys, storage_class.extra.get("allowedTopologies") or ())

    # -- deleting -----------------------------------------------------------------------------------------------

    def _sync_volume(self, volume: ApiObject) -> None:
        driver = volume.metadata.annotations[PROVISIONED_BY]
        if not self._has_worked(volume, driver):
            return
        client = self._client(driver)
        client.delete(volume, "its claim is gone and its reclaim policy is Delete")
        left = self.store.find(VOLUME, "", volume.metadata.name)
        if left is not None:
            why = "what was behind the volume is deleted, so nothing keeps the object"
            client.patch(left, without_finalizer(left, DELETION_PROTECTION), why)


def should_provision(claim: ApiObject, storage_class: ApiObject) -> bool:
    annotations = claim.metadata.annotations
    if spec_of(claim).get("volumeName") or not annotations.get(STORAGE_PROVISIONER):
        return False
    delayed = storage_class.extra.get("volumeBindingMode") == "WaitForFirstConsumer"
    return not delayed or bool(annotations.get(SELECTED_NODE))


def should_delete(volume: ApiObject) -> bool:
    metadata = volume.metadata
    driver = metadata.annotations.get(PROVISIONED_BY, "")
    if not driver or driver.startswith("kubernetes.io/") or phase_of(volume) != "Released":
        return False
    if metadata.deletion_timestamp is not None and DELETION_PROTECTION not in metadata.finalizers:
        return False
    return spec_of(volume).get("persistentVolumeReclaimPolicy") == "Delete"


def provisioned_volume(claim: ApiObject, storage_class: ApiObject, driver: str, affinity: Json | None) -> Json:
    """The provisioned volume, bound to its claim from the start."""
    name, fields = f"pvc-{claim.metadata.uid}", storage_class.extra
    policy = fields.get("reclaimPolicy") or "Delete"
    spec = {
        "capacity": {"storage": str(request_of(claim))},
        "accessModes": list(spec_of(claim).get("accessModes") or ()),
        "claimRef": reference_to(claim),
        "persistentVolumeReclaimPolicy": policy,
        "storageClassName": storage_class.metadata.name,
        "volumeMode": mode_of(claim),
        "csi": {"driver": driver, "volumeHandle": name},
    }
    if fields.get("mountOptions"):
        spec["mountOptions"] = list(fields["mountOptions"])
    if affinity is not None:
        spec["nodeAffinity"] = {"required": affinity}
    if spec_of(claim).get("volumeAttributesClassName"):
        spec["volumeAttributesClassName"] = spec_of(claim)["volumeAttributesClassName"]
    metadata = {"name": name, "annotations": {PROVISIONED_BY: driver}}
    if policy == "Delete":
        metadata["finalizers"] = [DELETION_PROTECTION]
    return {"apiVersion": "v1", "kind": VOLUME, "metadata": metadata, "spec": spec}
