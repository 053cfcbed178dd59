"""The actual state of the world: attached volumes of the node, and mounted volumes of each pod.

Mirrors: pkg/kubelet/volumemanager/cache/actual_state_of_world.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesim.kubelet.volumes.spec import VolumePlugin
from kubesim.values import mutable


@mutable
class MountedVolume:
    """A volume that is mounted for a pod. An uncertain one was left by an earlier kubelet and may be mounted."""

    volume_name: str
    plugin: VolumePlugin
    uncertain: bool = False
    remount_required: bool = False


_NONE: Mapping[str, MountedVolume] = {}


class ActualStateOfWorld:
    def __init__(self) -> None:
        self._attached: dict[str, int] = {}  # unique name -> number of pods it is mounted for
        self._pods: dict[str, dict[str, MountedVolume]] = {}  # by UID, then by unique name
        self.attached_by_cluster: set[str] = set()  # unique names

    def mark_volume_as_attached(self, volume_name: str, *, by_cluster: bool = False) -> None:
        self._attached.setdefault(volume_name, 0)
        if by_cluster:
            self.attached_by_cluster.add(volume_name)

    def mark_volume_as_detached(self, volume_name: str) -> None:
        if not self._attached.get(volume_name):
            self._attached.pop(volume_name, None)
            self.attached_by_cluster.discard(volume_name)

    def is_attached(self, volume_name: str) -> bool:
        return volume_name in self._attached

    def is_mounted_by_any(self, volume_name: str) -> bool:
        return bool(self._attached.get(volume_name))

    def add_pod_to_volume(self, uid: str, volume: MountedVolume) -> None:
        """Record a mount or a remount."""
        volumes = self._pods.setdefault(uid, {})
        if volume.volume_name not in volumes:
            self._attached[volume.volume_name] = self._attached.get(volume.volume_name, 0) + 1
        volumes[volume.volume_name] = volume

    def delete_pod_from_volume(self, uid: str, volume_name: str) -> None:
        volumes = self._pods.get(uid, {})
        if volumes.pop(volume_name, None) is not None:
            self._attached[volume_name] -= 1
            if not volumes:
                del self._pods[uid]

    def mark_remount_required(self, uid: str) -> list[str]:
        """Mark the pod's remountable volumes; returns their unique names."""
        marked = []
        for volume in self._pods.get(uid, _NONE).values():
            if volume.plugin.requires_remount:
                volume.remount_required = True
                marked.append(volume.volume_name)
        return marked

    def volumes_of(self, uid: str) -> Mapping[str, MountedVolume]:
        """All volumes that are, or may be, mounted for a pod."""
        return self._pods.get(uid, _NONE)

    def volumes(self) -> Iterator[MountedVolume]:
        return (volume for volumes in self._pods.values() for volume in volumes.values())

    def find(self, uid: str, volume_name: str) -> MountedVolume | None:
        return self._pods.get(uid, _NONE).get(volume_name)

    def is_mounted(self, uid: str, volume_name: str) -> bool:
        """Whether the volume is certainly mounted for the pod."""
        found = self.find(uid, volume_name)
        return found is not None and not found.uncertain

    def mounted_for(self, uid: str) -> list[str]:
        """The unique names of a pod's certainly mounted volumes."""
        return sorted(name for name, volume in self._pods.get(uid, _NONE).items() if not volume.uncertain)

    def is_mounted_elsewhere(self, uid: str, volume_name: str) -> bool:
        own = self.find(uid, volume_name) is not None
        return self._attached.get(volume_name, 0) > own
