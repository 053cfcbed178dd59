"""The claims of a pod: those it names, and those of its generic ephemeral volumes.

Mirrors: component-helpers/storage/ephemeral/ephemeral.go; component-helpers/storage/volume/helpers.go
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.api.meta import ApiObject
from kubesim.api.pod import Pod
from kubesim.cluster.scheduling.framework.listers import Listers, field
from kubesim.values import value_object

WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


@value_object
class PodClaim:
    """A claim's name. `ephemeral`: it is generated for a volume of the pod, which owns it."""

    name: str
    ephemeral: bool = False


def pod_claims(pod: Pod) -> Iterator[PodClaim]:
    for volume in pod.spec.volumes:
        claim = volume.get("persistentVolumeClaim")
        if claim is not None:
            yield PodClaim(claim.get("claimName", ""))
        elif volume.get("ephemeral") is not None:
            yield PodClaim(f"{pod.metadata.name}-{volume.get('name', '')}", ephemeral=True)


def uses_claim(pod: Pod, claim: ApiObject) -> bool:
    metadata = claim.metadata
    return pod.metadata.namespace == metadata.namespace and any(each.name == metadata.name for each in pod_claims(pod))


def why_not_for_pod(pod: Pod, claim: ApiObject) -> str:
    """Why an existing claim cannot serve an ephemeral volume of the pod; empty if it can."""
    if any(owner.controller and owner.uid == pod.metadata.uid for owner in claim.metadata.owner_references):
        return ""
    named = f"{claim.metadata.namespace}/{claim.metadata.name}"
    return f"PVC {named} was not created for pod {pod.metadata.namespace}/{pod.metadata.name} (pod is not owner)"


def not_found(name: str) -> str:
    return f'persistentvolumeclaim "{name}" not found'


def claim_class(claim: ApiObject) -> str:
    """The class of a claim; the deprecated annotation takes precedence, as upstream."""
    old: str | None = claim.metadata.annotations.get(_OLD_CLASS)
    return old if old is not None else field(claim, "spec").get("storageClassName") or ""


def volume_name(claim: ApiObject) -> str:
    name: str = field(claim, "spec").get("volumeName") or ""
    return name


def is_fully_bound(claim: ApiObject) -> bool:
    return bool(volume_name(claim)) and BIND_COMPLETED in claim.metadata.annotations


def is_delay_binding(claim: ApiObject, listers: Listers) -> bool:
    """Whether the claim waits for its first consumer."""
    storage_class = listers.storage_class(claim_class(claim)) if claim_class(claim) else None
    return storage_class is not None and storage_class.extra.get("volumeBindingMode") == WAIT_FOR_FIRST_CONSUMER
