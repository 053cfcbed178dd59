"""hostPath volumes: checks the path on the node before a pod uses it.

Mirrors: pkg/volume/hostpath/host_path.go SetUp, checkTypeInternal; pkg/volume/validation ValidatePathNoBacksteps
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from kubesim.kubelet.volumes.spec import VolumeError
from kubesim.runtime.volume_directories import PathKind, VolumeDirectories

_WANTED: Mapping[str, tuple[PathKind, str]] = {
    "Directory": ("directory", "a directory"),
    "File": ("file", "a file"),
    "Socket": ("socket", "a socket file"),
    "CharDevice": ("character device", "a character device"),
    "BlockDevice": ("block device", "a block device"),
}


def check_host_path(source: Mapping[str, Any], directories: VolumeDirectories) -> None:
    """Create the path if its type requires it; reject a path of another type. Raises VolumeError."""
    path, type = source.get("path") or "", source.get("type") or ""
    if ".." in path.split("/"):
        raise VolumeError(f"invalid HostPath `{path}`: must not contain '..'")
    if not type:
        return
    base = type.removesuffix("OrCreate")
    if base not in _WANTED or (base != type and base not in ("Directory", "File")):
        raise VolumeError(f"{type} is an invalid volume type")
    kind, named = _WANTED[base]
    found = directories.path_kind(path)
    if found is None and base != type:
        if base == "File" and directories.path_kind(posixpath.dirname(path)) != "directory":
            raise VolumeError(f"open {path}: no such file or directory")
        directories.make_path(path, kind)
    elif found != kind:
        raise VolumeError(f"hostPath type check failed: {path} is not {named}")
