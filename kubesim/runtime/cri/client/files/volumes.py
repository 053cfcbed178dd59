"""Volumes on this machine, for real containers.

What the kubelet set up is also written beside the volumes: a later run with the same state directory finds it.

Mirrors: pkg/kubelet/kubelet_getters.go getPodVolumeDir; pkg/volume/util/subpath
"""

from __future__ import annotations

import json
import os
import posixpath
from collections.abc import Iterator, Mapping
from typing import Any

from kubesim.runtime.cri.client.files.real_files import (
    is_within,
    path_kind,
    read_text,
    remove_tree,
    write_all,
    write_file,
)
from kubesim.runtime.volume_directories import PathKind, SubPathProblem, VolumeDirectory
from kubesim.values import value_object

_RECORD = "volumes.json"


@value_object
class _Placed:
    directory: VolumeDirectory
    path: str


class RealVolumes:
    """Implements `VolumeDirectories`. `directory` is the node's, `shared` what all nodes of the run share."""

    def __init__(self, directory: str, shared: str) -> None:
        self._pods_directory = f"{directory}/pods"
        self._shared = shared
        self._pods: dict[str, dict[str, _Placed]] = {}
        os.makedirs(self._pods_directory, mode=0o750, exist_ok=True)
        for uid in os.listdir(self._pods_directory):
            self._pods[uid] = self._read_record(uid)

    # -- what the kubelet does --------------------------------------------------------------------------------------

    def set_up(self, uid: str, directory: VolumeDirectory, files: Mapping[str, str] | None) -> bool:
        path = f"{self._pods_directory}/{uid}/volumes/kubernetes.io~{directory.plugin}/{_name(directory)}"
        self._place(uid, _Placed(directory, path))
        if files is not None:
            return write_all(path, files)
        if not os.path.isdir(path):
            os.makedirs(path, mode=0o755)
            os.chmod(path, 0o777)
        return False

    def bind(self, uid: str, directory: VolumeDirectory, path: str, *, shared: bool = False) -> None:
        if shared:
            path = f"{self._shared}/{path.replace('/', '~')}"
            os.makedirs(path, mode=0o777, exist_ok=True)
        self._place(uid, _Placed(directory, path))

    def tear_down(self, uid: str, volume_name: str) -> None:
        placed = self._pods.get(uid, {}).pop(volume_name, None)
        if placed is not None:
            if placed.path.startswith(f"{self._pods_directory}/{uid}/"):
                remove_tree(placed.path)
            self._write_record(uid)

    def volumes(self) -> Iterator[tuple[str, VolumeDirectory]]:
        for uid, volumes in self._pods.items():
            for placed in volumes.values():
                yield uid, placed.directory

    def read_volume_file(self, uid: str, volume_name: str, path: str) -> str | None:
        placed = self._pods.get(uid, {}).get(volume_name)
        if placed is None or not is_within(placed.path, full := posixpath.join(placed.path, path)):
            return None
        return read_text(full)

    def own_directories(self, uid: str) -> Iterator[tuple[str, str]]:
        """Name and path of each volume whose files count as the pod's: on disk, below the pod's directory."""
        for name, placed in self._named(uid).items():
            if not placed.directory.in_memory and placed.path.startswith(f"{self._pods_directory}/{uid}/"):
                yield name, placed.path

    def of_pod(self, uid: str) -> dict[str, VolumeDirectory]:
        return {name: placed.directory for name, placed in self._named(uid).items()}

    def _named(self, uid: str) -> dict[str, _Placed]:
        volumes = self._pods.get(uid, {}).values()
        return {name: placed for placed in volumes for name in placed.directory.names}

    def prepare_sub_path(self, uid: str, name: str, path: str) -> SubPathProblem | None:
        placed = self._named(uid)[name]
        full = posixpath.normpath(posixpath.join(placed.path, path))
        if not is_within(placed.path, full):
            return "prepare subPath"
        if os.path.lexists(full):
            return None
        try:
            os.makedirs(full, mode=0o755)
        except NotADirectoryError:
            return "prepare subPath"
        except OSError:
            return "create subPath directory"
        return None

    def find(self, uid: str, name: str, sub_path: str) -> str:
        """The path of a volume, or of something in it, on this machine. A link that leads out of it is refused."""
        placed = self._named(uid)[name]
        full = posixpath.normpath(posixpath.join(placed.path, sub_path)) if sub_path else placed.path
        return full if not sub_path or is_within(placed.path, full) else f"{self._pods_directory}/{uid}/nowhere"

    def pods(self) -> list[str]:
        return list(self._pods)

    def remove_pod(self, uid: str) -> None:
        self._pods.pop(uid, None)
        remove_tree(f"{self._pods_directory}/{uid}")

    # -- the machine ------------------------------------------------------------------------------------------------

    def read_file(self, path: str) -> str | None:
        return read_text(path)

    def path_kind(self, path: str) -> PathKind | None:
        return path_kind(path)

    def make_path(self, path: str, kind: PathKind) -> None:
        if kind == "directory":
            os.makedirs(path, mode=0o755, exist_ok=True)
        else:
            os.makedirs(posixpath.dirname(path), mode=0o755, exist_ok=True)
            with open(path, "a"):
                pass

    # -- what a later run finds -------------------------------------------------------------------------------------

    def _place(self, uid: str, placed: _Placed) -> None:
        volumes = self._pods.setdefault(uid, {})
        if volumes.get(placed.directory.volume_name) != placed:
            volumes[placed.directory.volume_name] = placed
            self._write_record(uid)

    def _write_record(self, uid: str) -> None:
        rows = []
        for placed in self._pods.get(uid, {}).values():
            known = placed.directory
            rows.append([known.volume_name, known.plugin, known.names, known.read_only, known.in_memory, placed.path])
        write_file(f"{self._pods_directory}/{uid}/{_RECORD}", json.dumps(rows))

    def _read_record(self, uid: str) -> dict[str, _Placed]:
        """Nothing if the record cannot be read: then the kubelet removes the directory of the pod."""
        try:
            rows: list[list[Any]] = json.loads(read_text(f"{self._pods_directory}/{uid}/{_RECORD}") or "[]")
            placed = [_Placed(VolumeDirectory(row[0], row[1], tuple(row[2]), row[3], row[4]), row[5]) for row in rows]
        except (ValueError, LookupError, TypeError):
            return {}
        return {each.directory.volume_name: each for each in placed}


def _name(directory: VolumeDirectory) -> str:
    return directory.names[0] if directory.names else directory.volume_name.replace("/", "~")
