"""The mounts that a private host makes itself.

A new mount namespace begins with a copy of everything mounted, which is also what other programs mounted: each pod of a
containerd has its network namespace bound to a file. Copies vanish or change their paths when others remove or rename.
"""

from __future__ import annotations

from pathlib import Path

_inherited: frozenset[str] = frozenset()


def remember_inherited() -> None:
    """Note everything mounted now as another client's. The mounts of this process must be private."""
    global _inherited
    _inherited = frozenset(id for id, _, _ in _mounted())


def own_mounts() -> list[str]:
    """The mount points of everything that was mounted since then."""
    return [point for id, point, _ in _mounted() if id not in _inherited]


def own_namespace_mounts() -> list[str]:
    """The mount points of namespaces that were bound since then."""
    return [point for id, point, type in _mounted() if id not in _inherited and type == "nsfs"]


def _mounted() -> list[tuple[str, str, str]]:
    """The id of each mount, which is unique, its mount point, and its type."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [(words[0], words[4], words[words.index("-") + 1]) for words in lines]
