"""pod_workers.jsonl: the pod workers with a scripted syncer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import SECOND, format_time, parse_time
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.conformance.decode import steps_of, uids_in
from kubesim.conformance.frame import Case, differences
from kubesim.errors import BackoffError, RuntimeCallError, SyncCancelled, SyncError
from kubesim.podworkers.requeue import Delays, Intervals
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.podworkers.sync_status import PodSyncStatus
from kubesim.podworkers.syncer import SyncContext, SyncOutcome
from kubesim.podworkers.updates import KillPodOptions, PodStatusFn, SyncPodType, UpdatePodOptions
from kubesim.podworkers.work_queue import WorkQueue
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import ContainerRecord, RuntimePod, RuntimePodStatus
from kubesim.trace import Recorder

Json = dict[str, Any]

FAR_FUTURE = 1 << 60  # the corpus' pod cache never blocks a worker

QUERIES = {
    "CouldHaveRunningContainers": "could_have_running_containers",
    "IsPodKnownTerminated": "is_pod_known_terminated",
    "IsPodTerminationRequested": "is_pod_termination_requested",
    "ShouldPodBeFinished": "should_pod_be_finished",
    "ShouldPodContainersBeTerminating": "should_pod_containers_be_terminating",
    "ShouldPodContentBeRemoved": "should_pod_content_be_removed",
    "ShouldPodRuntimeBeRemoved": "should_pod_runtime_be_removed",
}
FLAGS = ("deleted", "evicted", "finished", "observedRuntime", "restartRequested", "startedTerminating")
MOMENTS = ("startedAt", "syncedAt", "terminatedAt", "terminatingAt")
ATTRIBUTES = {
    "observedRuntime": "observed_runtime", "restartRequested": "restart_requested", "startedTerminating":
    "started_terminating", "startedAt": "started_at", "syncedAt": "synced_at", "terminatedAt": "terminated_at",
    "terminatingAt": "terminating_at",
}  # fmt: skip


def play(case: Case) -> Json:
    return run_virtual(_play, case)


async def _play(case: Case) -> Json:
    clock = LoopClock(parse_time(case["now"]))
    stage = _Stage(clock, case["input"])
    steps = []
    given = steps_of(case)
    script = case["input"]
    asked = sorted({*uids_in(given), *script["behavior"], *script["runtimeRunning"], "never-seen"})
    for step in given:
        await clock.sleep_until(parse_time(step["at"]))
        stage.calls, stage.requeued, stage.completed_kills = [], [], []
        known = stage.perform(step["op"])
        await clock.sleep(0)  # returns when all workers are idle
        seen = {"at": step["at"], "op": step["op"], **stage.observe(step.get("trueAnswers", asked))}
        if known is not None:
            seen["knownPods"] = known
        steps.append(seen)
    await stage.workers.close()
    return {"steps": steps}


class _Queue(WorkQueue):
    """A queue that reports its additions."""

    def __init__(self, clock: LoopClock, enqueued: Callable[[str, int], None]) -> None:
        super().__init__(clock)
        self._enqueued = enqueued

    def enqueue_at(self, uid: str, due: int) -> None:
        super().enqueue_at(uid, due)
        self._enqueued(uid, due)


class _Stage:
    """Pod workers, their syncer, and the observations of the current step."""

    def __init__(self, clock: LoopClock, script: Json) -> None:
        self.clock = clock
        self.behavior: dict[str, Json] = {uid: dict(calls) for uid, calls in script["behavior"].items()}
        self.held: dict[str, asyncio.Future[str]] = {}
        self.names: set[str] = set()
        self.calls: list[Json] = []
        self.requeued: list[Json] = []
        self.completed_kills: list[str] = []
        self.cache = PodCache()
        self.cache.update_time(FAR_FUTURE)
        for uid, running in script["runtimeRunning"].items():
            self._set_cache(uid, running, False)
        resyncs = Resyncs(clock)
        resyncs.queue = _Queue(clock, self._enqueued)
        intervals = Intervals(script["resyncSeconds"] * SECOND, script["backOffSeconds"] * SECOND)
        self.workers = PodWorkers(
            clock,
            self,
            self.cache,
            PodSyncStatuses(),
            resyncs,
            Recorder(clock),
            self,
            Delays(Randomness(0), intervals, jitter=False),
        )

    # -- steps --------------------------------------------------------------------------------------------------

    def perform(self, op: Json) -> Json | None:
        match op["op"]:
            case "update":
                mirror = op.get("mirrorPod")
                mirror_pod = Pod.from_json({"metadata": {"name": mirror}}) if mirror else None
                self._update(UpdatePodOptions(op["updateType"], Pod.from_json(op["pod"]), mirror_pod))
            case "kill":
                self._update(UpdatePodOptions("kill", Pod.from_json(op["pod"]), kill=self._kill_options(op)))
            case "killRuntime":
                running = RuntimePod(op["uid"], op["name"], "ns")
                kill = KillPodOptions(grace_period_override=op.get("gracePeriodOverride"))
                self._update(UpdatePodOptions(op["updateType"], running_pod=running, kill=kill))
            case "behavior":
                self.behavior.setdefault(op["uid"], {})[op["call"]] = op["result"]
            case "release":
                if op["uid"] in self.held:
                    self.held.pop(op["uid"]).set_result(op["result"])
            case "runtimeCache":
                self._set_cache(op["uid"], op["running"], op["error"])
            case "syncKnownPods":
                self.workers.sync_known_pods(op["known"])
                states = self.workers.states
                known = {uid: states.worker(uid, op["known"]) for uid in states.statuses}
                return {
                    uid: {"state": w.state, "orphan": w.orphan, "hasConfig": w.has_config, "static": w.static}
                    for uid, w in known.items()
                }
        return None

    def _update(self, options: UpdatePodOptions) -> None:
        if options.pod is not None:
            self.names.add(f"{options.pod.metadata.name}_{options.pod.metadata.namespace}")
        self.workers.update_pod(options)

    def _kill_options(self, op: Json) -> KillPodOptions:
        reason = op.get("statusFnReason")

        def status_fn(status: PodStatus) -> PodStatus:
            return status.changed(reason=reason)

        return KillPodOptions(
            op["evict"],
            op.get("gracePeriodOverride"),
            status_fn if reason else None,
            lambda: self.completed_kills.append(op["killID"]),
        )

    def _set_cache(self, uid: str, running: bool, error: bool) -> None:
        containers = (ContainerRecord("c", "c", "running"),) if running else ()
        failure = RuntimeCallError("cache error") if error else None
        self.cache.set(uid, RuntimePodStatus(uid, containers=containers), failure, FAR_FUTURE)

    def _enqueued(self, uid: str, due: int) -> None:
        self.requeued.append({"uid": uid, "delaySeconds": (due - self.clock.now()) / SECOND})

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        """Ignored: the corpus does not compare Events."""

    # -- the scripted syncer ------------------------------------------------------------------------------------

    async def sync_pod(
        self,
        context: SyncContext,
        update_type: SyncPodType,
        pod: Pod,
        mirror_pod: Pod | None,
        status: RuntimePodStatus,
    ) -> SyncOutcome:
        call: Json = {"updateType": update_type, "podVersion": pod.metadata.labels.get("v", "")}
        if mirror_pod is not None:
            call["mirror"] = mirror_pod.metadata.name
        result = await self._answer("SyncPod", pod.metadata.uid, pod.metadata.name, context, call)
        return SyncOutcome(terminal=result == "terminal")

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        call: Json = {"hasStatusFn": status_fn is not None}
        if grace_period is not None:
            call["gracePeriod"] = grace_period
        if status_fn is not None:
            call["statusFnReason"] = status_fn(PodStatus()).reason
        await self._answer("SyncTerminatingPod", pod.metadata.uid, pod.metadata.name, context, call)

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        await self._answer("SyncTerminatingRuntimePod", running_pod.uid, running_pod.name, context, {})

    async def sync_terminated_pod(self, context: SyncContext, pod: Pod, status: RuntimePodStatus) -> None:
        await self._answer("SyncTerminatedPod", pod.metadata.uid, pod.metadata.name, context, {})

    async def _answer(self, call: str, uid: str, name: str, context: SyncContext, details: Json) -> str:
        entry = {"call": call, "uid": uid, "name": name, **details}
        self.calls.append(entry)
        result: str = self.behavior.get(uid, {}).get(call, "ok")
        if result == "hold":
            entry["held"] = True
            future = self.held[uid] = asyncio.get_running_loop().create_future()
            try:
                result = await context.race(future)
            except SyncCancelled:
                self.held.pop(uid, None)
                self.calls.append({"call": "return", "of": call, "uid": uid, "result": "cancelled"})
                raise
            self.calls.append({"call": "return", "of": call, "uid": uid, "result": result})
        else:
            entry["result"] = result
        if result == "error":
            raise SyncError("scripted error")
        if result == "network":
            raise SyncError("network is not ready: scripted")
        if result.startswith("backoff:"):
            raise BackoffError("scripted back-off", self.clock.now() + int(result.partition(":")[2]) * SECOND)
        return result

    # -- what is seen -------------------------------------------------------------------------------------------

    def observe(self, asked: Iterable[str]) -> Json:
        states = self.workers.states
        seen: Json = {
            "calls": sorted(self.calls, key=lambda call: call["uid"]),
            "podStates": {uid: _pod_state(status) for uid, status in states.statuses.items()},
            "podsSynced": states.pods_synced,
            "requeued": self.requeued,
            "trueAnswers": {
                uid: [name for name, method in QUERIES.items() if getattr(states, method)(uid)] for uid in asked
            },
            "startedStatic": states.started_static_pods.copy(),
            "waitingStatic": {name: list(uids) for name, uids in states.waiting_static_pods.items()},
            "mirrorTerminatingFullNames": sorted(
                name for name in self.names if states.is_pod_for_mirror_pod_terminating_by_full_name(name)
            ),
            "completedKills": self.completed_kills,
        }
        for key in ("startedStatic", "waitingStatic", "mirrorTerminatingFullNames", "completedKills"):
            if not seen[key]:
                del seen[key]
        return seen


def _pod_state(status: PodSyncStatus) -> Json:
    out: Json = {"workType": status.work_type(), "working": status.working, "gracePeriod": status.grace_period}
    for flag in FLAGS:
        if getattr(status, ATTRIBUTES.get(flag, flag)):
            out[flag] = True
    for name in MOMENTS:
        moment = getattr(status, ATTRIBUTES[name])
        if moment is not None:
            out[name] = format_time(moment)
    if status.pending_update is not None:
        out["pendingUpdate"] = status.pending_update.update_type
    active = status.active_update
    if active is not None:
        out["activeUpdate"] = {
            "hasPod": active.pod is not None,
            "hasMirror": active.mirror_pod is not None,
            "hasRunningPod": active.running_pod is not None,
        }
        if active.pod is not None:
            out["activeUpdate"]["podVersion"] = active.pod.metadata.labels.get("v", "")
        if active.kill is not None:
            out["activeUpdate"]["evict"] = active.kill.evict
            out["activeUpdate"]["gracePeriodOverride"] = active.kill.grace_period_override
    return out


def judge(case: Case, expected: Json, actual: Json) -> Iterator[str]:
    """Equality, except that real delays have jitter: [base, 1.5 base) for the base given here."""
    for n, (want, got) in enumerate(zip(expected["steps"], actual["steps"], strict=True)):
        real, bases = _delays(want["requeued"]), _delays(got["requeued"])
        fits = [uid for uid, _ in real] == [uid for uid, _ in bases] and all(
            base <= delay < 1.5 * base or delay == base for (_, delay), (_, base) in zip(real, bases, strict=True)
        )
        if not fits:
            yield f"steps[{n}].requeued: expected {real}, got {bases} before jitter"
        yield from differences({**want, "requeued": []}, {**got, "requeued": []}, f"steps[{n}]")


def _delays(requeued: list[Json]) -> list[tuple[str, float]]:
    return sorted((entry["uid"], entry["delaySeconds"]) for entry in requeued)
