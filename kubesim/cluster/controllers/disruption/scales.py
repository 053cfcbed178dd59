"""The desired number of pods from the scale of their owners: ReplicaSet, Deployment, StatefulSet,
ReplicationController.

Mirrors: pkg/controller/disruption/disruption.go getExpectedScale and the finders
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.meta import ApiObject, OwnerReference
from kubesim.api.pod import Pod
from kubesim.cluster.controllers.owners import controller_of
from kubesim.cluster.store.kinds import resource_of
from kubesim.cluster.store.store import Store
from kubesim.values import value_object

SCALABLE = ("ReplicationController", "ReplicaSet", "StatefulSet", "Deployment")


@value_object
class ExpectedScale:
    """The sum of the scales, without unowned pods. `problem`: why it is unknown."""

    expected: int = 0
    unmanaged: tuple[str, ...] = ()
    problem: str = ""


def expected_scale(store: Store, pods: Iterable[Pod]) -> ExpectedScale:
    scales: dict[str, int] = {}
    unmanaged: list[str] = []
    for pod in pods:
        reference = controller_of(pod)
        if reference is None:
            unmanaged.append(pod.metadata.name)
            continue
        if reference.uid in scales:
            continue
        if reference.kind not in SCALABLE and not _has_replicas(store, reference, pod.metadata.namespace):
            resource = resource_of(reference.kind)
            problem = f"{resource.group_resource} does not implement the scale subresource"
            return ExpectedScale(0, tuple(unmanaged), problem)
        owner = scaled_owner(store, reference, pod.metadata.namespace)
        if owner is None:
            problem = f'found no controllers for pod "{pod.metadata.name}"'
            return ExpectedScale(0, tuple(unmanaged), problem)
        scales[owner.metadata.uid] = replicas_of(owner)
    return ExpectedScale(sum(scales.values()), tuple(unmanaged))


def scaled_owner(store: Store, reference: OwnerReference, namespace: str) -> ApiObject | None:
    """The object with the scale: a ReplicaSet's Deployment, if it has one."""
    owner = _find(store, reference, namespace)
    above = None if owner is None or owner.kind != "ReplicaSet" else controller_of(owner)
    if above is not None and above.kind == "Deployment":
        return _find(store, above, namespace)
    return owner


def _find(store: Store, reference: OwnerReference, namespace: str) -> ApiObject | None:
    found = store.find(reference.kind, namespace, reference.name)
    return found if found is not None and found.metadata.uid == reference.uid else None


def _has_replicas(store: Store, reference: OwnerReference, namespace: str) -> bool:
    """Whether the object has `spec.replicas`, as custom resources with a scale do."""
    owner = _find(store, reference, namespace)
    return owner is None or isinstance(((owner.to_json().get("spec")) or {}).get("replicas"), int)


def replicas_of(owner: ApiObject) -> int:
    replicas = (owner.to_json().get("spec") or {}).get("replicas")
    return 1 if replicas is None else int(replicas)
