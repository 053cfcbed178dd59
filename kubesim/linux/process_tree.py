"""Kills a process together with everything that it started.

It kills the process group, then the tree of children for those that left the group, and then any process that still has
one of the output pipes open.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable


def kill_all(pid: int, alive: bool, outputs: Iterable[int]) -> None:
    """`alive`: the leader was not reaped, so its PID is still valid. `outputs`: our ends of its pipes."""
    alive = alive and pid > 0
    victims = set(_descendants(pid)) if alive else set()
    pipes = {_pipe_of(fd) for fd in outputs}
    victims |= set(_holders(pipes - {""}))
    if pid > 0 and (alive or victims):  # else the group id may have been reused
        try:
            os.killpg(pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    for victim in victims - {os.getpid()}:
        try:
            os.kill(victim, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def _descendants(pid: int) -> Iterable[int]:
    """All descendants. Processes that end during the search have none."""
    found, todo = [pid], [pid]
    while todo:
        parent = todo.pop()
        for thread in _listing(f"/proc/{parent}/task"):
            for child in _read(f"/proc/{parent}/task/{thread}/children").split():
                found.append(int(child))
                todo.append(int(child))
    return found


def _holders(pipes: set[str]) -> Iterable[int]:
    """Other processes that have one of the pipes open."""
    if not pipes:
        return
    for name in _listing("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            folder = f"/proc/{name}/fd"
            if any(_link(f"{folder}/{fd}") in pipes for fd in _listing(folder)):
                yield int(name)


def _pipe_of(fd: int) -> str:
    return _link(f"/proc/self/fd/{fd}")


def _listing(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
