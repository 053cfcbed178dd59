"""`--step` without a terminal: a script sends keys and gets screens of 80x24; and usage errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.main import main

ROOT = Path(__file__).parents[3]
ROWS, COLUMNS = 24, 80


CRASHLOOP = "scenarios/crashloop.yaml"


def stepped(lines: str, *arguments: str) -> str:
    return kubesim(lines, "run", "--step", *arguments)


def kubesim(lines: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "kubesim", *arguments]
    done = subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_lab_is_stepped_through(tmp_path: Path) -> None:
    state = ["--state", str(tmp_path)]
    kubesim("", "lab", "start", "4", *state)
    out = kubesim("c\nc\nc\n", "lab", "step", *state, "--break-on", "cri.call StopContainer")
    first, _, second, last = out.split("\n\nlab 4: Who dies last")
    assert first.startswith("lab 4: Who dies last")
    assert "app: StopContainer with a grace period of 25s" in first
    assert "proxy: StopContainer with a grace period of 20s" in second
    assert last.rstrip().endswith("no further break")


def test_a_fault_is_injected_and_removed() -> None:
    out = stepped("g 20s\nikill: {pod: crash}\nI\ni\nI\nikil: {}\n", CRASHLOOP)
    heads = [page.splitlines()[0] for page in out.split("\n\ncrashloop, seed 0")]
    lasts = [page.splitlines()[-1] for page in out.rstrip("\n").split("\n\ncrashloop, seed 0")]
    assert lasts[2].startswith("the run was played again: the same up to #")
    assert lasts[3].startswith("the run was played again: the same up to #")
    assert heads[1] == heads[3]
    assert heads[2] != heads[1]
    assert lasts[4:6] == ["nothing to inject", "nothing is injected; i injects a step or a fault"]
    assert lasts[6] == "kil: unknown field; did you mean kill?"


def test_a_script_gets_a_screen_for_each_line_of_keys() -> None:
    out = stepped("\ng 42\ng 10s\nnope\nq\n", CRASHLOOP)
    pages = out.rstrip("\n").split("\n\ncrashloop, seed 0")
    assert len(pages) == 5
    assert [page.split("#")[1].split()[0] for page in pages][:3] == ["1", "3", "42"]
    assert all(len(page.splitlines()) == ROWS for page in pages[1:])
    assert max(map(len, out.splitlines())) <= COLUMNS
    assert "no such key: 'e'" in pages[4]


def test_the_view_ends_with_its_input() -> None:
    assert stepped("", "scenarios/hello-pod.yaml").startswith("hello-pod, seed 0")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--break-on", "pleg.event", "scenarios/crashloop.yaml"], "--break-on needs --step"),
        (["--step", "a.yaml", "b.yaml"], "steps through one file"),
        (["--step", "-"], "standard input is used for keys"),
        (["--step", "--speed", "10", "a.yaml"], "cannot be combined with --speed"),
        (["--tui", "scenarios/crashloop.yaml"], "--tui needs a terminal"),
        (["--tui", "a.yaml", "b.yaml"], "--tui steps through one file"),
        (["--tui", "-o", "json", "a.yaml"], "--tui cannot be combined with --speed, --serve and --output"),
        (["--tui", "--save", "x", "a.yaml"], "--tui cannot be combined with --save"),
        (["--step", "--break-on", "pleg.evnt", "scenarios/crashloop.yaml"], "there is no kind 'pleg.evnt'"),
    ],
)
def test_usage_errors_are_one_line(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("kubesim: error: ")
    assert problem in printed.err
    assert printed.err.count("\n") == 1


def test_a_script_searches_filters_and_sets_breaks() -> None:
    out = stepped("/CrashLoop\nf nope\nf crash\nB pleg.event ContainerDied\n^\nc\nX\nc\nB pleg.evnt\nq\n", CRASHLOOP)
    pages = out.rstrip("\n").split("\n\ncrashloop, seed 0")
    lasts = [page.splitlines()[-1] for page in pages]
    assert "CrashLoop" in pages[1] or "BackOff" in pages[1]
    assert lasts[2] == "no record of nope"
    assert pages[3].startswith(", only crash")
    assert lasts[4].startswith("break at pleg.event ContainerDied")
    assert "ContainerDied" in pages[6]
    assert lasts[7:9] == ["all breaks are removed", "no break is set; B sets one"]
    assert "there is no kind 'pleg.evnt'" in lasts[9]
