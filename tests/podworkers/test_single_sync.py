"""Workers without states as tasks: syncs that are never cancelled, kills with a response, and the pod killer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from kubesim.api.pod import Pod
from kubesim.clock import LoopClock, Randomness, run_virtual
from kubesim.errors import SyncError
from kubesim.podworkers.requeue import Delays
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.single_sync import SingleSyncWorkers
from kubesim.podworkers.syncer import SyncContext, SyncOutcome
from kubesim.podworkers.undelivered import PodKnowledge, UndeliveredUpdates
from kubesim.podworkers.updates import KillPodOptions, PodStatusFn, SyncPodType, UpdatePodOptions
from kubesim.runtime.pod_cache import PodCache
from kubesim.runtime.types import ContainerRecord, RuntimePod, RuntimePodStatus
from kubesim.trace import MemorySink, Recorder

SECOND = 1_000_000


def make_pod(version: int = 1, **metadata: Any) -> Pod:
    body = {"uid": "u", "name": "pod", "namespace": "ns", "generation": version, **metadata}
    status = {"phase": "Running", "containerStatuses": [{"name": "c", "state": {"running": {}}}]}
    return Pod.from_json({"metadata": body, "spec": {"terminationGracePeriodSeconds": 4}, "status": status})


DELETED: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 4}


class Scene:
    """Each call of the syncer takes `duration` and then fails with `error`, if there is one."""

    def __init__(self, **settings: Any) -> None:
        self.clock = LoopClock(0)
        self.cache = PodCache()
        self.cache.update_time(1 << 60)
        self.resyncs = Resyncs(self.clock)
        self.calls: list[tuple[int, str, Any]] = []
        self.events: list[tuple[str, str]] = []
        self.duration, self.error = 0, ""
        knowledge = PodKnowledge(lambda uid: None, lambda uid: None, self.cache.known, lambda pod: None)
        self.workers = SingleSyncWorkers(
            self.clock,
            self,
            self.cache,
            UndeliveredUpdates(knowledge),
            self.resyncs,
            Recorder(self.clock, MemorySink()),
            self,
            Delays(Randomness(1), jitter=False),
            **settings,
        )

    def tell(self, pod: Pod, update: SyncPodType = "update", kill: KillPodOptions | None = None) -> None:
        self.workers.update_pod(UpdatePodOptions(update, pod, kill=kill))

    def runs(self) -> None:
        self.cache.set("u", RuntimePodStatus("u", containers=(ContainerRecord("c", "c", "running"),)), None, 1)

    async def called(self, call: str, about: Any) -> SyncOutcome:
        self.calls.append((self.clock.now() // SECOND, call, about))
        await self.clock.sleep(self.duration)
        return SyncOutcome(error=SyncError(self.error) if self.error else None)

    def event(self, pod: Pod, type: str, reason: str, message: str, container: str = "") -> None:
        self.events.append((reason, message))

    async def sync_pod(
        self, context: SyncContext, update_type: SyncPodType, pod: Pod, mirror_pod: Pod | None, status: RuntimePodStatus
    ) -> SyncOutcome:
        return await self.called("sync", pod.metadata.generation)

    async def sync_terminating_pod(
        self,
        context: SyncContext,
        pod: Pod,
        status: RuntimePodStatus,
        grace_period: int | None,
        status_fn: PodStatusFn | None,
    ) -> None:
        await self.called("kill", grace_period)

    async def sync_terminating_runtime_pod(self, context: SyncContext, running_pod: RuntimePod) -> None:
        await self.called("kill orphan", running_pod.uid)

    async def sync_terminated_pod(self, context: SyncContext, pod: Pod, status: RuntimePodStatus) -> None:
        raise AssertionError("there is no such sync")


def play(scene: Callable[[Scene], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        stage = Scene(**settings)
        await scene(stage)
        await stage.workers.close()

    run_virtual(main)


def test_a_shorter_grace_period_does_not_shorten_the_stop_in_progress() -> None:
    async def scene(s: Scene) -> None:
        s.duration = 20 * SECOND
        s.tell(make_pod(1, **DELETED), "update")
        await s.clock.sleep(5 * SECOND)
        s.tell(make_pod(2, **{**DELETED, "deletionGracePeriodSeconds": 1}))
        await s.clock.sleep(30 * SECOND)
        assert s.calls == [(0, "sync", 1), (20, "sync", 2)]

    play(scene)


def test_a_kill_waits_for_the_sync_and_gets_a_response() -> None:
    async def scene(s: Scene) -> None:
        s.duration = 3 * SECOND
        s.tell(make_pod(), "create")
        await s.clock.sleep(1 * SECOND)
        await s.workers.kill_pod_now(make_pod(), grace_period_override=0)
        assert s.clock.now() == 6 * SECOND
        assert s.calls == [(0, "sync", 1), (3, "kill", 0)]

    play(scene)


def test_every_failed_sync_is_an_event_in_versions_with_that_rule() -> None:
    async def scene(s: Scene) -> None:
        s.error = "no luck"
        s.tell(make_pod(), "create")
        await s.clock.sleep(1)
        assert s.events == [("FailedSync", "Error syncing pod, skipping: no luck")]
        assert s.resyncs.queue.earliest() == 10 * SECOND

    async def silent(s: Scene) -> None:
        s.error = "no luck"
        s.tell(make_pod(), "create")
        await s.clock.sleep(1)
        assert s.events == []

    play(scene, emits_sync_errors=True)
    play(silent)


def test_the_pod_killer_does_not_wait_for_the_sync() -> None:
    async def scene(s: Scene) -> None:
        s.runs()
        s.duration = 9 * SECOND
        s.tell(make_pod(1), "create")
        await s.clock.sleep(1 * SECOND)
        s.tell(make_pod(2))
        s.tell(make_pod(1), "kill")
        s.tell(make_pod(1), "kill")
        await s.clock.sleep(30 * SECOND)
        assert s.calls == [(0, "sync", 1), (1, "kill", None)]  # version 2 is dropped with the worker
        assert s.workers.statistics() == {"pods": 0, "workers": 0, "working": 0}

    play(scene)


def test_the_pod_killer_ignores_pods_that_do_not_run() -> None:
    async def scene(s: Scene) -> None:
        s.tell(make_pod(1), "kill")
        await s.clock.sleep(1)
        assert s.calls == []
        s.workers.update_pod(UpdatePodOptions("kill", running_pod=RuntimePod("o", "orphan", "ns")))
        await s.clock.sleep(1)
        assert s.calls == [(0, "kill orphan", "o")]

    play(scene)
