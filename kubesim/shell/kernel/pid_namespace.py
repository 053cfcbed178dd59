"""A PID namespace that several containers share: they see each other's processes, and can send them signals.

Its first process is the pause process of a sandbox, the init of the node, or the main process of one of them.
Mirrors: what Linux makes of shareProcessNamespace, hostPID and targetContainerName; build/pause/linux/pause.c
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
    """`processes` are all that live, by pid."""

    __slots__ = ("_pids", "processes")

    def __init__(self, pids: Iterator[int], processes: dict[int, Process]) -> None:
        self._pids = pids
        self.processes = processes

    @classmethod
    def of(cls, kernel: Kernel) -> Self:
        """That of a container which has had one of its own."""
        return cls(kernel.pids, kernel.share())

    @classmethod
    def begun_by(cls, clock: LoopClock, command: str, user: str) -> Self:
        """A new one with one process, which does nothing."""
        namespace = cls(count(1), {})
        kernel = Kernel(clock)
        namespace.join(kernel)
        kernel.new_process([command], {}, "/").user = user
        return namespace

    def join(self, kernel: Kernel) -> None:
        """Before its first process."""
        kernel.pids, kernel.neighbours = self._pids, self.processes


def pause_namespace(clock: LoopClock, on_exit: Callable[[], None]) -> PidNamespace:
    """That of a sandbox. Its pause process ends when it gets INT or TERM; then all others are killed."""
    namespace = PidNamespace.begun_by(clock, "/pause", PAUSE_USER)
    pause = namespace.processes[1]
    pause.dispositions = {INT: 0, TERM: 0}

    def ended(status: ExitStatus) -> None:
        on_exit()

    pause.on_exit = ended
    return namespace
