"""The labs of the repository with their runs, each played once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kubesim.cli.lab import play
from kubesim.labs.lesson import Lesson, Run
from kubesim.labs.load import Lab, find_labs, labs_directory
from kubesim.labs.progress import LabProgress
from kubesim.scenario.language import Scenario

LABS = find_labs(labs_directory())


@cache
def _own_run(folder: Path) -> Run:
    return play(next(lab for lab in LABS if lab.folder == folder).scenario())


def lesson(lab: Lab, work: Path, progress: LabProgress | None = None) -> Lesson:
    """A lesson whose run is not played again for every question."""
    own = lab.scenario()

    def remembered(scenario: Scenario) -> Run:
        return _own_run(lab.folder) if scenario == own else play(scenario)

    return Lesson(lab, progress or LabProgress(), remembered, work)
