"""The connection from a node to the API server: it can be cut and restored. Clients and sources of the node share
it."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.errors import ApiError

REFUSED = "dial tcp 10.0.0.100:6443: connect: connection refused"


class ApiConnection:
    """`check` raises while it is cut; listeners are called on every change."""

    def __init__(self) -> None:
        self.up = True
        self._listeners: dict[Callable[[bool], None], None] = {}

    def check(self) -> None:
        if not self.up:
            raise ApiError(0, "", REFUSED)

    def listen(self, listener: Callable[[bool], None]) -> Callable[[], None]:
        """The answer ends it."""
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def cut(self) -> None:
        self._set(False)

    def restore(self) -> None:
        self._set(True)

    def _set(self, up: bool) -> None:
        if up != self.up:
            self.up = up
            for listener in list(self._listeners):
                listener(up)
