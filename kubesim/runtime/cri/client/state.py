"""The state directory of a run with real containers: its id, its lock, and the directories of its nodes.

One run uses a directory at a time. Every sandbox of the run has its id and its path, which lead from the sandbox to
the lock: whether the run still goes on.
"""

from __future__ import annotations

import fcntl
import os
from typing import IO

from kubesim.clock.wall import unique_name
from kubesim.runtime.containerd.home import lock_state
from kubesim.runtime.cri.client.files.real_files import read_text, remove_tree
from kubesim.runtime.cri.client.labels import Owner

_ID = "cri-id"
_LOCK = "lock"


class StateDirectory:
    """Ours alone until it is closed. Raises UsageError."""

    def __init__(self, directory: str) -> None:
        self.directory = os.path.realpath(directory)
        self._lock: IO[str] = lock_state(self.directory)
        self.id = (read_text(f"{self.directory}/{_ID}") or "").strip()
        if not self.id:
            self.id = unique_name(8)
            with open(f"{self.directory}/{_ID}", "w") as file:
                file.write(self.id)

    def node_directory(self, node: str) -> str:
        return f"{self.directory}/nodes/{node}"

    @property
    def shared(self) -> str:
        return f"{self.directory}/shared"

    @property
    def cgroup(self) -> str:
        """A name below which all cgroups of the run are."""
        return cgroup_of(self.id)

    def owner(self, node: str) -> Owner:
        return Owner(self.id, self.directory, node)

    def close(self, *, remove: bool) -> str:
        """What could not be removed, if anything."""
        problem = remove_tree(self.directory) if remove else ""
        self._lock.close()
        return problem


def cgroup_of(state_id: str) -> str:
    return f"/kubesim-{state_id}"


def is_in_use(directory: str) -> bool:
    """Whether a run holds the directory."""
    try:
        lock = open(os.path.join(directory, _LOCK), "a")  # noqa: SIM115 (closed below)
    except OSError:
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def state_id(directory: str) -> str:
    """The id in a state directory; empty if it is none."""
    return (read_text(os.path.join(directory, _ID)) or "").strip()
