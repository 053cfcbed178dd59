"""A token bucket: a burst of events at once, then a fixed rate per second. Throttles Events, Event writes and image
pulls.

Pure: `now` is an argument, in microseconds. Mirrors: golang.org/x/time/rate Limiter as client-go
util/flowcontrol/throttle.go uses it.
"""

from __future__ import annotations

import struct

_SECOND = 1_000_000


class TokenBucket:
    """Starts full with `burst` tokens and refills at `qps` tokens per second."""

    __slots__ = ("_burst", "_last", "_qps", "_tokens")

    def __init__(self, qps: float, burst: int) -> None:
        # upstream converts the rate to a float32, which shifts the time of the next token by microseconds
        self._qps: float = struct.unpack("f", struct.pack("f", qps))[0]
        self._burst = burst
        self._tokens = float(burst)
        self._last: int | None = None

    def try_accept(self, now: int) -> bool:
        """Take a token if there is one."""
        tokens = self._available(now)
        if tokens < 1:
            return False
        self._tokens, self._last = tokens - 1, now
        return True

    def reserve(self, now: int) -> int:
        """Take the next token, even if it does not exist yet; returns how long to wait for it."""
        self._tokens, self._last = self._available(now) - 1, now
        return 0 if self._tokens >= 0 else round(-self._tokens / self._qps * _SECOND)

    def _available(self, now: int) -> float:
        if self._last is None:
            return self._tokens
        return min(float(self._burst), self._tokens + max(0, now - self._last) / _SECOND * self._qps)
