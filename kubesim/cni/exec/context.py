"""Go's context of a call: a flag, set by a caller or a wall-clock deadline, that kills the running plugin.

Mirrors: Go's context package, as far as libcni needs it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from kubesim.clock.wall_timer import WallTimer


class Context:
    """`problem` is empty until the context is done; then it is the reason."""

    __slots__ = ("_listeners", "problem")

    def __init__(self) -> None:
        self.problem = ""
        self._listeners: dict[Callable[[], None], None] = {}

    def cancel(self) -> None:
        self.finish("context canceled")

    def finish(self, problem: str) -> None:
        if not self.problem:
            self.problem = problem
            for listener in list(self._listeners):
                listener()

    @contextmanager
    def listening(self, listener: Callable[[], None]) -> Iterator[None]:
        """Within the block, call a function when the context is done."""
        self._listeners[listener] = None
        try:
            yield
        finally:
            self._listeners.pop(listener, None)


BACKGROUND: Final = Context()


@contextmanager
def with_timeout(seconds: float | None) -> Iterator[Context]:
    """A context with a timeout in real seconds; None: no timeout."""
    if seconds is None:
        yield BACKGROUND
        return
    ctx = Context()
    timer = WallTimer(seconds, lambda: ctx.finish("context deadline exceeded"))
    try:
        yield ctx
    finally:
        timer.close()
