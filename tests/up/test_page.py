"""Every command in docs/up.md works as written."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes import start
from tests.support.up import TIMEOUT_S, Up, running_up

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "up.md").read_text()
COMMANDS = re.findall(r"^    (kube(?:sim|ctl) .*)$", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    directory = tmp_path_factory.mktemp("up")
    with running_up(directory, "--nodes", "3", "--speed", "10", "--control", str(directory / "clock")) as up:
        yield up


def test_kubectl_commands_work(up: Up) -> None:
    """In order, as a reader would type them."""
    for command in COMMANDS:
        program, *words = shlex.split(command)
        if program == "kubectl":
            up.kubectl(*words)


@pytest.mark.parametrize("command", [each for each in COMMANDS if each.startswith("kubesim ")])
def test_kubesim_commands_work(command: str, up: Up, tmp_path: Path) -> None:
    is_clock = command.startswith("kubesim clock ")  # of a cluster that runs
    directory = up.kubeconfig.parent if is_clock else tmp_path
    words = [word.replace("./", f"{directory}/") for word in shlex.split(command)[1:]]
    words = [word.replace("127.0.0.1:6443", "127.0.0.1:0") for word in words]
    if "--print-rbac" not in words and not is_clock:
        words += ["--for", "300ms"]
    environ = {**os.environ, "KUBECONFIG": str(up.kubeconfig), "XDG_STATE_HOME": str(tmp_path)}
    process = start(*words, cwd=ROOT, env=environ)
    out, error = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode in (0, 1), error  # a scenario may expect a later state
    assert "kubesim: stopped" in out or out.startswith("apiVersion: rbac") or (is_clock and out[:2] == "20")
