"""The plugin in separate pytest sessions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.scenario_files import EXPECTATION_LINE, scenario_text

QUIET = ("-q", "-p", "no:cacheprovider", "-W", "ignore", "--no-header")


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "pytest.ini").touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    line = [sys.executable, "-m", "pytest", *QUIET, *words]
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_scenario_files_are_tests(tmp_path: Path) -> None:
    (tmp_path / "web.scenario.yaml").write_text(scenario_text("web"))
    (tmp_path / "job.scenario.yml").write_text(scenario_text("job", phase="Succeeded", script="exit 1"))
    (tmp_path / "other.yaml").write_text(scenario_text("other", phase="Failed"))
    done = run(tmp_path, "-rA")
    assert done.returncode == 1
    assert "PASSED web.scenario.yaml::web[seed 0]" in done.stdout
    # A failure has kubesim's text, without a traceback.
    assert f"job.scenario.yml:{EXPECTATION_LINE}: pod job must have phase Succeeded by 5s, but " in done.stdout
    assert "Traceback" not in done.stdout
    assert "runtest" not in done.stdout
    assert "other" not in done.stdout
    assert "1 failed, 1 passed" in done.stdout


def test_each_seed_is_a_test(tmp_path: Path) -> None:
    (tmp_path / "web.scenario.yaml").write_text(scenario_text("web"))
    done = run(tmp_path, "--kubesim-seeds", "1..3", "--collect-only")
    assert re.findall(r"web\[(.*)\]", done.stdout) == ["seed 1", "seed 2", "seed 3"]
    wrong = run(tmp_path, "--kubesim-seeds", "3..1")
    assert wrong.returncode != 0
    assert "--kubesim-seeds: 3..1" in wrong.stdout + wrong.stderr


def test_all_errors_of_a_file_are_reported_at_collection(tmp_path: Path) -> None:
    text = scenario_text("web").replace("duration: 10s", "duration: 10\n  sed: 1")
    (tmp_path / "web.scenario.yaml").write_text(text)
    done = run(tmp_path)
    assert done.returncode == 2
    assert "web.scenario.yaml:8: spec.duration: a duration needs its unit: 10s" in done.stdout
    assert "web.scenario.yaml:9: spec.sed: unknown field; did you mean seed?" in done.stdout


def test_a_stored_timeline_is_compared(tmp_path: Path) -> None:
    (tmp_path / "test_life.py").write_text(
        "def test_life(kubesim):\n"
        "    kubesim.apply({'apiVersion': 'v1', 'kind': 'Namespace', 'metadata': {'name': 'shop'}})\n"
        "    kubesim.snapshot()\n"
    )
    stored = tmp_path / "__snapshots__" / "test_life" / "test_life.timeline"
    absent = run(tmp_path)
    assert (absent.returncode, "store it with: pytest --kubesim-update" in absent.stdout) == (1, True)
    assert run(tmp_path, "--kubesim-update").returncode == 0
    assert "create namespaces" in stored.read_text()
    assert run(tmp_path).returncode == 0
    stored.write_text(stored.read_text().replace("namespaces", "nothing"))
    assert "the first difference is in line 2" in run(tmp_path).stdout


def test_the_marker_configures_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(scenario_text("web"))
    (tmp_path / "test_nodes.py").write_text(
        "import pytest\n"
        "@pytest.mark.kubesim('base.yaml', seed=7, nodes=[{'name': 'a'}, {'name': 'b'}], profile='v1.30')\n"
        "def test_nodes(kubesim):\n"
        "    assert list(kubesim.nodes) == ['a', 'b']\n"
        "    assert kubesim.get('node/a')['status']['nodeInfo']['kubeletVersion'].startswith('v1.30')\n"
        "    assert kubesim.driven.simulation.seed == 7\n"
        "    kubesim.wait_for(pod='web', phase='Running')\n"
    )
    done = run(tmp_path)
    assert done.returncode == 0, done.stdout


def test_a_session_without_scenarios_does_not_import_kubesim(tmp_path: Path) -> None:
    (tmp_path / "test_plain.py").write_text(
        "import json, sys\ndef test_plain(request):\n"
        "    assert request.config.pluginmanager.has_plugin('kubesim')\n"
        "    print(json.dumps(sorted(sys.modules)))\n"
    )
    done = run(tmp_path, "-s")
    assert done.returncode == 0, done.stdout
    modules = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[")))
    assert "kubesim.testing.plugin" in modules
    assert [name for name in modules if name.split(".")[0] in ("pydantic", "yaml")] == []
    assert [name for name in modules if name.startswith("kubesim.") and not name.startswith("kubesim.testing")] == []
