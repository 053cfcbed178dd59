"""What a container's status says of its volume mounts; only recursive read-only mounts need a decision.

Mirrors: pkg/kubelet/kubelet_pods.go convertToAPIContainerStatuses (VolumeMounts), resolveRecursiveReadOnly.
"""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Container
from kubesim.features import FeatureGates
from kubesim.kubelet.volumes.mounts import resolve_recursive_read_only


def volume_mount_statuses(
    container: Container, supports_recursive_read_only: bool, gates: FeatureGates
) -> tuple[dict[str, Any], ...]:
    """One entry per mount, as long as the container has no record; later the old status is carried on."""
    if not container.volume_mounts or not gates.enabled("RecursiveReadOnlyMounts"):
        return ()
    return tuple([_status(mount, supports_recursive_read_only) for mount in container.volume_mounts])


def _status(mount: dict[str, Any], supported: bool) -> dict[str, Any]:
    status = {"name": mount.get("name", ""), "mountPath": mount.get("mountPath", "")}
    if mount.get("readOnly"):
        status["readOnly"] = True
        status["recursiveReadOnly"] = "Enabled" if _is_recursively_read_only(mount, supported) else "Disabled"
    return status


def _is_recursively_read_only(mount: dict[str, Any], supported: bool) -> bool:
    """A mode that cannot be had is an error at the start, and "no" here."""
    try:
        return resolve_recursive_read_only(mount, supported)
    except ValueError:
        return False
