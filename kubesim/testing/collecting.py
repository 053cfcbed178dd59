"""Collects scenario files as pytest tests, one for each seed and matrix cell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from kubesim.testing.cases import ScenarioCase, collect, parse_seeds
from kubesim.testing.playing import play_case
from kubesim.testing.results import CaseResult
from kubesim.values import replace


class ScenarioFailed(Exception):
    """A scenario failed its expectations."""

    def __init__(self, result: CaseResult) -> None:
        super().__init__("\n".join(result.lines()))
        self.result = result


class ScenarioFile(pytest.File):
    """A file `NAME.scenario.yaml`."""

    def collect(self) -> Iterator[pytest.Item]:
        given = self.config.getoption("--kubesim-seeds")
        try:
            seeds = parse_seeds(given) if given else ()
        except ValueError as error:
            raise pytest.UsageError(f"--kubesim-seeds: {error}") from None
        found = collect([_shown(str(self.path))], seeds)
        if found.problems:
            raise self.CollectError("\n".join(map(str, found.problems)))
        for case in found.cases:
            case = replace(case, named=False)  # no snapshot of this single file was requested
            name = case.scenario.name.partition(" [")[0]  # the label includes the matrix cell
            yield ScenarioTest.from_parent(self, name=f"{name}[{case.label}]", case=case)


def _shown(path: str) -> str:
    """The file name as pytest displays it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


class ScenarioTest(pytest.Item):
    """One run."""

    def __init__(self, *, case: ScenarioCase, **rest: Any) -> None:
        super().__init__(**rest)
        self._case = case

    def runtest(self) -> None:
        result = play_case(self._case, update=self.config.getoption("--kubesim-update"))
        if result.status != "passed":
            raise ScenarioFailed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, ScenarioFailed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        return self.path, 0, self.name
