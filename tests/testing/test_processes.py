"""Cases in worker processes: a crash or timeout affects one case only."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from kubesim.testing.cases import ScenarioCase, collect
from kubesim.testing.processes import run_in_processes
from kubesim.testing.results import CaseResult
from tests.support.scenario_files import write_scenario

# The warning is about forking a process with threads; the children of these tests run only simple code.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


@pytest.fixture
def cases(tmp_path: Path) -> list[ScenarioCase]:
    for name in ("a", "b", "c", "d"):
        write_scenario(tmp_path, name)
    return collect([str(tmp_path)]).cases


def reported(case: ScenarioCase) -> CaseResult:
    return CaseResult(case.file, case.scenario.name, case.seed, met=os.getpid())


def kills_itself(case: ScenarioCase) -> CaseResult:
    if case.scenario.name == "b":
        os.kill(os.getpid(), signal.SIGKILL)
    if case.scenario.name == "c":
        os._exit(7)
    return reported(case)


def hangs(case: ScenarioCase) -> CaseResult:
    if case.scenario.name == "b":
        signal.pause()
    return reported(case)


def test_every_case_is_run_once(cases: list[ScenarioCase]) -> None:
    results = dict(run_in_processes(cases, reported, jobs=2))
    assert [results[number].scenario for number in range(4)] == ["a", "b", "c", "d"]
    processes = {result.met for result in results.values()}
    assert 1 <= len(processes) <= 2
    assert os.getpid() not in processes


def test_a_process_that_dies_fails_only_its_case(cases: list[ScenarioCase]) -> None:
    results = dict(run_in_processes(cases, kills_itself, jobs=2))
    assert [(results[number].scenario, results[number].problem) for number in range(4)] == [
        ("a", ""),
        ("b", "the process that ran it was killed by SIGKILL"),
        ("c", "the process that ran it ended with exit code 7"),
        ("d", ""),
    ]


def test_a_case_that_times_out_is_stopped(cases: list[ScenarioCase]) -> None:
    results = dict(run_in_processes(cases, hangs, jobs=2, limit_s=2.0))
    assert results[1].problem == "it was stopped after 2s (--timeout)"
    assert [number for number, result in results.items() if result.status == "passed"] != []


def test_a_reader_that_stops_leaves_no_process(cases: list[ScenarioCase]) -> None:
    running = run_in_processes(cases, hangs, jobs=1)
    _, first = next(running)
    running.close()  # type: ignore[attr-defined]
    with pytest.raises(ProcessLookupError):
        os.kill(first.met, 0)
