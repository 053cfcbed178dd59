"""Searches of short scenarios, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubesim.executors.same_process import SameProcess
from kubesim.explore.choice import EFFECTS
from kubesim.explore.search.exploration import Budget, Exploration, ExploreResult, Settings
from kubesim.explore.search.finding import Finding
from kubesim.explore.subject import ExploreSubject

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios"


def subject_of(text: str, **settings: Any) -> ExploreSubject:
    """A subject of this text, which is in no file."""
    subject = ExploreSubject("story.yaml", text, "", "story", **settings)
    subject.check()
    return subject


def shipped(name: str, **settings: Any) -> ExploreSubject:
    """A subject of a bundled scenario."""
    return ExploreSubject.of_file(str(SCENARIOS / f"{name}.yaml"), **settings)


def search(
    subject: ExploreSubject, runs: int, effects: tuple[str, ...] = tuple(EFFECTS), *, seed: int = 0
) -> ExploreResult:
    return Exploration(subject, Settings(effects, Budget(runs), seed), SameProcess()).explore()


def found(result: ExploreResult, rule: str) -> list[Finding]:
    return [finding for finding in result.findings if finding.problem.rule == rule]
