"""README shows commands: each of them works, and what it shows of their output is what they print."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, re.MULTILINE)
LINES = [line.strip() for block in BLOCKS for line in block.splitlines()]
COMMANDS = [line.removeprefix("$ ") for line in LINES if re.match(r"(\$ )?(kubesim|cat) ", line)]


def run(command: str, folder: Path) -> str:
    """A command of README, with `kubesim` from this tree; what it writes goes to `folder`."""
    first, _, second = command.rpartition(" | ")
    given = (ROOT / first.removeprefix("cat ")).read_text() if first else ""
    words = [str(folder / word) if word == "answers" else word for word in shlex.split(second)]
    assert words[0] == "kubesim"
    done = subprocess.run(
        [sys.executable, "-m", "kubesim", *words[1:]],
        input=given,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_it_starts_with_the_two_commands() -> None:
    assert [line.split()[:2] for line in LINES[:2]] == [["make", "demo"], ["make", "test"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_works(command: str, tmp_path: Path) -> None:
    assert run(command, tmp_path)


def test_the_excerpt_is_real(tmp_path: Path) -> None:
    """Every line of the excerpt is printed by the command, or by the other scenario it quotes."""
    block = next(block for block in BLOCKS if "$ kubesim run" in block)
    shown = [line.strip() for line in block.splitlines()[1:] if line.strip() and line.strip() != "..."]
    printed = run("kubesim run scenarios/hello-pod.yaml", tmp_path)
    assert len(shown) > 8
    lines = {line.strip() for line in printed.splitlines()}
    assert [line for line in shown if line not in lines] == []


def test_the_numbers_are_right() -> None:
    from kubesim.conformance import narrowing
    from kubesim.conformance.frame import read_cases
    from tests.conformance.test_corpora import AT_LEAST, CORPORA

    cases = sum(1 for path in CORPORA for _ in read_cases(path))
    assert f"{cases:,} cases" in README
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    rules = (narrowing.__doc__ or "").count("\n* ")
    assert f"there are {words[rules]}" in " ".join(README.split())
    assert f"{words[500 - AT_LEAST['lifecycle_trace']].capitalize()} of the 500 whole lives" in README


def test_every_make_target_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in set(re.findall(r"\bmake (\w+)", README)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
