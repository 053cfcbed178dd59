"""Control groups of pods in the kernel: those that the kubelet makes for a pod, and the group of the whole run.

With cgroup v1 each controller has a hierarchy of its own, with v2 there is one. A runtime that is configured for
systemd makes the groups itself.

Mirrors: pkg/kubelet/cm/cgroup_manager_linux.go Create, Update, Destroy; cgroup_v1_manager_linux.go
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from kubesim.runtime.cri.client.machine import CGROUP_ROOT


def hierarchies(root: str = CGROUP_ROOT) -> list[str]:
    """The directories in which cgroups are made."""
    if os.path.exists(f"{root}/cgroup.controllers"):
        return [root]
    try:
        entries = sorted(os.listdir(root))
    except OSError:
        return []
    real = {os.path.realpath(f"{root}/{name}") for name in entries}
    return sorted(path for path in real if os.path.exists(f"{path}/cgroup.procs"))


def remove_group(name: str, root: str = CGROUP_ROOT) -> list[str]:
    """Remove a group with all below it; returns those that the kernel keeps, because something runs in them."""
    kept = []
    for hierarchy in hierarchies(root):
        for directory in _below(f"{hierarchy}/{name.strip('/')}"):
            try:
                os.rmdir(directory)
            except FileNotFoundError:
                pass
            except OSError:
                kept.append(directory)
    return kept


def _below(directory: str) -> Iterator[str]:
    """The deepest first."""
    for above, _, _ in os.walk(directory, topdown=False):
        yield above
