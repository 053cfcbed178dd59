"""The shipped labs with their runs, each run once."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from kubesim.cli.lab import play
from kubesim.labs.lesson import Lesson
from kubesim.labs.load import Lab, find_labs, labs_directory
from kubesim.labs.network import play_network
from kubesim.labs.playing import LessonRun
from kubesim.labs.progress import LabProgress
from kubesim.scenario.language.document import Scenario

LABS = find_labs(labs_directory())


@cache
def _own_run(folder: Path, profile: str = "") -> LessonRun:
    lab = next(lab for lab in LABS if lab.folder == folder)
    return play(lab.scenario(profile)) if lab.network is None else LessonRun(play_network(lab.network), ())


def lesson(lab: Lab, work: Path, progress: LabProgress | None = None) -> Lesson:
    """A lesson whose run all tests share."""

    def remembered(scenario: Scenario) -> LessonRun:
        return _own_run(lab.folder) if lab.network is None and scenario == lab.scenario() else play(scenario)

    own = Lesson(lab, progress or LabProgress(), remembered, work)
    own._runs = {profile: _own_run(lab.folder, profile) for profile in {"", *(q.profile for q in lab.file.questions)}}
    return own
