"""Whether this machine can propagate mounts into a container, and out of it, as a message asks.

Mirrors: containerd internal/cri/opts/spec_linux_opts.go ensureShared, ensureSharedOrSlave
"""

from __future__ import annotations

import os
from typing import Any

_HOST_TO_CONTAINER, _BIDIRECTIONAL = 1, 2
_TABLE = "/proc/self/mountinfo"


def propagation_problem(mount: Any, table: str | None = None) -> str:
    """Empty if it can. `table` is in the format of proc_pid_mountinfo(5)."""
    if mount.propagation not in (_HOST_TO_CONTAINER, _BIDIRECTIONAL):
        return ""
    path = os.path.realpath(mount.host_path)
    point, fields = _mount_of(path, _read() if table is None else table)
    wanted = ("shared:",) if mount.propagation == _BIDIRECTIONAL else ("shared:", "master:")
    if any(field.startswith(wanted) for field in fields):
        return ""
    kind = "a shared" if mount.propagation == _BIDIRECTIONAL else "a shared or slave"
    return f'path "{path}" is mounted on "{point}" but it is not {kind} mount'


def _read() -> str:
    try:
        with open(_TABLE) as file:
            return file.read()
    except OSError:
        return ""


def _mount_of(path: str, table: str) -> tuple[str, list[str]]:
    """The mount point that a path is on, and its optional fields; a later mount hides an earlier one."""
    found, fields = "/", list[str]()
    for line in table.splitlines():
        words = line.partition(" - ")[0].split()
        point = words[4].encode().decode("unicode_escape") if len(words) > 5 else ""
        if point and len(point) >= len(found) and f"{path}/".startswith(f"{point.rstrip('/')}/"):
            found, fields = point, words[6:]
    return found, fields
