"""`RWLock`: many readers or one writer. A waiting writer blocks new readers, as in Go's sync.RWMutex."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class RWLock:
    def __init__(self) -> None:
        self._readers = 0
        self._writing = False
        # (is it a writer, its future), in order of arrival
        self._waiting: deque[tuple[bool, asyncio.Future[None]]] = deque()

    @property
    def is_free(self) -> bool:
        return not (self._writing or self._readers or self._waiting)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        if self._writing or self._waiting:
            await self._wait(writer=False)
        else:
            self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            self._admit_next()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        if self.is_free:
            self._writing = True
        else:
            await self._wait(writer=True)
        try:
            yield
        finally:
            self._writing = False
            self._admit_next()

    async def _wait(self, *, writer: bool) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (writer, turn)
        self._waiting.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the lock was granted in the same instant
                if writer:
                    self._writing = False
                else:
                    self._readers -= 1
            else:
                self._waiting.remove(entry)
            self._admit_next()
            raise

    def _admit_next(self) -> None:
        """Admit the next waiters: all readers before the next writer, or that writer."""
        while self._waiting and not self._writing:
            writer, turn = self._waiting[0]
            if writer and self._readers:
                return
            self._waiting.popleft()
            if writer:
                self._writing = True
            else:
                self._readers += 1
            turn.set_result(None)
