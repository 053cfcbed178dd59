"""Recorded requests to a real API server, repeated over HTTP."""

from __future__ import annotations

import pytest

from kubesim.api.timestamps import parse_time
from tests.support.cluster.http_replay import replay_over_http
from tests.support.cluster.recordings import STORIES, short_replay, story_replay
from tests.support.cluster.short_stories import SHORT_STORIES


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str) -> None:
    steps = STORIES[name]
    start = parse_time(next(step["server_time_start"] for step in steps if "server_time_start" in step))
    tokens = ("secret",) if name == "unauthorized" else ()
    problems = replay_over_http(lambda now: story_replay(name, now), start, steps, tokens)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", SHORT_STORIES)
def test_short_story(name: str) -> None:
    problems = replay_over_http(lambda now: short_replay(name, now), 0, SHORT_STORIES[name])
    assert not problems, "\n".join(problems)


def test_a_difference_is_detected() -> None:
    name = "watch: changes, bookmarks"
    watch, *changes = SHORT_STORIES[name]
    steps = [{**watch, "closed_t": 5.0, "events": watch["events"][:-2]}, *changes]
    problems = replay_over_http(lambda now: short_replay(name, now), 0, steps)
    assert [problem.split(": ")[1][:12] for problem in problems] == ["7 items, our", "ended at 5.0", "a bookmark a"]
