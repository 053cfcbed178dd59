"""`kubesim explore --all DIR`: findings of all scenarios, kept in a directory, continued after kill -9."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kubesim.cli.explore.report import ProgressLine
from kubesim.cli.main import main
from kubesim.explore.campaign import campaign
from kubesim.explore.search.exploration import SearchProgress
from tests.support.explored import explore, write_harmless, write_two_inits
from tests.support.soak import LONG, SOAK

pytestmark = pytest.mark.violates_invariants
Output = pytest.CaptureFixture[str]
FLAGS = ("--profile", "v1.36", "--faults", "reboot", "--invariants", "init-order", "--jobs", "1", "--output", "kept")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(campaign, "EPISODE_RUNS", 40)
    write_two_inits(tmp_path / "all")
    write_harmless(tmp_path / "all" / "more")
    return tmp_path


def lines(here: Path) -> list[dict[str, Any]]:
    """The lines of the log, without times."""
    read = [json.loads(line) for line in (here / "kept" / "campaign.jsonl").read_text().splitlines()]
    return [{name: value for name, value in line.items() if name != "seconds"} for line in read]


def test_findings_are_kept_and_reproduced(here: Path, capsys: Output) -> None:
    assert explore("--all", "all", "--budget", "80", *FLAGS) == 1
    shown = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"1\. invariant init-order: all/two-inits\.yaml, v1\.36, seed \d+", shown[0])
    assert shown[1] == "   kubesim run kept/1-invariant-init-order.yaml"
    assert re.match(r"1 finding; 80 runs in \d+ s, \d+ runs/s; \d+ rules reached; \d+ episodes of 2 of 2 ", shown[-1])
    assert main(["run", "kept/1-invariant-init-order.yaml"]) == 1


def test_an_interrupted_campaign_continues(here: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(ProgressLine, "show", interrupting(20))
        assert explore("--all", "all", "--budget", "80", *FLAGS) == 130
    *_, summary, hint = capsys.readouterr().out.splitlines()
    assert summary.startswith("interrupted: ")
    assert hint == "the same command continues it; what it found is in kept"
    before = lines(here)
    assert explore("--all", "all", "--budget", "80", *FLAGS) == 1
    assert capsys.readouterr().err.startswith("kubesim: kept has 1 episodes with ")
    assert lines(here)[: len(before)] == before
    assert sum(line["runs"] for line in lines(here)[1:]) >= 80


def test_a_killed_campaign_continues_as_if_it_had_not_been_killed(here: Path, capsys: Output) -> None:
    """kill -9 leaves complete lines, and at most a half one: the episode that was running is searched again."""
    explore("--all", "all", "--budget", "80", *FLAGS)
    whole, log = lines(here), here / "kept" / "campaign.jsonl"
    first, second, *_ = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(first + second + b'{"file": "all/two-in')
    explore("--all", "all", "--budget", "80", *FLAGS)
    assert lines(here) == whole


def test_a_larger_budget_continues_a_campaign(here: Path, capsys: Output) -> None:
    for runs, episodes in (("10", 1), ("10", 1), ("20", 2)):
        explore("--all", "all", "--budget", runs, *FLAGS)
        assert len(lines(here)) == 1 + episodes


def test_another_campaign_needs_another_directory(here: Path, capsys: Output) -> None:
    explore("--all", "all", "--budget", "10", *FLAGS)
    capsys.readouterr()
    assert explore("--all", "all", "--budget", "10", "--seed", "1", *FLAGS) == 2
    assert capsys.readouterr().err == "kubesim: error: kept has a campaign with other seed: choose another --output\n"
    (here / "kept" / "campaign.jsonl").write_text("nonsense\n")
    assert explore("--all", "all", *FLAGS) == 2
    assert capsys.readouterr().err.endswith("is no log of a campaign: choose another --output\n")


def test_scenarios_that_cannot_be_explored_are_named(here: Path, capsys: Output) -> None:
    path = here / "all" / "more" / "harmless.yaml"
    path.write_text(path.read_text().replace("duration: 30s", "duration: 30s\n  runtime: cni"))
    explore("--all", "all", "--budget", "80", *FLAGS)
    assert "not explored: all/more/harmless.yaml: only runtime simulated can be explored" in capsys.readouterr().out


def test_a_scenario_that_needs_its_own_version_is_explored_with_that(here: Path) -> None:
    """A feature gate of v1.30 that later versions do not have."""
    for path in (here / "all" / "two-inits.yaml", here / "all" / "more" / "harmless.yaml"):
        gates = "\n  profile: v1.30\n  featureGates: {SidecarContainers: false}"
        path.write_text(path.read_text().replace("spec:\n  duration: ", f"spec:{gates}\n  duration: "))
    flags = ("--faults", "reboot", "--invariants", "init-order", "--jobs", "1", "--output", "kept")
    explore("--all", "all", "--budget", "120", *flags)
    assert {line["problem"] for line in lines(here)[1:]} == {""}
    assert "v1.30" in {line["profile"] for line in lines(here)[1:]}


def interrupting(runs: int) -> Any:
    def show(self: ProgressLine, progress: SearchProgress) -> None:
        if progress.played == runs:
            raise KeyboardInterrupt

    return show


@LONG
def test_the_shipped_scenarios_have_no_defect_of_kubesim(here: Path, capsys: Output) -> None:
    """An hour in `make soak`. Findings may be bugs of the kubelet, but never a crash, a deadlock or a difference."""
    root = Path(__file__).parents[3]
    budget = "1h" if SOAK else "60"
    assert explore("--all", root / "scenarios", "--budget", budget, "--output", "kept", "-o", "json") in (0, 1)
    rules = {rule for line in lines(here)[1:] for rule, _ in line["findings"]}
    fine = ("invariant ", "expectation", "no convergence")
    assert not {rule for rule in rules if not rule.startswith(fine)}
