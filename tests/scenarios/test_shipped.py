"""Every shipped scenario passes, and its comment says what to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_runs, load_scenario

SCENARIOS = sorted((Path(__file__).parent.parent.parent / "scenarios").rglob("*.yaml"))


def test_there_are_scenarios() -> None:
    assert {path.stem for path in SCENARIOS} >= {
        "hello-pod", "two-containers", "init-containers", "job", "crashloop", "graceful-delete", "missing-image",
        "probes", "static-pod", "kubelet-restart", "memory-pressure", "node-shutdown", "resize",
        "configmap-missing", "configmap-update", "three-sources",
    }  # fmt: skip


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_it_passes(path: Path) -> None:
    scenario = load_scenario(str(path))
    assert scenario.spec.expect
    assert scenario.name == path.stem
    for seed in range(5):
        result = run_scenario(scenario, seed=seed)
        assert result.expectations_failed == ()
        assert len(result.expectations_met) == len(scenario.spec.expect)


@pytest.mark.parametrize("path", [path for path in SCENARIOS if "  matrix:" in path.read_text()], ids=lambda p: p.stem)
def test_each_run_of_its_matrix_passes(path: Path) -> None:
    runs = load_runs([str(path)])
    assert len(runs) > 1
    assert [run_scenario(scenario).failures for _, scenario in runs] == [()] * len(runs)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_its_comment_says_what_to_look_at(path: Path) -> None:
    comment = []
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            break
        comment.append(line)
    assert "# Look at:" in "\n".join(comment)
