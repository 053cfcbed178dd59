"""The README: its commands work in the environment of `make demo`, and its excerpts are real output."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.attach.pods import pod, running
from tests.support.cluster import kubeconfig as kubeconfigs
from tests.support.cluster.served import served_cluster
from tests.support.demo_environment import REQUIREMENTS, link_packages, packages, python

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"(?:^    .*\n|^\n(?=    ))+", README, re.MULTILINE)
LINES = [line.strip() for block in BLOCKS for line in block.splitlines() if line.strip()]
WIDTH = "96"  # width of the terminal in the README
COMMANDS = [line.removeprefix("$ ") for line in LINES if re.match(r"(\$ )?(kubesim |kubectl )", line)]
POD = "tests/attach/crashloop.json"  # replaces the output of kubectl


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_packages(tmp_path_factory.mktemp("demo") / "packages")


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The kubeconfig of a cluster with the node and the pod in the README."""
    with served_cluster(tokens=["t0ken"]) as served:
        served.call(served.store.create, pod(running(), metadata={"uid": ""}, spec={"nodeName": "worker-1"}))
        folder = tmp_path_factory.mktemp("kubeconfig")
        yield kubeconfigs.kubeconfig(folder / "config", served.address, {"token": "t0ken"})


def run(command: str, demo: Path, folder: Path, kubeconfig: str = "") -> str:
    """Run a command of the README with the packages of `make demo`; its output files go to `folder`."""
    first, _, second = command.rpartition(" | ")
    given = (ROOT / POD).read_text() if first.startswith("kubectl ") else ""
    words = [str(folder / word) if word == "kubelet.log" else word for word in shlex.split(second)]
    assert words[0] == "kubesim"
    interpreter, variables = python(demo)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KUBESIM_"))}
    environment = {**kept, **variables, "COLUMNS": WIDTH, "XDG_STATE_HOME": str(folder), "KUBECONFIG": kubeconfig}
    line = [*interpreter, "-m", "kubesim", *words[1:]]
    done = subprocess.run(line, input=given, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 or (words[1] == "diff" and done.returncode == 1), done.stderr
    assert not done.stderr or words[1] == "attach", done.stderr  # attach warns about permissions that it cannot see
    return done.stdout


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_it_starts_with_the_two_commands() -> None:
    assert [line.split()[:2] for line in LINES[:2]] == [["make", "demo"], ["make", "test"]]


def test_make_demo_installs_the_packages_that_its_commands_need() -> None:
    makefile = (ROOT / "Makefile").read_text()
    rule = re.search(r"^\$\(VENV\)/\.installed:.*\n(?:\t.*\n)+", makefile, re.MULTILINE)
    assert rule is not None
    assert re.findall(r"\$\(PINNED\) (\S+)", rule.group()) == list(REQUIREMENTS)
    assert {"pydantic", "kubernetes", "aiohttp"} <= set(packages())


def test_the_environment_has_no_other_package(demo: Path, tmp_path: Path) -> None:
    interpreter, variables = python(demo)
    done = subprocess.run(
        [*interpreter, "-c", "import pytest"], env=variables, capture_output=True, text=True, check=False
    )
    assert "No module named 'pytest'" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_works(command: str, demo: Path, kubeconfig: str, tmp_path: Path) -> None:
    assert run(command, demo, tmp_path, kubeconfig)


@pytest.mark.parametrize("block", [block for block in BLOCKS if "$ kubesim " in block])
def test_the_excerpt_is_real_output(block: str, demo: Path, tmp_path: Path) -> None:
    """Between `...` and `...`, lines are printed as shown and without gaps."""
    command, *shown = textwrap.dedent(block).strip("\n").splitlines()
    printed = "\n".join(line.strip() for line in run(command.removeprefix("$ "), demo, tmp_path).splitlines())
    parts = "\n".join(line.strip() for line in shown).split("...")
    assert any(part.strip() for part in parts)
    assert [part for part in parts if part.strip() not in printed] == []


def test_the_numbers_are_correct() -> None:
    from kubesim.conformance import narrowing
    from kubesim.conformance.frame import read_cases
    from tests.support.corpora import CORPORA, STORIES, WORKLOADS

    cases = sum(1 for path in CORPORA for _ in read_cases(path))
    flat = " ".join(README.split())
    assert f"{cases:,} cases" in flat
    assert f"{len(STORIES)} recorded stories" in flat
    assert f"{len(WORKLOADS)} of the real controllers" in flat
    incidents = list((ROOT / "scenarios" / "incidents").glob("*.yaml"))
    assert f"{len(incidents)} incidents" in flat
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
             "thirteen", "fourteen", "fifteen")  # fmt: skip
    rules = (narrowing.__doc__ or "").count("\n* ")
    page = (ROOT / "docs" / "how-to" / "conformance.md").read_text()
    assert f"there are {words[rules]}" in " ".join(page.split())


def test_every_make_target_in_it_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = {one or other for one, other in re.findall(r"^    make (\w+)|`make (\w+)`", README, re.MULTILINE)}
    assert {"demo", "test", "soak"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
