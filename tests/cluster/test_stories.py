"""What a real API server answered, asked again here: status, message, reason, details, bodies, watch lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kubesim.api.timestamps import parse_time
from tests.support.cluster.replay import Replay, read_stories
from tests.support.cluster.short_stories import BEGINNING, SHORT_STORIES

STORIES = read_stories("stories.jsonl.gz")
NODES = ("node-a", "node-b", "wk-7", "wk-8")


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str) -> None:
    steps = STORIES[name]
    replay = Replay(steps[0]["namespace"], NODES, parse_time(steps[0]["server_time_start"]))
    replay.play(steps)
    assert not replay.problems, "\n".join(replay.problems)


def short_replay(name: str, now: Callable[[], int] | None = None) -> Replay:
    """The server of the short recording remembered little."""
    replay = Replay("orc", ("fake-1",), 0, now, history_limit=4)
    if name.startswith("watch: changes"):
        replay.versions[BEGINNING] = str(replay.store.resource_version)
    return replay


@pytest.mark.parametrize("name", SHORT_STORIES)
def test_short_story(name: str) -> None:
    replay = short_replay(name)
    replay.play(SHORT_STORIES[name])
    assert not replay.problems, "\n".join(replay.problems)


def test_a_difference_is_noticed() -> None:
    steps = [dict(step) for step in STORIES["pod-minimal"]]
    steps[1] = {**steps[1], "response": {**steps[1]["response"], "status": 202}}
    replay = Replay(steps[0]["namespace"], NODES, parse_time(steps[0]["server_time_start"]))
    replay.play(steps)
    assert len(replay.problems) == 1
