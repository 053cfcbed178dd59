"""Real connections in virtual time: both ends are in one event loop; what one sends the other has before time moves.

Loopback delivers within the system call that sends. So when nothing is ready, one look at the sockets tells whether
something is on its way, and only if there is not does time jump to the next timer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import anyio

from kubesim.clock import VirtualLoop

T = TypeVar("T")


class SocketLoop(VirtualLoop):
    """A virtual loop that looks at its sockets before time passes."""

    def _jump(self) -> None:
        self._process_events(self._selector.select(0))  # type: ignore[attr-defined]
        if not self._ready:
            super()._jump()


def run_with_sockets(main: Callable[..., Coroutine[Any, Any, T] | Awaitable[T]], *args: object) -> T:
    return anyio.run(main, *args, backend_options={"loop_factory": SocketLoop})
