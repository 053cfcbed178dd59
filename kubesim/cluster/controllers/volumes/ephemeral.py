"""Generic ephemeral volumes: the controller creates a claim for each, owned by the pod.

Mirrors: pkg/controller/volume/ephemeral/controller.go; component-helpers/storage/ephemeral
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.meta import ApiObject, ObjectMeta
from kubesim.api.pod import Pod
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.controllers.controller import Controller
from kubesim.cluster.controllers.owners import controller_reference, is_controlled_by
from kubesim.cluster.controllers.volumes.storage_fields import CLAIM
from kubesim.cluster.problems import conflict
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.watches import WatchEvent
from kubesim.errors import ApiError


def has_ephemeral_volume(pod: Pod) -> bool:
    return any(volume.get("ephemeral") is not None for volume in pod.spec.volumes)


def claim_for(pod: Pod, volume: Mapping[str, Any]) -> ApiObject:
    """The claim of an ephemeral volume, from its template."""
    template = volume["ephemeral"].get("volumeClaimTemplate") or {}
    given = template.get("metadata") or {}
    metadata = ObjectMeta(
        name=f"{pod.metadata.name}-{volume.get('name', '')}",
        namespace=pod.metadata.namespace,
        labels=dict(given.get("labels") or {}),
        annotations=dict(given.get("annotations") or {}),
        owner_references=(controller_reference(pod),),
    )
    claim = ApiObject(api_version="v1", kind=CLAIM, metadata=metadata)
    return claim.with_extra({"spec": template.get("spec") or {}})


class EphemeralController(Controller):
    name = "ephemeral_volume"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.store.watch("Pod", self._pod_changed)
        self.store.watch(CLAIM, self._claim_changed)
        for pod in self.store.list("Pod"):
            self._enqueue(pod)

    def _pod_changed(self, change: WatchEvent) -> None:
        if change.type == "ADDED":
            self._enqueue(change.object)

    def _enqueue(self, pod: ApiObject) -> None:
        if isinstance(pod, Pod) and pod.spec.volumes and has_ephemeral_volume(pod):
            self.enqueue(pod)

    def _claim_changed(self, change: WatchEvent) -> None:
        """Recreate a deleted claim of a pod."""
        if change.type == "DELETED":
            metadata = change.object.metadata
            for pod in self.context.pods_by_claim().pods_of(metadata.namespace, metadata.name):
                self._enqueue(pod)

    def sync(self, namespace: str, name: str) -> None:
        pod = self.store.find("Pod", namespace, name)
        if not isinstance(pod, Pod) or pod.metadata.deletion_timestamp is not None:
            return
        for volume in pod.spec.volumes:
            if volume.get("ephemeral") is None:
                continue
            try:
                self._make_claim(pod, volume)
            except ApiError as error:
                text = f"ephemeral volume {volume.get('name', '')}: {error.message}"
                self.client.event(pod, "Warning", "FailedBinding", text)
                raise

    def _make_claim(self, pod: Pod, volume: Mapping[str, Any]) -> None:
        wanted = claim_for(pod, volume)
        name = wanted.metadata.name
        found = self.store.find(CLAIM, pod.metadata.namespace, name)
        if found is None:
            try:
                self.client.create(wanted, f"the volume {volume.get('name', '')} of the pod needs a claim of its own")
            except ApiError as error:
                problem = f"create PVC {name}: {error.message}"
                raise ApiError(error.code, error.reason, problem, error.details) from None
        elif not is_controlled_by(found, pod):
            owner = f"{pod.metadata.namespace}/{pod.metadata.name}"
            problem = f"PVC {pod.metadata.namespace}/{name} was not created for pod {owner} (pod is not owner)"
            refusal = conflict(resource_of(CLAIM), name, problem)
            raise ApiError(refusal.code, refusal.reason, problem, refusal.details)
