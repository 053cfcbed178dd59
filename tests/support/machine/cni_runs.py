"""Runs of a scenario whose pods get their network from real plugins."""

from __future__ import annotations

from typing import Any

from kubesim.app import run_scenario
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.load.loader import parse_scenario
from kubesim.scenario.load.overlay import Overlay
from kubesim.trace import HashSink, MemorySink
from kubesim.trace.records import ApiWrite, CniExec, EventRecorded

SPEC = """
apiVersion: kubesim.dev/v1alpha1
kind: Scenario
metadata: {{name: x}}
spec:
  runtime: cni
  images: [{{name: "*", present: true}}]
  {more}
"""


POD = """---
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec: {{containers: [{{name: main, image: "nginx:1"}}]}}
"""


ON_THE_HOST = Overlay(allow_host=True)  # tests name their own directories of plugins and configurations


class Run:
    def __init__(self, more: str = "", pods: int = 1, *, details: bool = False, **options: Any) -> None:
        text = SPEC.format(more=more) + "".join(POD.format(name=f"pod-{number}") for number in range(pods))
        self.sink, hashed = MemorySink(details=details), HashSink(placeholders=True)
        self.result: RunResult = run_scenario(
            parse_scenario(text, "x.yaml", overlay=ON_THE_HOST), sinks=(self.sink, hashed), **options
        )

    def executions(self) -> list[CniExec]:
        return [record for record in self.sink.records if isinstance(record, CniExec)]

    def ips(self) -> dict[str, Any]:
        """What the kubelet told the API server, by pod."""
        writes = [record for record in self.sink.records if isinstance(record, ApiWrite) and record.by == "kubelet"]
        return {record.pod: record.summary["podIP"] for record in writes if record.summary.get("podIP")}

    def messages(self, reason: str) -> list[str]:
        records = self.sink.records
        return [each.message for each in records if isinstance(each, EventRecorded) and each.reason == reason]
