"""States that the kubelet keeps in a file: it writes the file whenever the state changes, and reads it when it starts.

The state is in memory only. `on_write` is where faults of the disk come in (`scenario/faults/files.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Protocol


class StateFile(Protocol):
    """Calls `on_write` after each change of a field in `CONTENT`."""

    CONTENT: ClassVar[tuple[str, ...]]
    on_write: Callable[[], object]


def nothing_watches() -> None:
    """The `on_write` of a file whose writes always succeed."""


def content_of(state: StateFile) -> dict[str, Any]:
    return {name: _copied(getattr(state, name)) for name in state.CONTENT}


def restore_content(state: StateFile, content: dict[str, Any]) -> None:
    for name, value in content.items():
        setattr(state, name, _copied(value))


def _copied(value: Any) -> Any:
    """Mappings, and what has a `clone`; immutable values are shared."""
    if isinstance(value, dict):
        return {key: _copied(each) for key, each in value.items()}
    return value.clone() if hasattr(value, "clone") else value
