"""Recorded exchanges with a real API server, and the servers that they are replayed to."""

from __future__ import annotations

from collections.abc import Callable

from tests.support.cluster.replay import Replay, read_stories
from tests.support.cluster.short_stories import BEGINNING

STORIES = read_stories("stories.jsonl.gz")
NODES = ("node-a", "node-b", "wk-7", "wk-8")


def short_replay(name: str, now: Callable[[], int] | None = None) -> Replay:
    """The server of the short recording remembered little."""
    replay = Replay("orc", ("fake-1",), 0, now, history_limit=4)
    if name.startswith("watch: changes"):
        replay.versions[BEGINNING] = str(replay.store.resource_version)
    return replay
