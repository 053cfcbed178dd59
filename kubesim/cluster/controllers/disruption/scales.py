"""How many pods the owners of pods request: the scale of each ReplicaSet, Deployment, StatefulSet and
ReplicationController behind them.

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
    """The sum of the scales; pods without an owner are not part of it. `problem`: why it is not known."""

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
    """The object that is scaled: of a ReplicaSet that a Deployment controls, the Deployment."""
    owner = _find(store, reference, namespace)
    above = None if owner is None or owner.kind != "ReplicaSet" else controller_of(owner)
    if above is not None and above.kind == "Deployment":
        return _find(store, above, namespace)
    return owner


def _find(store: Store, reference: OwnerReference, namespace: str) -> ApiObject | None:
    found = store.find(reference.kind, namespace, reference.name)
    return found if found is not None and found.metadata.uid == reference.uid else None


def _has_replicas(store: Store, reference: OwnerReference, namespace: str) -> bool:
    """Any other kind counts if its objects have `spec.replicas`, as a custom resource with a scale has."""
    owner = _find(store, reference, namespace)
    return owner is None or isinstance(((owner.to_json().get("spec")) or {}).get("replicas"), int)


def replicas_of(owner: ApiObject) -> int:
    replicas = (owner.to_json().get("spec") or {}).get("replicas")
    return 1 if replicas is None else int(replicas)
