"""`--step` in a terminal of 80x24, and driven by a script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.main import main
from tools.step_screens import COLUMNS, CRASH, CRASH_KEYS, LAB, LAB_KEYS, ROOT, ROWS, SCREENS, screens


def test_its_screens_in_a_terminal() -> None:
    shown = dict(screens(CRASH, CRASH_KEYS))
    assert shown.keys() == {path.stem for path in SCREENS.glob("*.txt")}
    for name, text in shown.items():
        assert text == (SCREENS / f"{name}.txt").read_text(), f"{name}: see tools/step_screens.py"


def test_a_lab_is_stepped_through_in_a_terminal(tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path)}
    started = [sys.executable, "-m", "kubesim", "lab", "start", "4", "--state", str(tmp_path / "kubesim")]
    subprocess.run(started, cwd=ROOT, check=True, capture_output=True)
    shown = dict(screens(LAB, LAB_KEYS, **state))
    assert shown["lab-1-stop"].startswith("lab 4: Who dies last")
    assert "app: StopContainer with 25s" in shown["lab-1-stop"]
    assert "proxy: StopContainer with 20s" in shown["lab-2-last-stop"]
    assert shown["lab-3-no-further"].rstrip().endswith("no further break")


def stepped(lines: str, *arguments: str) -> str:
    command = [sys.executable, "-m", "kubesim", "run", "--step", *arguments]
    done = subprocess.run(command, cwd=ROOT, input=lines, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_script_gives_rows_of_keys_and_gets_a_screen_for_each() -> None:
    out = stepped("\ng 42\ng 10s\nnope\nq\n", "scenarios/crashloop.yaml")
    pages = out.rstrip("\n").split("\n\ncrashloop, seed 0")
    assert len(pages) == 5
    assert [page.split("#")[1].split()[0] for page in pages][:3] == ["1", "3", "42"]
    assert all(len(page.splitlines()) == ROWS for page in pages[1:])
    assert max(map(len, out.splitlines())) <= COLUMNS
    assert "no such key: 'e'" in pages[4]


def test_it_ends_with_its_input() -> None:
    assert stepped("", "scenarios/hello-pod.yaml").startswith("hello-pod, seed 0")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--break-on", "pleg.event", "scenarios/crashloop.yaml"], "--break-on needs --step"),
        (["--step", "a.yaml", "b.yaml"], "walks through one file"),
        (["--step", "-"], "standard input is for the keys"),
        (["--step", "--speed", "10", "a.yaml"], "goes without --speed"),
        (["--step", "--break-on", "pleg.evnt", "scenarios/crashloop.yaml"], "there is no kind 'pleg.evnt'"),
    ],
)
def test_wrong_use_is_told_in_one_line(arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("kubesim: error: ")
    assert problem in told.err
    assert told.err.count("\n") == 1
