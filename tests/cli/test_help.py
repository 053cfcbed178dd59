"""`kubesim --help` is fast because it imports nothing heavy. A run imports only what it uses."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kubesim import __version__
from kubesim.cli.main import COMMANDS, main, make_parser
from tools.docs_pages import subparsers

HEAVY = ("pydantic", "yaml", "anyio", "asyncio", "structlog", "kubernetes", "kubesim.api", "kubesim.kubelet",
         "kubesim.runtime", "kubesim.cni", "kubesim.scenario", "kubesim.app", "kubesim.attach",
         "kubesim.conformance")  # fmt: skip

PROGRAM = """
import json, sys
from kubesim.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["run", "--help"],
        ["conformance", "--help"],
        ["explain", "--help"],
        ["cni", "--help"],
        ["cni", "add", "--help"],
        ["test", "--help"],
        ["scenario", "--help"],
        ["completion", "--help"],
    ],
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    assert [name for name in imported_by(arguments) if name in HEAVY] == []


def imported_by(arguments: list[str]) -> list[str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    modules: list[str] = json.loads(done.stdout.splitlines()[-1])
    return modules


def test_a_simulated_run_does_not_import_real_networks() -> None:
    modules = imported_by(["run", "scenarios/hello-pod.yaml"])
    assert "kubesim.app" in modules
    assert [name for name in modules if name.startswith(("kubesim.cni", "kubesim.runtime.containerd.cni_node"))] == []


@pytest.mark.parametrize("flags", [[], ["--step"]], ids=" ".join)
def test_only_the_full_screen_view_imports_textual(flags: list[str]) -> None:
    modules = imported_by(["run", *flags, "scenarios/hello-pod.yaml"])
    assert "kubesim.app" in modules
    assert [name for name in modules if name.partition(".")[0] in ("textual", "rich", "pygments")] == []


def test_every_command_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)


def described(name: str, parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    yield name, parser.description or ""
    for sub, below in subparsers(parser):
        yield from described(f"{name} {sub}", below)


def test_every_command_has_a_description() -> None:
    assert [name for name, text in described("kubesim", make_parser()) if len(text.split()) < 4] == []


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"kubesim {__version__}\n"


def test_python_dash_m_runs_the_same_program() -> None:
    done = subprocess.run([sys.executable, "-m", "kubesim", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"kubesim {__version__}\n"
