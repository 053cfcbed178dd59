"""Workers as tasks: one per pod, the newest update is used, a failure affects only its pod."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.errors import RuntimeCallError, SyncCancelled, SyncError
from kubesim.podworkers.requeue import Delays
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.podworkers.syncer import SyncContext, SyncOutcome
from kubesim.podworkers.updates import KillPodOptions, PodStatusFn, SyncPodType, UpdatePodOptions
from kubesim.podworkers.workers import PodWorkers
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import RuntimePod, RuntimePodStatus
from kubesim.trace import MemorySink, Recorder

SECOND = 1_000_000


def make_pod(uid: str = "u", version: int = 1, **metadata: Any) -> Pod:
    body = {"uid": uid, "name": f"pod-{uid}", "namespace": "ns", "generation": version, **metadata}
    return Pod.from_json({"metadata": body, "spec": {"terminationGracePeriodSeconds": 4}})


def deleted(uid: str = "u") -> Pod:
    return make_pod(uid, deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=4)


class Scene:
    """Workers with a cache that is always current, and a syncer whose calls do what `on_sync` says."""

    def __init__(self, **settings: Any) -> None:
        self.clock = LoopClock(0)
        self.cache = PodCache()
        self.cache.update_time(1 << 60)
        self.resyncs = Resyncs(self.clock)
        self.queue = self.resyncs.queue
        self.sink = MemorySink()
        self.calls: list[tuple[str, str, Any]] = []
        self.events: list[tuple[str, str, str]] = []
        self.crashes: list[str] = []
        self.on_sync: Callable[[str, str, SyncContext], Awaitable[SyncOutcome]] = self.succeed
        settings = {"on_crash": lambda uid, error: self.crashes.append(f"{uid}: {error}"), **settings}
        intervals, states = settings.pop("intervals", None), PodSyncStatuses(settings.pop("pod_from_allocation", None))
        delays = Delays(Randomness(1), intervals, jitter=settings.pop("jitter", False))
        recorder = Recorder(self.clock, self.sink)
        self.workers = PodWorkers(
            self.clock, self, self.cache, states, self.resyncs, recorder, self, delays, **settings
        )  # fmt: skip

    async def succeed(self, call: str, uid: str, context: SyncContext) -> SyncOutcome:
        return SyncOutcome()

    def tell(self, pod: Pod, update: SyncPodType = "update", kill: KillPodOptions | None = None) -> None:
        self.workers.update_pod(UpdatePodOptions(update, pod, kill=kill))

    async def rest(self) -> None:
        await self.clock.sleep(0)

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        self.events.append((type, reason, message))

    async def sync_pod(
        self, context: SyncContext, update_type: SyncPodType, pod: Pod, mirror_pod: Pod | None, status: RuntimePodStatus
    ) -> SyncOutcome:
        self.calls.append(("SyncPod", pod.metadata.uid, pod.metadata.generation))
        return await self.on_sync("SyncPod", pod.metadata.uid, context)

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        self.calls.append(("SyncTerminatingPod", pod.metadata.uid, grace_period))
        await self.on_sync("SyncTerminatingPod", pod.metadata.uid, context)

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        self.calls.append(("SyncTerminatingRuntimePod", running_pod.uid, None))

    async def sync_terminated_pod(self, context: SyncContext, pod: Pod, status: RuntimePodStatus) -> None:
        self.calls.append(("SyncTerminatedPod", pod.metadata.uid, None))
        await self.on_sync("SyncTerminatedPod", pod.metadata.uid, context)


def play(scene: Callable[[Scene], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        stage = Scene(**settings)
        await scene(stage)
        await stage.workers.close()

    run_virtual(main)


def test_a_pod_runs_terminates_and_is_cleaned_up() -> None:
    async def scene(s: Scene) -> None:
        s.tell(make_pod(), "create")
        await s.rest()
        s.tell(deleted())
        await s.rest()
        assert s.calls == [("SyncPod", "u", 1), ("SyncTerminatingPod", "u", 4), ("SyncTerminatedPod", "u", None)]
        assert s.workers.states.should_pod_be_finished("u")
        assert s.workers.statistics() == {"pods": 1, "workers": 0, "working": 0}
        s.workers.sync_known_pods(())
        assert not s.workers.states.statuses
        assert s.workers.statistics()["pods"] == 0

    play(scene)


def test_the_trace_shows_every_step_from_the_update_to_the_end() -> None:
    async def scene(s: Scene) -> None:
        s.tell(make_pod(), "create")
        await s.rest()
        s.tell(deleted())
        await s.rest()
        kinds = [(r.KIND, getattr(r, "state", getattr(r, "sync", ""))) for r in s.sink.records]
        assert kinds == [
            ("worker.update", ""),
            ("sync.begin", "SyncPod"),
            ("sync.end", "SyncPod"),
            ("worker.update", ""),
            ("worker.state", "terminating"),
            ("sync.begin", "SyncTerminatingPod"),
            ("sync.end", "SyncTerminatingPod"),
            ("worker.state", "terminated"),
            ("sync.begin", "SyncTerminatedPod"),
            ("sync.end", "SyncTerminatedPod"),
            ("worker.state", "finished"),
        ]
        assert [r.cause for r in s.sink.records] == [None, 1, 2, None, 4, 5, 6, 7, 8, 9, 10]
        assert s.sink.records[4].why == "the pod must terminate: it was deleted at the API server"
        assert all(record.why and record.pod == "ns/pod-u" for record in s.sink.records)

    play(scene)


def test_of_updates_during_a_sync_only_the_newest_is_used() -> None:
    async def scene(s: Scene) -> None:
        async def slow(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            await s.clock.sleep(SECOND)
            return SyncOutcome()

        s.on_sync = slow
        s.tell(make_pod(version=1), "create")
        await s.rest()
        for version in (2, 3, 4):
            s.tell(make_pod(version=version))
        await s.clock.sleep(5 * SECOND)
        assert s.calls == [("SyncPod", "u", 1), ("SyncPod", "u", 4)]

    play(scene)


def test_a_delete_cancels_the_context_of_the_sync_in_progress() -> None:
    async def scene(s: Scene) -> None:
        async def wait(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            if call == "SyncPod":
                await context.race(asyncio.get_running_loop().create_future())
            return SyncOutcome()

        s.on_sync = wait
        s.tell(make_pod(), "create")
        await s.rest()
        assert [call for call, *_ in s.calls] == ["SyncPod"]
        s.tell(deleted())
        await s.rest()
        assert [call for call, *_ in s.calls] == ["SyncPod", "SyncTerminatingPod", "SyncTerminatedPod"]
        assert [r.error for r in s.sink.records if hasattr(r, "error")] == ["context canceled", "", ""]

    play(scene)


def test_a_context_drops_a_future_that_does_not_finish() -> None:
    async def main() -> None:
        context = SyncContext()
        arrives: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        arrives.set_result(3)
        assert await context.race(arrives) == 3
        context.cancel()
        assert await context.race(arrives) == 3
        with pytest.raises(SyncCancelled):
            await context.race(asyncio.get_running_loop().create_future())

    run_virtual(main)


def test_a_worker_waits_until_the_cache_is_newer_than_its_last_sync() -> None:
    async def scene(s: Scene) -> None:
        s.cache.update_time(-1)
        s.tell(make_pod(), "create")
        await s.clock.sleep(SECOND)
        s.tell(make_pod(version=2))
        await s.clock.sleep(SECOND)
        assert s.calls == [("SyncPod", "u", 1)]
        s.cache.update_time(SECOND)
        await s.rest()
        assert s.calls == [("SyncPod", "u", 1), ("SyncPod", "u", 2)]

    play(scene)


def test_requests_at_the_end_of_a_sync_are_recorded_after_the_end() -> None:
    async def scene(s: Scene) -> None:
        asked = []

        async def starts(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            return SyncOutcome(post_sync=lambda: asked.append(s.workers._workers["u"].last_sync))

        s.on_sync = starts
        s.tell(make_pod(), "create")
        await s.rest()
        assert asked == [0]

    play(scene)


def test_a_failed_status_is_reported_and_retried() -> None:
    async def scene(s: Scene) -> None:
        s.cache.set("u", RuntimePodStatus("u"), RuntimeCallError("no answer"), 1 << 60)
        s.tell(make_pod(), "create")
        await s.rest()
        assert s.calls == []
        assert s.events == [("Warning", "FailedSync", "error determining status: no answer")]
        assert s.queue.earliest() == 10 * SECOND

    play(scene)


def test_a_failing_worker_is_retried_and_affects_no_other() -> None:
    async def scene(s: Scene) -> None:
        async def fail(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            if uid == "bad":
                raise SyncError("no")
            if uid == "worse":
                raise ZeroDivisionError("a defect")
            return SyncOutcome()

        s.on_sync = fail
        for uid in ("bad", "worse", "good"):
            s.tell(make_pod(uid), "create")
        await s.clock.sleep(11 * SECOND)
        assert s.queue.get_work() == ["bad", "worse"]
        assert s.crashes == ["worse: a defect"]
        assert s.workers.statistics()["workers"] == 3
        await s.clock.sleep(50 * SECOND)
        assert s.queue.get_work() == ["good"]

    play(scene)


def test_the_caller_that_kills_a_pod_waits_until_its_containers_are_stopped() -> None:
    async def scene(s: Scene) -> None:
        async def stop(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            if call == "SyncTerminatingPod":
                await s.clock.sleep(3 * SECOND)
            return SyncOutcome()

        s.on_sync = stop
        s.tell(make_pod(), "create")
        await s.rest()
        await s.workers.kill_pod_now(make_pod(), evict=True, grace_period_override=2)
        assert s.clock.now() == 3 * SECOND
        assert s.calls[1] == ("SyncTerminatingPod", "u", 2)
        assert s.workers.states.should_pod_content_be_removed("u")

    play(scene)


def test_the_caller_that_kills_a_pod_does_not_wait_forever() -> None:
    async def scene(s: Scene) -> None:
        async def hang(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            if call == "SyncTerminatingPod":
                await asyncio.get_running_loop().create_future()
            return SyncOutcome()

        s.on_sync = hang
        s.tell(make_pod(), "create")
        await s.rest()
        with pytest.raises(SyncError, match="timeout waiting to kill pod"):
            await s.workers.kill_pod_now(make_pod(), grace_period_override=21)
        assert s.clock.now() == 31 * SECOND  # 1.5 times as long, whole seconds
        assert s.events[0][1] == "ExceededGracePeriod"

    play(scene)


def test_a_pod_known_only_to_the_runtime_is_killed_and_forgotten() -> None:
    async def scene(s: Scene) -> None:
        s.workers.update_pod(UpdatePodOptions("sync", running_pod=RuntimePod("u", "p", "ns")))
        s.workers.update_pod(UpdatePodOptions("kill", running_pod=RuntimePod("u", "p", "ns")))
        await s.rest()
        assert s.calls == [("SyncTerminatingRuntimePod", "u", None)]
        assert s.workers.statistics() == {"pods": 0, "workers": 0, "working": 0}

    play(scene)


def test_workers_end_in_the_order_they_started() -> None:
    async def scene(s: Scene) -> None:
        ended = []

        async def hang(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.append(uid)
            return SyncOutcome()

        s.on_sync = hang
        for uid in "cab":
            s.tell(make_pod(uid), "create")
        await s.rest()
        await s.workers.close()
        assert ended == ["c", "a", "b"]

    play(scene)


def test_an_idle_worker_uses_little_memory() -> None:
    async def scene(s: Scene) -> None:
        s.sink.records.clear()
        pods = [make_pod(str(n)) for n in range(500)]
        gc.collect()
        tracemalloc.start()
        for pod in pods:
            s.tell(pod, "create")
        await s.clock.sleep(SECOND)
        s.sink.records.clear()
        s.calls.clear()
        gc.collect()
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size / len(pods) < 3 * 1024

    play(scene)


def settle(s: Scene) -> None:
    async def settled(call: str, uid: str, context: SyncContext) -> SyncOutcome:
        return SyncOutcome(settled=True)

    s.on_sync = settled


def test_the_resyncs_of_a_settled_pod_are_counted_not_executed() -> None:
    async def scene(s: Scene) -> None:
        settle(s)
        s.tell(make_pod(), "create")
        await s.rest()
        assert len(s.queue) == 0
        for tick in range(1, 151):
            await s.clock.sleep_until(tick * SECOND)
            s.workers.count_resyncs(s.clock.now(), lambda due: max(due + 1, s.clock.now()))
        s.tell(make_pod(version=2))
        # Resyncs were at the ticks at 61 and 122 s, so the next one is due at 182 s.
        assert s.queue.earliest() == 182 * SECOND
        await s.rest()
        assert s.calls == [("SyncPod", "u", 1), ("SyncPod", "u", 2)]

    play(scene)


def test_skipped_ticks_count_the_resyncs_of_executed_ones() -> None:
    async def scene(s: Scene) -> None:
        settle(s)
        s.tell(make_pod(), "create")
        await s.rest()
        await s.clock.sleep_until(150 * SECOND)
        s.workers.count_resyncs(150 * SECOND, lambda due: (due // SECOND + 1) * SECOND)
        s.resyncs.touch("u")
        assert s.queue.earliest() == 182 * SECOND

    play(scene)


def test_a_pod_that_changes_during_its_sync_is_not_settled() -> None:
    async def scene(s: Scene) -> None:
        async def touched(call: str, uid: str, context: SyncContext) -> SyncOutcome:
            s.resyncs.touch(uid)
            return SyncOutcome(settled=True)

        s.on_sync = touched
        s.tell(make_pod(), "create")
        await s.rest()
        assert s.queue.earliest() == 60 * SECOND

    play(scene)


def test_marking_all_pods_as_changed_executes_their_next_resyncs() -> None:
    async def scene(s: Scene) -> None:
        settle(s)
        for uid in ("a", "b"):
            s.tell(make_pod(uid), "create")
        await s.rest()
        s.resyncs.mark_all_changed()
        assert len(s.queue) == 2

    play(scene)
