"""`Channel` and `Select`, with the semantics of Go.

The first waiter is served first. A select picks at random among several ready channels (here: from a seeded stream),
and a select that had to wait gets the first value that arrives.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from kubesim.clock import Awaited, wake
from kubesim.clock.randomness import Stream
from kubesim.values import value_object

T = TypeVar("T")


class Channel(Generic[T]):
    """A bounded queue. `try_send` returns False if it is full; `send` waits for room."""

    __slots__ = ("_items", "_reader", "_senders", "_waiters", "capacity", "dropped", "name")

    def __init__(self, name: str, capacity: int) -> None:
        self.name = name
        self.capacity = capacity
        self.dropped = 0
        self._items: deque[T] = deque()
        self._waiters: deque[Future[T]] = deque()  # first come, first served
        self._reader: Select | None = None  # the only reader, which reads in a loop; then `_waiters` is empty
        self._senders: dict[Future[None], T] = {}  # senders that wait for room, with their items

    def __len__(self) -> int:
        return len(self._items)

    def __str__(self) -> str:
        return self.name

    def try_send(self, item: T, *, runs_next: bool = True) -> bool:
        """Hand the item to the first waiting receiver, which runs next, or store it; False if the channel is full."""
        if self._reader is not None:
            if self._reader.take(self, item):
                return True
        else:
            while self._waiters:
                waiter = self._waiters.popleft()
                if not waiter.done():
                    wake(waiter, item) if runs_next else waiter.set_result(item)
                    return True
        if len(self._items) >= self.capacity:
            self.dropped += 1
            return False
        self._items.append(item)
        return True

    async def send(self, item: T) -> None:
        """Go's plain send: wait while the channel is full."""
        if len(self._items) < self.capacity or self._is_awaited():
            self.try_send(item)
            return
        room: Awaited[None] = Awaited(f"room in {self.name}")
        self._senders[room] = item
        try:
            await room
        finally:
            self._senders.pop(room, None)

    def _is_awaited(self) -> bool:
        if self._reader is not None:
            return self._reader.waits()
        return any(not waiter.done() for waiter in self._waiters)

    def try_receive(self) -> T | None:
        return self._take() if self._items else None

    def _take(self) -> T:
        """Remove the oldest item; the sender that waited longest gets the free place."""
        item = self._items.popleft()
        while self._senders and len(self._items) < self.capacity:
            room = next(iter(self._senders))
            blocked = self._senders.pop(room)
            if not room.done():
                self._items.append(blocked)
                wake(room, None)
        return item

    async def receive(self) -> T:
        if self._items:
            return self._take()
        future: Awaited[T] = Awaited(self.name)
        self._waiters.append(future)
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled():  # the item was handed over, but the receiver is gone
                self._items.appendleft(future.result())
            elif future in self._waiters:
                self._waiters.remove(future)
            raise

    def statistics(self) -> dict[str, int]:
        return {
            "items": len(self._items),
            "waiters": len(self._waiters) + (self._reader is not None and self._reader.waits()),
            "senders": len(self._senders),
            "dropped": self.dropped,
        }


@value_object
class Selected:
    """The result of a select: the channel, its item, and the channels that were ready."""

    channel: Channel[Any]
    item: Any
    ready: tuple[str, ...]


class Select:
    """Go's select in a loop, for the only reader of these channels: it stays registered between receives.

    The stream picks among several ready channels; None picks the first.
    """

    __slots__ = ("_channels", "_left", "_stream", "_waiting")

    def __init__(self, channels: Sequence[Channel[Any]], stream: Stream | None) -> None:
        self._channels = channels
        self._stream = stream
        self._waiting: Future[Selected] | None = None
        self._left = True  # whether any channel may hold an item; if not, the scan is skipped
        for channel in channels:
            assert channel._reader is None, f"{channel} has a reader already"
            channel._reader = self

    async def next(self) -> Selected:
        """Receive from one of the channels."""
        channels = self._channels
        if self._left:
            ready = [channel for channel in channels if channel._items]
            if ready:
                stream = self._stream
                chosen = ready[0] if len(ready) == 1 or stream is None else ready[stream.randrange(len(ready))]
                return Selected(chosen, chosen._take(), tuple([channel.name for channel in ready]))
            self._left = False
        future: Awaited[Selected] = Awaited(channels)
        self._waiting = future
        try:
            return await future
        except asyncio.CancelledError:
            self._waiting = None
            if not future.cancelled():  # the item was handed over, but the receiver is gone
                selected = future.result()
                selected.channel._items.appendleft(selected.item)
                self._left = True
            raise

    def close(self) -> None:
        """Unregister, so that another task may read."""
        for channel in self._channels:
            channel._reader = None

    def take(self, channel: Channel[Any], item: Any) -> bool:
        """Hand an item to a waiting receiver; False if none waits, and the item stays in the channel."""
        future = self._waiting
        if future is None or future.done():
            self._left = True
            return False
        self._waiting = None
        wake(future, Selected(channel, item, (channel.name,)))
        return True

    def waits(self) -> bool:
        return self._waiting is not None and not self._waiting.done()
