"""The scenarios of scenarios/cri with a real containerd. They have the same expectations with simulated containers."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.machine.containerd import Containerd
from tests.support.processes import kubesim
from tests.support.soak import SOAK

SCENARIOS = Path(__file__).parents[4] / "scenarios" / "cri"
# Only real containers fill volumes. Eviction waits for half a minute after it has killed a pod.
SLOW = [Path(__file__).parent / "data" / "storage-limit.yaml"] if SOAK else []
FILES = [*sorted(SCENARIOS.glob("*.yaml")), *SLOW]


@pytest.fixture(scope="module")
def played(containerd: Containerd) -> dict[str, dict[str, object]]:
    """The result of each scenario, by name. They run at the same time, because they run in real time."""
    words = [*map(str, FILES), "--runtime", "cri", "--jobs", str(len(FILES)), "-o", "json"]
    done = containerd.kubesim("test", *words, timeout=240)
    assert done.stderr == ""
    return {Path(case["file"]).stem: case for case in json.loads(done.stdout)["results"]}


@pytest.mark.parametrize("name", [path.stem for path in FILES])
def test_a_scenario_has_the_same_outcome_with_real_containers(played: dict[str, dict[str, object]], name: str) -> None:
    assert (played[name]["status"], played[name].get("failures", [])) == ("passed", []), played[name]


def test_nothing_is_left(containerd: Containerd, played: dict[str, dict[str, object]]) -> None:
    assert containerd.containers() == []
    assert list(Path(f"{containerd.directory}/xdg/kubesim/cri").iterdir()) == []


def test_the_scenarios_have_the_same_outcome_with_simulated_containers() -> None:
    line = kubesim("test", str(SCENARIOS), "-o", "json")
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=120)
    assert {case["status"] for case in json.loads(done.stdout)["results"]} == {"passed"}
