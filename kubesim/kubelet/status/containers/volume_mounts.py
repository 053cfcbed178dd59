"""Volume mounts in a container's status: decides whether recursive read-only mounts are reported.

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
    """One entry per mount while the container has no record; later the old status is kept."""
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
    """Whether the mount is recursively read-only. An unsupported mode fails the start; here it counts as no."""
    try:
        return resolve_recursive_read_only(mount, supported)
    except ValueError:
        return False
