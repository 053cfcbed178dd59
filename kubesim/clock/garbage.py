"""How often Python's garbage collector looks for unreachable cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_rarely() -> Iterator[None]:
    """A run keeps most of what it makes (pods, records) and hardly makes cycles, so a search finds next to nothing and
    costs a fifth of the run if done often. Around many runs, or one and what becomes of its result, this spares the
    search that is due as soon as the usual thresholds hold again.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(4_000_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def collect_young() -> None:
    """Look for garbage among what was created since the last look. A run that is over is one great cycle: collected
    immediately, while it is in the machine's caches, it costs a fifth of what it costs later among hundreds of others.
    """
    gc.collect(0)
