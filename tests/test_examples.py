"""The projects in `examples/`, run in a separate environment with an installed kubesim."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.wheel import ROOT, install_wheel, plain_environment
from tools.golang import go_environment

PROJECT = ROOT / "examples" / "pytest-project"
GO_PROJECT = ROOT / "examples" / "go-envtest"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    environment = tmp_path_factory.mktemp("example") / "environment"
    install_wheel(environment)
    return environment / "bin" / "python"


def test_the_pytest_project_passes_and_detects_a_change(python: Path, tmp_path: Path) -> None:
    project = shutil.copytree(PROJECT, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        line = [str(python), "-m", "pytest", "-p", "no:cacheprovider", "-rA", *words]
        return subprocess.run(line, cwd=project, env=plain_environment(), capture_output=True, text=True, check=False)

    passed = run("--kubesim-seeds", "0..1")
    assert passed.returncode == 0, passed.stdout
    assert "PASSED tests/warm-up.scenario.yaml::warm-up[seed 1]" in passed.stdout
    assert "6 passed" in passed.stdout
    operator = project / "cache_operator.py"
    operator.write_text(operator.read_text().replace('spec["flushSeconds"] + 5', "5"))
    failed = run()
    assert failed.returncode == 1
    assert "FAILED tests/test_cache_operator.py::test_a_cache_can_write_its_data_back" in failed.stdout


def test_the_go_project_passes_and_detects_a_change(python: Path, tmp_path: Path) -> None:
    project = shutil.copytree(GO_PROJECT, tmp_path / "project")
    environ = {**go_environment(), "KUBESIM": str(python.parent / "kubesim")}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["go", *words], cwd=project, env=environ, capture_output=True, text=True, timeout=250, check=False
        )

    assert run("vet", "./...").stderr == ""
    passed = run("test", "./...")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    operator = project / "reaper.go"
    operator.write_text(operator.read_text().replace("status.RestartCount < r.Restarts", "status.RestartCount == 0"))
    failed = run("test", "./...")
    assert failed.returncode == 1
    assert "after one minute it deleted [crash]" in failed.stdout
