"""The projects in `examples/`, run in a separate environment with an installed kubesim."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.wheel import PIP, ROOT, install_wheel, plain_environment
from tools.golang import go_environment

PROJECT = ROOT / "examples" / "pytest-project"
RUNTIME = ROOT / "examples" / "runtime-plugin"
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


def test_a_runtime_of_another_distribution_keeps_the_contract_and_runs_pods(python: Path, tmp_path: Path) -> None:
    project = shutil.copytree(RUNTIME, tmp_path / "project", ignore=shutil.ignore_patterns("__pycache__"))

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        line = [str(word) for word in words]
        environment = plain_environment()
        return subprocess.run(line, cwd=project, env=environment, capture_output=True, text=True, check=False)

    offline = ("--no-index", "--no-deps", "--no-build-isolation")
    built = run(*PIP, "wheel", *offline, "-w", tmp_path, project)
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    installed = run(*PIP, "--python", python, "install", "--no-index", "--no-deps", wheel)
    assert installed.returncode == 0, installed.stderr
    tested = run(python, "-m", "pytest", "-p", "no:cacheprovider", "-q")
    assert "25 passed" in tested.stdout, tested.stdout
    played = run(python, "-m", "kubesim", "test", "scenario.yaml", "--runtime", "processes")
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    unknown = run(python, "-m", "kubesim", "run", "scenario.yaml", "--runtime", "podman")
    assert "use one of simulated, cni, cri, processes, or install" in unknown.stderr


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
