"""Small stories for tests: a scenario in a few lines, played, and what was seen of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kubesim.app import RunResult, run_scenario
from kubesim.scenario.language import Scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import ApiWrite, CriCall, EventRecorded, Note, Record

SERVER = ["sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait"]


def pod(name: str, *, image: str = "busybox:1", command: list[str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": image, "command": SERVER if command is None else command}
    whole = {"terminationGracePeriodSeconds": 5, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole}


class Played:
    """The records of a story, and how it ended. Times are seconds."""

    def __init__(self, *steps: dict[str, Any], seed: int = 0, every_tick: bool = False, **spec: Any) -> None:
        images = [{"name": "*", "present": True}]
        whole = {"images": images, "duration": "60s", "steps": list(steps), **spec}
        scenario = Scenario.model_validate(json.loads(json.dumps({"metadata": {"name": "story"}, "spec": whole})))
        sink = MemorySink()
        self.result: RunResult = run_scenario(scenario, seed=seed, sinks=(sink,), every_tick=every_tick)
        self.records: list[Record] = sink.records

    def _of(self, kind: type[Record], pod: str) -> Iterator[Any]:
        return (r for r in self.records if isinstance(r, kind) and (not pod or r.pod == f"default/{pod}"))

    def calls(self, pod: str = "", *, after: float = 0) -> list[str]:
        return [r.call for r in self._of(CriCall, pod) if r.t >= after * 1_000_000 and r.call != "ExecSync"]

    def events(self, pod: str = "", *, after: float = 0) -> list[str]:
        return [r.reason for r in self._of(EventRecorded, pod) if r.t >= after * 1_000_000]

    def writes(self, pod: str = "", *, after: float = 0, by: str = "kubelet") -> list[str]:
        return [
            f"{r.verb} {r.resource}"
            for r in self._of(ApiWrite, pod)
            if r.t >= after * 1_000_000 and r.by == by
        ]  # fmt: skip

    def notes(self) -> list[str]:
        return [r.text for r in self.records if isinstance(r, Note)]

    def when(self, kind: type[Record], pod: str = "", **fields: Any) -> list[float]:
        """When records of this kind with these fields came."""
        return [
            r.t / 1_000_000 for r in self._of(kind, pod) if all(getattr(r, name) == v for name, v in fields.items())
        ]
