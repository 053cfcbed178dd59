"""Simulated manifest files: implements `ManifestFiles`. They outlive the kubelet process."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.sources.manifests.manifest_files import PATH_ITSELF, Change, FileEvent, FileMissing, Kind, ManifestWatcher

DIRECTORY = "/etc/kubernetes/manifests"


class SimulatedFiles:
    is_real = False

    def __init__(self, path: str = DIRECTORY) -> None:
        self.path = path
        self._texts: dict[str, str] = {}
        self._watchers: dict[ManifestWatcher, None] = {}

    def kind(self, name: str = PATH_ITSELF) -> Kind:
        if name == PATH_ITSELF:
            return "directory"
        return "file" if name in self._texts else "missing"

    def names(self) -> list[str]:
        return sorted(self._texts)

    def read(self, name: str = PATH_ITSELF) -> str:
        if name not in self._texts:
            raise FileMissing(f"open {self.path}/{name}: no such file or directory")
        return self._texts[name]

    def watch(self, watcher: ManifestWatcher) -> Callable[[], None]:
        self._watchers[watcher] = None
        return lambda: self._watchers.pop(watcher, None)

    def write(self, name: str, text: str) -> None:
        change: Change = "modify" if name in self._texts else "add"
        self._texts[name] = text
        self._report(FileEvent(name, change))

    def remove(self, name: str) -> bool:
        """Remove a file; true if it existed."""
        if self._texts.pop(name, None) is None:
            return False
        self._report(FileEvent(name, "delete"))
        return True

    def _report(self, event: FileEvent) -> None:
        for watcher in list(self._watchers):
            watcher.changed(event)
