"""Exponential back-off with jitter that resets after two minutes. Pure: `now` is an argument.

Mirrors: apimachinery/pkg/util/wait backoff.go Backoff.DelayWithReset, with client-go/tools/cache reflector.go's numbers
"""

from __future__ import annotations

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock.randomness import Stream

INITIAL = 800 * MILLISECOND
LONGEST = 30 * SECOND
RESET = 120 * SECOND
FACTOR = 2
JITTER = 1.0


class ReflectorBackoff:
    """The back-off. `delay` doubles each time up to the maximum; a random part up to the same size is added."""

    __slots__ = ("_base", "_chance", "_start")

    def __init__(self, now: int, chance: Stream) -> None:
        self._chance = chance
        self._base = INITIAL
        self._start = now

    def delay(self, now: int) -> int:
        if now - self._start > RESET:
            self._base, self._start = INITIAL, now
        base, self._base = self._base, min(self._base * FACTOR, LONGEST)
        return base + round(self._chance.random() * JITTER * base)
