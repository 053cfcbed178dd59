"""A runtime of which some calls fail and some hang until their time is up, drawn from a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from kubesim.api.timestamps import MINUTE
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.errors import RuntimeCallError
from kubesim.runtime.protocol import DeadlineExceeded, Runtime

REQUEST_TIMEOUT = 2 * MINUTE


class FaultyRuntime:
    """Stands before another runtime; `calls` counts what was asked, `failed` and `hung` what became of it."""

    def __init__(self, inner: Runtime, clock: LoopClock, stream: Stream, *, failing: float, hanging: float) -> None:
        self._inner = inner
        self._clock = clock
        self._stream = stream
        self._failing = failing
        self._hanging = hanging
        self.calls: Counter[str] = Counter()
        self.failed = 0
        self.hung = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return found if name in ("name", "tells_changes", "on_change") else self._faulty(name, found)

    def _faulty(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def faulty(*args: Any, **options: Any) -> Any:
            self.calls[name] += 1
            drawn = self._stream.random()
            if drawn < self._failing:
                self.failed += 1
                raise RuntimeCallError("rpc error: code = Unknown desc = something went wrong")
            if drawn < self._failing + self._hanging:
                self.hung += 1
                await self._clock.sleep(REQUEST_TIMEOUT)
                raise DeadlineExceeded("rpc error: code = DeadlineExceeded desc = context deadline exceeded")
            return await call(*args, **options)

        return faulty
