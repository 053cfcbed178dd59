"""Recorded requests to a real API server, repeated: status, message, reason, details, bodies, watch lines."""

from __future__ import annotations

import pytest

from tests.support.cluster.recordings import STORIES, short_replay, story_replay
from tests.support.cluster.short_stories import SHORT_STORIES


@pytest.mark.parametrize("name", [name for name in STORIES if name != "unauthorized"])  # needs a connection
def test_story(name: str) -> None:
    replay = story_replay(name)
    replay.play(STORIES[name])
    assert not replay.problems, "\n".join(replay.problems)


@pytest.mark.parametrize("name", SHORT_STORIES)
def test_short_story(name: str) -> None:
    replay = short_replay(name)
    replay.play(SHORT_STORIES[name])
    assert not replay.problems, "\n".join(replay.problems)


def test_a_difference_is_detected() -> None:
    steps = [dict(step) for step in STORIES["pod-minimal"]]
    steps[1] = {**steps[1], "response": {**steps[1]["response"], "status": 202}}
    replay = story_replay("pod-minimal")
    replay.play(steps)
    assert len(replay.problems) == 1
