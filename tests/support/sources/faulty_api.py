"""An API server with injected faults, between a working transport and its user.

`DirectTransport` is the cluster without a network: fast, and in virtual time. `FaultyTransport` wraps it or a real
connection, and disturbs calls by a plan. It never drops an event permanently, as no client could notice that.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlencode

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, Randomness
from kubesim.cluster.remote.transport import Call, Reply, Transport
from kubesim.cluster.served.rest import Request, Response, handle
from kubesim.cluster.served.streaming import watch_bytes
from kubesim.cluster.store.store import Store
from kubesim.cluster.wire import encoded
from kubesim.errors import TransportError

Kind = Literal[
    "none",
    "refuse",  # nobody listens
    "reset",  # the connection breaks before a response
    "hang",  # no answer
    "status",  # a status other than 200
    "nonsense",  # an invalid response
    "cut",  # breaks in the middle of a line
    "close",  # ends in the middle of the stream
    "stall",  # stalls in the middle
    "gone",  # 410 in the middle
    "garbage",  # an invalid event in the middle
    "twice",  # events are repeated immediately
    "again",  # events are repeated later
    "late",  # later events overtake events
    "crumbs",  # arrives in tiny chunks
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
# With these a server can continue forever, and still deliver everything.
LASTING: tuple[Kind, ...] = ("none", "close", "gone", "garbage", "twice", "again", "late", "crumbs")
STATUSES = (400, 401, 403, 404, 410, 429, 500, 503, 504)
GARBAGE = (
    b"<html>502</html>\n",
    b"\n\n",
    b'{"type":"ADDED"}\n',
    b'{"type":"MODIFIED","object":{"kind":"Pod"}}\n',
    b"}\n",
)
GONE = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of one call. `at` is its position, in lines or bytes; `choice` its variant or count."""

    kind: Kind = "none"
    at: int = 0
    choice: int = 0


class DirectReply:
    def __init__(self, clock: LoopClock, response: Response) -> None:
        self.status = response.status
        self.retry_after_s: float | None = None
        self._clock = clock
        self._response = response

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        if self._response.stream is None:
            yield encoded(self._response.body)
            return
        async for lines in watch_bytes(self._clock, self._response.stream, Randomness(0).stream("server")):
            yield lines

    def close(self) -> None:
        if self._response.stream is not None:
            self._response.stream.close()


class DirectTransport:
    """Calls the store directly. Without `streaming_lists` it acts like an older server."""

    def __init__(self, store: Store, clock: LoopClock, *, streaming_lists: bool = True) -> None:
        self._store = store
        self._clock = clock
        self._streaming_lists = streaming_lists
        self.calls: list[Call] = []

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        self.calls.append(call)
        await self._clock.sleep(1000)
        if "sendInitialEvents" in call.query and not self._streaming_lists:
            body = {"kind": "Status", "message": "sendInitialEvents is forbidden for watch"}
            yield DirectReply(self._clock, Response(422, body))
            return
        path = f"{call.path}?{urlencode(call.query)}"
        reply = DirectReply(self._clock, handle(self._store, Request(call.method, path, {"accept": call.accept})))
        try:
            yield reply
        finally:
            reply.close()

    async def close(self) -> None:
        """Nothing to close."""


class FaultyTransport:
    """Disturbs the first calls as planned, and every later watch in the same way."""

    def __init__(self, transport: Transport, clock: LoopClock, plan: Sequence[Fault], flaw: Fault) -> None:
        self._transport = transport
        self._clock = clock
        self._plan = iter(plan)
        self._flaw = flaw

    def open(self, call: Call) -> AbstractAsyncContextManager[Reply]:
        return self._open(call, next(self._plan, self._flaw if call.verb == "watch" else Fault()))

    @asynccontextmanager
    async def _open(self, call: Call, fault: Fault) -> AsyncIterator[Reply]:
        if fault.kind in ("refuse", "reset"):
            raise TransportError(fault.kind, refused=fault.kind == "refuse")
        if fault.kind == "hang":
            await silence(self._clock, call, asyncio.get_running_loop().create_future())
        async with self._transport.open(call) as reply:
            yield FaultyReply(reply, self._clock, call, fault)

    async def close(self) -> None:
        await self._transport.close()


async def silence(clock: LoopClock, call: Call, hung_up: asyncio.Future[None]) -> None:
    """Stall until the caller disconnects or its timeout expires."""
    try:
        async with clock.timeout(round((call.timeout_s or 3600) * SECOND)):
            await hung_up
    except TimeoutError:
        raise TransportError("timed out") from None


class FaultyReply:
    def __init__(self, reply: Reply, clock: LoopClock, call: Call, fault: Fault) -> None:
        self._reply = reply
        self._clock = clock
        self._call = call
        self._fault = fault
        self._hung_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.status = STATUSES[fault.choice % len(STATUSES)] if fault.kind == "status" else reply.status
        self.retry_after_s = float(fault.at) if self.status == 429 else reply.retry_after_s

    def close(self) -> None:
        if not self._hung_up.done():
            self._hung_up.set_result(None)
        self._reply.close()

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        fault = self._fault
        match fault.kind:
            case "status" | "nonsense":
                yield GARBAGE[fault.choice % len(GARBAGE)]
            case "cut":
                sent = 0
                async for chunk in self._reply.chunks():
                    part = chunk[: max(0, 300 * fault.at + fault.choice - sent)]
                    sent += len(chunk)
                    yield part
                    if len(part) < len(chunk):
                        raise TransportError("connection reset by peer")
            case "crumbs":
                size = 7 + fault.at
                async for chunk in self._reply.chunks():
                    for start in range(0, len(chunk), size):
                        yield chunk[start : start + size]
            case "twice" | "again" | "late" | "close" | "stall" | "gone" | "garbage":
                async for lines in self._spoiled_lines():
                    yield lines
            case _:
                async for chunk in self._reply.chunks():
                    yield chunk

    async def _spoiled_lines(self) -> AsyncGenerator[bytes, None]:
        """Faults between lines."""
        fault, number = self._fault, 0
        held: list[bytes] = []
        seen: list[bytes] = []
        async for chunk in self._reply.chunks():
            for line in chunk.splitlines(keepends=True):
                number += 1
                seen.append(line)
                if number > fault.at:
                    match fault.kind:
                        case "close":
                            return
                        case "stall":
                            await silence(self._clock, self._call, self._hung_up)
                            return
                        case "gone":
                            yield GONE
                            return
                        case "garbage" if number == fault.at + 1:
                            yield GARBAGE[fault.choice % len(GARBAGE)]
                        case "twice":
                            yield line
                        case "again" if number % (2 + fault.choice) == 0:
                            yield seen[(number * 7 + fault.choice) % len(seen)]
                        case "late" if not held and number % 3 == fault.choice % 3:
                            held.append(line)
                            continue
                yield line
                if held and len(seen) % (2 + fault.choice % 3) == 0:
                    yield held.pop()
            # Delayed lines follow before anything else, as the stream may end at any time.
            while held:
                yield held.pop()
