"""A plugin's process, started by this process or by another one on request.

`Spawn` starts one. The default starts it in this process; a node's holder starts it in its own namespaces.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)  # ignored by Python; children would inherit that


class Child(Protocol):
    """`pid` is its PID here, 0 if it ended too early to have one; `exit_fd` becomes readable when it ends."""

    @property
    def pid(self) -> int: ...
    @property
    def exit_fd(self) -> int: ...

    def status(self) -> int | None:
        """Its wait status; None while it runs."""

    def close(self) -> None: ...


Spawn = Callable[[str, Mapping[str, str], Sequence[int]], Child]


class OwnChild:
    def __init__(self, path: str, environ: Mapping[str, str], fds: Sequence[int]) -> None:
        self.pid = os.posix_spawn(
            path,
            [path],
            environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(fds)],
            setpgroup=0,  # a session of its own costs more: the kernel creates a scheduling group for each
            setsigdef=_DEFAULT_SIGNALS,
        )
        self.exit_fd = os.pidfd_open(self.pid)
        self._status: int | None = None

    def status(self) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = status if pid else None
        return self._status

    def close(self) -> None:
        os.close(self.exit_fd)
