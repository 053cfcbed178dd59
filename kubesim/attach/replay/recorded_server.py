"""A recording as an API server: a transport that answers at each time as the real server answered the recorder.

A change that was recorded at t is sent at t. Between a BROKEN line and the next LIST of a kind the server is
unreachable for that kind. Lists and watches then wait, so that the follower's own back-off does not prolong the outage;
a get fails. A watch from a version before that LIST gets 410, because the changes in between are unknown.
"""

from __future__ import annotations

import asyncio
import bisect
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.replay.recording import API_VERSIONS, Message, NodeRecording
from kubesim.clock import LoopClock
from kubesim.cluster.remote.transport import Call, Reply
from kubesim.errors import TransportError

COLLECTIONS = {
    "/api/v1/pods": "Pod",
    "/api/v1/events": "Event",
    "/api/v1/nodes": "Node",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases": "Lease",
}
TRAVEL = 1 * MILLISECOND  # between a call and its answer
OUT_OF_REACH_POLL = 50 * MILLISECOND
WATCH_S = 1800

Object = dict[str, Any]
Key = tuple[str, str]


class RecordedServer:
    """Answers from a recording. `play` advances the recorded time."""

    def __init__(self, recording: NodeRecording, clock: LoopClock, start: int) -> None:
        self._clock = clock
        self._closed = recording.closed
        self._kinds = {
            kind: _Timeline(kind, (message for message in recording.messages if message.kind == kind))
            for kind in API_VERSIONS
        }
        self._advance(start)

    async def play(self, end: int) -> None:
        while moments := [at for kind in self._kinds.values() if (at := kind.next_at) is not None and at <= end]:
            await self._clock.sleep_until(min(moments))
            self._advance(self._clock.now())
        await self._clock.sleep_until(end)

    def _advance(self, now: int) -> None:
        for kind in self._kinds.values():
            while kind.next_at is not None and kind.next_at <= now:
                kind.step()

    async def close(self) -> None:
        """Do nothing: there is no connection."""

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        await self._clock.sleep(TRAVEL)
        kind = self._kinds.get(COLLECTIONS.get(call.path, ""))
        if kind is None:
            yield self._get(call.path)
            return
        while not self._is_reachable(kind):
            await self._clock.sleep(OUT_OF_REACH_POLL)
        if call.verb != "watch":
            yield _RecordedReply(200, _whole(kind.list(_selected(call.query))))
        elif "sendInitialEvents" in call.query:
            yield _RecordedReply(422, _whole(_status(422, "Invalid", "sendInitialEvents is forbidden for watch")))
        elif (version := int(call.query.get("resourceVersion") or 0)) < kind.floor:
            expired = _status(410, "Expired", f"too old resource version: {version} ({kind.floor})")
            # Like an API server: the watch opens, and this is its only event.
            yield _RecordedReply(200, _whole({"type": "ERROR", "object": expired}, b"\n"))
        else:
            watcher = _Watcher(kind, version, _selected(call.query))
            timer = self._clock.call_at(
                self._clock.now() + int(call.query.get("timeoutSeconds") or WATCH_S) * SECOND, watcher.hang_up
            )
            kind.watchers[watcher] = None
            try:
                yield _RecordedReply(200, watcher.lines(), watcher.hang_up)
            finally:
                timer.cancel()
                kind.watchers.pop(watcher, None)

    def _get(self, path: str) -> Reply:
        """Answer a get; only pods are requested by name."""
        pods, parts = self._kinds["Pod"], path.strip("/").split("/")
        if not self._is_reachable(pods) or pods.is_silent:
            raise TransportError("connection refused", refused=True)
        named = len(parts) == 6 and parts[:3] == ["api", "v1", "namespaces"] and parts[4] == "pods"
        found = pods.objects.get((parts[3], parts[5])) if named else None
        if found is None:
            return _RecordedReply(404, _whole(_status(404, "NotFound", "not found")))
        return _RecordedReply(200, _whole(found))

    def _is_reachable(self, kind: _Timeline) -> bool:
        """Whether the server accepts connections: a server that is stopping ends its watches last, but accepts no new
        connections."""
        now = self._clock.now()
        return kind.up and not any(begin <= now < end for begin, end in self._closed)


class _Timeline:
    """One kind: the current objects, and all events so far."""

    def __init__(self, kind: str, messages: Iterable[Message]) -> None:
        self.kind = kind
        self.up = False
        self.version = self.floor = 0
        self.objects: dict[Key, Object] = {}
        self.versions: list[int] = []  # the version of each event
        self.events: list[tuple[str, Object]] = []
        self.watchers: dict[_Watcher, None] = {}
        self._ahead = deque(messages)

    @property
    def next_at(self) -> int | None:
        return self._ahead[0].at if self._ahead else None

    @property
    def is_silent(self) -> bool:
        """Whether the recorder will soon find out that its watch was silently broken."""
        return bool(self._ahead and self._ahead[0].value.get("silent"))

    def step(self) -> None:
        message = self._ahead.popleft()
        value = message.value
        if message.type == "LIST":
            self.objects = {_key(item): self._typed(item) for item in value["items"]}
            self.version = self.floor = int(value["resourceVersion"])
            self.up = True
        elif message.type in ("BROKEN", "ERROR"):
            self.up = self.up and not value.get("relist", True)
        else:
            self._event(message.type, value["object"])
        for watcher in list(self.watchers):
            watcher.wake()

    def _event(self, type: str, given: Object) -> None:
        obj = self._typed(given)
        self.version = max(self.version, int(obj["metadata"]["resourceVersion"]))
        if type == "DELETED":
            self.objects.pop(_key(obj), None)
        elif type != "BOOKMARK":
            self.objects[_key(obj)] = obj
        # Keep the versions sorted: a watcher searches by version, so a late event must not hide those after it.
        self.versions.append(self.version)
        self.events.append((type, obj))

    def list(self, wanted: Callable[[Object], bool]) -> Object:
        return {
            "kind": f"{self.kind}List",
            "apiVersion": API_VERSIONS[self.kind],
            "metadata": {"resourceVersion": str(self.version)},
            "items": [obj for obj in self.objects.values() if wanted(obj)],
        }

    def _typed(self, obj: Object) -> Object:
        return {"kind": self.kind, "apiVersion": API_VERSIONS[self.kind], **obj}


class _Watcher:
    """An open watch: the events after a version, until the connection breaks or the watch times out."""

    def __init__(self, kind: _Timeline, version: int, wanted: Callable[[Object], bool]) -> None:
        self._kind = kind
        self._next_event = bisect.bisect_right(kind.versions, version)
        self._wanted = wanted
        self._news = asyncio.Event()
        self._over = False

    def wake(self) -> None:
        self._news.set()

    def hang_up(self) -> None:
        self._over = True
        self._news.set()

    async def lines(self) -> AsyncIterator[bytes]:
        while not self._over:
            while self._next_event < len(self._kind.events):
                type, obj = self._kind.events[self._next_event]
                self._next_event += 1
                if type == "BOOKMARK" or self._wanted(obj):
                    yield _encoded({"type": type, "object": obj}) + b"\n"
            if not self._kind.up:
                raise TransportError("connection reset by peer")
            self._news.clear()
            await self._news.wait()


class _RecordedReply:
    def __init__(self, status: int, chunks: AsyncIterator[bytes], hang_up: Callable[[], None] = lambda: None) -> None:
        self.status = status
        self.retry_after_s: float | None = None
        self._chunks = chunks
        self._hang_up = hang_up

    def chunks(self) -> AsyncIterator[bytes]:
        return self._chunks

    def close(self) -> None:
        self._hang_up()


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _selected(query: Mapping[str, str]) -> Callable[[Object], bool]:
    """A field selector as a predicate; only equality is supported."""
    terms = [term.partition("=") for term in query.get("fieldSelector", "").split(",") if term]

    def matches(obj: Object) -> bool:
        return all(_field(obj, path) == value for path, _, value in terms)

    return matches


def _field(obj: Object, path: str) -> Any:
    found: Any = obj
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found or ""


def _status(code: int, reason: str, message: str) -> Object:
    return {
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message
    }  # fmt: skip


async def _whole(value: Object, end: bytes = b"") -> AsyncIterator[bytes]:
    yield _encoded(value) + end


def _encoded(value: Object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
