"""Shell completion in real shells (Debian: zsh, fish)."""

from __future__ import annotations

import os
import pty
import re
import select
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubesim.cli.main import main, make_parser
from kubesim.cli.testing.completion_words import command_words

ROOT = Path(__file__).parents[3]
# A line and its completions: commands, flags, values, scenario names, files, directories.
LINES = [
    ("kubesim scen", "scenario"),
    ("kubesim scenario val", "validate"),
    ("kubesim test --ju", "--junit"),
    ("kubesim test -o gi", "github"),
    ("kubesim run crashl", "crashloop"),
    ("kubesim run scenarios/crash", "scenarios/crashloop.yaml"),
    ("kubesim scenario new --dir scen", "scenarios"),
]
LIMIT_S = 120.0  # for a shell that does not answer


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["completion", shell]) == 0
    return capsys.readouterr().out


def test_every_command_and_flag_is_completed() -> None:
    words = {command.name: command for command in command_words(make_parser())}
    assert {"", "run", "test", "scenario fmt", "lab start", "cni add", "completion"} <= set(words)
    assert [word for word, _ in words["completion"].words] == ["bash", "zsh", "fish"]
    flags = {name: flag for flag in words["test"].flags for name in flag.names}
    assert (flags["--junit"].argument, flags["-o"].words, flags["--update"].argument) == (
        "file",
        ("text", "json", "github"),
        "",
    )


def test_bash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calls = [
        f"COMP_WORDS=({' '.join(map(shlex.quote, line.split()))}); COMP_CWORD={len(line.split()) - 1}; _kubesim; "
        'echo "${COMPREPLY[*]}"'
        for line, _ in LINES
    ]
    program = script("bash", capsys) + "\n".join(calls)
    done = subprocess.run(["bash", "-uc", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert [line.split() for line in done.stdout.splitlines()] == [[wanted] for _, wanted in LINES]


def test_fish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kubesim.fish"
    file.write_text(script("fish", capsys))
    calls = "\n".join(f"complete -C {shlex.quote(line)}; echo ===" for line, _ in LINES)
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    line = ["fish", "-c", f"source {file}\n{calls}"]
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    found = [
        [each.split("\t")[0].rstrip("/") for each in part.split("\n") if each] for part in done.stdout.split("===\n")
    ]
    assert found[: len(LINES)] == [[wanted] for _, wanted in LINES]


@pytest.fixture
def zsh(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[int]:
    """A terminal with a zsh that completes kubesim."""
    (tmp_path / "kubesim.zsh").write_text(script("zsh", capsys))
    ours, theirs = pty.openpty()
    environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "> ", "LC_ALL": "C.UTF-8"}
    with subprocess.Popen(
        ["zsh", "-f", "-i"],
        cwd=ROOT,
        env=environment,
        start_new_session=True,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    ) as shell:
        os.close(theirs)
        begin = f"autoload -Uz compinit; compinit -u -D; source {tmp_path}/kubesim.zsh; print re''ady\n"
        os.write(ours, begin.encode())
        read_until(ours, "ready\r\n")
        yield ours
        shell.kill()
    os.close(ours)


def read_until(terminal: int, wanted: str) -> None:
    seen = ""
    while wanted not in re.sub(r"[\x00-\x09\x0b\x0c\x0e-\x1f]", "", seen):
        ready, _, _ = select.select([terminal], [], [], LIMIT_S)
        assert ready, f"no {wanted!r} in {seen!r}"
        seen += os.read(terminal, 65536).decode(errors="replace")


def test_zsh(zsh: int) -> None:
    for line, wanted in LINES:
        os.write(zsh, f"{line}\t".encode())
        read_until(zsh, f"{line.rpartition(' ')[0]} {wanted}")
        os.write(zsh, b"\x15")  # the line is cleared


def test_an_unknown_shell_is_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert "must be one of bash, zsh, fish, not 'tcsh'" in capsys.readouterr().err
