"""probe_worker: one worker, step by step, with given statuses and probe results."""

from __future__ import annotations

from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import format_micro_time, seconds
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.conformance.decode import steps_of
from kubesim.conformance.frame import Case
from kubesim.kubelet.probes.handlers import ProbeAnswer
from kubesim.kubelet.probes.prober import Prober
from kubesim.kubelet.probes.results import ResultsManager
from kubesim.kubelet.probes.worker import ProbeWorker, WorkerEnvironment
from kubesim.kubelet.probes.worker_rules import WorkerSubject
from kubesim.trace import Recorder


class _ScriptedProber(Prober):
    """A prober whose attempts return the given results. Retries and the handling of results are the production
    code's.
    """

    answers: list[str]
    tries: int

    def __init__(self) -> None:
        self._events = self

    def event(self, *_: object) -> None:
        """Ignored: a case has no Events."""

    async def run_probe(self, *_: object) -> ProbeAnswer:
        answer = self.answers[self.tries]
        self.tries += 1
        if answer == "error":
            return ProbeAnswer("unknown", error="error")
        return ProbeAnswer(answer)  # type: ignore[arg-type]  # the corpus has the same words


def play(case: Case) -> Any:
    return run_virtual(_play, case)


async def _play(case: Case) -> Any:
    given = case["input"]
    clock = LoopClock()
    pod = Pod.from_json(given["pod"])
    containers = {container.name: container for container in (*pod.spec.init_containers, *pod.spec.containers)}
    subject = WorkerSubject.of(pod, containers[given["container"]], given["probeType"])
    results = ResultsManager(subject.probe_type)
    prober = _ScriptedProber()
    current: PodStatus | None = None
    environment = WorkerEnvironment(
        clock=clock,
        recorder=Recorder(clock),
        prober=prober,
        pod_status=lambda uid: current,
        randomness=Randomness(0),
        kubelet_start=clock.now() - seconds(given["kubeletStartedSecondsAgo"]),
    )
    worker = ProbeWorker(subject, results, environment, lambda worker: None)
    steps = []
    for step in steps_of(case):
        current = _pod_status(subject, step["status"], clock.now())
        prober.answers, prober.tries = step["answers"], 0
        keep_going = await worker.do_probe()
        steps.append(
            {
                "status": step["status"],
                "answers": step["answers"],
                "probesRun": prober.tries,
                "keepGoing": keep_going,
                "onHold": worker.state.on_hold,
                "resultRun": worker.state.result_run,
                "lastResult": worker.state.last_result,
                "workerContainerID": worker.state.container_id or "://",
                "results": dict(results.by_id),
                "updates": _updates(results),
            }
        )
    return {"steps": steps}


def _pod_status(subject: WorkerSubject, given: dict[str, Any], now: int) -> PodStatus | None:
    if given["state"] == "nostatus":
        return None
    status: dict[str, Any] = {"phase": given.get("phase", "")}
    if given["state"] != "none":
        state: dict[str, Any] = {}
        if given["state"] == "running":
            state = {"startedAt": format_micro_time(now - seconds(given["startedSecondsAgo"]))}
        elif given["state"] == "terminated":
            state = {"exitCode": given.get("exitCode", 0)}
        container = {
            "name": subject.container.name,
            "containerID": given.get("containerID", ""),
            "started": given.get("started"),
            "state": {given["state"]: state},
        }
        status["initContainerStatuses" if subject.restartable_init else "containerStatuses"] = [container]
    return PodStatus.from_json(status)


def _updates(results: ResultsManager) -> list[dict[str, str]]:
    out = []
    while (update := results.updates.try_receive()) is not None:
        out.append({"containerID": update.container_id, "result": update.result})
    return out
