"""What the real controllers and the real scheduler did, story by story: ours do the same with one of the seeds."""

from __future__ import annotations

from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from kubesim.conformance.stories.story_files import WORKLOADS as CORPUS
from kubesim.conformance.stories.story_files import read_story, story_corpus, story_name
from kubesim.conformance.stories.story_runner import run_stories
from tests.support.corpora import BY_CHANCE, WORKLOADS


def judged(path: Path) -> ParameterSet:
    why = BY_CHANCE.get(story_name(path))
    return pytest.param(path, marks=pytest.mark.xfail(strict=True, reason=why) if why else (), id=story_name(path))


@pytest.mark.parametrize("path", [judged(path) for path in WORKLOADS])
def test_the_story_is_reproduced(path: Path) -> None:
    result = run_stories([path], CORPUS)
    assert result.passed == 1, "\n".join(line for failure in result.failures for line in failure.differences)


def test_the_stories_are_here() -> None:
    assert len({story_name(path) for path in WORKLOADS}) == 32
    assert {story_corpus(path) for path in WORKLOADS} == {CORPUS}
    assert all(read_story(path)["changes"] for path in WORKLOADS)
