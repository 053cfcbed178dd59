"""Runs stories: each is a file, and all of a kind form a corpus (`traces`, `workloads`).

Phases and jitters of a real cluster are random, so one of several seeds must reproduce a story. A story without an
outcome is run and not compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kubesim.clock.stopwatch import Stopwatch
from kubesim.conformance.results import CaseFailure, CorpusResult, ProgressListener
from kubesim.conformance.stories import story_player
from kubesim.conformance.stories.playing import CannotPlay, Story
from kubesim.conformance.stories.story_files import TRACES, WORKLOADS, read_story, story_name
from kubesim.conformance.stories.story_rule import story_differences
from kubesim.conformance.workloads import workload_player
from kubesim.conformance.workloads.workload_rule import workload_differences
from kubesim.values import value_object


@value_object
class StoryKind:
    """How the stories of a corpus are run and compared; `answers` are the outcome fields."""

    corpus: str
    play: Callable[[Story, int], dict[str, Any]]
    differences: Callable[[Story, Story], list[str]]
    answers: tuple[str, ...]
    seeds: Sequence[int]


KINDS: Mapping[str, StoryKind] = {
    TRACES: StoryKind(TRACES, story_player.play, story_differences, ("statuses", "events"), range(1, 21)),
    WORKLOADS: StoryKind(WORKLOADS, workload_player.play, workload_differences, ("changes",), range(1, 11)),
}


@value_object
class Attempt:
    """One replay of a story: its outcome, and the differences from the recording."""

    seed: int
    produced: dict[str, Any] | None
    differences: tuple[str, ...]

    @property
    def rank(self) -> tuple[bool, int]:
        return self.produced is None, len(self.differences)


def run_stories(
    paths: Sequence[Path], corpus: str = TRACES, *, seed: int | None = None, watcher: ProgressListener | None = None
) -> CorpusResult:
    """Replay each story with the seed, or with several seeds until one reproduces it."""
    kind = KINDS[corpus]
    watcher = watcher or ProgressListener()
    watcher.begin(corpus, len(paths), one_file=False)
    result, watch = CorpusResult(corpus), Stopwatch()
    for path in paths:
        story = read_story(path)
        judged = all(name in story for name in kind.answers)
        best = attempt_story(kind, story, judged, kind.seeds if seed is None else (seed,))
        watcher.played(story_name(path), best.produced)
        result.cases += 1
        if not judged and best.produced is not None:
            result.not_judged += 1
        elif best.differences:
            expected = {name: story[name] for name in kind.answers} if judged else None
            result.failures.append(CaseFailure(story_name(path), expected, best.produced, best.differences))
        else:
            result.passed += 1
    result.seconds = watch.seconds()
    return result


def attempt_story(kind: StoryKind, story: Story, judged: bool, seeds: Sequence[int]) -> Attempt:
    """The first attempt that reproduces the story, else the closest one."""
    best = None
    for seed in seeds:
        attempt = _attempt(kind, story, judged, seed)
        if best is None or attempt.rank < best.rank:
            best = attempt
        # Without an answer every seed is equivalent: if a story cannot be run with one seed, it cannot be run with
        # another.
        if not best.differences or best.produced is None:
            break
    assert best is not None
    return best


def _attempt(kind: StoryKind, story: Story, judged: bool, seed: int) -> Attempt:
    try:
        produced = {**kind.play(story, seed), "seed": seed}
        return Attempt(seed, produced, tuple(kind.differences(story, produced)) if judged else ())
    except Exception as error:  # an exception in one story must not end the others
        reason = str(error) if isinstance(error, CannotPlay) else f"{type(error).__name__}: {error}"
        return Attempt(seed, None, (f"could not be replayed: {reason}",))
