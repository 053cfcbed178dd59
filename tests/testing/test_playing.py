from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.testing import playing
from kubesim.testing.cases import ScenarioCase, collect
from kubesim.testing.playing import play_case
from tests.support.scenario_files import EXPECTATION_LINE, write_scenario


def case_of(path: Path, seed: int = 0) -> ScenarioCase:
    [case] = collect([str(path)], seeds=(seed,)).cases
    return case


def test_a_scenario_whose_expectations_hold_passes(tmp_path: Path) -> None:
    result = play_case(case_of(write_scenario(tmp_path, "web")))
    assert (result.status, result.met, result.duration, result.snapshot) == ("passed", 1, 10_000_000, "")
    assert len(result.trace_hash) == 64


def test_a_failure_names_the_line_and_the_observation(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "web", phase="Succeeded")
    result = play_case(case_of(path))
    assert result.status == "failed"
    assert result.lines()[0].startswith(f"{path}:{EXPECTATION_LINE}: pod web must have phase Succeeded")
    assert any("hello" in line for line in result.lines())
    assert result.again == f"kubesim test {path} --seeds 0"


def test_an_exception_in_kubesim_is_an_error_of_the_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("seven by zero")

    monkeypatch.setattr(playing, "run_scenario", broken)
    result = play_case(case_of(write_scenario(tmp_path, "web")))
    assert result.status == "error"
    assert result.problem.startswith("a defect of kubesim: ZeroDivisionError: seven by zero (test_playing.py:")


def test_a_timeline_is_stored_compared_and_updated(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "web")
    stored = tmp_path / "web.timeline"
    assert play_case(case_of(path), update=True).snapshot == "written"
    assert "user: create pods" in stored.read_text()
    assert play_case(case_of(path)).snapshot == "same"
    path.write_text(path.read_text().replace("echo hello", "echo goodbye"))
    changed = play_case(case_of(path))
    assert changed.status == "failed"
    [failure] = changed.failures
    assert (failure.file, failure.text) == (str(stored), "the timeline must equal the stored one")
    assert any(line.startswith("+") and "goodbye" in line for line in failure.records)
    assert play_case(case_of(path), update=True).status == "passed"
    assert play_case(case_of(path)).snapshot == "same"


def test_without_a_request_only_existing_timelines_are_updated(tmp_path: Path) -> None:
    write_scenario(tmp_path, "web")
    [case] = collect([str(tmp_path)]).cases
    assert play_case(case, update=True).snapshot == ""
    assert not (tmp_path / "web.timeline").exists()
