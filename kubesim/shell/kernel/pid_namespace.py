"""A PID namespace shared by containers, which see and signal each other's processes.

Its PID 1 is the pause process of a sandbox, the node's init, or a container's main process. Mirrors:
shareProcessNamespace, hostPID and targetContainerName in Linux; build/pause/linux/pause.c
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Self

from kubesim.clock import LoopClock
from kubesim.shell.kernel.kernel import ExitStatus, Kernel, Process
from kubesim.shell.kernel.signals import INT, TERM

PAUSE_USER = "65535"


class PidNamespace:
    """`processes` are all running processes, by pid."""

    __slots__ = ("_pids", "processes")

    def __init__(self, pids: Iterator[int], processes: dict[int, Process]) -> None:
        self._pids = pids
        self.processes = processes

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """The namespace of a container that started with its own."""
        return cls(kernel.pids, kernel.share())

    @classmethod
    def begun_by(cls, clock: LoopClock, command: str, user: str) -> Self:
        """A new namespace with one idle process."""
        namespace = cls(count(1), {})
        kernel = Kernel(clock)
        namespace.join(kernel)
        kernel.new_process([command], {}, "/").user = user
        return namespace

    def join(self, kernel: Kernel) -> None:
        """Add a container, before its first process starts."""
        kernel.pids, kernel.neighbours = self._pids, self.processes


def pause_namespace(clock: LoopClock, on_exit: Callable[[], None]) -> PidNamespace:
    """The namespace of a sandbox. Its pause process ends on INT or TERM; then all others are killed."""
    namespace = PidNamespace.begun_by(clock, "/pause", PAUSE_USER)
    pause = namespace.processes[1]
    pause.dispositions = {INT: 0, TERM: 0}

    def ended(status: ExitStatus) -> None:
        on_exit()

    pause.on_exit = ended
    return namespace
