"""Pods with probes, their statuses, and fake probe targets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import format_micro_time
from kubesim.clock import LoopClock, Randomness
from kubesim.kubelet.probes.worker import WorkerEnvironment
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.kubelet.status.generate.inputs import ProbeType
from kubesim.runtime.types import ProbeResult
from kubesim.trace import MemorySink, Recorder
from kubesim.trace.records import ProbeOutcome

EXEC: Mapping[str, Any] = {
    "exec": {"command": ["check"]},
    "periodSeconds": 10,
    "timeoutSeconds": 1,
    "failureThreshold": 3,
    "successThreshold": 1,
}


def pod(*, sidecar: bool = False, restart_policy: str = "Always", **probes: Mapping[str, Any]) -> Pod:
    """A pod with one container (or sidecar) `web` with `readinessProbe=...` and so on."""
    web: dict[str, Any] = {"name": "web", "image": "i", **probes}
    spec: dict[str, Any] = {"restartPolicy": restart_policy, "containers": [web]}
    if sidecar:
        spec["containers"] = [{"name": "main", "image": "i"}]
        spec["initContainers"] = [web | {"restartPolicy": "Always"}]
    return Pod.from_json({"metadata": {"name": "p", "namespace": "ns", "uid": "u1"}, "spec": spec})


def subject(of: Pod, probe_type: ProbeType) -> WorkerSubject:
    (container,) = (c for c in (*of.spec.containers, *of.spec.init_containers) if c.name == "web")
    return WorkerSubject.of(of, container, probe_type)


def running(started_at: int, *, container_id: str = "containerd://1", started: bool = True) -> PodStatus:
    return status({"running": {"startedAt": format_micro_time(started_at)}}, container_id=container_id, started=started)


def status(state: dict[str, Any], *, container_id: str = "containerd://1", started: bool = True) -> PodStatus:
    container = {"name": "web", "containerID": container_id, "started": started, "state": state}
    return PodStatus.from_json({"phase": "Running", "podIP": "10.0.0.7", "containerStatuses": [container]})


class Answers:
    """A prober that returns results from a list, the last one repeatedly, and records the times of its probes."""

    def __init__(self, clock: LoopClock, *answers: ProbeResult | None, takes: int = 0) -> None:
        self.clock = clock
        self.answers = list(answers)
        self.takes = takes
        self.asked: list[int] = []

    async def probe(self, subject: WorkerSubject, status: PodStatus, container_id: str) -> ProbeResult | None:
        self.asked.append(self.clock.elapsed())
        if self.takes:
            await self.clock.sleep(self.takes)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class Node:
    """The environment of probe workers: a clock, a trace, and the pod status of the status manager."""

    def __init__(self, *answers: ProbeResult | None, takes: int = 0, seed: int = 1, start: int | None = None) -> None:
        self.clock = LoopClock()
        self.sink = MemorySink()
        self.recorder = Recorder(self.clock, self.sink)
        self.prober = Answers(self.clock, *(answers or ("success",)), takes=takes)
        self.status: PodStatus | None = running(self.clock.now())
        self.randomness = Randomness(seed)
        self.start = start

    def environment(self) -> WorkerEnvironment:
        return WorkerEnvironment(
            clock=self.clock,
            recorder=self.recorder,
            prober=self.prober,
            pod_status=lambda uid: self.status,
            randomness=self.randomness,
            kubelet_start=self.clock.now() if self.start is None else self.start,
            jitter=self.start is not None,
        )

    def outcomes(self) -> list[tuple[int, str, str]]:
        return [(r.t, r.result, r.why) for r in self.sink.records if isinstance(r, ProbeOutcome)]
