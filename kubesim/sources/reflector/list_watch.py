"""ListAndWatch of a collection at an API server: a streaming list if supported, otherwise a list; then a watch.

The I/O shell around `reflector.py`: sends requests, reads lines, waits between attempts. A closed watch resumes at its
last version; a failed watch leads to a new list. Listeners get every object once, then every change. Cancelling `run`
ends all requests.

Mirrors: client-go/tools/cache/reflector.go ListAndWatch, watchList, list, watch; tools/pager
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Generic, Protocol, TypeVar

from kubesim.api.meta import ApiObject
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.clock.randomness import Stream
from kubesim.cluster.remote.answers import Undecodable
from kubesim.cluster.remote.transport import Call, Reply, Transport, read_all
from kubesim.errors import ApiError, TransportError
from kubesim.sources.reflector.reflector import (
    InitialEvents,
    Next,
    OutOfOrder,
    Reflector,
    after_refusal,
    after_watch,
    is_unavailable,
)
from kubesim.sources.reflector.reflector_backoff import ReflectorBackoff
from kubesim.sources.reflector.watch_lines import (
    Bookmark,
    Change,
    LineSplitter,
    Page,
    WatchDecoder,
    refusal,
)
from kubesim.values import value_object

T = TypeVar("T", bound=ApiObject)
T_contra = TypeVar("T_contra", bound=ApiObject, contravariant=True)

PAGE = 500
MAX_OBJECTS = 10_000  # per list, unless its `Watched` sets another limit
MIN_WATCH_S = 300  # the requested duration of a watch is between this and twice this
OPENING = 90 * SECOND  # the timeout for opening a watch; a proxy may wait for the first bookmark
OVERDUE = 30 * SECOND  # the time after which an overdue watch is closed
SILENCE = 30 * SECOND  # the longest pause within a streaming list


@value_object
class Watched(Generic[T]):
    """The collection to watch, a selector, and the type of its objects."""

    path: str
    model: type[T]
    kind: str
    api_version: str = "v1"
    selectors: Mapping[str, str] | None = None
    accept: str = "application/json"
    most: int = MAX_OBJECTS


class CollectionListener(Protocol[T_contra]):
    """Receives the full set, then changes; after a new list the full set again."""

    def replaced(self, objects: Iterable[T_contra]) -> None: ...
    def changed(self, obj: T_contra) -> None: ...
    def removed(self, obj: T_contra) -> None: ...

    async def room(self) -> None:
        """Returns when the listener can receive more."""
        ...


class ListWatch(Generic[T]):
    """List and watch with retries. `report` is called with one line per problem."""

    def __init__(
        self,
        clock: LoopClock,
        transport: Transport,
        chance: Stream,
        watched: Watched[T],
        listener: CollectionListener[T],
        report: Callable[[str], None],
    ) -> None:
        self.reflector: Reflector[T] = Reflector()
        self._clock = clock
        self._transport = transport
        self._chance = chance
        self._watched = watched
        self._listener = listener
        self._report = report
        self._decoder = WatchDecoder(watched.model, watched.kind, watched.api_version)
        self._backoff = ReflectorBackoff(clock.now(), chance)
        self._paged = False  # the server paginates although a full list was requested: it has no watch cache
        # A watch delivered an event too late, so a streamed list may be incomplete: the next list is a plain one.
        self._in_doubt = False
        self._events = 0

    async def run(self) -> None:
        while True:
            try:
                await self._list_and_watch()
            except _FAILURES as error:
                await self._wait(f"cannot list {self._watched.kind}s: {error}", error)

    async def _list_and_watch(self) -> None:
        """List and watch until an error requires a new list."""
        follows = None if self._in_doubt else await self._stream_list()
        if follows is None:
            await self._list()
            self._in_doubt = False
            follows = Next.RESUME
        while follows is not Next.RELIST:
            follows = await self._watch()

    async def _wait(self, problem: str, error: Exception | None) -> None:
        """Wait for the back-off, or longer if the server requests it."""
        delay = self._backoff.delay(self._clock.now())
        if isinstance(error, _Refused) and error.retry_after_s is not None:
            delay = max(delay, round(error.retry_after_s * SECOND))
        self._report(f"{problem}; again in {delay / SECOND:.1f} s")
        await self._clock.sleep(delay)

    # -- listing ------------------------------------------------------------------------------------------------

    async def _list(self) -> None:
        version = self.reflector.list_version
        try:
            found, paged = await self._pages(version)
        except (ApiError, TransportError) as error:
            # A list from the watch cache comes in one response; a list without a version comes in pages.
            if not is_unavailable(error) and not (version and getattr(error, "too_large", False)):
                raise
            self.reflector.version_is_unavailable()
            found, paged = await self._pages("")
        self._paged = self._paged or (version == "0" and paged)
        if found.unreadable:
            self._report(f"left out of a list: {', '.join(found.unreadable[:5])} cannot be read")
        self._replace(found.objects, found.version)

    async def _pages(self, version: str) -> tuple[Page[T], bool]:
        """All pages merged, and whether there were several. After an expired token, one request fetches all."""
        first = {"resourceVersion": version} if version else {}
        if self._paged or version in ("", "0"):
            first["limit"] = str(PAGE)
        page = await self._page(first)
        objects, unreadable, paged = page.objects, page.unreadable, bool(page.token)
        whole = page.version
        while page.token:
            try:
                page = await self._page({"limit": str(PAGE), "continue": page.token})
            except ApiError as error:
                if not is_unavailable(error):
                    raise
                return await self._page({"resourceVersion": version} if version else {}), True
            objects, unreadable = objects + page.objects, unreadable + page.unreadable
            self._check_count(len(objects))
        return Page(objects, whole, "", unreadable), paged

    async def _page(self, query: Mapping[str, str]) -> Page[T]:
        call = self._call("list", query)
        async with self._transport.open(call) as reply:
            await _check(reply)
            try:
                return self._decoder.page(await read_all(reply))
            except Undecodable as error:
                problem = str(error)
        # Raised outside the handler: otherwise the first error's traceback would keep the whole response in memory.
        raise Undecodable(problem)

    def _check_count(self, count: int) -> None:
        most = self._watched.most
        if count > most:
            raise Undecodable(f"a list of more than {most} objects")

    def _replace(self, objects: list[T], version: str) -> None:
        self.reflector.replace(objects, version)
        self._listener.replaced(self.reflector.objects.values())

    # -- watching -----------------------------------------------------------------------------------------------

    async def _stream_list(self) -> Next | None:
        """List with a watch that starts with all objects; None if the server does not support that, or it failed."""
        reflector = self.reflector
        while True:
            query = {
                "sendInitialEvents": "true",
                "resourceVersionMatch": "NotOlderThan",
                "resourceVersion": reflector.stream_version,
            }
            try:
                async with self._open_watch(query, silence_limit=SILENCE) as stream:
                    if not await self._initial_events(stream):
                        return None
                    return await self._follow(stream)
            except _FAILURES as error:
                if after_refusal(error) is Next.RESUME_LATER:
                    await self._wait(f"cannot watch {self._watched.kind}s: {error}", error)
                elif not (is_unavailable(error) and reflector.version_is_unavailable()):
                    return None

    async def _initial_events(self, stream: _Watch) -> bool:
        initial: InitialEvents[T] = InitialEvents()
        while (lines := await stream.lines()) is not None:
            stream.hang_up_in(SILENCE)
            for number, line in enumerate(lines):
                self._check_count(initial.count)
                if initial.see(self._decoder.event(line)):
                    stream.put_back(lines[number + 1 :])
                    stream.hang_up_in(stream.lasts)
                    self._replace(initial.objects, initial.version)
                    return True
        return False

    async def _watch(self) -> Next:
        """One watch from the last version."""
        try:
            async with self._open_watch({"resourceVersion": self.reflector.version}) as stream:
                return await self._follow(stream)
        except _FAILURES as error:
            follows = after_refusal(error)
            await self._wait(f"cannot watch {self._watched.kind}s: {error}", error)
            return follows

    async def _follow(self, stream: _Watch) -> Next:
        """Handle a watch's events until it ends."""
        started, self._events = self._clock.now(), 0
        error: Exception | None = None
        try:
            while (lines := await stream.lines()) is not None:
                for line in lines:
                    self._take(self._decoder.event(line))
                await self._listener.room()
            for line in stream.unfinished():
                self._take(self._decoder.event(line))
        except (ApiError, Undecodable, OutOfOrder) as found:
            error = found
            self._in_doubt |= isinstance(found, OutOfOrder)
        follows = after_watch(error, self._clock.now() - started, self._events)
        if follows is not Next.RESUME:
            problem = error or "it ended immediately"
            await self._wait(f"a watch of {self._watched.kind}s failed: {problem}", error)
        return follows

    def _take(self, event: Change[T] | Bookmark) -> None:
        self._events += 1
        change = self.reflector.see(event)
        if change is None:
            return
        if change.type == "DELETED":
            self._listener.removed(change.object)
        else:
            self._listener.changed(change.object)

    @asynccontextmanager
    async def _open_watch(self, query: Mapping[str, str], silence_limit: int | None = None) -> AsyncIterator[_Watch]:
        """Open a watch with a timeout, for a server that does not end it in time or sends nothing."""
        seconds = int(MIN_WATCH_S * (1 + self._chance.random()))
        lasts = seconds * SECOND + OVERDUE
        whole = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(seconds), **query}
        call = self._call("watch", {name: value for name, value in whole.items() if value})
        async with AsyncExitStack() as stack:
            try:
                async with self._clock.timeout(silence_limit or OPENING):
                    reply = await stack.enter_async_context(self._transport.open(call))
                    await _check(reply)
            except TimeoutError:
                raise TransportError("the server did not answer") from None
            stream = _Watch(self._clock, reply, lasts)
            stream.hang_up_in(silence_limit or lasts)
            try:
                yield stream
            finally:
                stream.close()

    def _call(self, verb: str, query: Mapping[str, str]) -> Call:
        watched = self._watched
        if verb == "watch":
            return Call("watch", watched.path, {**(watched.selectors or {}), **query}, watched.accept, timeout_s=None)
        return Call("list", watched.path, {**(watched.selectors or {}), **query}, watched.accept)


class _Watch:
    """An open watch. A broken connection ends it like a normal close."""

    def __init__(self, clock: LoopClock, reply: Reply, lasts: int) -> None:
        self.lasts = lasts
        self._clock = clock
        self._reply = reply
        self._chunks = reply.chunks()
        self._splitter = LineSplitter()
        self._waiting: list[bytes] = []
        self._timer: asyncio.TimerHandle | None = None

    def hang_up_in(self, duration: int) -> None:
        """Set the timeout for the server's next data; replaces an earlier timeout."""
        self.close()
        self._timer = self._clock.call_at(self._clock.now() + duration, self._reply.close)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    async def lines(self) -> list[bytes] | None:
        """The next lines, perhaps none; None at the end."""
        if self._waiting:
            lines, self._waiting = self._waiting, []
            return lines
        try:
            return self._splitter.feed(await anext(self._chunks))
        except (StopAsyncIteration, TransportError):
            return None

    def put_back(self, lines: list[bytes]) -> None:
        self._waiting = lines

    def unfinished(self) -> list[bytes]:
        """The last line, if only its newline is missing. A partial line is dropped: the server will send it again."""
        rest = self._splitter.rest().strip()
        return [rest] if rest.endswith(b"}}") else []


class _Refused(ApiError):
    """An error response with Retry-After."""

    def __init__(self, error: ApiError, retry_after_s: float | None) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(error.code, error.reason, error.message, error.details)


_FAILURES = (ApiError, TransportError, Undecodable)


async def _check(reply: Reply) -> None:
    if reply.status != 200:
        raise _Refused(refusal(reply.status, await read_all(reply)), reply.retry_after_s)
