"""Volume operations that move the actual state towards the desired state.

Mirrors: pkg/kubelet/volumemanager/reconciler/reconciler_common.go unmountVolumes, mountOrAttachVolumes,
unmountDetachDevices; cache/actual_state_of_world.go PodExistsInVolume
"""

from __future__ import annotations

from typing import Literal

from kubesim.kubelet.volumes.reconcile.actual_state import ActualStateOfWorld
from kubesim.kubelet.volumes.reconcile.desired_state import DesiredStateOfWorld

Action = Literal["unmount", "attach", "mount", "remount", "detach"]

# The kubelet's operation names: a failed operation delays only operations of the same name.
OPERATION_NAMES = {
    "unmount": "volume_unmount",
    "attach": "verify_controller_attached_volume",
    "mount": "volume_mount",
    "remount": "volume_mount",
}


def next_action(uid: str, volume_name: str, desired: DesiredStateOfWorld, actual: ActualStateOfWorld) -> Action | None:
    """The next operation for this volume of this pod; None if none is needed."""
    mounted = actual.find(uid, volume_name)
    if desired.find(uid, volume_name) is None:
        if mounted is not None:
            return "unmount"
        if actual.is_attached(volume_name) and not actual.is_mounted_by_any(volume_name):
            return None if desired.is_wanted(volume_name) else "detach"
        return None
    if not actual.is_attached(volume_name):
        return "attach"
    if mounted is None or mounted.uncertain:
        return "mount"
    return "remount" if mounted.remount_required else None
