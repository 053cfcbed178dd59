"""What a real kubectl v1.36.4 printed of a real API server, byte for byte."""

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

DATA = Path(__file__).parents[2] / "cluster" / "data" / "kubectl.jsonl.gz"
FIRST, *RUNS = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("kubectl") / "run.jsonl"
    return saved_objects(path, FIRST["objects"], start=parse_time(FIRST["start"]))


@pytest.mark.parametrize("run", RUNS, ids=[shlex.join(run["command"]) for run in RUNS])
def test_a_command(run: dict[str, Any], cluster: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*run["command"], "--at", f"{run['at']}s", str(cluster)])
    printed = capsys.readouterr()
    assert (printed.out, printed.err, code) == (run["stdout"], run["stderr"], run["exit"])


def test_every_way_to_ask_is_among_them() -> None:
    assert {run["command"][0] for run in RUNS} == {"get", "describe", "logs", "events"}
    assert len(RUNS) >= 55
