"""Scenarios for tests of `kubesim explore`: small ones with and without a bug, and its command line in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubesim.cli.main import main
from kubesim.executors.same_process import SameProcess
from kubesim.explore.choice import EFFECTS
from kubesim.explore.search.exploration import Budget, Exploration, ExploreResult, Settings
from kubesim.explore.search.finding import Finding
from kubesim.explore.subject import ExploreSubject

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios"

# Kubelet v1.36 skips init containers if the node reboots between CreateContainer and StartContainer of the main one.
TWO_INITS = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: two-inits}
spec:
  duration: 200s
  images:
    - {name: "busybox:*", present: true}
---
apiVersion: v1
kind: Pod
metadata: {name: app}
spec:
  initContainers:
    - {name: fetch, image: "busybox:1.36", command: [sh, -c, sleep 2]}
    - {name: migrate, image: "busybox:1.36", command: [sh, -c, sleep 1]}
  containers:
    - {name: main, image: "busybox:1.36", command: [sh, -c, sleep 100000]}
"""
HARMLESS = """\
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {name: harmless}
spec:
  duration: 30s
  images:
    - {name: "busybox:*", present: true}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - {name: main, image: "busybox:1.36", command: [sh, -c, sleep 100000]}
"""


def write_two_inits(folder: Path) -> Path:
    return _write(folder / "two-inits.yaml", TWO_INITS)


def write_harmless(folder: Path) -> Path:
    return _write(folder / "harmless.yaml", HARMLESS)


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def explore(*words: str | Path) -> int:
    """`kubesim explore WORDS` in this process; its exit code."""
    return main(["explore", *map(str, words)])


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
