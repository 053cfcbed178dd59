"""`--step` and `--tui` in a real (pseudo-)terminal."""

from __future__ import annotations

import pytest

from tests.support.step_terminal import COLOUR, ENTER, StepTerminal

STEP = ["run", "--step", "scenarios/hello-pod.yaml"]
LAST_KEY = "q quit"


@pytest.mark.parametrize("flag", ["--step", "--tui"])
def test_the_view_uses_the_alternate_screen_and_leaves_it(flag: str) -> None:
    with StepTerminal(["run", flag, "scenarios/hello-pod.yaml"]) as terminal:
        shown = terminal.until(LAST_KEY, raw=True)
        assert ENTER in shown
        assert COLOUR.search(shown)
        terminal.press("q")
        assert terminal.ended() == 0


def test_no_color_only_removes_the_colours() -> None:
    with StepTerminal(STEP, NO_COLOR="1") as terminal:
        shown = terminal.until(LAST_KEY, raw=True)
        assert not COLOUR.search(shown)
        assert "hello-pod, seed 0" in shown
        terminal.press("\x03")  # Ctrl-C, which quits
        assert terminal.ended() == 0


def test_the_view_is_redrawn_when_the_terminal_is_resized() -> None:
    with StepTerminal(STEP) as terminal:
        terminal.until(LAST_KEY)
        terminal.resize(40, 120)
        terminal.until("─" * 110)
        terminal.press("q")
        assert terminal.ended() == 0


def test_a_fault_is_injected_and_the_view_reopens() -> None:
    with StepTerminal(STEP) as terminal:
        terminal.until(LAST_KEY)
        terminal.press("/Container started\r")
        terminal.until("#36")
        terminal.press("ikill: {pod: hello}\r")
        terminal.until("the run was played again")
        terminal.press("q")
        assert terminal.ended() == 0


def test_a_dumb_terminal_gets_lines() -> None:
    with StepTerminal(STEP, TERM="dumb") as terminal:
        assert ENTER not in terminal.until(LAST_KEY, raw=True)
        terminal.press("q\n")
        assert terminal.process.wait(timeout=60) == 0
