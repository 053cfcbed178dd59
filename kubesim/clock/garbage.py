"""How often Python's garbage collector searches for unreachable cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collected_rarely() -> Iterator[None]:
    """Collect garbage rarely during the block.

    A run keeps most of the objects it creates (pods, records) and creates few cycles, so a frequent search finds next
    to nothing and costs a fifth of the run. Wrap several runs, or a run and the use of its result, in one block: the
    usual thresholds trigger a search as soon as they apply again.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(4_000_000, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def collect_young() -> None:
    """Collect garbage among the objects created since the last collection. A finished run is one large cycle: collected
    immediately, while it is in the CPU caches, it costs a fifth of a later collection among hundreds of others.
    """
    gc.collect(0)
