"""`--step` in a terminal of 80x24, and driven by a script."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.main import main
from kubesim.cli.output.stepping import keys_of
from tools.step_screens import (
    COLOUR,
    COLUMNS,
    CRASH,
    CRASH_KEYS,
    LAB,
    LAB_KEYS,
    ROOT,
    ROWS,
    SCREENS,
    StepTerminal,
    screens,
)


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
    assert "app: StopContainer with a grace period of 25s" in shown["lab-1-stop"]
    assert "proxy: StopContainer with a grace period of 20s" in shown["lab-2-last-stop"]
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
        (["--step", "a.yaml", "b.yaml"], "steps through one file"),
        (["--step", "-"], "standard input is used for keys"),
        (["--step", "--speed", "10", "a.yaml"], "cannot be combined with --speed"),
        (["--step", "--break-on", "pleg.evnt", "scenarios/crashloop.yaml"], "there is no kind 'pleg.evnt'"),
    ],
)
def test_wrong_use_is_reported_in_one_line(
    arguments: list[str], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    reported = capsys.readouterr()
    assert reported.out == ""
    assert reported.err.startswith("kubesim: error: ")
    assert problem in reported.err
    assert reported.err.count("\n") == 1


STEP = ["run", "--step", "scenarios/crashloop.yaml"]


def test_it_uses_the_alternate_screen_and_leaves_it() -> None:
    with StepTerminal(STEP) as terminal:
        assert terminal.first  # which begins with the escape sequence
        terminal.press("?")
        assert terminal.quit().endswith("\x1b[?25h\x1b[?1049l")


def test_the_screen_after_a_page_of_the_help_is_not_blank() -> None:
    with StepTerminal(STEP, NO_COLOR="1") as terminal:
        assert terminal.press("?nz") == terminal.first
        assert terminal.press("wnnnw") == terminal.first
        terminal.quit()


def test_it_is_drawn_again_when_the_terminal_changes_its_size() -> None:
    with StepTerminal(STEP, NO_COLOR="1") as terminal:
        larger = terminal.resize(40, 120)
        assert len(larger.splitlines()) == 40
        assert "-" * 120 in larger
        assert terminal.resize(24, 80) == terminal.first
        terminal.quit()


def test_colours_are_all_that_no_color_takes_away() -> None:
    with StepTerminal(STEP) as coloured, StepTerminal(STEP, NO_COLOR="1") as plain:
        for keys in ("", "c", "nnnn", "$", "?"):
            painted, text = coloured.press(keys), plain.press(keys)
            assert "\x1b" in painted
            assert "\x1b" not in text
            assert [row.rstrip() for row in COLOUR.sub("", painted).splitlines()] == text.splitlines()
        coloured.quit()
        plain.quit()


def test_home_and_end_and_a_filter_by_node() -> None:
    with StepTerminal(["run", "--step", "scenarios/two-nodes.yaml"], NO_COLOR="1") as terminal:
        assert "#1 of" not in terminal.press("\x1b[F")
        assert terminal.press("\x1b[H") == terminal.first
        shown = terminal.press("fnode=node-2\n")
        assert ", only node=node-2" in shown
        for _ in range(5):
            assert "node-1 " not in terminal.press("n").split("LOOP")[0]
        terminal.quit()


def test_a_script_searches_filters_and_sets_breaks() -> None:
    out = stepped("/CrashLoop\nf nope\nf crash\nB pleg.event ContainerDied\n^\nc\nX\nc\nB pleg.evnt\nq\n", STEP[-1])
    pages = out.rstrip("\n").split("\n\ncrashloop, seed 0")
    lasts = [page.splitlines()[-1] for page in pages]
    assert "CrashLoop" in pages[1] or "BackOff" in pages[1]
    assert lasts[2] == "no record of nope"
    assert pages[3].startswith(", only crash")
    assert lasts[4].startswith("break at pleg.event ContainerDied")
    assert "ContainerDied" in pages[6]
    assert lasts[7:9] == ["all breaks are removed", "no break is set; B sets one"]
    assert "there is no kind 'pleg.evnt'" in lasts[9]


def test_keys_that_a_terminal_sends_at_once_are_separated() -> None:
    assert list(keys_of("a\x1b[C\x1b[1~\x1b[6~\r")) == ["a", "n", "home", "page down", "\n"]
    assert list(keys_of("\x1b")) == ["escape"]
    assert list(keys_of("\x1b[99;5u")) == ["escape"]
