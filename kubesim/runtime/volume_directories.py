"""The directories in which volumes of pods lie on a node: the kubelet sets them up, containers see them.

They are on the node's disk: an agent that comes back finds what an earlier one set up.
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
    """One volume of one pod. `names` are those that the pod gives it, `volume_name` is the kubelet's."""

    volume_name: str
    plugin: str  # the field of its source: configMap, emptyDir ...
    names: tuple[str, ...]
    read_only: bool = False
    in_memory: bool = False  # its content does not outlive the machine's being switched off


@value_object
class VolumeFile:
    """A file in a volume of a pod, with its path on the node."""

    path: str
    text: str | None  # None: it cannot be read


class SlowVolume(KubesimError):
    """A volume takes this long (microseconds) to set up: call again after that time."""

    def __init__(self, duration: int) -> None:
        super().__init__(f"the volume takes {duration} microseconds")
        self.duration = duration


class VolumeDirectories(Protocol):
    """`set_up` and `bind` raise `SlowVolume` where a fault makes them slow."""

    def set_up(self, uid: str, directory: VolumeDirectory, files: Mapping[str, str] | None) -> bool:
        """Make the directory, with exactly these files, or (None) with what it has. True if files changed that a
        container may have seen."""
        ...

    def bind(self, uid: str, directory: VolumeDirectory, path: str, *, shared: bool = False) -> None:
        """Map it to a path of the node, or to storage that all nodes share."""
        ...

    def tear_down(self, uid: str, volume_name: str) -> None: ...

    def volumes(self) -> Iterator[tuple[str, VolumeDirectory]]:
        """All of them, with the uids of their pods."""
        ...

    def read_volume_file(self, uid: str, volume_name: str, path: str) -> str | None:
        """The text of a file in a volume; None if there is no such file."""
        ...

    def of_pod(self, uid: str) -> Mapping[str, VolumeDirectory]:
        """Those of one pod, by the names that the pod gives them."""
        ...

    def prepare_sub_path(self, uid: str, name: str, path: str) -> SubPathProblem | None:
        """Make a directory at a path in a volume unless something exists; what went wrong if it cannot be used."""
        ...

    def pods(self) -> list[str]:
        """The uids of all pods that have a directory, also if no volume is left in it."""
        ...

    def remove_pod(self, uid: str) -> None: ...

    def read_file(self, path: str) -> str | None:
        """The text of a file of the node; None if there is none."""
        ...

    def path_kind(self, path: str) -> PathKind | None:
        """What is at a path of the node; None if nothing is."""
        ...

    def make_path(self, path: str, kind: PathKind) -> None:
        """A directory or an empty file, with all directories above it."""
        ...
