"""A directory of manifests that exists in the simulation only. Implements `ManifestFiles`; it outlives the agent."""

from __future__ import annotations

from collections.abc import Callable

DIRECTORY = "/etc/kubernetes/manifests"


class SimulatedFiles:
    def __init__(self, path: str = DIRECTORY) -> None:
        self.path = path
        self._texts: dict[str, str] = {}
        self._listeners: dict[Callable[[str], None], None] = {}

    def names(self) -> list[str]:
        return sorted(self._texts)

    def read(self, name: str) -> str | None:
        return self._texts.get(name)

    def watch(self, listener: Callable[[str], None]) -> Callable[[], None]:
        self._listeners[listener] = None
        return lambda: self._listeners.pop(listener, None)

    def write(self, name: str, text: str) -> None:
        self._texts[name] = text
        self._tell(name)

    def remove(self, name: str) -> bool:
        """Was it there?"""
        if self._texts.pop(name, None) is None:
            return False
        self._tell(name)
        return True

    def _tell(self, name: str) -> None:
        for listener in list(self._listeners):
            listener(name)
