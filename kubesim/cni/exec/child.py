"""A plugin's process: started here, or elsewhere by another process on request.

`Spawn` is what starts one. The default does it in this process; a node's holder does it in its own namespaces.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

_DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)  # Python ignores them, and a child would inherit that


class Child(Protocol):
    """`pid` is its number here, 0 if it ended too soon to have one; `exit_fd` becomes readable when it has ended."""

    @property
    def pid(self) -> int: ...
    @property
    def exit_fd(self) -> int: ...

    def status(self) -> int | None:
        """Its wait status, None while it runs."""

    def close(self) -> None: ...


Spawn = Callable[[str, Mapping[str, str], Sequence[int]], Child]


class OwnChild:
    def __init__(self, path: str, environ: Mapping[str, str], fds: Sequence[int]) -> None:
        self.pid = os.posix_spawn(
            path,
            [path],
            environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(fds)],
            setpgroup=0,  # a session of its own would cost more: the kernel makes a scheduling group for each
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
