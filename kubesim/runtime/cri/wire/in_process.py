"""CRI calls within this process: every message is serialized and parsed as on a socket, and time may be virtual."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from kubesim.clock import LoopClock
from kubesim.runtime.cri.wire.methods import Calls, CriError, methods
from kubesim.values import part


@part
class InProcess:
    """Implements `Calls` in front of other ones."""

    calls: Calls
    clock: LoopClock

    async def call(self, name: str, request: Any, timeout: int | None = None) -> Any:
        method = methods()[name]
        sent = method.request.FromString(request.SerializeToString())
        try:
            async with self.clock.timeout(1 << 62 if timeout is None else timeout):
                answer = await self.calls.call(name, sent)
        except TimeoutError:
            raise CriError("DeadlineExceeded", "context deadline exceeded") from None
        return method.response.FromString(answer.SerializeToString())

    async def stream(self, name: str, request: Any) -> AsyncIterator[Any]:
        method = methods()[name]
        sent = method.request.FromString(request.SerializeToString())
        async for answer in self.calls.stream(name, sent):
            yield method.response.FromString(answer.SerializeToString())
