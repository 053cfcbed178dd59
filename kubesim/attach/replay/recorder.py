"""Records the connection between a follower and its API server: every list, event and break.

The follower has two watches of Events (for pods, and for the node), but the recording has one stream: a LIST contains
the lists of both. A watch that broke and was resumed by its version is recorded as a break and a LIST of the known
objects, so that a replay has the same gap.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kubesim import __version__
from kubesim.api.timestamps import MILLISECOND
from kubesim.attach.replay.recorded_server import COLLECTIONS
from kubesim.attach.replay.recording import CHANGES
from kubesim.attach.replay.recording_file import RecordingFile
from kubesim.attach.replay.redacted import redacted
from kubesim.clock import Clock
from kubesim.cluster.remote.answers import Undecodable, decode_json
from kubesim.cluster.remote.transport import Call, Reply, Transport
from kubesim.errors import TransportError
from kubesim.sources.reflector.watch_lines import INITIAL_EVENTS_END, LineSplitter

Object = dict[str, Any]
Key = tuple[str, str]
OF_KIND = {"Pod": 1, "Event": 2, "Node": 1, "Lease": 1}  # number of collections of a kind that the follower watches
ENDED = "the watch ended"


class RecordingTransport:
    """A transport that records the lists and watches that pass through it."""

    def __init__(self, transport: Transport, file: RecordingFile, clock: Clock, node: str) -> None:
        self._transport = transport
        self._file = file
        self._clock = clock
        self._kinds = {kind: _Kind(kind, count, self._write) for kind, count in OF_KIND.items()}
        self._last = 0
        self._write({"header": {"recording": f"kubesim {__version__}", "node": node, "secondsBetweenPolls": 0}})

    def _write(self, value: Object) -> None:
        self._last = max(self._last, self._clock.now() // MILLISECOND)
        self._file.write({"t": self._last / 1000, **value})

    async def close(self) -> None:
        self._write({"action": "end"})
        self._file.close()
        await self._transport.close()

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Reply]:
        kind = COLLECTIONS.get(call.path)
        if kind is None:
            async with self._transport.open(call) as reply:
                yield self._tapped_get(call, reply)
            return
        collection = self._kinds[kind].collection(call.query.get("fieldSelector", ""))
        answered = False
        try:
            async with self._transport.open(call) as reply:
                answered = True
                yield self._tapped(collection, call, reply)
        except TransportError as error:
            if not answered:
                collection.broke(str(error))
            raise

    def _tapped_get(self, call: Call, reply: Reply) -> Reply:
        """The follower gets a pod to check whether its watch is stalled; a replay must reach the same result."""
        parts = call.path.strip("/").split("/")
        pods = self._kinds["Pod"].only
        if reply.status != 200 or pods is None or parts[:3] != ["api", "v1", "namespaces"] or parts[4:5] != ["pods"]:
            return reply
        return _Tap(reply, _GetTap(pods))

    def _tapped(self, collection: _Collection, call: Call, reply: Reply) -> Reply:
        streamed = "sendInitialEvents" in call.query
        if reply.status != 200:
            # A server without streaming lists answers 4xx: nothing is broken, and a plain list follows.
            if not (streamed and 400 <= reply.status < 500):
                collection.broke(f"the server answered {reply.status}")
            return reply
        if call.verb == "watch":
            return _Tap(reply, _WatchTap(collection, streamed))
        return _Tap(reply, _ListTap(collection, "continue" in call.query))


class _Kind:
    """One kind in the recording, made of one or more collections that the follower watches."""

    def __init__(self, name: str, count: int, write: Callable[[Object], None]) -> None:
        self.name = name
        self.is_down = True
        self._count = count
        self._write = write
        self._collections: dict[str, _Collection] = {}

    def collection(self, selector: str) -> _Collection:
        return self._collections.setdefault(selector, _Collection(self))

    @property
    def only(self) -> _Collection | None:
        """The collection of a kind that has only one."""
        return next(iter(self._collections.values()), None)

    def message(self, type: str, **fields: Any) -> None:
        self._write({"kind": self.name, "type": type, **fields})

    @property
    def is_listed(self) -> bool:
        """Whether every collection was listed and none is broken."""
        ready = [one for one in self._collections.values() if one.version and not one.is_down]
        return len(ready) == self._count

    def write_list(self) -> None:
        if self.is_listed:
            found = self._collections.values()
            version = max((one.version for one in found), key=_number)
            items = [obj for one in found for obj in one.objects.values()]
            self.message("LIST", resourceVersion=version, items=items)
            self.is_down = False


class _Collection:
    """The known objects of one collection, redacted."""

    def __init__(self, kind: _Kind) -> None:
        self.objects: dict[Key, Object] = {}
        self.version = ""
        self.is_down = False
        self.pages: list[Object] = []
        self._is_silent = False  # its watch is open, but does not report changes
        self._kind = kind

    def listed(self, items: list[Object], version: str) -> None:
        self.objects = {_key(item): item for item in items}
        self.version = version
        self.is_down = self._is_silent = False
        self._kind.write_list()

    def resumed(self) -> None:
        """Note that a watch from the last version is open again."""
        if self.is_down and self.version:
            self.is_down = False
            self._kind.write_list()

    def changed(self, type: str, obj: Object) -> None:
        if type == "DELETED":
            self.objects.pop(_key(obj), None)
        elif type != "BOOKMARK":
            self.objects[_key(obj)] = obj
        version = obj["metadata"].get("resourceVersion", "")
        self.version = max(self.version, version, key=_number)
        if self._is_silent:
            self._is_silent = False
            self.resumed()
        elif not self._kind.is_down:
            self._kind.message(type, object=obj)

    def got(self, obj: Object) -> None:
        """Note an object that was requested by name."""
        if not self.is_down and _number(obj["metadata"]["resourceVersion"]) > _number(self.version):
            self.broke("the watch has stalled", silent=True)
            self._is_silent = True

    def failed(self, status: Object) -> None:
        self.is_down = self._kind.is_down = True
        self._kind.message("ERROR", object=status)

    def broke(self, why: str, *, relist: bool = True, silent: bool = False) -> None:
        """Note a break. `silent`: the watch missed changes since its last event, which shows only now."""
        if relist:
            self.is_down = self._kind.is_down = True
        self._kind.message("BROKEN", why=why, relist=relist, **({"silent": True} if silent else {}))


class _ListTap:
    """Reads the pages of a list."""

    def __init__(self, collection: _Collection, continued: bool) -> None:
        self._collection = collection
        self._body: list[bytes] = []
        if not continued:
            collection.pages = []

    def feed(self, chunk: bytes) -> None:
        self._body.append(chunk)

    def end(self) -> None:
        try:
            value = decode_json(b"".join(self._body))
        except Undecodable:
            return  # the follower reports it, and lists again
        metadata = value.get("metadata") if isinstance(value, dict) else None
        items = value.get("items") or [] if isinstance(value, dict) else None
        if not isinstance(metadata, dict) or not isinstance(items, list):
            return
        pages = self._collection.pages
        pages += [redacted(item) for item in items if _is_object(item)]
        if not metadata.get("continue") and isinstance(version := metadata.get("resourceVersion"), str):
            self._collection.pages = []
            self._collection.listed(pages, version)

    def broke(self, why: str) -> None:
        self._collection.broke(why)


class _GetTap:
    """Reads a single object."""

    def __init__(self, collection: _Collection) -> None:
        self._collection = collection
        self._body: list[bytes] = []

    def feed(self, chunk: bytes) -> None:
        self._body.append(chunk)

    def end(self) -> None:
        try:
            obj = decode_json(b"".join(self._body))
        except Undecodable:
            return
        if _is_object(obj):
            self._collection.got(obj)

    def broke(self, why: str) -> None:
        """Ignore it: a failed get does not mean that the watch is broken."""


class _WatchTap:
    """Reads the events of a watch; the first ones of a streaming list are the list."""

    def __init__(self, collection: _Collection, streamed: bool) -> None:
        self._collection = collection
        self._initial: dict[Key, Object] | None = {} if streamed else None
        self._splitter = LineSplitter()
        if not streamed:
            collection.resumed()

    def feed(self, chunk: bytes) -> None:
        try:
            for line in self._splitter.feed(chunk):
                self._event(decode_json(line))
        except Undecodable as error:
            self._collection.broke(str(error))

    def _event(self, value: Any) -> None:
        type, obj = (value.get("type"), value.get("object")) if isinstance(value, dict) else (None, None)
        if type == "ERROR" and isinstance(obj, dict):
            self._collection.failed(obj)
        elif type in CHANGES and isinstance(obj, dict) and _is_object(obj, named=type != "BOOKMARK"):
            self._change(type, redacted(obj))

    def _change(self, type: str, obj: Object) -> None:
        metadata = obj["metadata"]
        if self._initial is None:
            self._collection.changed(type, obj)
        elif type != "BOOKMARK":
            self._initial.pop(_key(obj), None)
            if type != "DELETED":
                self._initial[_key(obj)] = obj
        elif (metadata.get("annotations") or {}).get(INITIAL_EVENTS_END) == "true":
            self._collection.listed(list(self._initial.values()), metadata.get("resourceVersion", ""))
            self._initial = None

    def end(self) -> None:
        if self._initial is None and not self._collection.is_down:
            self._collection.broke(ENDED, relist=False)

    def broke(self, why: str) -> None:
        self._collection.broke(why)


class _Tap:
    """A reply whose bytes are also parsed here."""

    def __init__(self, reply: Reply, tap: _ListTap | _GetTap | _WatchTap) -> None:
        self._reply = reply
        self._tap = tap

    @property
    def status(self) -> int:
        return self._reply.status

    @property
    def retry_after_s(self) -> float | None:
        return self._reply.retry_after_s

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._reply.chunks():
                self._tap.feed(chunk)
                yield chunk
        except TransportError as error:
            self._tap.broke(str(error))
            raise
        self._tap.end()

    def close(self) -> None:
        self._reply.close()


def _is_object(value: Any, *, named: bool = True) -> bool:
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict):
        return False
    texts = ("resourceVersion", "name") if named else ("resourceVersion",)
    return all(isinstance(metadata.get(text), str) for text in texts) and isinstance(metadata.get("namespace", ""), str)


def _key(obj: Object) -> Key:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def _number(version: str) -> int:
    return int(version) if version.isascii() and version.isdigit() else 0
