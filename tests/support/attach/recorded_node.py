"""The recording of a real node, played as an API server in virtual time to a follower.

A line is sent at its recorded time. Between a BROKEN line and the next LIST of a kind that kind is out of reach; lists
and watches wait until it is back, and a watch from an older version is told 410.
"""

from __future__ import annotations

import asyncio
import gzip
import json
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kubesim.api.timestamps import MILLISECOND, SECOND
from kubesim.attach.watch.node_follower import NodeFollower
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.cluster.remote.transport import Call
from kubesim.concurrency import TaskSet
from kubesim.errors import TransportError
from tests.support.attach.watching import Notes

RECORDING = Path(__file__).parents[2] / "attach" / "data" / "node.jsonl.gz"
NODE = "real-0"
STAYS = 120 * SECOND  # a follower that comes late

Json = dict[str, Any]
_PATHS = {
    "/api/v1/pods": "Pod",
    "/api/v1/events": "Event",
    "/api/v1/nodes": "Node",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases": "Lease",
}


def recording() -> list[Json]:
    with gzip.open(RECORDING, "rt") as lines:
        return [json.loads(line) for line in lines]


def at(line: Json) -> int:
    return round(float(line["t"]) * SECOND)


def beginning(lines: Sequence[Json]) -> int:
    """When every kind was listed once."""
    firsts = (next(at(one) for one in lines if one.get("kind") == kind) for kind in _PATHS.values())
    return max(firsts)


def followed(lines: Sequence[Json], come: int = 0, stay: int | None = None) -> tuple[NodeFollower, Notes]:
    """A follower that comes that long after the beginning, and its notes."""
    begin = beginning(lines) + come
    end = at(lines[-1]) if stay is None else min(at(lines[-1]), begin + stay)

    async def play() -> tuple[NodeFollower, Notes]:
        clock, notes = LoopClock(begin), Notes()
        server = _RecordedServer(lines, clock)
        follower = NodeFollower(clock, server, NODE, notes)
        async with TaskSet() as tasks:
            follower.start(tasks, Randomness(1))
            await tasks.run_until(server.play(end))
        return follower, notes

    return run_virtual(play)


class _Kind:
    """The objects of one kind as of now, and what was said about them."""

    def __init__(self, lines: Sequence[Json]) -> None:
        self.ahead = deque(lines)
        self.objects: dict[tuple[str, str], Json] = {}
        self.said: list[Json] = []
        self.version = self.oldest = 0
        self.is_up = False
        self.news = asyncio.Event()

    def step(self) -> None:
        line = self.ahead.popleft()
        if line["type"] == "LIST":
            self.objects = {_key(one): one for one in line["items"]}
            self.version = self.oldest = int(line["resourceVersion"])
            self.is_up = True
        elif line["type"] in ("BROKEN", "ERROR"):
            self.is_up = self.is_up and not line.get("relist", True)
        else:
            changed = line["object"]
            self.version = max(self.version, int(changed["metadata"]["resourceVersion"]))
            self.said.append(line)
            if line["type"] == "DELETED":
                self.objects.pop(_key(changed), None)
            else:
                self.objects[_key(changed)] = changed
        self.news.set()
        self.news = asyncio.Event()


def _key(one: Json) -> tuple[str, str]:
    return one["metadata"].get("namespace", ""), one["metadata"]["name"]


class _Reply:
    """An answer that is there at once, or a watch."""

    def __init__(self, status: int, chunks: AsyncIterator[bytes]) -> None:
        self.status, self.retry_after_s, self._chunks = status, None, chunks

    def chunks(self) -> AsyncIterator[bytes]:
        return self._chunks

    def close(self) -> None:
        return None


class _RecordedServer:
    def __init__(self, lines: Sequence[Json], clock: LoopClock) -> None:
        self._clock = clock
        self._kinds = {kind: _Kind([one for one in lines if one.get("kind") == kind]) for kind in _PATHS.values()}
        self._doors = [one for one in lines if one.get("action") == "restart apiserver" and one["phase"] != "stopped"]
        self._advance()

    async def play(self, end: int) -> None:
        while moments := [at(kind.ahead[0]) for kind in self._kinds.values() if kind.ahead]:
            if min(moments) > end:
                break
            await self._clock.sleep_until(min(moments))
            self._advance()
        await self._clock.sleep_until(end)

    def _advance(self) -> None:
        for kind in self._kinds.values():
            while kind.ahead and at(kind.ahead[0]) <= self._clock.now():
                kind.step()

    async def close(self) -> None:
        return None

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[_Reply]:
        await self._clock.sleep(MILLISECOND)
        if call.path not in _PATHS:
            yield self._pod(call.path)
            return
        kind = self._kinds[_PATHS[call.path]]
        while not self._is_reachable(kind):
            await self._clock.sleep(50 * MILLISECOND)
        wanted = _selected(call.query)
        if call.verb != "watch":
            found = [one for one in kind.objects.values() if wanted(one)]
            yield _whole(200, {"kind": "List", "metadata": {"resourceVersion": str(kind.version)}, "items": found})
        elif "sendInitialEvents" in call.query:
            yield _whole(422, _status(422, "Invalid"))
        elif int(call.query.get("resourceVersion") or 0) < kind.oldest:
            yield _whole(200, {"type": "ERROR", "object": _status(410, "Expired")})
        else:
            yield _Reply(200, _stream(kind, int(call.query.get("resourceVersion") or 0), wanted))

    def _pod(self, path: str) -> _Reply:
        pods = self._kinds["Pod"]
        if not self._is_reachable(pods):
            raise TransportError("connection refused", refused=True)
        parts = path.strip("/").split("/")
        found = pods.objects.get((parts[3], parts[5]))
        return _whole(404, _status(404, "NotFound")) if found is None else _whole(200, found)

    def _is_reachable(self, kind: _Kind) -> bool:
        doors = [one["phase"] for one in self._doors if at(one) <= self._clock.now()]
        return kind.is_up and doors[-1:] != ["stop"]


def _selected(query: Any) -> Callable[[Json], bool]:
    terms = [term.split("=", 1) for term in query.get("fieldSelector", "").split(",") if term]

    def value(one: Any, path: str) -> Any:
        for part in path.split("."):
            one = one.get(part, "")
        return one

    return lambda one: all(value(one, path) == wanted for path, wanted in terms)


def _status(code: int, reason: str) -> Json:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}


def _whole(status: int, body: Json) -> _Reply:
    async def chunks() -> AsyncIterator[bytes]:
        yield json.dumps(body).encode() + b"\n"

    return _Reply(status, chunks())


async def _stream(kind: _Kind, version: int, wanted: Callable[[Json], bool]) -> AsyncIterator[bytes]:
    place = sum(int(one["object"]["metadata"]["resourceVersion"]) <= version for one in kind.said)
    while True:
        while place < len(kind.said):
            line = kind.said[place]
            place += 1
            if wanted(line["object"]):
                yield json.dumps({"type": line["type"], "object": line["object"]}).encode() + b"\n"
        if not kind.is_up:
            raise TransportError("connection reset by peer")
        await kind.news.wait()
