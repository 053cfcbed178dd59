"""Every command in docs/explore.md works as written, and prints the lines that follow it there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.support.explored import run_kubesim
from tests.support.up import running_up

ROOT = Path(__file__).parents[3]
# A command, and the indented lines after it.
BLOCK = re.compile(r"^    (kube(?:sim|ctl) .*)\n(?:\n((?:    (?!kube).+\n)+))?", re.MULTILINE)
PAGE = [(command, [line.strip() for line in shown.splitlines()]) for command, shown in BLOCK.findall(
    (ROOT / "docs" / "explore.md").read_text()
)]  # fmt: skip

pytestmark = [
    pytest.mark.violates_invariants,
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def test_kubesim_commands_work_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    played = 0
    for command, shown in PAGE:
        if command.startswith("kubectl "):
            continue
        first, _, other = command.partition(" | ")
        assert other in ("", "kubectl apply -f -")  # tests/cli/explore/test_job.py applies it
        code = run_kubesim(*shlex.split(first)[1:])
        found = capsys.readouterr()
        assert code in (0, 1), found.err
        for line in shown:
            assert line in found.out, command
        if other:
            assert [each["kind"] for each in yaml.safe_load_all(found.out)] == ["ConfigMap", "Job"]
        played += 1
    assert played >= 7


def test_kubectl_commands_work(tmp_path: Path) -> None:
    commands = [command.partition(" > ")[0] for command, _ in PAGE if command.startswith("kubectl ")]
    assert commands
    with running_up(tmp_path) as up:
        for command in commands:
            up.kubectl(*shlex.split(command)[1:])
