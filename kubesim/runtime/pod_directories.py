"""The directories of pods in /var/lib/kubelet/pods, as far as anything here depends on them: they can fail.

Mirrors: pkg/kubelet/kubelet_pods.go makePodDataDirs
"""

from __future__ import annotations

from collections.abc import Sequence

ROOT = "/var/lib/kubelet/pods"


class PodDirectories:
    """`errors` are those of the first attempts on this node."""

    def __init__(self, errors: Sequence[str] = ()) -> None:
        self._errors = list(errors)
        self._made: set[str] = set()

    def has(self, uid: str) -> bool:
        return uid in self._made

    def make(self, uid: str) -> str:
        """What Go's MkdirAll says when it fails, else nothing."""
        if self._errors:
            return f"mkdir {ROOT}/{uid}: {self._errors.pop(0)}"
        self._made.add(uid)
        return ""

    def remove(self, uid: str) -> None:
        self._made.discard(uid)
