"""Kubelet state with a file: written at every change, read at start.

The state is in memory only. `on_write` injects disk faults (`scenario/faults/files.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol


class StateFile(Protocol):
    """Calls `on_write` after each change of a field in `CONTENT`."""

    CONTENT: ClassVar[tuple[str, ...]]
    on_write: Callable[[], object]


def nothing_watches() -> None:
    """The `on_write` of a file without faults."""


def content_of(state: StateFile) -> dict[str, Any]:
    return {name: _copied(getattr(state, name)) for name in state.CONTENT}


def restore_content(state: StateFile, content: dict[str, Any]) -> None:
    for name, value in content.items():
        setattr(state, name, _copied(value))


def _copied(value: Any) -> Any:
    """Copies mappings and objects with a `clone`; immutable values are shared."""
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return value.clone() if hasattr(value, "clone") else value
