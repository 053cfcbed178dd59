"""Cases from upstream's pkg/kubelet/eviction/eviction_manager_test.go: TestMemoryPressure, TestStorageLimitEvictions,
TestAdmitUnderNodeConditions, TestStaticCriticalPodsAreNotEvicted, TestNodeReclaimFuncs; and the pauses of the loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kubesim.api.pod import PodCondition
from kubesim.api.timestamps import MINUTE, SECOND
from kubesim.concurrency import TaskSet
from kubesim.features import FeatureGates
from tests.support.eviction import CRITICAL, HIGH, LOW, available, disk, make_pod, memory
from tests.support.eviction_bench import Bench, play


def admitted(bench: Bench, **spec: Any) -> dict[str, bool]:
    requests = {"cpu": "100m", "memory": "1Gi"}
    pods = {
        "guaranteed": make_pod("guaranteed", requests=requests, limits=requests, **spec),
        "burstable": make_pod("burstable", requests=requests, **spec),
        "best effort": make_pod("best-effort", **spec),
    }
    return {name: bench.manager.admit(pod) == ("", "") for name, pod in pods.items()}


def test_a_hard_threshold_evicts_the_first_in_rank_immediately() -> None:
    async def story(bench: Bench) -> None:
        bench.fill()
        bench.set(memory="500Mi")
        assert [pod.metadata.name for pod in await bench.manager.synchronize()] == [bench.killed[0][1]]

    bench = play(story)
    name = "best-effort-low-priority-low-usage"
    message = (
        "The node was low on resource: memory. Threshold quantity: 1Gi, available: 500Mi. "
        "Container main was using 100Mi, request is 0, has larger consumption of memory. "
    )
    assert bench.killed == [(0, name, 1)]
    assert bench.reasons() == [
        ("", "EvictionThresholdMet", "Attempting to reclaim memory"),
        (name, "Evicted", message),
    ]
    assert (bench.events[-1].annotations or {})["starved_resource"] == "memory"
    status = bench.statuses[name]
    assert (status.phase, status.reason, status.message) == ("Failed", "Evicted", message)
    condition = PodCondition(
        type="DisruptionTarget", status="True", reason="TerminationByKubelet", message=message, observed_generation=0
    )
    assert status.conditions == (condition,)
    assert bench.conditions == [("MemoryPressure",)]
    assert bench.manager.evictions == {"memory.available": 1}


def test_a_soft_threshold_gives_pods_a_limited_grace_period() -> None:
    async def story(bench: Bench) -> None:
        bench.pods = [
            make_pod("long", LOW, terminationGracePeriodSeconds=30),
            make_pod("short", terminationGracePeriodSeconds=2),
        ]
        bench.set(memory="1500Mi")
        for _ in range(3):
            await bench.manager.synchronize()
            await bench.clock.sleep(2 * MINUTE)

    assert play(story).killed == [(2 * MINUTE, "long", 5), (4 * MINUTE, "short", 2)]


def test_admission_under_pressure() -> None:
    async def story(bench: Bench) -> None:
        assert all(admitted(bench).values())
        bench.set(memory="500Mi")
        await bench.manager.synchronize()
        assert admitted(bench) == {"guaranteed": True, "burstable": True, "best effort": False}
        refusal = bench.manager.admit(make_pod("one"))
        assert refusal == ("Evicted", "The node had condition: [MemoryPressure]. ")
        tolerates_memory = [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists"}]
        assert all(admitted(bench, tolerations=tolerates_memory).values())
        bench.set(disk="1Gi")
        await bench.manager.synchronize()
        assert not any(admitted(bench, tolerations=tolerates_memory).values())
        assert all(admitted(bench, priority=CRITICAL).values())

    play(story)


def test_critical_pods_are_not_evicted() -> None:
    async def story(bench: Bench) -> None:
        static = make_pod("static")
        static = static.changed(metadata=static.metadata.changed(annotations={"kubernetes.io/config.source": "file"}))
        bench.pods = [static, make_pod("system", CRITICAL), make_pod("other", HIGH)]
        bench.usages = {"static": memory("9Gi"), "system": memory("9Gi"), "other": memory("1Mi")}
        bench.set(memory="500Mi")
        await bench.manager.synchronize()
        await bench.manager.synchronize()

    assert [name for _, name, _ in play(story).killed] == ["other"]


def test_images_and_dead_containers_are_removed_before_pods() -> None:
    async def story(bench: Bench) -> None:
        bench.fill()
        bench.reclaim_frees = {"nodefs.available": available("50Gi", "100Gi")}
        bench.set(disk="5Gi")
        await bench.manager.synchronize()
        assert bench.reclaimed == ["containers", "images"]
        assert bench.killed == []
        bench.reclaim_frees = {}
        bench.runtime_is_down = True
        bench.set(disk="5Gi")
        await bench.clock.sleep(SECOND)
        await bench.manager.synchronize()
        assert len(bench.killed) == 1

    assert play(story).manager.node_conditions == ("DiskPressure",)


def test_with_a_separate_image_disk_the_other_disk_has_nothing_to_reclaim() -> None:
    async def story(bench: Bench) -> None:
        bench.dedicated_image_fs = True
        bench.set(disk="5Gi")
        await bench.manager.synchronize()

    assert play(story).reclaimed == []


def test_pods_beyond_their_own_limits_are_evicted_at_once_without_a_condition() -> None:
    async def story(bench: Bench) -> None:
        limits = {"ephemeral-storage": "1Gi"}
        bench.pods = [make_pod("a", limits=limits), make_pod("b", limits=limits), make_pod("c", limits=limits)]
        bench.usages = {"a": disk("2Gi"), "b": disk("1Gi"), "c": disk("3Gi")}
        bench.set(memory="500Mi")
        await bench.manager.synchronize()

    bench = play(story)
    assert bench.killed == [(0, "a", 1), (0, "c", 1)]
    assert bench.statuses["a"].conditions == ()
    assert str(bench.events[0]).startswith("Warning Evicted Pod ephemeral local storage usage exceeds")


async def run_for(bench: Bench, duration: int, steps: dict[int, Callable[[], None]]) -> None:
    async with TaskSet() as tasks:
        tasks.start("eviction", bench.manager.run())
        for moment, step in steps.items():
            await bench.clock.sleep_until(moment)
            step()
        await bench.clock.sleep_until(duration)


def test_one_pod_is_evicted_at_a_time_and_the_next_check_follows_its_end() -> None:
    async def story(bench: Bench) -> None:
        bench.pods = [make_pod("a", LOW), make_pod("b")]
        await run_for(bench, MINUTE, {15 * SECOND: lambda: bench.set(memory="500Mi")})

    # The manager checks every ten seconds; after an eviction it polls every second until the pod has terminated.
    assert play(story).killed == [(20 * SECOND, "a", 1), (21 * SECOND, "b", 1)]


def test_a_pod_that_does_not_stop_delays_the_next_check_by_half_a_minute() -> None:
    async def story(bench: Bench) -> None:
        bench.kill_fails = True
        bench.pods = [make_pod("a")]
        await run_for(bench, MINUTE, {5 * SECOND: lambda: bench.set(memory="500Mi")})

    assert [moment for moment, _, _ in play(story).killed] == [10 * SECOND, 40 * SECOND]


def test_an_idle_node_is_not_checked() -> None:
    async def story(bench: Bench) -> None:
        bench.set(memory="3Gi")
        steps = {65 * SECOND: lambda: bench.set(memory="1500Mi"), 95 * SECOND: lambda: bench.set(memory="3Gi")}
        await run_for(bench, 60 * MINUTE, steps)

    resting, busy = play(story), play(story, every_tick=True)
    assert resting.conditions == busy.conditions == [("MemoryPressure",), ()]
    assert len(busy.looks) == 361
    assert len(resting.looks) < 45


def test_a_v1_30_kubelet_uses_no_grace_period_or_the_configured_maximum() -> None:
    async def hard(bench: Bench) -> None:
        bench.pods = [make_pod("one", terminationGracePeriodSeconds=30)]
        bench.set(memory="500Mi")
        await bench.manager.synchronize()

    async def soft(bench: Bench) -> None:
        bench.pods = [make_pod("one", terminationGracePeriodSeconds=2)]
        bench.set(memory="1500Mi")
        for _ in range(2):
            await bench.manager.synchronize()
            await bench.clock.sleep(2 * MINUTE)

    old = FeatureGates(profile="v1.30")
    assert [grace for _, _, grace in play(hard, gates=old).killed] == [0]
    assert [grace for _, _, grace in play(soft, gates=old).killed] == [5]
