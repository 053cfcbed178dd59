"""A timer of the wall clock, for limits on things outside: a hung process has no virtual duration.

On an ordinary event loop it is an ordinary timer. On the virtual one, whose time stands still while something real is
awaited, the kernel wakes us through a file descriptor.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable

from kubesim.clock.virtual import VirtualLoop

_MONOTONIC = 1
_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC  # TFD_NONBLOCK and TFD_CLOEXEC


class _TimerSpec(ctypes.Structure):
    """struct itimerspec: the interval, then the first expiry."""

    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "first_s", "first_ns")]


class WallTimer:
    """Calls back once after so many real seconds, unless it is closed before."""

    def __init__(self, seconds: float, callback: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        self._callback = callback
        self._handle: asyncio.TimerHandle | None = None
        self._fd: int | None = None
        if isinstance(loop, VirtualLoop):
            self._fd = _timer_fd(seconds)
            loop.add_reader(self._fd, self._fire)
        else:
            self._handle = loop.call_later(seconds, self._fire)

    def _fire(self) -> None:
        self.close()
        self._callback()

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if self._fd is not None:
            asyncio.get_running_loop().remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None


def _timer_fd(seconds: float) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    fd: int = libc.timerfd_create(_MONOTONIC, _FLAGS)
    nanoseconds = max(1, round(seconds * 1_000_000_000))  # all zeros would mean: never
    first = _TimerSpec(0, 0, nanoseconds // 1_000_000_000, nanoseconds % 1_000_000_000)
    if fd < 0 or libc.timerfd_settime(fd, 0, ctypes.byref(first), None) != 0:
        raise OSError(ctypes.get_errno(), "cannot set a timer")
    return fd


async def wall_sleep(seconds: float) -> None:
    """Wait in real time, on either loop."""
    woken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def wake_up() -> None:
        if not woken.done():
            woken.set_result(None)

    timer = WallTimer(seconds, wake_up)
    try:
        await woken
    finally:
        timer.close()
