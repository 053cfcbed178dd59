"""A wheel built from the files of the container recipe, and installed without a network, works in any directory and
includes all labs, scenarios and the glossary.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kubesim.trace.report.page_file import SCRIPTS
from tests.support.wheel import install_wheel, plain_environment

ROOT = Path(__file__).parent.parent
Kubesim = Callable[..., subprocess.CompletedProcess[str]]


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheel") / "environment"


@pytest.fixture(scope="module")
def kubesim(environment: Path) -> Kubesim:
    """Run the installed command in an empty directory, with the dependencies of the tests."""
    install_wheel(environment)
    place = environment.parent
    plain = plain_environment()
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [environment / "bin" / "kubesim", *arguments],
            cwd=elsewhere,
            env={**plain, "XDG_STATE_HOME": str(place / "state"), "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
        )

    return call


def test_it_includes_the_labs(kubesim: Kubesim) -> None:
    listed = kubesim("lab", "list")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert [line.split()[0] for line in listed.stdout.splitlines() if line.strip()[:1].isdigit()] == [
        str(number) for number in range(1, 17)
    ]
    started = kubesim("lab", "start", "1")
    assert started.returncode == 0, started.stderr
    assert "The first crash is free" in started.stdout


def test_it_writes_the_report(kubesim: Kubesim, environment: Path) -> None:
    done = kubesim("run", "-q", "--report", "report.html", str(ROOT / "scenarios" / "hello-pod.yaml"))
    assert (done.returncode, done.stderr) == (0, "")
    html = (environment.parent / "elsewhere" / "report.html").read_text()
    for path in (ROOT / "kubesim" / "trace" / "report" / "page").glob("*.js"):
        assert (path.read_text() in html) == (path.name in SCRIPTS)


def test_it_includes_the_scenarios(kubesim: Kubesim) -> None:
    for asked in ("crashloop", "scenarios/crashloop.yaml"):
        played = kubesim("run", "-q", asked)
        assert played.returncode == 0, played.stderr
        assert "Warning BackOff: Back-off" in " ".join(played.stdout.split())


@pytest.mark.parametrize("kind", ["labs", "scenarios"])
def test_every_file_of_a_shipped_folder_is_installed(kubesim: Kubesim, environment: Path, kind: str) -> None:
    (installed,) = environment.glob(f"lib/python*/site-packages/kubesim/shipped/{kind}")
    assert files_below(installed) == files_below(ROOT / kind)


def test_the_glossary_is_installed(kubesim: Kubesim) -> None:
    [line] = [line for line in kubesim("lab", "start", "1").stdout.splitlines() if line.startswith("More terms: ")]
    installed = Path(line.removeprefix("More terms: "))
    assert "site-packages" in installed.parts
    assert installed.read_text() == (ROOT / "docs" / "glossary.md").read_text()


def test_stepping_and_explain_work(kubesim: Kubesim) -> None:
    assert kubesim("lab", "walk").returncode == 0
    assert kubesim("attach", "--print-rbac").stdout.startswith("apiVersion: rbac")


def test_an_unknown_scenario_is_reported_with_the_known_ones(kubesim: Kubesim) -> None:
    absent = kubesim("run", "absent")
    assert absent.returncode == 2
    assert absent.stderr.startswith("kubesim: error: absent: no such file, and no bundled scenario has this name")
    assert "hello-pod" in absent.stderr
