"""The documentation: generated pages are current, shown commands work, links are valid."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kubesim.cli.main import make_parser
from kubesim.linux import netns
from tests.support.demo_environment import link_packages, python
from tests.support.labs import LABS
from tests.support.machine.cni_host import on_host
from tools.docs_pages import DOCS, PAGES, subparsers

ROOT = Path(__file__).parent.parent
PROSE = sorted(DOCS.rglob("*.md"))
README = ROOT / "README.md"
COMMAND = re.compile(r"^    \$ (.+)$", re.MULTILINE)
INLINE = re.compile(r"`(kubesim \w[^`]*)`")


def commands(text: str) -> list[str]:
    return COMMAND.findall(text)


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    assert (DOCS / name).read_text() == PAGES[name](), f"docs/{name} is old: run make docs"


def page_name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return link_packages(tmp_path_factory.mktemp("demo") / "packages")


def run(command: str, demo: Path, clone: Path) -> None:
    """Run a command like a reader, in a clone with the packages of `make demo`. Its files stay in `clone`."""
    first, _, second = command.rpartition(" | ")
    given = ""
    if first.startswith("cat "):
        given = (clone / first.removeprefix("cat ")).read_text()
    elif first.startswith("echo "):
        given = shlex.split(first)[1] + "\n"
    else:
        assert not first, command
    second, _, written = second.partition(" > ")
    words = shlex.split(second)
    assert words[0] == "kubesim", command
    interpreter, variables = python(demo)
    environment = {**os.environ, **variables, "XDG_STATE_HOME": str(clone / "state")}
    line = [*interpreter, "-m", "kubesim", *words[1:]]
    done = subprocess.run(line, input=given.encode(), cwd=clone, env=environment, capture_output=True, check=False)
    is_fine = done.returncode == 0 or (words[1] == "diff" and done.returncode == 1)  # 1: there is a difference
    said = re.sub(r"^kubesim: serving on http.*\n", "", done.stderr.decode())  # of --serve
    assert (is_fine, said) == (True, ""), command
    assert done.stdout, command
    if written:
        (clone / written).write_bytes(done.stdout)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("scenarios", "tests", "labs", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


# The commands of the walk have their own test, which also checks their output.
@pytest.mark.parametrize(
    "page",
    [path for path in PROSE if path.name != "walk.md" and commands(path.read_text())],
    ids=page_name,
)
def test_the_commands_of_a_page_work_in_order(page: Path, demo: Path, clone: Path) -> None:
    for command in commands(page.read_text()):
        run(command, demo, clone)


# The pages of these commands have their own tests, which run them with the packages of the tests.
@pytest.mark.parametrize(
    "words",
    [
        "up --kubeconfig k --for 100ms",
        "up --kubeconfig k --for 100ms --report r.html --serve 0",
        "cri serve --listen unix:///{}/cri.sock --for 100ms",
        "explore scenarios/init-containers.yaml --budget 3 --exit-zero",
    ],
)
def test_servers_and_searches_need_only_the_packages_of_make_demo(words: str, demo: Path, clone: Path) -> None:
    interpreter, variables = python(demo)
    line = [*interpreter, "-m", "kubesim", *words.format(clone).split()]
    environment = {**os.environ, **variables, "XDG_STATE_HOME": str(clone / "state")}
    done = subprocess.run(line, cwd=clone, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_command_is_run_by_a_test() -> None:
    """Commands after a `$` are run by this file. Pages with other commands have their own tests."""
    without = {
        page_name(page)
        for page in PROSE
        if page.name != "commands.md" and re.search(r"^    (?:kubesim|kubectl) ", page.read_text(), re.MULTILINE)
    }
    # tests/test_explain_page.py, test_page.py in tests/up, tests/runtime/cri/client and tests/cli/explore; below
    pages = ("docs/explain.md", "docs/explore.md", "docs/up.md", "docs/how-to/cni-engineers.md", "docs/cri.md")
    assert without == set(pages)


def networking_commands(folder: str) -> list[str]:
    """The commands of the page, on a private host with the namespace that the page creates."""
    page = (DOCS / "how-to" / "cni-engineers.md").read_text()
    os.environ.update(KUBESIM_CNI_CONF_DIR="scenarios/net.d", KUBESIM_CNI_BIN_DIR="/usr/lib/cni")
    netns.new_netns("/var/run/netns/blue")
    failed = []
    found = re.findall(r"^    (kubesim cni .*)$", page, re.MULTILINE)
    assert len(found) > 5
    for command in found:
        words = [str(Path(folder) / word) if word == "answers" else word for word in shlex.split(command)]
        line = [sys.executable, "-m", "kubesim", *words[1:]]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stderr:
            failed.append(f"{command}: exit {done.returncode}: {done.stdout}{done.stderr}")
    return failed


def test_the_networking_commands_work_in_order(tmp_path: Path) -> None:
    assert on_host(networking_commands, folder=str(tmp_path)) == []


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.name)
def test_the_commands_in_a_labs_text_work(lab: object, demo: Path, clone: Path) -> None:
    from kubesim.labs.load import Lab

    assert isinstance(lab, Lab)
    run(f"kubesim lab start {lab.number}", demo, clone)
    for command in INLINE.findall(lab.text):
        run(command, demo, clone)


def test_lab_1_can_be_finished(demo: Path, clone: Path) -> None:
    """From the start to the task, with the packages of `make demo`."""
    folder = ROOT / "labs" / "01-first-crash"
    run("kubesim lab start 1", demo, clone)
    for answer in yaml.safe_load((folder / "solution.yaml").read_text())["answers"].values():
        run(f"kubesim lab check {shlex.quote(answer)}", demo, clone)
    copy = clone / "state" / "kubesim" / "labs" / folder.name / "scenario.yaml"
    copy.write_text((folder / "solved.yaml").read_text())
    run("kubesim lab check > end.txt", demo, clone)
    assert "Lab 1 is done." in (clone / "end.txt").read_text()


def test_commands_in_sentences_exist() -> None:
    """Those with placeholders (`start N`) cannot run, but the parser must know the commands and options."""
    found = 0
    for path in [*PROSE, README]:
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


@pytest.mark.parametrize("page", [*PROSE, README], ids=page_name)
def test_links_are_valid(page: Path) -> None:
    for target in re.findall(r"\]\((?!https://)([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", [*PROSE, README], ids=page_name)
def test_links_to_sections_are_valid(page: Path) -> None:
    for target, section in re.findall(r"\]\((?!https://)([^)#]*)#([^)]+)\)", page.read_text()):
        text = (page.parent / target if target else page).read_text()
        assert section in {anchor(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}, (
            f"{target}#{section}"
        )


def anchor(title: str) -> str:
    """The anchor that GitHub generates from a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def test_the_index_lists_every_page() -> None:
    listed = set(re.findall(r"\]\(([^)#]+\.md)", (DOCS / "README.md").read_text()))
    assert listed == {str(path.relative_to(DOCS)) for path in PROSE} - {"README.md"}


@pytest.mark.parametrize("page", [*PROSE, README, ROOT / "CONTRIBUTING.md"], ids=page_name)
def test_named_modules_exist(page: Path) -> None:
    folders = ("kubesim", "tests", "tools")
    modules = [f"/{path.relative_to(ROOT)}" for folder in folders for path in (ROOT / folder).rglob("*.py")]
    for named in re.findall(r"`([a-z_0-9/]+\.py)`", page.read_text()):
        assert any(module.endswith(f"/{named}") for module in modules), named
