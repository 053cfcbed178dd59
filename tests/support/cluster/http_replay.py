"""Replays recorded requests over HTTP, and compares headers, bookmarks and the ends of watches too."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import aiohttp
from aiohttp import hdrs
from yarl import URL

from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock
from kubesim.cluster.served.http import ClusterServer
from kubesim.cluster.served.rest import Response
from tests.support.cluster.replay import Replay, is_timed_bookmark, recorded_answer
from tests.support.socket_loop import run_with_sockets

_NEAR = 1.0  # seconds: the precision with which a real server ends a watch and sends bookmarks
_HEADERS = ("Content-Type", "Cache-Control", "Retry-After")
_PROTOBUF = "application/vnd.kubernetes.protobuf"  # a client that prefers it to JSON gets JSON here


class HttpWatch:
    """Reads a watch until it ends, and records when each event arrived."""

    def __init__(self, response: aiohttp.ClientResponse, clock: LoopClock, begin: int) -> None:
        self._response = response
        self._clock = clock
        self._begin = begin
        self.lines: list[tuple[float, Any]] = []
        self.ended: float | None = None
        self.task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        async for line in self._response.content:
            self.lines.append((self._elapsed(), json.loads(line)))
        self.ended = self._elapsed()

    def _elapsed(self) -> float:
        return (self._clock.now() - self._begin) / SECOND

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])
        self._response.close()


class HttpReplay:
    """Replays one story against a server."""

    def __init__(self, replay: Replay, clock: LoopClock, session: aiohttp.ClientSession, address: str) -> None:
        self._replay = replay
        self._clock = clock
        self._session = session
        self._address = address
        self._watches: list[tuple[dict[str, Any], HttpWatch]] = []

    async def play(self, steps: list[dict[str, Any]]) -> None:
        self._begin = self._clock.now()
        for step in steps:
            await self._clock.sleep_until(self._begin + round(step.get("t", 0) * SECOND))
            await self._close_watches(step.get("t", 0))
            if step["request"]["method"] in hdrs.METH_ALL:  # aiohttp's parser rejects other paths
                await self.send(step)
        await self._close_watches(None)

    async def send(self, step: dict[str, Any]) -> None:
        number, request = step["step"], self._replay.request(step["request"])
        response = await self._session.request(
            request.method,
            URL(self._address + request.path, encoded=True),
            headers=request.headers,
            data=request.body.encode() or None,
        )
        self._compare_headers(f"step {number}", step, response)
        if step.get("kind") == "watch" and response.headers.get("Transfer-Encoding") == "chunked":
            self._watches.append((step, HttpWatch(response, self._clock, self._begin)))
            return
        data = await response.read()
        is_protobuf = response.headers.get("Content-Type") == _PROTOBUF
        if is_protobuf and data.hex()[:32] != step["response"]["body_head_hex"]:
            self._replay.problems.append(f"step {number}: protobuf {data.hex()[:32]}")
        text = "" if is_protobuf else data.decode()
        is_json = response.headers.get("Content-Type", "").startswith("application/json") and text
        answer = Response(
            response.status,
            json.loads(text) if is_json else None,
            "" if is_json else text,
            tuple(response.headers.getall("Warning", ())),
        )
        self._replay.compare(f"step {number}", recorded_answer(step), answer)

    def _compare_headers(self, where: str, step: dict[str, Any], response: aiohttp.ClientResponse) -> None:
        answer = step.get("response") or {}
        recorded = answer.get("headers") or {"Content-Type": answer.get("contentType")}
        accepted = (step["request"].get("headers") or {}).get("Accept", "")
        instead = _PROTOBUF if "," in accepted else None
        for name in _HEADERS:
            if recorded.get(name) not in (None, instead, response.headers.get(name)):
                self._replay.problems.append(f"{where}: {name} {recorded[name]}, ours {response.headers.get(name)}")

    async def _close_watches(self, until: float | None) -> None:
        """Close the watches that had ended by then; the others stay open."""
        still_open = []
        for step, watch in self._watches:
            closed_at = step.get("closed_t")
            if until is not None and (closed_at is None or closed_at + _NEAR > until):
                still_open.append((step, watch))
                continue
            await self._clock.sleep_until(self._begin + round(((closed_at or 0) + _NEAR) * SECOND))
            self._compare_watch(step, watch)
            await watch.close()
        self._watches = still_open

    def _compare_watch(self, step: dict[str, Any], watch: HttpWatch) -> None:
        where, problems = f"watch {step['step']}", self._replay.problems
        events = step["events"]
        self._replay.compare_bodies(
            where,
            self._replay.lines_of(step),
            self._replay.own_lines([line for _, line in watch.lines if not is_timed_bookmark(line)]),
        )
        closed_at = step.get("closed_t")
        if closed_at is not None and (watch.ended is None or abs(watch.ended - closed_at) > _NEAR):
            problems.append(f"{where}: ended at {closed_at}, ours at {watch.ended}")
        if all(event["line"]["type"] == "BOOKMARK" for event in events):
            return  # nothing happened: the version of an idle kind in a bookmark varies
        theirs = [event["t"] for event in events if is_timed_bookmark(event["line"])]
        for moment, line in watch.lines:
            if is_timed_bookmark(line) and not any(abs(moment - other) <= _NEAR for other in theirs):
                problems.append(f"{where}: a bookmark at {moment}, theirs at {theirs}")


def replay_over_http(
    make: Callable[[Callable[[], int]], Replay], start: int, steps: list[dict[str, Any]], tokens: tuple[str, ...] = ()
) -> list[str]:
    """Replay the steps in virtual time against a server of the store from `make`; returns the differences."""

    async def main() -> list[str]:
        clock = LoopClock(start)
        replay = make(clock.now)
        server = ClusterServer(replay.store, clock, tokens=tokens, access=replay.access)
        await server.start()
        async with aiohttp.ClientSession(skip_auto_headers=("Accept", "Content-Type", "User-Agent")) as session:
            await HttpReplay(replay, clock, session, server.address).play(steps)
        await server.close()
        return replay.problems

    return run_with_sockets(main)
