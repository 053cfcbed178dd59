"""The recorded output of a real kubectl v1.36.4 with a real API server, byte for byte."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from kubesim.api.timestamps import parse_time
from kubesim.cli.main import main
from tests.support.saved_runs import saved_objects

DATA = Path(__file__).parents[2] / "cluster" / "data"
RECORDINGS = {
    name: [json.loads(line) for line in gzip.decompress((DATA / f"{name}.jsonl.gz").read_bytes()).splitlines()]
    for name in ("kubectl", "kubectl-one-pod")
}
RUNS = [(name, run) for name, (_, *runs) in RECORDINGS.items() for run in runs]


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    path = tmp_path_factory.mktemp("kubectl")
    return {
        name: saved_objects(path / f"{name}.jsonl", first["objects"], start=parse_time(first["start"]))
        for name, (first, *_) in RECORDINGS.items()
    }


@pytest.mark.parametrize(("name", "run"), RUNS, ids=[shlex.join(run["command"]) for _, run in RUNS])
def test_a_command(
    name: str, run: dict[str, Any], clusters: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*run["command"], "--at", f"{run['at']}s", str(clusters[name])])
    printed = capsys.readouterr()
    assert (printed.out, printed.err, code) == (run["stdout"], run["stderr"], run["exit"])


def test_every_output_format_is_recorded() -> None:
    assert {run["command"][0] for _, run in RUNS} == {"get", "describe", "logs", "events"}
    assert len(RUNS) >= 66
