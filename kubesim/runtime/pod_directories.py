"""The pod directories in /var/lib/kubelet/pods; their creation can fail.

Mirrors: pkg/kubelet/kubelet_pods.go makePodDataDirs
"""

from __future__ import annotations

from collections.abc import Sequence

ROOT = "/var/lib/kubelet/pods"


class PodDirectories:
    """Pod directories. `errors` are returned by the first attempts on this node."""

    def __init__(self, errors: Sequence[str] = ()) -> None:
        self._errors = list(errors)
        self._made: set[str] = set()

    def has(self, uid: str) -> bool:
        return uid in self._made

    def make(self, uid: str) -> str:
        """Create the directories; returns the error of Go's MkdirAll, or empty."""
        if self._errors:
            return f"mkdir {ROOT}/{uid}: {self._errors.pop(0)}"
        self._made.add(uid)
        return ""

    def remove(self, uid: str) -> None:
        self._made.discard(uid)
