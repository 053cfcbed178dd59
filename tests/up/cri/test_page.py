"""The commands of docs/cri.md that serve and record work, in order."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

from tests.support.cri_process import running
from tests.support.processes import kubesim
from tests.support.up import TIMEOUT_S

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "cri.md").read_text().partition("## Serve the simulated runtime")[2]


def run(words: list[str]) -> str:
    done = subprocess.run(kubesim(*words), capture_output=True, text=True, cwd=ROOT, timeout=TIMEOUT_S, check=False)
    unused = "kubesim: scenarios/crashloop.yaml: spec.objects, spec.expect: not used by kubesim cri serve\n"
    assert (done.returncode, done.stderr) == (0, unused if "--scenario" in words else "")
    assert done.stdout
    return done.stdout


def test_the_commands_work(tmp_path: Path) -> None:
    given = PAGE.replace("/tmp/", f"{tmp_path}/").replace(" calls.jsonl", f" {tmp_path}/calls.jsonl")
    given = given.replace(" other.jsonl", f" {tmp_path}/calls.jsonl")
    found = [shlex.split(line) for line in re.findall(r"^    kubesim (.*)$", given, re.MULTILINE)]
    socket = tmp_path / "kubesim-cri.sock"
    assert len(found) == 9
    with running(socket, "serve"):
        for words in found:
            if words[1] == "inject":
                words += ["--endpoint", f"unix://{socket}"]
            elif words[1] == "serve":
                words += ["--for", "100ms", "--listen", f"unix://{tmp_path}/other.sock"]
            elif words[1] == "record":
                words += ["--for", "100ms"]
            run(words)
