"""A runtime in which some calls fail, some hang until their timeout, and some lose their response."""

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
_ALWAYS_FINE = ("name", "on_change")


class FaultyRuntime:
    """A wrapper of another runtime that adds faults; `calls`, `failed`, `hung` and `lost` are counters.

    A call that fails or hangs has no effect; one that loses its response has. `received` is called at the start of
    every call, `went_wrong` at each fault. There are no faults after the time `until`.
    """

    def __init__(
        self,
        inner: Runtime,
        clock: LoopClock,
        stream: Stream,
        *,
        failing: float,
        hanging: float,
        losing: float = 0,
        until: int | None = None,
        received: Callable[[str, tuple[Any, ...]], None] = lambda name, args: None,
        went_wrong: Callable[[], None] = lambda: None,
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._stream = stream
        self._failing = failing
        self._hanging = failing + hanging
        self._losing = failing + hanging + losing
        self._until = until
        self._received = received
        self._went_wrong = went_wrong
        self.calls: Counter[str] = Counter()
        self.failed = 0
        self.hung = 0
        self.lost = 0

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return found if name in _ALWAYS_FINE else self._faulty(name, found)

    def _faulty(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        async def faulty(*args: Any, **options: Any) -> Any:
            self.calls[name] += 1
            self._received(name, args)
            drawn = 1.0 if self._until is not None and self._clock.now() >= self._until else self._stream.random()
            if drawn < self._failing:
                self.failed += 1
                self._went_wrong()
                raise RuntimeCallError("rpc error: code = Unknown desc = something went wrong")
            if drawn < self._hanging:
                self.hung += 1
                await self._clock.sleep(REQUEST_TIMEOUT)
                self._went_wrong()
                raise DeadlineExceeded("rpc error: code = DeadlineExceeded desc = context deadline exceeded")
            answer = await call(*args, **options)
            if drawn < self._losing:
                self.lost += 1
                self._went_wrong()
                raise RuntimeCallError("rpc error: code = Unavailable desc = error reading from server: EOF")
            return answer

        return faulty
