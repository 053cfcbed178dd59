"""The scenarios of scenarios/cri over CRI in virtual time: our kubelet and client in front of our server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cri_plugin import play

SCENARIOS = sorted((Path(__file__).parents[4] / "scenarios" / "cri").glob("*.yaml"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_has_the_same_outcome_over_cri(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result, calls = play(path, tmp_path, monkeypatch)
    assert [str(each) for each in result.failures] == []
    assert {"RunPodSandbox", "CreateContainer", "StartContainer"} <= {call.method for call in calls}
