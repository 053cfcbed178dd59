"""The connection from a node to the API server, which can be cut and restored. All clients and sources of the node
share it.
"""

from __future__ import annotations

from collections.abc import Callable

from kubesim.errors import ApiError

REFUSED = "dial tcp 10.0.0.100:6443: connect: connection refused"


class ApiConnection:
    """The state of the connection. `check` raises while it is cut; listeners are called on every change."""

    def __init__(self) -> None:
        self.up = True
        self._listeners: dict[Callable[[bool], None], None] = {}

    def check(self) -> None:
        if not self.up:
            raise ApiError(0, "", REFUSED)

    def listen(self, listener: Callable[[bool], None]) -> Callable[[], None]:
        """Add a listener; call the result to remove it."""
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
