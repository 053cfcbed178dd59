"""The mounts of network namespaces that a private host makes itself.

A new mount namespace begins with a copy of everything mounted, which is also what other programs mounted: each pod of a
containerd has its network namespace bound to a file.
"""

from __future__ import annotations

from pathlib import Path

_inherited: frozenset[str] = frozenset()


def remember_inherited() -> None:
    """Note everything mounted now as somebody else's. The mounts of this process must be private."""
    global _inherited
    _inherited = frozenset(_mounted())


def own_namespace_mounts() -> list[str]:
    """The mount points of namespaces that were bound since then."""
    return [point for id, point in _mounted().items() if id not in _inherited]


def _mounted() -> dict[str, str]:
    """The mount points of all namespaces by the id of their mount, which is unique."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {words[0]: words[4] for words in lines if words[words.index("-") + 1] == "nsfs"}
