"""Recorded exchanges with a real API server, and the servers that they are replayed to."""

from __future__ import annotations

from collections.abc import Callable

from kubesim.api.timestamps import parse_time
from tests.support.cluster.replay import Replay, read_stories
from tests.support.cluster.short_stories import BEGINNING
from tests.support.cluster.surroundings import add_surroundings, with_unrecorded_pods

STORIES = read_stories("stories.jsonl.gz")
STORIES["table-pods"] = with_unrecorded_pods(STORIES["table-pods"])
NODES = ("node-a", "node-b", "wk-7", "wk-8")


def story_replay(name: str, now: Callable[[], int] | None = None) -> Replay:
    first = next(step for step in STORIES[name] if "namespace" in step)
    replay = Replay(first["namespace"], NODES, parse_time(first["server_time_start"]), now)
    replay.surroundings.update(add_surroundings(replay.store, STORIES))
    return replay


def short_replay(name: str, now: Callable[[], int] | None = None) -> Replay:
    """The server of the short recording remembered little."""
    replay = Replay("orc", ("fake-1",), 0, now, history_limit=4)
    if name.startswith("watch: changes"):
        replay.versions[BEGINNING] = str(replay.store.resource_version)
    return replay
