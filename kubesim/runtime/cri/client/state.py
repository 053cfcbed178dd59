"""The state directory of a run with real containers: its id, its lock, and the directories of its nodes.

One run uses a directory at a time. Every sandbox of the run has its id and its path, which lead from the sandbox to
the lock: whether the run is still active.

    STATE/lock      locked by the run
    STATE/cri-id    the id
    STATE/kept      present if the run left its containers (--keep)
    STATE/nodes     volumes and logs of each node
    STATE/shared    volumes that all nodes share
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from kubesim.clock.wall import unique_name
from kubesim.errors import UsageError
from kubesim.runtime.containerd.home import lock_state
from kubesim.runtime.cri.client.files.real_files import read_text, remove_tree
from kubesim.runtime.cri.client.labels import Owner

FLAG = "--cri-state"
_ID, _LOCK, _KEPT = "cri-id", "lock", "kept"
_DIRECTORIES = ("nodes", "shared")


class StateDirectory:
    """Locked until it is closed. Raises UsageError."""

    def __init__(self, directory: str) -> None:
        self.directory = os.path.realpath(directory)
        if os.path.isdir(self.directory) and os.listdir(self.directory) and not state_id(self.directory):
            raise UsageError(f"{FLAG} {directory}: has other files: give a new directory, or that of an earlier run")
        self._lock: IO[str] = lock_state(self.directory, FLAG)
        self.id = state_id(self.directory)
        if not self.id:
            self.id = unique_name()
            with open(f"{self.directory}/{_ID}", "w") as file:
                file.write(self.id)
        _remove(f"{self.directory}/{_KEPT}")

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

    def close(self) -> None:
        self._lock.close()

    def close_kept(self) -> None:
        """The user keeps the containers, so they are no leak."""
        with open(f"{self.directory}/{_KEPT}", "w"):
            pass
        self.close()

    def close_removed(self) -> str:
        """Remove the directory; returns what could not be removed, if anything."""
        problem = remove_state(self.directory)
        self.close()
        return problem


def remove_state(directory: str) -> str:
    """Remove what is ours in a state directory, and the directory if nothing else is in it; returns the problem."""
    for name in _DIRECTORIES:
        if problem := remove_tree(f"{directory}/{name}"):
            return problem
    for name in (_KEPT, _ID, _LOCK):
        _remove(f"{directory}/{name}")
    try:
        os.rmdir(directory)
    except OSError as error:
        return f"{directory}: {error.strerror}"
    return ""


def _remove(path: str) -> None:
    if os.path.lexists(path):
        os.unlink(path)


def cgroup_of(state_id: str) -> str:
    return f"/kubesim-{state_id}"


@contextmanager
def unused(directory: str) -> Iterator[bool]:
    """Whether no run uses the directory; during the block, none begins to."""
    try:
        lock = open(f"{directory}/{_LOCK}")  # noqa: SIM115 (closed below)
    except OSError:
        yield True
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def state_id(directory: str) -> str:
    """The id in a state directory; empty if it is none."""
    return (read_text(os.path.join(directory, _ID)) or "").strip()


def is_kept(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, _KEPT))
