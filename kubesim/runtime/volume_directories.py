"""Volume directories of pods on a node: the kubelet sets them up, containers mount them.

They are on the node's disk, so a restarted kubelet finds them.

Mirrors: pkg/kubelet/kubelet_getters.go getPodVolumeDir; pkg/kubelet/volumemanager/reconciler/reconstruct_common.go
getVolumesFromPodDir
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, Protocol

from kubesim.errors import KubesimError
from kubesim.values import value_object

PathKind = Literal["directory", "file", "socket", "character device", "block device"]

SubPathProblem = Literal["create subPath directory", "prepare subPath"]


@value_object
class VolumeDirectory:
    """A volume of one pod. `names` are its names in the pod, `volume_name` the kubelet's."""

    volume_name: str
    plugin: str  # the source field: configMap, emptyDir ...
    names: tuple[str, ...]
    read_only: bool = False
    in_memory: bool = False  # its content is lost when the machine is switched off


@value_object
class VolumeFile:
    """A file in a pod's volume, with its path on the node."""

    path: str
    text: str | None  # None: unreadable


class SlowVolume(KubesimError):
    """A volume takes this long (microseconds) to set up: call again afterwards."""

    def __init__(self, duration: int) -> None:
        super().__init__(f"the volume takes {duration} microseconds")
        self.duration = duration


class VolumeDirectories(Protocol):
    """`set_up` and `bind` raise `SlowVolume` if a fault slows them down."""

    def set_up(self, uid: str, directory: VolumeDirectory, files: Mapping[str, str] | None) -> bool:
        """Create the directory with exactly these files, or (None) with its existing files. True if files changed that
        a container may have read.
        """
        ...

    def bind(self, uid: str, directory: VolumeDirectory, path: str, *, shared: bool = False) -> None:
        """Bind it to a path of the node, or to storage that all nodes share."""
        ...

    def tear_down(self, uid: str, volume_name: str) -> None: ...

    def volumes(self) -> Iterator[tuple[str, VolumeDirectory]]:
        """All volumes, with the UIDs of their pods."""
        ...

    def read_volume_file(self, uid: str, volume_name: str, path: str) -> str | None:
        """The text of a file in a volume; None if there is no such file."""
        ...

    def of_pod(self, uid: str) -> Mapping[str, VolumeDirectory]:
        """The volumes of one pod, by their names in the pod."""
        ...

    def prepare_sub_path(self, uid: str, name: str, path: str) -> SubPathProblem | None:
        """Create a directory at a path in a volume unless something exists; returns an error if it is unusable."""
        ...

    def pods(self) -> list[str]:
        """UIDs of all pods with a directory, even without a volume."""
        ...

    def remove_pod(self, uid: str) -> None: ...

    def read_file(self, path: str) -> str | None:
        """The text of a file of the node; None if it does not exist."""
        ...

    def path_kind(self, path: str) -> PathKind | None:
        """The type of a path of the node; None if it does not exist."""
        ...

    def make_path(self, path: str, kind: PathKind) -> None:
        """Create a directory or an empty file, with all parent directories."""
        ...
