"""Volumes on a simulated node: the kubelet sets them up (`VolumeDirectories`), and containers read them.

A hostPath is a directory of the node's file system, which has the usual directories. All nodes of a simulation share
network-attached persistent volumes.

Mirrors: pkg/volume/util/atomic_writer.go; pkg/kubelet/kubelet_pods.go makeMounts, as far as a container sees them
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence

from kubesim.api.pod import Container, Pod
from kubesim.runtime.types import ContainerMount
from kubesim.runtime.volume_directories import PathKind, SubPathProblem, VolumeDirectory
from kubesim.shell import VirtualFiles, Volume
from kubesim.shell.kernel.files import STANDARD_DIRECTORIES
from kubesim.values import mutable

_HOST_FILES = {
    "etc/hostname": "", "etc/hosts": "127.0.0.1\tlocalhost\n", "etc/resolv.conf": "nameserver 192.0.2.53\n",
    "etc/machine-id": "", "etc/localtime": "", "etc/os-release": "",
}  # fmt: skip
_SPECIAL: Mapping[str, PathKind] = {
    "run/containerd/containerd.sock": "socket",
    "var/run/containerd/containerd.sock": "socket",
    "dev/vda": "block device",
    **dict.fromkeys(
        ("dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom", "dev/tty", "dev/kmsg", "dev/fuse"),
        "character device",
    ),
}

SharedStorage = dict[str, Volume]  # by name; shared by all nodes


@mutable
class _NodeVolume:
    directory: VolumeDirectory
    volume: Volume
    path: str = ""  # the path in the volume where it starts
    atomic: bool = False  # its files are replaced only all together


class NodeVolumes:
    """A node's volumes; implements `VolumeDirectories`. Containers use `files`."""

    def __init__(
        self, now: Callable[[], int], shared: SharedStorage | None = None, host_files: Mapping[str, str] | None = None
    ) -> None:
        """`host_files` are texts by absolute path, in addition to the default files."""
        self._now = now
        self._host_files = {**_HOST_FILES, **{_relative(path): text for path, text in (host_files or {}).items()}}
        self._shared = {} if shared is None else shared
        self._pods: dict[str, dict[str, _NodeVolume]] = {}
        self._host: Volume | None = None

    # -- VolumeDirectories ---------------------------------------------------------------------------------------

    def set_up(self, uid: str, directory: VolumeDirectory, files: Mapping[str, str] | None) -> bool:
        volumes = self._pods.setdefault(uid, {})
        found = volumes.get(directory.volume_name)
        if found is None:
            volumes[directory.volume_name] = _NodeVolume(
                directory, Volume(files, self._now()), atomic=files is not None
            )
            return False
        found.directory = directory
        if files is None or found.volume.texts() == files:
            return False
        found.volume.replace(files, self._now())
        return True

    def bind(self, uid: str, directory: VolumeDirectory, path: str, *, shared: bool = False) -> None:
        volume = self._shared.setdefault(path, Volume()) if shared else self.host
        begin = "" if shared else _relative(path)
        self._pods.setdefault(uid, {})[directory.volume_name] = _NodeVolume(directory, volume, begin)

    def tear_down(self, uid: str, volume_name: str) -> None:
        self._pods.get(uid, {}).pop(volume_name, None)

    def volumes(self) -> Iterator[tuple[str, VolumeDirectory]]:
        for uid, volumes in self._pods.items():
            for found in volumes.values():
                yield uid, found.directory

    def read_volume_file(self, uid: str, volume_name: str, path: str) -> str | None:
        found = self._pods.get(uid, {}).get(volume_name)
        return None if found is None else found.volume.read(posixpath.join(found.path, path))

    def of_pod(self, uid: str) -> dict[str, VolumeDirectory]:
        return {name: found.directory for name, found in self._named(uid).items()}

    def _named(self, uid: str) -> dict[str, _NodeVolume]:
        volumes = self._pods.get(uid, {}).values()
        return {name: found for found in volumes for name in found.directory.names}

    def prepare_sub_path(self, uid: str, name: str, path: str) -> SubPathProblem | None:
        """Create the directory. A file in the path is an error, and so is a missing directory in a read-only volume."""
        found = self._named(uid)[name]
        path = posixpath.join(found.path, posixpath.normpath(path)).strip("/")
        above = posixpath.dirname(path)
        while above:
            if found.volume.get(above) is not None:
                return "prepare subPath"
            above = posixpath.dirname(above)
        if found.volume.get(path) is None and not found.volume.is_directory(path) and path not in _SPECIAL:
            if found.directory.read_only and not found.atomic:
                return "create subPath directory"
            found.volume.ensure_directory(path)
        return None

    def pods(self) -> list[str]:
        return list(self._pods)

    def remove_pod(self, uid: str) -> None:
        self._pods.pop(uid, None)

    def read_file(self, path: str) -> str | None:
        key = path.lstrip("/") if path.lstrip("/") in self._host_files else _relative(path)
        return self._host_files.get(key) if self._host is None else self._host.read(key)

    def path_kind(self, path: str) -> PathKind | None:
        key = _relative(path)
        if key in _SPECIAL:
            return _SPECIAL[key]
        if self.host.get(key) is not None:
            return "file"
        return "directory" if self.host.is_directory(key) else None

    def make_path(self, path: str, kind: PathKind) -> None:
        key = _relative(path)
        if kind == "directory":
            self.host.ensure_directory(key)
        else:
            self.host.write(key, "", self._now())

    # -- the machine --------------------------------------------------------------------------------------------

    @property
    def host(self) -> Volume:
        """The node's file system; most nodes never need it."""
        if self._host is None:
            self._host = Volume(self._host_files)
            for directory in sorted(STANDARD_DIRECTORIES):
                self._host.ensure_directory(directory)
        return self._host

    def lose_memory(self) -> None:
        """The machine is switched off: contents in memory are lost."""
        for volumes in self._pods.values():
            for found in volumes.values():
                if found.directory.in_memory:
                    found.volume.replace({})

    # -- containers ----------------------------------------------------------------------------------------------

    def files(
        self,
        pod: Pod,
        container: Container,
        mounts: Sequence[ContainerMount],
        late: Callable[[VirtualFiles], None] | None = None,
    ) -> VirtualFiles:
        """A container's root with its mounts; a volume that is not set up is missing."""
        context = container.security_context or {}
        files = VirtualFiles(read_only=bool(context.get("readOnlyRootFilesystem")), late=late)
        if not mounts:
            return files
        named = self._named(pod.metadata.uid)
        for mount in mounts:
            if mount.host_path:
                self._mount_host_path(files, mount)
                continue
            found = named.get(mount.name)
            if found is None:
                continue
            volume, path = found.volume, found.path
            if mount.sub_path:
                path = posixpath.join(path, mount.sub_path).strip("/")
                if found.atomic:
                    volume = volume.copy()  # it keeps the content from the container's creation
            if volume.get(path) is None and path not in _SPECIAL:
                volume.ensure_directory(path)
            files.mount(mount.container_path, volume, sub_path=path, read_only=mount.read_only)
        return files

    def _mount_host_path(self, files: VirtualFiles, mount: ContainerMount) -> None:
        path = _relative(mount.host_path)
        if self.host.get(path) is None:
            self.host.ensure_directory(path)
        files.mount(mount.container_path, self.host, sub_path=path, read_only=mount.read_only)


def _relative(path: str) -> str:
    return posixpath.normpath(path).strip("/") if path.strip("/") else ""
