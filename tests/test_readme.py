"""README shows commands: each of them works, and what it shows of their output is what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from kubesim.linux import netns
from tests.support.machine.cni_host import on_host

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, re.MULTILINE)
LINES = [line.strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
WIDTH = "96"  # of the terminal that README shows
COMMANDS = [line.removeprefix("$ ") for line in LINES if re.match(r"(\$ )?(kubesim (?!cni )|cat )", line)]
NETWORKING = [line for line in LINES if line.startswith("kubesim cni ")]


def run(command: str, folder: Path) -> str:
    """A command of README, with `kubesim` from this tree; what it writes goes to `folder`."""
    first, _, second = command.rpartition(" | ")
    given = (ROOT / first.removeprefix("cat ")).read_text() if first else ""
    written = ("answers", "kubelet.log", "report.html")
    words = [str(folder / word) if word in written else word for word in shlex.split(second)]
    assert words[0] == "kubesim"
    environment = {**os.environ, "COLUMNS": WIDTH, "XDG_STATE_HOME": str(folder)}
    line = [sys.executable, "-m", "kubesim", *words[1:]]
    if words[1] == "lab" and words[2] not in ("list", "start"):  # README begins a lab before it goes on with one
        subprocess.run([*line[:3], "lab", "start", "1"], cwd=ROOT, env=environment, capture_output=True, check=True)
    done = subprocess.run(line, input=given, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or (words[1] == "diff" and done.returncode == 1), done.stderr
    said = [line for line in done.stderr.splitlines() if not line.startswith("kubesim: serving on http://127.0.0.1:")]
    assert not said
    return done.stdout


def test_it_starts_with_the_two_commands() -> None:
    assert [line.split()[:2] for line in LINES[:2]] == [["make", "demo"], ["make", "test"]]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_works(command: str, tmp_path: Path) -> None:
    assert run(command, tmp_path)


@pytest.mark.parametrize("block", [block for block in BLOCKS if "$ kubesim " in block])
def test_the_excerpt_is_real(block: str, tmp_path: Path) -> None:
    """Between `...` and `...` every line is as it is printed, and nothing is left out."""
    command, *shown = textwrap.dedent(block).strip("\n").splitlines()
    printed = "\n".join(line.strip() for line in run(command.removeprefix("$ "), tmp_path).splitlines())
    parts = "\n".join(line.strip() for line in shown).split("...")
    assert any(part.strip() for part in parts)
    assert [part for part in parts if part.strip() not in printed] == []


def networking_commands(folder: str) -> list[str]:
    """On a host of its own, with the namespace that README makes."""
    os.environ.update(KUBESIM_CNI_CONF_DIR="scenarios/net.d", KUBESIM_CNI_BIN_DIR="/usr/lib/cni")
    netns.new_netns("/var/run/netns/blue")
    failed = []
    for command in NETWORKING:
        words = [str(Path(folder) / word) if word == "answers" else word for word in shlex.split(command)]
        line = [sys.executable, "-m", "kubesim", *words[1:]]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stderr:
            failed.append(f"{command}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return failed


def test_the_networking_commands_work_one_after_the_other(tmp_path: Path) -> None:
    assert len(NETWORKING) > 5
    assert on_host(networking_commands, folder=str(tmp_path)) == []


def test_the_numbers_are_right() -> None:
    from kubesim.conformance import narrowing
    from kubesim.conformance.frame import read_cases
    from tests.support.corpora import CORPORA

    cases = sum(1 for path in CORPORA for _ in read_cases(path))
    assert f"{cases:,} cases" in README
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
             "thirteen", "fourteen", "fifteen")  # fmt: skip
    rules = (narrowing.__doc__ or "").count("\n* ")
    assert f"there are {words[rules]}" in " ".join(README.split())


def test_every_make_target_it_names_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {one or other for one, other in re.findall(r"^    make (\w+)|`make (\w+)`", README, re.MULTILINE)}
    assert {"demo", "test", "soak"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
