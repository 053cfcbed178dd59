"""Control groups of pods with real containers: which pods have one, and the group of the whole run in the kernel.

With cgroup v1 each controller has a hierarchy of its own, with v2 there is one. The runtime makes the groups of a pod
in the kernel, with the first container in it.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kubesim.runtime.allocation.cgroups import PodCgroups, ResourceConfig
from kubesim.runtime.cri.client.files.real_files import read_text, write_file
from kubesim.runtime.cri.client.machine import CGROUP_ROOT

_TRIES, _PAUSE_MS = 30, 100


class SavedCgroups(PodCgroups):
    """The cgroups of pods, which a later run finds in a file: a kubelet kills pods without a cgroup."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        try:
            rows = json.loads(read_text(path) or "{}")
            self._groups = {uid: _read(row) for uid, row in rows.items()}
        except (ValueError, TypeError, LookupError, AttributeError):
            pass  # the kubelet restarts the pods

    def create(self, uid: str, config: ResourceConfig) -> None:
        super().create(uid, config)
        self._save()

    def write(self, uid: str, config: ResourceConfig) -> None:
        super().write(uid, config)
        self._save()

    def destroy(self, uid: str) -> None:
        super().destroy(uid)
        self._save()

    def _save(self) -> None:
        write_file(self._path, json.dumps({uid: asdict(config) for uid, config in self._groups.items()}))


def _read(row: dict[str, Any]) -> ResourceConfig:
    pages = {int(size): limit for size, limit in row.pop("huge_page_limits").items()}
    return ResourceConfig(**row, huge_page_limits=pages)


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
    """Remove a group with all below it; returns those that the kernel keeps, because something runs in them. What was
    killed needs a moment to be gone."""
    for _ in range(_TRIES):
        kept = [path for hierarchy in hierarchies(root) for path in _removed(f"{hierarchy}/{name.strip('/')}")]
        if not kept:
            break
        select.poll().poll(_PAUSE_MS)
    return kept


def _removed(group: str) -> list[str]:
    """Those that are kept."""
    kept = []
    for directory in _below(group):
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
