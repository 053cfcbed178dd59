"""Orphaned plugins: they still run although kubesim and its holder were killed.

Their further changes would not be recorded. Every plugin on the host inherits an open locked file of the state
directory, and so do its children. At the next start this lock reveals orphans and their processes. They are killed, as
the holder would have done, before the cleanup.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
from collections.abc import Iterator
from typing import IO

from kubesim.cni.exec.invoke import pod_of
from kubesim.errors import UsageError
from kubesim.runtime.containerd.home import open_lock
from kubesim.runtime.containerd.leaks.leftovers import Leak

_NAME = "plugins.lock"
_TRIES, _PAUSE_MS = 1200, 25  # thirty seconds, for a busy machine


def lock_plugins(state: str) -> IO[str]:
    """Take the lock that plugins inherit, after all plugins of an earlier run have ended. Requires the state lock."""
    lock = open_lock(state, _NAME)
    for _ in range(_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            for process in _holders(state):
                _kill(process, state)
            select.poll().poll(_PAUSE_MS)
    lock.close()
    left = ", ".join(map(str, _holders(state))) or "none that can be seen from here"
    raise UsageError(
        f"{state}: plugins of an earlier run do not end, though killed (processes: {left}); end them first"
    )


def orphaned_plugins(state: str) -> list[Leak]:
    """Running orphans as leaks; changes nothing."""
    return [_described(process) for process in _holders(state)]


def _path(state: str) -> str:
    return os.path.join(state, _NAME)


def _holders(state: str) -> Iterator[int]:
    """Processes that inherited the lock, without mere readers of the file."""
    try:
        wanted = os.stat(_path(state))
    except FileNotFoundError:
        return
    for name in os.listdir("/proc"):
        if name.isdigit() and _has_lock(int(name), wanted):
            yield int(name)


def _has_lock(process: int, wanted: os.stat_result) -> bool:
    try:
        for fd in os.listdir(f"/proc/{process}/fd"):
            if _is_locked(process, fd, wanted):
                return True
    except OSError:  # the process is gone, or belongs to another user
        pass
    return False


def _is_locked(process: int, fd: str, wanted: os.stat_result) -> bool:
    try:
        if not os.path.samestat(os.stat(f"/proc/{process}/fd/{fd}"), wanted):
            return False
        with open(f"/proc/{process}/fdinfo/{fd}") as file:
            return "FLOCK" in file.read()
    except OSError:
        return False


def _kill(process: int, state: str) -> None:
    """Kill a process if it is still the same one: PIDs are reused."""
    try:
        pidfd = os.pidfd_open(process)
    except OSError:
        return
    try:
        if _has_lock(process, os.stat(_path(state))):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except OSError:
        pass
    finally:
        os.close(pidfd)


def _described(process: int) -> Leak:
    words = _strings(process, "cmdline")
    environ = dict(entry.partition("=")[::2] for entry in _strings(process, "environ"))
    return Leak("process", f"{process} {' '.join(words)}".strip(), environ.get("CNI_CONTAINERID", ""), pod_of(environ))


def _strings(process: int, name: str) -> list[str]:
    try:
        with open(f"/proc/{process}/{name}", "rb") as file:
            return [part.decode(errors="replace") for part in file.read().split(b"\0") if part]
    except OSError:
        return []
