"""Recorded stories of the real controllers and scheduler: the simulated ones reproduce each with one of the seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.conformance.stories.story_files import WORKLOADS as CORPUS
from kubesim.conformance.stories.story_files import read_story, story_corpus, story_name
from kubesim.conformance.stories.story_runner import run_stories
from tests.support.corpora import BY_CHANCE, WORKLOADS


@pytest.mark.parametrize("path", WORKLOADS, ids=story_name)
def test_the_story_is_reproduced(path: Path) -> None:
    result = run_stories([path], CORPUS)
    if story_name(path) not in BY_CHANCE:
        assert result.passed == 1, "\n".join(line for failure in result.failures for line in failure.differences)
        return
    (failure,) = result.failures  # otherwise the story is now reproduced and must leave the list
    assert all(": deleted at " in line for line in failure.differences), "\n".join(failure.differences)


def test_all_stories_are_present() -> None:
    assert len({story_name(path) for path in WORKLOADS}) == 32
    assert {story_corpus(path) for path in WORKLOADS} == {CORPUS}
    assert all(read_story(path)["changes"] for path in WORKLOADS)
