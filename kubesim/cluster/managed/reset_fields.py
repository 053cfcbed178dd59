"""Fields that an endpoint cannot write, so that its writers do not become their managers.

Mirrors: pkg/registry/*/strategy.go GetResetFields, GetResetFieldsFilter
"""

from __future__ import annotations

from collections.abc import Mapping

from kubesim.cluster.managed.field_sets import FieldSet, Path, without_below

_STATUS: tuple[Path, ...] = (("f:status",),)
_SPEC: tuple[Path, ...] = (("f:spec",),)
_METADATA: tuple[Path, ...] = (("f:metadata",),)
_LABELS: tuple[Path, ...] = (("f:metadata", "f:labels"),)
_POD_STATUS = (*_SPEC, ("f:metadata", "f:deletionTimestamp"), ("f:metadata", "f:ownerReferences"))
_RESET: Mapping[tuple[str, str], tuple[Path, ...]] = {
    ("Pod", "status"): _POD_STATUS,
    ("Deployment", "status"): _SPEC + _LABELS,
    ("VolumeAttachment", "status"): _METADATA + _SPEC,
    ("ResourceClaim", "status"): _METADATA + _SPEC,
}
_WITHOUT_STATUS = ("ConfigMap", "Secret", "ServiceAccount", "Event", "Lease", "PriorityClass", "RuntimeClass")


def settable(kind: str, subresource: str, paths: FieldSet) -> FieldSet:
    """The paths that a write through this endpoint can set."""
    if subresource in ("resize", "ephemeralcontainers"):  # upstream's storage ignores the filter
        return paths
    if (kind, subresource) in _RESET:
        return without_below(paths, _RESET[(kind, subresource)])
    if subresource == "status":
        return without_below(paths, _SPEC)
    return paths if kind in _WITHOUT_STATUS else without_below(paths, _STATUS)
