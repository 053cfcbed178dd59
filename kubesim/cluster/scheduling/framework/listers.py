"""Listers for plugins: claims, volumes, namespaces, owners, disruption budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.api.workloads.apps import ReplicaSet, ReplicationController, StatefulSet
from kubesim.api.workloads.policy import PodDisruptionBudget
from kubesim.api.workloads.services import Service
from kubesim.cluster.store.selectors import LabelSelector
from kubesim.cluster.store.store import Store
from kubesim.values import part

Json = Mapping[str, Any]
NO_LABELS: Mapping[str, str] = {}


def field(obj: ApiObject, name: str) -> Json:
    """A top-level field of an object whose kind has no class, for example its `spec`."""
    return obj.extra.get(name) or {}


@part
class Listers:
    """Reads from the store, so it is never stale."""

    store: Store

    def claim(self, namespace: str, name: str) -> ApiObject | None:
        return self.store.find("PersistentVolumeClaim", namespace, name)

    def volume(self, name: str) -> ApiObject | None:
        return self.store.find("PersistentVolume", "", name)

    def volumes_of_class(self, name: str) -> list[ApiObject]:
        return [volume for volume in self.store.list("PersistentVolume") if volume_class(volume) == name]

    def storage_class(self, name: str) -> ApiObject | None:
        return self.store.find("StorageClass", "", name)

    def csi_node(self, name: str) -> ApiObject | None:
        return self.store.find("CSINode", "", name)

    def csi_driver(self, name: str) -> ApiObject | None:
        return self.store.find("CSIDriver", "", name)

    def storage_capacities(self) -> list[ApiObject]:
        return self.store.list("CSIStorageCapacity")

    def attachments(self, node: str) -> Iterator[Json]:
        """The specs of the VolumeAttachments of a node."""
        for attachment in self.store.list("VolumeAttachment"):
            spec = field(attachment, "spec")
            if spec.get("nodeName") == node:
                yield spec

    def namespace_labels(self, namespace: str) -> Mapping[str, str]:
        found = self.store.find("Namespace", "", namespace)
        return NO_LABELS if found is None else found.metadata.labels

    def namespaces(self, selector: LabelSelector) -> Iterator[str]:
        for namespace in self.store.list("Namespace"):
            if selector.matches(namespace.metadata.labels):
                yield namespace.metadata.name

    def services_of(self, pod: Pod) -> Iterator[Service]:
        """The Services that select a pod; one without a selector selects none."""
        for service in self.store.list("Service", pod.metadata.namespace):
            if isinstance(service, Service) and service.spec.selector:
                labels = pod.metadata.labels
                if all(labels.get(key) == value for key, value in service.spec.selector.items()):
                    yield service

    def owner_selector(self, pod: Pod) -> Json | None:
        """The selector of the ReplicaSet, StatefulSet or ReplicationController that controls a pod."""
        for owner in pod.metadata.owner_references:
            if owner.controller and owner.kind in ("ReplicaSet", "StatefulSet", "ReplicationController"):
                found = self.store.find(owner.kind, pod.metadata.namespace, owner.name)
                if isinstance(found, ReplicationController):
                    return {"matchLabels": found.spec.selector}
                if isinstance(found, ReplicaSet | StatefulSet):
                    return found.spec.selector
        return None

    def budgets(self) -> list[PodDisruptionBudget]:
        return [found for found in self.store.list("PodDisruptionBudget") if isinstance(found, PodDisruptionBudget)]


def volume_class(volume: ApiObject) -> str:
    """The class of a volume or claim; the deprecated annotation takes precedence, as upstream."""
    old: str | None = volume.metadata.annotations.get("volume.beta.kubernetes.io/storage-class")
    return old if old is not None else field(volume, "spec").get("storageClassName") or ""
