"""`GoMap`: a dict with the iteration order of a small Go map.

The recording's runtime keeps its state in Go maps, so their order affects what the kubelet does next. Up to eight keys
are stored in slots: a new key takes the first free slot, including that of a deleted key. Iteration visits the slots in
turn, starting at a random one. In most recordings the start was one behind the last key, so that keys came in slot
order. This class uses slot order.

Mirrors: Go's internal/runtime/maps Map.putSlotSmall, Map.Delete, Iter.Next
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_FREE: Any = object()


class GoMap(dict[K, V]):
    """The dict operations that the simulated runtime uses: assignment, `del`, `pop`, iteration and `values`."""

    def __init__(self) -> None:
        super().__init__()
        self._slots: list[K] = []

    def __setitem__(self, key: K, value: V) -> None:
        if key not in self:
            if _FREE in self._slots:
                self._slots[self._slots.index(_FREE)] = key
            else:
                self._slots.append(key)
        super().__setitem__(key, value)

    def __delitem__(self, key: K) -> None:
        super().__delitem__(key)
        self._slots[self._slots.index(key)] = _FREE

    def pop(self, key: K) -> V:  # type: ignore[override]
        value = self[key]
        del self[key]
        return value

    def __iter__(self) -> Iterator[K]:
        return (key for key in self._slots if key is not _FREE)

    def values(self) -> list[V]:  # type: ignore[override]
        return [self[key] for key in self._slots if key is not _FREE]
