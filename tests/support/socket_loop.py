"""Real connections in virtual time: both ends share an event loop, and sent data arrives before time advances.

Loopback delivers within the sending system call. When no callback is ready, one poll of the sockets therefore shows
whether data is pending; only if there is none, time advances to the next timer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import anyio

from kubesim.clock import VirtualLoop

T = TypeVar("T")


class SocketLoop(VirtualLoop):
    """A virtual event loop that polls its sockets before time advances."""

    def _jump(self) -> None:
        self._process_events(self._selector.select(0))  # type: ignore[attr-defined]
        if not self._ready:
            super()._jump()


def run_with_sockets(main: Callable[..., Coroutine[Any, Any, T] | Awaitable[T]], *args: object) -> T:
    return anyio.run(main, *args, backend_options={"loop_factory": SocketLoop})
