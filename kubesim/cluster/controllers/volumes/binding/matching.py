"""Finds the volume for a claim: one reserved for it, or the smallest match.

Mirrors: component-helpers/storage/volume/pv_helpers.go FindMatchingVolume; pkg/controller/volume/persistentvolume/
index.go findByClaim; pv_controller.go checkVolumeSatisfyClaim
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from kubesim.api.meta import ApiObject
from kubesim.cluster.controllers.volumes.storage_fields import (
    capacity_of,
    class_of,
    is_bound_to,
    mode_of,
    phase_of,
    request_of,
    spec_of,
)
from kubesim.cluster.scheduling.node_affinity import matches_node_selector
from kubesim.cluster.store.selectors import selector_from

_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


def access_modes(found: ApiObject) -> tuple[str, ...]:
    """The access modes without duplicates, in the API's order."""
    modes = spec_of(found).get("accessModes") or ()
    return tuple(mode for mode in _MODES if mode in modes)


def find_best_match(claim: ApiObject, volumes: Iterable[ApiObject], *, delay_binding: bool) -> ApiObject | None:
    """The volume to bind: fewest access modes first, then the smallest.

    With delayed binding, only a volume that names the claim counts. The scheduler chooses among the others.
    """
    groups: dict[tuple[str, ...], list[ApiObject]] = {}
    for volume in volumes:
        groups.setdefault(access_modes(volume), []).append(volume)
    wanted = set(access_modes(claim))
    for modes in sorted((group for group in groups if wanted <= set(group)), key=lambda group: (len(group), group)):
        found = find_matching_volume(claim, groups[modes], delay_binding=delay_binding)
        if found is not None:
            return found
    return None


def find_matching_volume(
    claim: ApiObject,
    volumes: Sequence[ApiObject],
    *,
    node_labels: Mapping[str, str] | None = None,
    excluded: Collection[str] = (),
    delay_binding: bool = False,
) -> ApiObject | None:
    """The volume that names the claim, or the smallest match. Only the scheduler passes a node."""
    smallest: ApiObject | None = None
    for volume in volumes:
        if volume.metadata.name in excluded or not _may_be_for(volume, claim):
            continue
        reachable = node_labels is None or fits_node(volume, node_labels)
        if is_bound_to(volume, claim):
            return volume if reachable else None
        if node_labels is None and delay_binding:
            continue
        if not reachable or not _is_free_and_fits(volume, claim):
            continue
        if node_labels is not None and not has_access_modes(volume, claim):
            continue
        if smallest is None or capacity_of(volume) < capacity_of(smallest):
            smallest = volume
    return smallest


def _may_be_for(volume: ApiObject, claim: ApiObject) -> bool:
    """Conditions that even a volume that names the claim must meet."""
    if spec_of(volume).get("claimRef") is not None and not is_bound_to(volume, claim):
        return False
    return (
        capacity_of(volume) >= request_of(claim)
        and mode_of(volume) == mode_of(claim)
        and _attributes_class(volume) == _attributes_class(claim)
        and volume.metadata.deletion_timestamp is None
    )


def _is_free_and_fits(volume: ApiObject, claim: ApiObject) -> bool:
    selector = spec_of(claim).get("selector")
    return (
        phase_of(volume) == "Available"
        and (selector is None or selector_from(selector).matches(volume.metadata.labels))
        and class_of(volume) == class_of(claim)
    )


def _attributes_class(found: ApiObject) -> str:
    return str(spec_of(found).get("volumeAttributesClassName") or "")


def has_access_modes(volume: ApiObject, claim: ApiObject) -> bool:
    """Whether the volume has all access modes that the claim requests."""
    return set(spec_of(claim).get("accessModes") or ()) <= set(spec_of(volume).get("accessModes") or ())


def fits_node(volume: ApiObject, labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels can access the volume."""
    required = (spec_of(volume).get("nodeAffinity") or {}).get("required")
    return required is None or matches_node_selector(required, "", labels)


def why_unsatisfied(volume: ApiObject, claim: ApiObject) -> str:
    """Why the volume that a claim names cannot be bound to it; empty if it can."""
    if volume.metadata.deletion_timestamp is not None:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if capacity_of(volume).value() < request_of(claim).value():
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes_class(volume) != _attributes_class(claim):
        return "volumeAttributesClassName does not match"
    if mode_of(volume) != mode_of(claim):
        return "incompatible volumeMode"
    if not has_access_modes(volume, claim):
        return "incompatible accessMode"
    return ""
