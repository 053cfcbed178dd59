"""`kubesim run --config` and the kubelet's own flags on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kubesim.cli.flags.kubelet_flags import expand_switches
from kubesim.cli.main import main

ROOT = Path(__file__).parent.parent.parent
FILE = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {containers: [{name: c, image: "busybox:1", command: ["sleep", "5"]}], restartPolicy: Never}
"""


@pytest.fixture
def pods(tmp_path: Path) -> str:
    file = tmp_path / "pods.yaml"
    file.write_text("---\n".join(POD % name for name in ("a", "b")))
    return str(file)


def kubelet_yaml(tmp_path: Path, text: str) -> str:
    file = tmp_path / "kubelet.yaml"
    file.write_text(FILE + text)
    return str(file)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["run", "-q", *arguments])
    reported = capsys.readouterr()
    return code, reported.out, reported.err


def test_a_file_is_used(capsys: pytest.CaptureFixture[str], tmp_path: Path, pods: str) -> None:
    code, out, err = run(capsys, "--config", kubelet_yaml(tmp_path, "maxPods: 1\n"), pods)
    assert (code, err) == (0, "")
    assert "OutOfpods" in out


def test_the_environment_can_name_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, pods: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBESIM_CONFIG", kubelet_yaml(tmp_path, "maxPods: 1\n"))
    assert "OutOfpods" in run(capsys, pods)[1]


def test_a_flag_overrides_it(capsys: pytest.CaptureFixture[str], tmp_path: Path, pods: str) -> None:
    config = kubelet_yaml(tmp_path, "maxPods: 1\n")
    assert "OutOfpods" not in run(capsys, "--config", config, "--max-pods", "2", pods)[1]


def test_fields_without_effect_are_listed_once(capsys: pytest.CaptureFixture[str], tmp_path: Path, pods: str) -> None:
    config = kubelet_yaml(tmp_path, "oomScoreAdj: -5\naddress: 10.96.0.10\nsyncFrequency: 0s\n")
    code, _, err = run(capsys, "--config", config, "--hairpin-mode=none", pods, pods)
    assert code == 0
    assert err == "kubesim: without effect here: address, oomScoreAdj, hairpinMode (kubelet configuration)\n"


def test_a_switch_has_no_separate_value(capsys: pytest.CaptureFixture[str], pods: str) -> None:
    assert expand_switches(["--serialize-image-pulls", pods]) == ["--serialize-image-pulls=true", pods]
    assert expand_switches(["--serialize-image-pulls=false"]) == ["--serialize-image-pulls=false"]
    assert run(capsys, "--serialize-image-pulls", pods)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--max-pods", "many"], "--max-pods: 'many' is not a whole number"),
        (["--max-pods=-1"], "--max-pods: -1 must not be a negative number"),
        (["--sync-frequency", "60"], "--sync-frequency: '60' is not a duration such as 1m30s or 250ms"),
        (["--eviction-hard", "ram<1Gi"], "--eviction-hard: unsupported eviction signal ram"),
        (["--config", "nowhere.yaml"], "nowhere.yaml: no such file"),
    ],
)
def test_errors(arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str], pods: str) -> None:
    code, _, err = run(capsys, *arguments, pods)
    assert (code, err) == (2, f"kubesim: error: {expected}\n")


def test_a_real_directory_by_flag(capsys: pytest.CaptureFixture[str], tmp_path: Path, pods: str) -> None:
    directory = tmp_path / "manifests"
    directory.mkdir()
    (directory / "disk.yaml").write_text(POD % "disk")
    code, out, _ = run(capsys, "--pod-manifest-path", str(directory), "--until", "30s", pods)
    assert code == 0
    assert "disk-node-1: Succeeded" in out


PROGRAM = """
import sys
sys.modules["aiohttp"] = None  # as if it was not installed
from kubesim.cli.main import main
sys.exit(main(["run", "-q", *sys.argv[1:]]))
"""


def without_extras(*arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_simulated_networks_need_no_extra_packages(pods: str) -> None:
    assert without_extras(str(ROOT / "scenarios" / "three-sources.yaml")) == (0, "")
    code, err = without_extras("--manifest-url", "http://127.0.0.1:9/", pods)
    assert (code, err) == (
        2,
        "kubesim: error: a URL needs the Python package aiohttp: run `make demo` in a clone, or pip install aiohttp\n",
    )


def test_help_shows_flags_with_an_effect(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    assert "--pod-manifest-path" in shown
    assert "--hairpin-mode" not in shown
