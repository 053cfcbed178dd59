"""The documentation: pages made from the code are current, every command that is shown works, links lead somewhere."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.main import make_parser
from tests.support.labs import LABS
from tools.docs_pages import DOCS, PAGES, subparsers

ROOT = Path(__file__).parent.parent
PROSE = sorted(DOCS.glob("*.md"))
COMMAND = re.compile(r"^    \$ (.+)$", re.MULTILINE)
INLINE = re.compile(r"`(kubesim \w[^`]*)`")


def commands(text: str) -> list[str]:
    return COMMAND.findall(text)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_made_from_the_code_is_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is old: run make docs"


def run(command: str, place: Path) -> None:
    """As a reader would, in a clone; what it writes stays in `place`."""
    first, _, second = command.rpartition(" | ")
    given = ""
    if first.startswith("cat "):
        given = (place / first.removeprefix("cat ")).read_text()
    elif first.startswith("echo "):
        given = shlex.split(first)[1] + "\n"
    else:
        assert not first, command
    words = shlex.split(second)
    assert words[0] == "kubesim", command
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state"), "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-m", "kubesim", *words[1:]]
    done = subprocess.run(line, input=given, cwd=place, env=environment, capture_output=True, text=True, check=False)
    is_fine = done.returncode == 0 or (words[1] == "diff" and done.returncode == 1)  # 1: there is a difference
    assert (is_fine, done.stderr) == (True, ""), command
    assert done.stdout, command


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("scenarios", "tests", "labs", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


# The commands of the walk have a test of their own, which also looks at what they print.
@pytest.mark.parametrize(
    "page",
    [path for path in PROSE if path.name != "walk.md" and commands(path.read_text())],
    ids=lambda path: path.name,
)
def test_the_commands_of_a_page_work_in_their_order(page: Path, clone: Path) -> None:
    for command in commands(page.read_text()):
        run(command, clone)


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_commands_in_a_labs_text_work(lab: object, clone: Path) -> None:
    from kubesim.labs.load import Lab

    assert isinstance(lab, Lab)
    run(f"kubesim lab start {lab.number}", clone)
    for command in INLINE.findall(lab.text):
        run(command, clone)


def test_commands_within_sentences_exist() -> None:
    """Those with placeholders (`start N`) cannot be run; their parser at least must know them, and their options."""
    found = 0
    for path in [*PROSE, ROOT / "README.md"]:
        for command in INLINE.findall(path.read_text()):
            found += 1
            parser = make_parser()
            for word in shlex.split(command)[1:]:
                below = dict(subparsers(parser))
                if word.startswith("-"):
                    assert word.partition("=")[0] in parser._option_string_actions, f"{path.name}: {command}"
                elif below and not word.isupper():
                    assert word in below, f"{path.name}: {command}"
                    parser = below[word]
    assert found > 20


@pytest.mark.parametrize("page", [*PROSE, ROOT / "README.md"], ids=lambda path: path.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https://)([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [*PROSE, ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.name)
def test_modules_that_are_named_exist(page: Path) -> None:
    folders = ("kubesim", "tests", "tools")
    modules = [f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.py")]
    for named in re.findall(r"`([a-z_0-9/]+\.py)`", page.read_text()):
        assert any(module.endswith(f"/{named}") for module in modules), named
