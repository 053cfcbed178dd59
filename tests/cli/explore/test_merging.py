"""`kubesim explore --shard I/N` on several machines, and `kubesim explore merge` of what they wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.support.explored import explore, write_harmless, write_two_inits

pytestmark = pytest.mark.violates_invariants
Output = pytest.CaptureFixture[str]
FLAGS = ("--budget", "40", "--jobs", "1", "--faults", "reboot", "--invariants", "init-order")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_two_inits(tmp_path)
    return tmp_path


def shards(*labels: str) -> list[int]:
    return [explore("two-inits.yaml", "--shard", label, "--output", "results", *FLAGS) for label in labels]


def test_shards_merged_are_one_run(here: Path, capsys: Output) -> None:
    codes = shards("1/2", "2/2")
    assert sorted(codes) in ([0, 1], [1, 1])
    assert "when all are done: kubesim explore merge results" in capsys.readouterr().out
    assert explore("merge", "results", "-o", "json") == 1
    merged = json.loads(capsys.readouterr().out)
    explore("two-inits.yaml", "--output", "results", "-o", "json", *FLAGS)
    whole = json.loads(capsys.readouterr().out)
    assert {**merged, "seconds": 0, "jobs": 0} == {**whole, "seconds": 0, "jobs": 0}
    assert (here / "results" / "1-invariant-init-order.yaml").is_file()


def test_the_shard_of_a_pod_is_in_its_environment(here: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """And its results are in its log."""
    logs = []
    for index in ("0", "1"):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", index)
        assert explore("two-inits.yaml", "--shard", "auto/2", "-o", "jsonl", "--exit-zero", *FLAGS) == 0
        logs.append(capsys.readouterr().out)
    (here / "all.jsonl").write_text("a line of another program\n" + "".join(reversed(logs)))
    assert explore("merge", "all.jsonl") == 1
    shown = capsys.readouterr()
    assert shown.err == "kubesim: all.jsonl: 1 lines are not results; they were ignored\n"
    assert "kubesim run explore-two-inits/1-invariant-init-order.yaml" in shown.out


def test_results_of_machines_may_be_in_folders_of_their_own(here: Path, capsys: Output) -> None:
    """As the artifacts of the jobs of a CI matrix."""
    shards("1/2", "2/2")
    for number in ("1", "2"):
        (here / "artifacts" / number).mkdir(parents=True)
        shutil.move(here / "results" / f"shard-{number}-of-2.jsonl", here / "artifacts" / number)
    assert explore("merge", "artifacts") == 1
    assert "kubesim run artifacts/1-invariant-init-order.yaml" in capsys.readouterr().out


def test_a_missing_shard_is_no_result(here: Path, capsys: Output) -> None:
    shards("1/3")
    capsys.readouterr()
    assert explore("merge", "results") == 2
    assert capsys.readouterr().err == (
        "kubesim: error: results: shard 2/3, 3/3 is missing: run it again with --shard\n"
    )


def test_different_searches_cannot_be_merged(here: Path, capsys: Output) -> None:
    write_harmless(here)
    shards("1/2")
    explore("harmless.yaml", "--shard", "2/2", "--output", "results", *FLAGS)
    capsys.readouterr()
    assert explore("merge", "results") == 2
    assert "results of 2 different searches" in capsys.readouterr().err


def test_results_of_another_version_are_refused(here: Path, capsys: Output) -> None:
    lines = ({"kind": kind, "search": "a", "shard": "1/1"} for kind in ("search", "end"))
    (here / "old.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert explore("merge", "old.jsonl") == 2
    assert capsys.readouterr().err == "kubesim: error: old.jsonl: these results are from another version of kubesim\n"
