"""Scenarios with real networks: the kubelet does the same as in the simulation, to the microsecond."""

from __future__ import annotations

import json
import re

import pytest

from kubesim.app import run_scenario
from kubesim.scenario.load.loader import load_scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import CniExec


def reported(name: str, runtime: str) -> list[str]:
    """All records but those of plugins, with a placeholder for addresses of pods."""
    sink = MemorySink()
    run_scenario(load_scenario(f"scenarios/{name}.yaml").with_runtime(runtime, {}), sinks=(sink,))
    contents = [record.to_json() for record in sink.records if not isinstance(record, CniExec)]
    numbers = ("seq", "cause")
    texts = [json.dumps({key: content[key] for key in content if key not in numbers}) for content in contents]
    return [re.sub(r"\b10\.88\.\d+\.\d+\b", "<address>", text) for text in texts]


@pytest.mark.parametrize(
    "name",
    [
        "probes",
        "grpc-probe",
        "two-containers",
        "kubelet-restart",
        "graceful-delete",
        "three-sources",
        "init-containers",
    ],
)
def test_the_run_equals_the_simulated_one(name: str) -> None:
    simulated = reported(name, "simulated")
    assert len(simulated) > 90
    assert reported(name, "cni") == simulated
