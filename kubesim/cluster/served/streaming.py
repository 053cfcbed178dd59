"""Watch streams: lines of events, periodic bookmarks, and a timeout.

Timeouts and bookmarks use the clock, so they are virtual under a virtual clock.

Mirrors: apiserver/pkg/endpoints/handlers get.go handleWatch (timeout); pkg/storage/cacher/cache_watcher.go
nextBookmarkTime
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.served.rest import WatchStream

MIN_WATCH_S = 1800  # a watch without a timeout lasts between this and twice as long
BOOKMARK_PERIOD = 60 * SECOND
BOOKMARK_BEFORE_END = 2 * SECOND


async def watch_bytes(clock: LoopClock, stream: WatchStream, chance: Stream) -> AsyncGenerator[bytes, None]:
    """Yields whole lines, all that are ready at once. Closing the generator closes the watch."""
    seconds = stream.options.timeout_s or MIN_WATCH_S * (1 + chance.random())
    timers = _Timers(clock, stream, clock.now() + round(seconds * SECOND))
    try:
        while not stream.over:
            await stream.watch.wait()
            lines = stream.encoded_lines()
            if lines:
                yield lines
    finally:
        timers.cancel()
        stream.close()


class _Timers:
    """Timers of a stream: closes it at the deadline; sends a bookmark every minute and shortly before the end."""

    def __init__(self, clock: LoopClock, stream: WatchStream, deadline: int) -> None:
        self._clock = clock
        self._stream = stream
        self._deadline = deadline
        self._end = clock.call_at(deadline, stream.close)
        self._bookmark: asyncio.TimerHandle | None = None
        self._plan()

    def _plan(self) -> None:
        due = next_bookmark(self._clock.now(), self._deadline)
        self._bookmark = None if due is None else self._clock.call_at(due, self._fire)

    def _fire(self) -> None:
        self._stream.bookmark()
        self._plan()

    def cancel(self) -> None:
        self._end.cancel()
        if self._bookmark is not None:
            self._bookmark.cancel()


def next_bookmark(now: int, deadline: int) -> int | None:
    """The time of the next bookmark of a watch that ends at the deadline. None: no more bookmarks."""
    due = min(now + BOOKMARK_PERIOD, deadline - BOOKMARK_BEFORE_END)
    return due if due > now else None
