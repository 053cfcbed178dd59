"""Recorded requests to a real API server, and the servers that replay them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.api.timestamps import SECOND, parse_time
from kubesim.cluster.served.access import RoleAccess
from tests.support.cluster.background import add_background, with_unrecorded_pods
from tests.support.cluster.replay import Replay, read_stories
from tests.support.cluster.short_stories import BEGINNING

STORIES = read_stories("stories.jsonl.gz")
STORIES["table-pods"] = with_unrecorded_pods(STORIES["table-pods"])
_BEFORE = {"continue-expired": "compacted"}  # stories that continue with objects of another story
NODES = ("node-a", "node-b", "wk-7", "wk-8")


def story_replay(name: str, now: Callable[[], int] | None = None) -> Replay:
    first = next(step for step in STORIES[name] if "namespace" in step)
    replay = Replay(first["namespace"], NODES, parse_time(first["server_time_start"]), now)
    replay.background.update(add_background(replay.store, STORIES))
    if name == "forbidden":
        replay.access = RoleAccess(replay.store)
    if name in ("compacted", *_BEFORE):
        replay.store.compact("ConfigMap")
    if name in _BEFORE:
        _play_before(replay, STORIES[_BEFORE[name]])
    return replay


def _play_before(replay: Replay, steps: list[dict[str, Any]]) -> None:
    now, start = replay.store.now, parse_time(steps[0]["server_time_start"])
    for step in steps:
        moment = start + round(step["t"] * SECOND)
        replay.store.now = lambda moment=moment: moment  # type: ignore[misc]
        replay.send(step["request"])
    replay.store.now = now


def short_replay(name: str, now: Callable[[], int] | None = None) -> Replay:
    """The server of the short recording had a short watch history."""
    replay = Replay("orc", ("fake-1",), 0, now, history_limit=4)
    replay.user_agent = ""
    if name.startswith("watch: changes"):
        replay.versions[BEGINNING] = str(replay.store.resource_version)
    return replay
