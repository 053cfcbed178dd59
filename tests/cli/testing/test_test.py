"""`kubesim test`: output and exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

from junitparser import JUnitXml

from tests.support.processes import kubesim, start
from tests.support.scenario_files import EXPECTATION_LINE, write_scenario

ENDLESS = "while true; do sleep 0.001; done"


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        kubesim("test", *words), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_one_line_per_test_failure_details_and_a_summary(tmp_path: Path) -> None:
    write_scenario(tmp_path, "good")
    write_scenario(tmp_path, "bad", phase="Succeeded")
    done = run(tmp_path, ".", "--seeds", "1..2", "--jobs", "2", "--junit", "out/results.xml")
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert [re.sub(r"[\d.]+ s", "T s", line) for line in lines[:4]] == [
        "FAILED  ./bad.yaml   seed 1, 10s in T s, 1 of 1 failed",
        "FAILED  ./bad.yaml   seed 2, 10s in T s, 1 of 1 failed",
        "ok      ./good.yaml  seed 1, 10s in T s",
        "ok      ./good.yaml  seed 2, 10s in T s",
    ]
    assert "FAILED ./bad.yaml (seed 1)" in lines
    assert any(line.startswith(f"  ./bad.yaml:{EXPECTATION_LINE}: pod bad must have phase Succeeded") for line in lines)
    assert "  again: kubesim test ./bad.yaml --seeds 2" in lines
    assert re.fullmatch(r"2 passed, 2 failed in [\d.]+ s on 2 processes", lines[-1])
    read = JUnitXml.fromfile(str(tmp_path / "out" / "results.xml"))
    assert (read.tests, read.failures, read.errors) == (4, 2, 0)


def test_json_and_annotations_for_github(tmp_path: Path) -> None:
    write_scenario(tmp_path, "good")
    write_scenario(tmp_path, "bad", phase="Succeeded")
    reported = json.loads(run(tmp_path, "good.yaml", "bad.yaml", "-o", "json").stdout)
    assert (reported["passed"], reported["failed"], reported["errors"], reported["interrupted"]) == (1, 1, 0, False)
    assert [result["file"] for result in reported["results"]] == ["good.yaml", "bad.yaml"]
    assert reported["results"][1]["failures"][0]["line"] == EXPECTATION_LINE
    annotated = run(tmp_path, ".", "-o", "github")
    assert annotated.returncode == 1
    mark = (
        f"::error file=./bad.yaml,line={EXPECTATION_LINE},title=bad (seed 0)::pod bad must have phase Succeeded by 5s, "
    )
    assert any(line.startswith(mark) for line in annotated.stdout.splitlines())


def test_errors_of_all_files_are_reported_before_anything_runs(tmp_path: Path) -> None:
    write_scenario(tmp_path, "good")
    bad = write_scenario(tmp_path, "bad")
    bad.write_text(bad.read_text().replace("duration: 10s", "duration: 10\n  sed: 1"))
    done = run(tmp_path, ".", "-o", "github")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "kubesim: error: ./bad.yaml:8: spec.duration: a duration needs its unit: 10s",
        "kubesim: error: ./bad.yaml:9: spec.sed: unknown field; did you mean seed?",
    ]
    assert [line.partition("::")[2].partition(",title")[0] for line in done.stdout.splitlines()] == [
        "error file=./bad.yaml,line=8",
        "error file=./bad.yaml,line=9",
    ]


def test_usage_errors_are_one_line(tmp_path: Path) -> None:
    write_scenario(tmp_path, "good")
    for words, reported in (
        (("absent",), "absent: no such file"),
        (("good.yaml", "-k", "other"), "no scenario has 'other' in its path or name"),
        (("good.yaml", "--seeds", "3..1"), "argument --seeds: 3..1: the last seed"),
        (("good.yaml", "--jobs", "0"), "argument --jobs: must be at least 1"),
    ):
        done = run(tmp_path, *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), words
        assert reported in done.stderr


def test_a_bundled_scenario_by_name(tmp_path: Path) -> None:
    done = run(tmp_path, "hello-pod")
    assert (done.returncode, done.stdout.split()[0]) == (0, "ok")


def test_timelines_are_stored_on_request_and_compared(tmp_path: Path) -> None:
    path = write_scenario(tmp_path, "good")
    assert "timeline written" in run(tmp_path, "good.yaml", "--update").stdout
    assert run(tmp_path, "good.yaml").returncode == 0
    path.write_text(path.read_text().replace("echo hello", "echo goodbye"))
    done = run(tmp_path, "good.yaml")
    assert done.returncode == 1
    assert re.search(
        r"good.timeline:\d+: the timeline must equal the stored one, but the first difference is in", done.stdout
    )


def test_an_interrupt_prints_the_results_so_far(tmp_path: Path) -> None:
    write_scenario(tmp_path, "a")
    endless = write_scenario(tmp_path, "b", script=ENDLESS)
    endless.write_text(endless.read_text().replace("duration: 10s", "duration: 10000h"))
    with start("test", ".", "--jobs", "1", cwd=tmp_path) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        running.send_signal(signal.SIGINT)
        rest, errors = running.communicate()
    assert first.startswith("ok      ./a.yaml")
    assert (running.returncode, errors) == (130, "")
    assert rest.splitlines()[-1].startswith("interrupted: 1 passed, 1 not run")


def test_a_test_that_times_out_is_stopped(tmp_path: Path) -> None:
    endless = write_scenario(tmp_path, "b", script=ENDLESS)
    endless.write_text(endless.read_text().replace("duration: 10s", "duration: 10000h"))
    done = run(tmp_path, "b.yaml", "--timeout", "1s")
    assert done.returncode == 1
    assert "  b.yaml: it was stopped after 1s (--timeout)" in done.stdout.splitlines()


def test_shards_share_the_tests(tmp_path: Path) -> None:
    """The jobs of a CI matrix; a shard may be empty."""
    for name in ("a", "b", "c"):
        write_scenario(tmp_path, name)
    shares = [json.loads(run(tmp_path, ".", "--shard", f"{number}/4", "-o", "json").stdout) for number in range(1, 5)]
    assert [[result["file"] for result in share["results"]] for share in shares] == [
        ["./a.yaml"],
        ["./b.yaml"],
        ["./c.yaml"],
        [],
    ]
    assert shares[3]["passed"] == 0


def test_an_executor_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    write_scenario(tmp_path, "good")
    for words, problem in (
        (("--executor", "slurm"), "argument --executor: must be one of processes, ray, not 'slurm'"),
        (("--executor", "ray", "--jobs", "2"), "--jobs has no effect with --executor ray"),
    ):
        done = run(tmp_path, ".", *words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"kubesim: error: {problem}")
        assert len(done.stderr.splitlines()) == 1
