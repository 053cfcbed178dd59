"""`kubesim explore FILE`: output, files, exit codes, one line for each mistake."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kubesim.cli.explore.report import ProgressLine
from kubesim.explore.search.exploration import SearchProgress
from tests.support.explored import explore, write_harmless, write_two_inits

pytestmark = [
    pytest.mark.violates_invariants,
    # The warning is about forking a process with threads; the children of these tests run only simple code.
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]
Output = pytest.CaptureFixture[str]
REBOOTS = ("--faults", "reboot", "--invariants", "init-order")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_finding_is_printed_with_the_command_that_reproduces_it(here: Path, capsys: Output) -> None:
    write_two_inits(here)
    assert explore("two-inits.yaml", "--budget", "40", "--jobs", "2", *REBOOTS) == 1
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "Decision rules reached:"
    file = "explore-two-inits/1-invariant-init-order.yaml"
    assert lines[5:7] == ["", "1. invariant init-order: reboot after CreateContainer of app:main"]
    assert lines[8].endswith(f"; kubesim run {file}")
    assert lines[-3] == ""
    assert lines[-2].startswith("1 finding; 40 runs")
    assert lines[-1] == f"next: kubesim run {file}; the explanation is in explore-two-inits/1-invariant-init-order.txt"
    assert shown.err == ""
    assert (here / file).is_file()


def test_nothing_found_exits_with_0_and_writes_nothing(here: Path, capsys: Output) -> None:
    write_harmless(here)
    assert explore("harmless.yaml", "--budget", "10", "--jobs", "1", *REBOOTS) == 0
    *table, first, second = capsys.readouterr().out.splitlines()
    assert [len(table), table[0], table[-1]] == [6, "Decision rules reached:", ""]
    assert first.startswith("nothing found; 10 runs in ")
    assert re.fullmatch(r"10 of (\d+) single faults were tried: --budget \1 tries them all", second)
    assert [path.name for path in here.iterdir()] == ["harmless.yaml"]


def test_rules_that_no_run_reached_are_listed_on_request(here: Path, capsys: Output) -> None:
    write_harmless(here)
    assert explore("harmless.yaml", "--budget", "2", "--jobs", "1", "--show-missing", *REBOOTS) == 0
    shown = capsys.readouterr().out
    missing, found, counts = shown.partition("Decision rules reached:")
    assert found
    assert missing.startswith("Decision rules never reached:")
    assert "  workers              the kubelet evicts it\n" in missing
    assert "nothing found; 2 runs" in counts


def test_results_do_not_depend_on_the_number_of_processes(here: Path, capsys: Output) -> None:
    write_two_inits(here)
    found = []
    for jobs in ("1", "2"):
        explore("two-inits.yaml", "--budget", "48", "--jobs", jobs, "-o", "json", "--faults", "reboot,lost")
        reported = json.loads(capsys.readouterr().out)
        found.append({name: value for name, value in reported.items() if name not in ("seconds", "jobs")})
    assert found[0] == found[1]
    assert found[0]["runs"] == 48


def test_the_lines_of_a_search_are_printed_on_request(here: Path, capsys: Output) -> None:
    write_two_inits(here)
    assert explore("two-inits.yaml", "--budget", "40", "--jobs", "1", "-o", "jsonl", *REBOOTS) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["kind"] for line in lines] == ["search", "finding", "rules", "end"]
    assert [path.name for path in here.iterdir()] == ["two-inits.yaml"]


def test_exit_zero_is_for_pipelines_that_judge_later(here: Path) -> None:
    write_two_inits(here)
    assert explore("two-inits.yaml", "--budget", "40", "--jobs", "1", "--exit-zero", *REBOOTS) == 0


def test_another_version_has_other_bugs(here: Path, capsys: Output) -> None:
    write_two_inits(here)
    assert explore("two-inits.yaml", "--budget", "40", "--jobs", "1", "--profile", "v1.37", *REBOOTS) == 0
    *_, last_but_one, last = capsys.readouterr().out.splitlines()
    assert last_but_one.startswith("nothing found")
    assert last.endswith(
        "single faults were tried; --budget 80 tries more combinations; --show-missing lists the rules never reached"
    )


def test_a_time_ends_a_search(here: Path, capsys: Output) -> None:
    write_harmless(here)
    explore("harmless.yaml", "--budget", "500ms", "--jobs", "1", "-o", "json", *REBOOTS)
    reported = json.loads(capsys.readouterr().out)
    assert reported["runs"] > 0
    assert not reported["interrupted"]


def test_an_interrupt_prints_the_results_so_far(here: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    write_two_inits(here)
    interrupt_after(50, monkeypatch)
    assert explore("two-inits.yaml", "--budget", "1000", "--jobs", "1", *REBOOTS) == 130
    lines = capsys.readouterr().out.splitlines()
    assert lines[6].startswith("1. invariant init-order: reboot after CreateContainer of app:main")
    assert re.match(r"interrupted: 1 finding; \d\d runs", lines[-2])
    assert (here / "explore-two-inits" / "results.jsonl").is_file()


def interrupt_after(runs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C after that many runs."""

    def show(self: ProgressLine, progress: SearchProgress) -> None:
        if progress.played == runs:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressLine, "show", show)


def test_a_database_keeps_random_combinations(here: Path, capsys: Output) -> None:
    file = write_two_inits(here)
    assert explore(file, "--budget", "100", "--faults", "reboot", "--jobs", "1", "--database", "kept") == 1
    assert list((here / "kept").iterdir())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ((), "no file: give one FILE, --all DIR, or merge DIR... (see kubesim explore --help)"),
        (("a.yaml", "b.yaml"), "2 files: give one FILE, --all DIR, or merge DIR... (see kubesim explore --help)"),
        (("gone.yaml",), "gone.yaml: no such file"),
        (("-",), "each process reads the file: save standard input in a file, and give that"),
        (("harmless.yaml", "--budget", "0"), "argument --budget: must be at least 1"),
        (("harmless.yaml", "--budget", "10x"), "argument --budget: "),
        (("harmless.yaml", "--jobs", "0"), "argument --jobs: must be at least 1"),
        (("harmless.yaml", "--faults", "rebot"), "--faults: there is no 'rebot'; the names are reboot, "),
        (("harmless.yaml", "--invariants", "order"), "--invariants: there is no 'order'; the names are "),
        (("harmless.yaml", "--executor", "slurm"), "argument --executor: must be one of processes, ray, not 'slurm'"),
        (("harmless.yaml", "--executor", "ray", "--jobs", "2"), "--jobs has no effect with --executor ray"),
        (
            ("harmless.yaml", "--database", "d", "--shard", "1/2"),
            "--database d is for one search on this machine: remove",
        ),
        (("harmless.yaml", "--shard", "5/4"), "argument --shard: 5/4: shard 5 of 4 does not exist"),
        (("harmless.yaml", "--output", "harmless.yaml"), "harmless.yaml: File exists"),
        (("harmless.yaml", "--completions", "3"), "--completions is for --print-job"),
        (("harmless.yaml", "--all", "."), "--all and harmless.yaml: give a directory or a file"),
        (("--all", "harmless.yaml"), "--all harmless.yaml: not a directory; to explore one file: kubesim explore "),
        (("--all", "empty"), "--all empty: has no scenario"),
        (("--all", ".", "--shard", "1/2"), "--shard has no effect with --all: remove it"),
        (("harmless.yaml", "--show-missing", "-o", "json"), "--show-missing has no effect with -o json: remove it; "),
        (("--all", ".", "--show-missing"), "--show-missing has no effect with --all: remove it"),
        (("harmless.yaml", "--show-missing", "--print-job"), "--show-missing has no effect with --print-job: "),
        (("merge",), "merge: give the directories with the results of the shards: kubesim explore merge DIR..."),
        (("merge", "gone"), "gone: no such file or directory"),
        (("merge", "empty"), "empty: has no file of results (*.jsonl)"),
        (("harmless.yaml", "--print-job", "--shard", "1/2"), "--shard has no effect with --print-job: "),
    ],
)
def test_a_mistake_is_one_line(here: Path, capsys: Output, words: tuple[str, ...], problem: str) -> None:
    write_harmless(here)
    (here / "empty").mkdir()
    assert explore(*words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    [line] = shown.err.splitlines()
    assert line.startswith(f"kubesim: error: {problem}")
