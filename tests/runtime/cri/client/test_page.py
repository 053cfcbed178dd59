"""The commands of docs/cri.md that drive a real runtime work."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from tests.support.machine.containerd import Containerd
from tests.support.processes import kubesim

ROOT = Path(__file__).parents[4]
LONG = ("test",)  # test_scenarios.py runs this one


def test_the_commands_work(containerd: Containerd, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "cri.md").read_text()
    section = page.partition("## Drive a real runtime")[2].partition("\n## ")[0].replace("/tmp/", f"{tmp_path}/")
    found = [shlex.split(line) for line in re.findall(r"^    kubesim (.*)$", section, re.MULTILINE)]
    assert len(found) >= 5
    *runs, listed, cleaned = [words for words in found if words[0] not in LONG]
    together = [
        subprocess.Popen(
            containerd.command(*kubesim(*words)),
            cwd=ROOT,
            env=containerd.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for words in runs
    ]
    for process in together:
        said = process.communicate(timeout=200)[0]
        assert process.returncode == 0, said
    for words in (listed, cleaned):
        done = containerd.kubesim(*words, timeout=60)
        assert (done.returncode, done.stdout, done.stderr) == (0, "nothing is left behind\n", "")
