"""Finds the persistent volume for a claim on a node: the smallest that is large enough.

Mirrors: component-helpers/storage/volume/pv_helpers.go FindMatchingVolume, GetBindVolumeToClaim
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from kubesim.api.meta import ApiObject
from kubesim.api.quantity import Quantity, quantity
from kubesim.cluster.scheduling.framework.listers import field, volume_class
from kubesim.cluster.scheduling.node_affinity import matches_node_selector
from kubesim.cluster.scheduling.plugins.volumes.pod_claims import BOUND_BY_CONTROLLER, claim_class
from kubesim.cluster.store.selectors import selector_from


def find_matching_volume(
    claim: ApiObject, volumes: Iterable[ApiObject], labels: Mapping[str, str], excluded: Container[str]
) -> ApiObject | None:
    """The volume for the claim on a node with these labels; a volume already bound to the claim takes precedence."""
    smallest: ApiObject | None = None
    for volume in volumes:
        if volume.metadata.name in excluded or not _can_hold(claim, volume):
            continue
        fits_node = matches_volume_affinity(volume, labels)
        if is_bound_to_claim(volume, claim):
            return volume if fits_node else None
        if (
            fits_node
            and _is_free_and_alike(claim, volume)
            and (smallest is None or capacity_of(volume) < capacity_of(smallest))
        ):
            smallest = volume
    return smallest


def _can_hold(claim: ApiObject, volume: ApiObject) -> bool:
    """Whether the volume is large enough, of the right mode, and not reserved for another claim."""
    spec, wanted = field(volume, "spec"), field(claim, "spec")
    if spec.get("claimRef") is not None and not is_bound_to_claim(volume, claim):
        return False
    return (
        volume.metadata.deletion_timestamp is None
        and not capacity_of(volume) < request_of(claim)
        and (spec.get("volumeMode") or "Filesystem") == (wanted.get("volumeMode") or "Filesystem")
        and (spec.get("volumeAttributesClassName") or "") == (wanted.get("volumeAttributesClassName") or "")
    )


def _is_free_and_alike(claim: ApiObject, volume: ApiObject) -> bool:
    spec, wanted = field(volume, "spec"), field(claim, "spec")
    selector = wanted.get("selector")
    return (
        field(volume, "status").get("phase") == "Available"
        and (selector is None or selector_from(selector).matches(volume.metadata.labels))
        and volume_class(volume) == claim_class(claim)
        and set(wanted.get("accessModes") or ()) <= set(spec.get("accessModes") or ())
    )


def is_bound_to_claim(volume: ApiObject, claim: ApiObject) -> bool:
    """Whether the volume's claimRef is this claim; a reference without uid suffices."""
    reference, metadata = field(volume, "spec").get("claimRef"), claim.metadata
    return (
        reference is not None
        and reference.get("name") == metadata.name
        and reference.get("namespace") == metadata.namespace
        and (reference.get("uid") or metadata.uid) == metadata.uid
    )


def matches_volume_affinity(volume: ApiObject, labels: Mapping[str, str]) -> bool:
    required = (field(volume, "spec").get("nodeAffinity") or {}).get("required")
    return required is None or matches_node_selector(required, "", labels)


def capacity_of(volume: ApiObject) -> Quantity:
    return quantity((field(volume, "spec").get("capacity") or {}).get("storage", 0))


def request_of(claim: ApiObject) -> Quantity:
    resources: Mapping[str, Any] = field(claim, "spec").get("resources") or {}
    return quantity((resources.get("requests") or {}).get("storage", 0))


def bound_to_claim(volume: ApiObject, claim: ApiObject) -> ApiObject:
    """The volume with a claimRef, annotated as set by a controller."""
    metadata, spec = claim.metadata, field(volume, "spec")
    reference = spec.get("claimRef") or {}
    annotations = volume.metadata.annotations
    if not is_bound_to_claim(volume, claim):
        annotations = {**annotations, BOUND_BY_CONTROLLER: "yes"}
    if reference.get("uid") != metadata.uid or not is_bound_to_claim(volume, claim):
        reference = {
            "kind": "PersistentVolumeClaim",
            "namespace": metadata.namespace,
            "name": metadata.name,
            "uid": metadata.uid,
            "apiVersion": "v1",
            "resourceVersion": metadata.resource_version,
        }
    changed = volume.changed(metadata=volume.metadata.changed(annotations=annotations))
    return changed.with_extra({**volume.extra, "spec": {**spec, "claimRef": reference}})
