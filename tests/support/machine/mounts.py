"""Mounts created by a private host itself.

A new mount namespace starts with a copy of all mounts, including those of other programs: containerd bind-mounts the
network namespace of each pod. These copies vanish or change their paths when others remove or rename them.
"""

from __future__ import annotations

from pathlib import Path

_inherited: frozenset[str] = frozenset()


def remember_inherited() -> None:
    """Record all current mounts as belonging to others. The mounts of this process must be private."""
    global _inherited
    _inherited = frozenset(id for id, _, _ in _mounted())


def own_mounts() -> list[str]:
    """The mount points of everything mounted since then."""
    return [point for id, point, _ in _mounted() if id not in _inherited]


def own_namespace_mounts() -> list[str]:
    """The mount points of namespaces bound since then."""
    return [point for id, point, type in _mounted() if id not in _inherited and type == "nsfs"]


def _mounted() -> list[tuple[str, str, str]]:
    """Id (unique), mount point and type of each mount."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [(words[0], words[4], words[words.index("-") + 1]) for words in lines]
