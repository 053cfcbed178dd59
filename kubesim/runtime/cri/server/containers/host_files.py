"""Files of this machine in simulated containers: copies of what the mounts of a container name, and nothing else.

A kubelet prepares ConfigMaps, tokens and /etc/hosts as files and names them as mounts. They are copied into the file
system of the simulated node, where all containers with the same mount share them, before a container starts and before
a command runs in it: a change on the machine is seen there. What a container writes stays in the simulation, and a copy
that it changed is not replaced. Not copied are devices, sockets, pipes, files that are not UTF-8 text or larger than
1 MiB, and more than 2,000 entries of a mount.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator

from kubesim.runtime.simulated.volumes import NodeVolumes
from kubesim.runtime.types import ContainerMount

MAX_ENTRIES = 2000
MAX_SIZE = 1 << 20
MAX_DEPTH = 12
MAX_MESSAGE = 4096


class HostFiles:
    """The copies on one simulated node."""

    def __init__(self, volumes: NodeVolumes) -> None:
        self._volumes = volumes
        self._copied: dict[str, str] = {}  # the text of each copy, by path on the node

    def refresh(self, mounts: tuple[ContainerMount, ...]) -> None:
        for mount in mounts:
            if mount.host_path.startswith("/"):
                self._copy(os.path.normpath(mount.host_path))

    def _copy(self, path: str) -> None:
        host, key = self._volumes.host, path.strip("/")
        found: set[str] = set()
        for below, text in _tree(path):
            name = f"{key}/{below}".strip("/")
            found.add(name)
            if text is None:
                host.ensure_directory(name)
            elif name not in self._copied or host.read(name) == self._copied[name]:
                if self._copied.get(name) != text:
                    host.write(name, text)
                self._copied[name] = text
        gone = [name for name in self._copied if name not in found and (name == key or name.startswith(f"{key}/"))]
        for name in gone:
            if host.read(name) == self._copied.pop(name):
                host.remove(name)


def _tree(root: str) -> Iterator[tuple[str, str | None]]:
    """Relative path and text of each file, None for a directory. A link is what it leads to, if that is below the
    mount: a ConfigMap consists of such links."""
    real_root = os.path.realpath(root)
    left = MAX_ENTRIES
    waiting = [""]
    while waiting and left:
        below = waiting.pop()
        left -= 1
        path = os.path.realpath(os.path.join(real_root, below))
        if path != real_root and not path.startswith(real_root.rstrip("/") + "/"):
            continue
        try:
            mode = os.stat(path).st_mode
            if stat.S_ISDIR(mode):
                yield below, None
                if below.count("/") < MAX_DEPTH:
                    waiting += sorted((os.path.join(below, name) for name in os.listdir(path)), reverse=True)
            elif stat.S_ISREG(mode) and (text := _text(path)) is not None:
                yield below, text
        except OSError:
            continue


def _text(path: str) -> str | None:
    with open(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        data = file.read(MAX_SIZE + 1)
    try:
        return None if len(data) > MAX_SIZE else data.decode()
    except UnicodeDecodeError:
        return None


def submounts(mounts: tuple[ContainerMount, ...]) -> Iterator[ContainerMount]:
    """File systems that are mounted below read-only mounts: they stay writable, unless the mount is recursively
    read-only."""
    for mount in mounts:
        if not mount.read_only or not os.path.isdir(mount.host_path):
            continue
        try:
            device = os.stat(mount.host_path).st_dev
            names = sorted(os.listdir(mount.host_path))[:MAX_ENTRIES]
            below = [name for name in names if os.stat(os.path.join(mount.host_path, name)).st_dev != device]
        except OSError:
            continue
        for name in below:
            yield ContainerMount(
                "",
                os.path.join(mount.container_path, name),
                read_only=mount.recursive_read_only,
                host_path=os.path.join(mount.host_path, name),
            )


def write_termination_message(mounts: tuple[ContainerMount, ...], path: str, text: str) -> None:
    """Into the file that the kubelet mounted for it, if it is a plain file; no file is created."""
    named = next((mount for mount in mounts if mount.container_path == path and mount.host_path), None)
    if named is None or not text:
        return
    try:
        file = os.open(named.host_path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return
    try:
        if stat.S_ISREG(os.fstat(file).st_mode):
            os.truncate(file, 0)
            os.write(file, text.encode()[-MAX_MESSAGE:])
    except OSError:
        pass
    finally:
        os.close(file)
