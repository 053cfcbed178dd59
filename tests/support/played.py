"""Short scenarios for tests, and their results."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from kubesim.app import run_scenario
from kubesim.scenario.ending.result import RunResult
from kubesim.scenario.language.document import Scenario
from kubesim.trace import MemorySink
from kubesim.trace.records import ApiWrite, CriCall, EventRecorded, Note, Record, SyncBegin, SyncEnd
from tests.support.ticks import ticks

SERVER = ["sh", "-c", "trap 'exit 0' TERM; sleep 1000000 & wait"]


def pod(name: str, *, image: str = "busybox:1", command: list[str] | None = None, **spec: Any) -> dict[str, Any]:
    container = {"name": "main", "image": image, "command": SERVER if command is None else command}
    whole = {"terminationGracePeriodSeconds": 5, "containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": whole}


def container(name: str, *script: str, **fields: Any) -> dict[str, Any]:
    """A container that runs this script, or an idle server."""
    command = ["sh", "-c", "; ".join(script)] if script else SERVER
    return {"name": name, "image": "busybox:1", "command": command, **fields}


class Played:
    """The records and the result of a run. Times are seconds."""

    def __init__(self, *steps: dict[str, Any], seed: int = 0, every_tick: bool = False, **spec: Any) -> None:
        images = [{"name": "*", "present": True}]
        whole = {"images": images, "duration": "60s", "steps": list(steps), **spec}
        scenario = Scenario.model_validate(json.loads(json.dumps({"metadata": {"name": "story"}, "spec": whole})))
        sink = MemorySink()
        with ticks(every_tick=every_tick):
            self.result: RunResult = run_scenario(scenario, seed=seed, sinks=(sink,))
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

    def sequence(self, pod: str, *, after: float = 0) -> list[str]:
        """The modifying CRI calls with their container: `StartContainer main`."""
        others = ("ExecSync", "PullImage")
        calls = (r for r in self._of(CriCall, pod) if r.t >= after * 1_000_000 and r.call not in others)
        return [f"{r.call} {r.container}".rstrip() for r in calls]

    def messages(self, reason: str, pod: str = "") -> list[str]:
        return [r.message for r in self._of(EventRecorded, pod) if r.reason == reason]

    def starts(self, pod: str, container: str = "main") -> list[float]:
        return self.when(CriCall, pod, call="StartContainer", container=container)

    def stops(self, pod: str, container: str = "main") -> list[float]:
        return self.when(CriCall, pod, call="StopContainer", container=container)

    def statuses(self, pod: str) -> list[dict[str, Any]]:
        """The status updates of the pod, in short and in order."""
        return [dict(r.summary) for r in self._of(ApiWrite, pod) if r.by == "kubelet" and r.summary]

    def syncs(self, pod: str) -> list[str]:
        return [r.sync for r in self._of(SyncBegin, pod)]

    def sync_errors(self, pod: str) -> list[str]:
        return [r.error for r in self._of(SyncEnd, pod) if r.error]

    def notes(self) -> list[str]:
        return [r.text for r in self.records if isinstance(r, Note)]

    def when(self, kind: type[Record], pod: str = "", **fields: Any) -> list[float]:
        """The times of records of this kind with these fields."""
        return [
            r.t / 1_000_000 for r in self._of(kind, pod) if all(getattr(r, name) == v for name, v in fields.items())
        ]
