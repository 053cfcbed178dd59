"""A token bucket: this many at once, then this many a second. Throttles event spam, event writes and image pulls.

Pure: `now` is an argument, in microseconds. Mirrors: golang.org/x/time/rate Limiter as client-go
util/flowcontrol/throttle.go uses it.
"""

from __future__ import annotations

import struct

_SECOND = 1_000_000


class TokenBucket:
    """Starts full with `burst` tokens and refills at `qps` a second."""

    __slots__ = ("_burst", "_last", "_qps", "_tokens")

    def __init__(self, qps: float, burst: int) -> None:
        # The rate goes through a float32 upstream, which decides by microseconds when the next token exists.
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
        """Take the next token, also one that does not exist yet; the answer is how long to wait for it."""
        self._tokens, self._last = self._available(now) - 1, now
        return 0 if self._tokens >= 0 else round(-self._tokens / self._qps * _SECOND)

    def _available(self, now: int) -> float:
        if self._last is None:
            return self._tokens
        return min(float(self._burst), self._tokens + max(0, now - self._last) / _SECOND * self._qps)
