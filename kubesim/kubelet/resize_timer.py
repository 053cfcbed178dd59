"""When pending resizes are looked at although nothing happened: three minutes after they were looked at last.

Until every source has been heard it is every 30 seconds. A look without anything pending has no effect but to set the
next one, and whatever makes something pending sets it too: so nobody waits while nothing is.

Mirrors: pkg/kubelet/allocation/allocation_manager.go Run and its ticker
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.clock import LoopClock
from kubesim.concurrency import TaskSet
from kubesim.trace import Recorder

INITIAL_RETRY_DELAY = 30 * SECOND
RETRY_DELAY = 3 * MINUTE


class ResizeTimer:
    """A task begins with `look` when the time has come; it calls `reset`, as everybody does who looks."""

    def __init__(
        self,
        clock: LoopClock,
        tasks: TaskSet,
        look: Callable[[], Coroutine[Any, Any, None]],
        pending: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._look = look
        self._pending = pending
        self._next = 0
        self._timer: asyncio.TimerHandle | None = None
        self._cause = Recorder.cause()  # of these looks: what began the agent, not who looked before

    def reset(self, *, ready: bool) -> None:
        """Pending resizes are looked at now."""
        self._next = self._clock.now() + (RETRY_DELAY if ready else INITIAL_RETRY_DELAY)

    def wait(self) -> None:
        """They have been; what is left waits for the next look."""
        if self._timer is None and self._pending():
            self._timer = self._clock.call_at(self._next, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._clock.now() < self._next:
            self.wait()  # somebody has looked since
        else:
            self._tasks.start("allocation manager", self._look_again())

    async def _look_again(self) -> None:
        Recorder.because(self._cause)
        await self._look()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
