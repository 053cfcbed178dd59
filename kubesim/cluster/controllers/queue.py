"""The work queue of a controller: each key is processed once, some milliseconds after it was added.

Adding a waiting key does not delay it. A failed key is retried after 5 ms, 10 ms, 20 ms, ...

Mirrors: client-go util/workqueue queue.go, delaying_queue.go, default_rate_limiters.go
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import field

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.store.store import Key
from kubesim.errors import ApiError
from kubesim.values import part

FASTEST, SLOWEST = 5 * MILLISECOND, 25 * MILLISECOND  # from a change to the sync, as measured on real controllers
RETRY = 5 * MILLISECOND
LONGEST_RETRY = 1000 * SECOND


@part
class KeyQueue:
    """The queue. `sync` processes a key; an ApiError means that it failed."""

    clock: LoopClock
    stream: Stream
    sync: Callable[[Key], None]
    retry: int = RETRY  # after the first failure
    longest_retry: int = LONGEST_RETRY
    _due: dict[Key, asyncio.TimerHandle] = field(default_factory=dict)  # keys ready to be processed
    _later: dict[Key, tuple[int, asyncio.TimerHandle]] = field(default_factory=dict)  # keys added at a later time
    _failures: dict[Key, int] = field(default_factory=dict)

    def add(self, key: Key) -> None:
        if key not in self._due:
            moment = self.clock.now() + self.stream.randint(FASTEST, SLOWEST)
            self._due[key] = self.clock.call_at(moment, self._process, key)

    def add_after(self, key: Key, delay: int) -> None:
        """Add the key after a delay; the earliest time wins."""
        if delay <= 0:
            self.add(key)
            return
        self.add_at(key, self.clock.now() + delay)

    def add_at(self, key: Key, moment: int) -> None:
        planned, timer = self._later.get(key, (moment, None))
        if timer is not None:
            if planned <= moment:
                return
            timer.cancel()
        self._later[key] = moment, self.clock.call_at(moment, self._add_planned, key)

    def _add_planned(self, key: Key) -> None:
        del self._later[key]
        self.add(key)

    def _process(self, key: Key) -> None:
        del self._due[key]
        try:
            self.sync(key)
        except ApiError:
            failures = self._failures.get(key, 0)
            self._failures[key] = failures + 1
            self.add_after(key, min(self.retry << min(failures, 40), self.longest_retry))
        else:
            self._failures.pop(key, None)
