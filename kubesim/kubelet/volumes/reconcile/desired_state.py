"""The desired state of the world: volumes to mount for each pod, and errors of the populator.

Mirrors: pkg/kubelet/volumemanager/cache/desired_state_of_world.go
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kubesim.api.pod import Pod
from kubesim.kubelet.volumes.spec import VolumePlugin, VolumeSpec, unique_volume_name
from kubesim.values import mutable

MAX_POD_ERRORS = 10


@mutable
class VolumeToMount:
    """A volume for one pod. `outer_names` are its names in the pod: several volumes can use one claim."""

    volume_name: str
    pod: Pod
    spec: VolumeSpec
    plugin: VolumePlugin
    outer_names: tuple[str, ...]
    attachable: bool = False  # must be attached by the cluster first

    @property
    def uid(self) -> str:
        return self.pod.metadata.uid


_NONE: Mapping[str, VolumeToMount] = {}


class DesiredStateOfWorld:
    def __init__(self) -> None:
        self._pods: dict[str, dict[str, VolumeToMount]] = {}  # by UID, then by the volume's unique name
        self._shared: dict[str, dict[str, None]] = {}  # UIDs of the pods of each shared volume
        self._errors: dict[str, dict[str, None]] = {}

    # -- volumes ------------------------------------------------------------------------------------------------

    def add_pod_to_volume(self, pod: Pod, spec: VolumeSpec, outer_name: str) -> VolumeToMount:
        """Add a volume of a pod, or update it. Raises VolumeError."""
        plugin, uid = spec.plugin(), pod.metadata.uid
        volume_name = unique_volume_name(spec, plugin, uid)
        volumes = self._pods.setdefault(uid, {})
        known = volumes.get(volume_name)
        if known is None:
            known = volumes[volume_name] = VolumeToMount(volume_name, pod, spec, plugin, (outer_name,))
            if plugin.device_mountable:
                self._shared.setdefault(volume_name, {})[uid] = None
            return known
        known.pod, known.spec = pod, spec
        if outer_name not in known.outer_names:
            known.outer_names = (*known.outer_names, outer_name)
        return known

    def delete_pod_from_volume(self, uid: str, volume_name: str) -> None:
        self._errors.pop(uid, None)
        volumes = self._pods.get(uid, {})
        if volumes.pop(volume_name, None) is None:
            return
        if not volumes:
            del self._pods[uid]
        users = self._shared.get(volume_name)
        if users is not None:
            del users[uid]
            if not users:
                del self._shared[volume_name]

    def volumes_of(self, uid: str) -> Mapping[str, VolumeToMount]:
        """By unique name, in the order of the pod's spec."""
        return self._pods.get(uid, _NONE)

    def volume_names_of(self, uid: str) -> dict[str, str]:
        """Names in the pod -> unique names."""
        return {outer: name for name, volume in self.volumes_of(uid).items() for outer in volume.outer_names}

    def volumes(self) -> Iterator[VolumeToMount]:
        return (volume for volumes in self._pods.values() for volume in volumes.values())

    def find(self, uid: str, volume_name: str) -> VolumeToMount | None:
        return self._pods.get(uid, _NONE).get(volume_name)

    def is_wanted(self, volume_name: str) -> bool:
        """Whether any pod uses this shared volume."""
        return volume_name in self._shared

    def pod(self, uid: str) -> Pod | None:
        """The pod as of the last time its volumes were processed."""
        return next((volume.pod for volume in self.volumes_of(uid).values()), None)

    # -- errors -------------------------------------------------------------------------------------------------

    def add_error_to_pod(self, uid: str, error: str) -> None:
        errors = self._errors.setdefault(uid, {})
        if len(errors) <= MAX_POD_ERRORS:
            errors[error] = None

    def pop_pod_errors(self, uid: str) -> list[str]:
        return sorted(self._errors.pop(uid, ()))
