"""`docs/walk.md`: every command is run, and every text on the page is in its output."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.linux import netns
from tests.support.machine.cni_host import on_host
from tools.walks.page import WALKS
from tools.walks.steps import Shown

ROOT = Path(__file__).parent.parent.parent
PARTS = [part for walk in WALKS for part in walk.parts]
COMMANDS = list(dict.fromkeys(part.command for part in PARTS if not part.host))
ON_HOST = list(dict.fromkeys(part.command for part in PARTS if part.host))


def run(command: str, folder: str) -> tuple[int, str]:
    """Run it as a reader in a clone; returns the exit code and the whole output without the bars of the timeline."""
    first, *words = shlex.split(command)
    assert first == "kubesim"
    environment = {**os.environ, "COLUMNS": "200", "XDG_STATE_HOME": folder, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "kubesim", *words]
    done = subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, in_one_line((done.stdout + done.stderr).replace("│", " "))


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def missing(command: str, code: int, printed: str) -> list[str]:
    """The texts that the page promises for this command and that are missing."""
    shown: list[Shown] = [part for part in PARTS if part.command == command]
    wrong = [f"exit code {code}, not {part.exit}: {printed[-300:]}" for part in shown if part.exit != code]
    steps = [step for part in shown for step in part.steps]
    return wrong + [step.shows for step in steps if (in_one_line(step.shows) in printed) == step.is_absent]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("scenarios", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_demonstrates_the_steps(command: str, clone: Path) -> None:
    assert missing(command, *run(command, str(clone))) == []


def commands_on_a_host(folder: str) -> list[tuple[int, str]]:
    netns.new_netns("/var/run/netns/blue")
    return [run(command, folder) for command in ON_HOST]


def test_the_commands_for_a_namespace_demonstrate_the_steps_in_order(clone: Path) -> None:
    printed = on_host(commands_on_a_host, folder=str(clone))
    assert len(printed) > 3
    assert [missing(command, *done) for command, done in zip(ON_HOST, printed, strict=True)] == [[]] * len(ON_HOST)


def test_no_step_is_on_the_page_twice() -> None:
    for walk in WALKS:
        steps = [(step.what, step.shows) for part in walk.parts for step in part.steps]
        assert len(steps) == len({*steps}), walk.title
