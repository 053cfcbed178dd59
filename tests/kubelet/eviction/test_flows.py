"""Pressure that starts, leads to evictions and ends: upstream's cases, step by step.

Adapted from pkg/kubelet/eviction/eviction_manager_test.go: TestMemoryPressure, TestPIDPressure, TestDiskPressureNodeFs
(3 rows: 2), TestInodePressureFsInodes (3 rows: 2), TestAllocatableMemoryPressure, TestMinReclaim, TestNodeReclaimFuncs
(4 rows: 2), TestStorageLimitEvictions (3), Test...Pressure_VerifyPodStatus (memory, pids; of disks 2 of 3). Omitted:
the rows with separate file systems for writable layers and images (no node has them here), TestUpdateMemcgThreshold
(there is no kernel to notify), TestManagerWithLocalStorageCapacityIsolationOpen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kubesim.api.pod import Pod
from kubesim.api.quantity import quantity
from kubesim.api.timestamps import MINUTE
from kubesim.kubelet.eviction import signals
from kubesim.kubelet.eviction.stats import PodUsage
from kubesim.kubelet.eviction.thresholds import EvictionConfig, Threshold, ThresholdValue, parse_threshold_config
from kubesim.values import value_object
from tests.support.eviction import DEFAULT, HIGH, LOW, available, disk, make_pod, memory
from tests.support.eviction_bench import Bench, play

NO_LIMITS: dict[str, str] = {}


@value_object
class Flow:
    """One signal, and its available amount normally, below the soft threshold and below the hard one."""

    signal: str
    well: str
    soft: str
    hard: str
    pods: tuple[tuple[Pod, PodUsage], ...]
    evicted: str
    thresholds: tuple[str, str] = ("1Gi", "2Gi")
    dedicated_image_fs: bool = False


def five(make: Any, *uses: str) -> tuple[tuple[Pod, PodUsage], ...]:
    wants = (
        ("low-priority-high-usage", LOW, {"cpu": "100m", "memory": "1Gi"}, {"cpu": "100m", "memory": "1Gi"}),
        ("below-requests", DEFAULT, {"cpu": "100m", "memory": "100Mi"}, {"cpu": "200m", "memory": "1Gi"}),
        ("above-requests", DEFAULT, {"cpu": "100m", "memory": "100Mi"}, {"cpu": "200m", "memory": "1Gi"}),
        ("high-priority-high-usage", HIGH, NO_LIMITS, NO_LIMITS),
        ("low-priority-low-usage", LOW, NO_LIMITS, NO_LIMITS),
    )
    return tuple(
        (make_pod(name, priority, requests, limits=limits), make(used))
        for (name, priority, requests, limits), used in zip(wants, uses, strict=True)
    )


def processes(*named: tuple[str, int, int]) -> tuple[tuple[Pod, PodUsage], ...]:
    return tuple((make_pod(name, priority), PodUsage(processes=number)) for name, priority, number in named)


def inodes(text: str) -> PodUsage:
    return disk(text, inodes=True)


FIVE = ("900Mi", "50Mi", "400Mi", "400Mi", "100Mi")
FLOWS = [
    pytest.param(
        Flow("memory.available", "2Gi", "1500Mi", "500Mi", five(memory, *FIVE), "low-priority-low-usage"),
        id="TestMemoryPressure",
    ),
    pytest.param(
        Flow(
            "pid.available",
            "1700",
            "1300",
            "800",
            processes(
                ("high-priority-high-usage", HIGH, 900),
                ("default-priority-low-usage", DEFAULT, 100),
                ("default-priority-medium-usage", DEFAULT, 400),
                ("low-priority-high-usage", LOW, 600),
                ("low-priority-low-usage", LOW, 50),
            ),
            "low-priority-high-usage",
            ("1200", "1500"),
        ),
        id="TestPIDPressure",
    ),
    pytest.param(
        Flow("nodefs.available", "16Gi", "1.5Gi", "750Mi", five(disk, *FIVE), "low-priority-high-usage"),
        id="TestDiskPressureNodeFs: no image fs",
    ),
    pytest.param(
        Flow(
            "imagefs.available",
            "16Gi",
            "1.5Gi",
            "750Mi",
            five(disk, *FIVE),
            "low-priority-high-usage",
            dedicated_image_fs=True,
        ),
        id="TestDiskPressureNodeFs: image fs",
    ),
    pytest.param(
        Flow(
            "nodefs.inodesFree",
            "3Mi",
            "1.5Mi",
            "0.5Mi",
            five(inodes, *FIVE),
            "low-priority-high-usage",
            ("1Mi", "2Mi"),
        ),
        id="TestInodePressureFsInodes: no image fs",
    ),
    pytest.param(
        Flow(
            "imagefs.inodesFree",
            "3Mi",
            "1.5Mi",
            "0.5Mi",
            five(inodes, *FIVE),
            "low-priority-high-usage",
            ("1Mi", "2Mi"),
            dedicated_image_fs=True,
        ),
        id="TestInodePressureFsInodes: image fs",
    ),
]


def config(flow: Flow) -> EvictionConfig:
    hard, soft = flow.thresholds
    thresholds = parse_threshold_config(
        {flow.signal: hard}, {flow.signal: soft}, {flow.signal: 2 * MINUTE}, enforce_node_allocatable=False
    )
    return EvictionConfig(thresholds, max_pod_grace_period_s=5)


class Story:
    """An eviction manager with this signal. An evicted pod exists again at the next step, as in upstream."""

    def __init__(self, bench: Bench, signal: str, pods: tuple[tuple[Pod, PodUsage], ...]) -> None:
        self.bench, self.signal, self.pods = bench, signal, pods
        bench.usages = {pod.metadata.uid: usage for pod, usage in pods}

    async def after(self, minutes: int, left: str) -> tuple[bool, list[tuple[str, int | None]]]:
        """Whether there is pressure at that time, and the killed pods with their grace periods."""
        bench = self.bench
        await bench.clock.sleep(minutes * MINUTE)
        bench.pods = [pod for pod, _ in self.pods]
        bench.killed.clear()
        bench.signals[self.signal] = available(left, "16Gi")
        await bench.manager.synchronize()
        under = signals.CONDITION[self.signal] in bench.manager.node_conditions
        return under, [(name, grace) for _, name, grace in bench.killed]

    def admits(self, *, best_effort: bool) -> bool:
        requests = NO_LIMITS if best_effort else {"memory": "100Mi"}
        return self.bench.manager.admit(make_pod("pod-to-admit", requests=requests)) == ("", "")


@pytest.mark.parametrize("flow", FLOWS)
def test_pressure_starts_and_ends(flow: Flow) -> None:
    async def story(bench: Bench) -> None:
        steps = Story(bench, flow.signal, flow.pods)
        only_memory = flow.signal == "memory.available"
        assert await steps.after(0, flow.well) == (False, [])
        assert steps.admits(best_effort=True)
        # The soft threshold is crossed immediately, and its grace period ends later.
        assert await steps.after(1, flow.soft) == (True, [])
        assert await steps.after(3, flow.soft) == (True, [(flow.evicted, 5)])
        assert await steps.after(20, flow.well) == (False, [])
        assert await steps.after(1, flow.hard) == (True, [(flow.evicted, 1)])
        assert not steps.admits(best_effort=True)
        assert steps.admits(best_effort=False) == only_memory
        # The condition stays for the transition period.
        assert await steps.after(1, flow.well) == (True, [])
        assert not steps.admits(best_effort=True)
        assert await steps.after(5, flow.well) == (False, [])
        assert steps.admits(best_effort=True)

    play(story, config=config(flow), dedicated_image_fs=flow.dedicated_image_fs)


def test_pressure_on_the_memory_of_all_pods() -> None:
    """TestAllocatableMemoryPressure"""
    value = ThresholdValue(quantity("1Gi"))
    own = EvictionConfig((Threshold("allocatableMemory.available", value),), max_pod_grace_period_s=5)

    async def story(bench: Bench) -> None:
        steps = Story(bench, "allocatableMemory.available", five(memory, *FIVE))
        assert await steps.after(0, "4Gi") == (False, [])
        assert await steps.after(1, "500Mi") == (True, [("low-priority-low-usage", 1)])
        assert (steps.admits(best_effort=True), steps.admits(best_effort=False)) == (False, True)
        assert await steps.after(1, "2Gi") == (True, [])
        assert not steps.admits(best_effort=True)
        assert await steps.after(5, "2Gi") == (False, [])
        assert steps.admits(best_effort=True)

    play(story, config=own)


def test_reclaiming_continues_until_the_minimum_is_free() -> None:
    """TestMinReclaim"""
    thresholds = parse_threshold_config(
        {"memory.available": "1Gi"}, minimum_reclaim={"memory.available": "500Mi"}, enforce_node_allocatable=False
    )

    async def story(bench: Bench) -> None:
        steps = Story(bench, "memory.available", five(memory, *FIVE))
        assert await steps.after(0, "2Gi") == (False, [])
        assert await steps.after(1, "500Mi") == (True, [("low-priority-low-usage", 1)])
        assert await steps.after(1, "1.2Gi") == (True, [("low-priority-low-usage", 1)])
        assert await steps.after(1, "2Gi") == (True, [])
        assert await steps.after(5, "2Gi") == (False, [])

    play(story, config=EvictionConfig(thresholds, max_pod_grace_period_s=5))


@pytest.mark.parametrize(
    ("signal", "dedicated"),
    [
        pytest.param("nodefs.available", False, id="eviction due to disk pressure; no image fs"),
        pytest.param("imagefs.available", True, id="eviction due to image disk pressure; image fs"),
    ],
)
def test_unused_images_are_removed_before_a_pod_is_evicted(signal: str, dedicated: bool) -> None:
    """TestNodeReclaimFuncs"""
    thresholds = parse_threshold_config(
        {signal: "1Gi"}, minimum_reclaim={signal: "500Mi"}, enforce_node_allocatable=False
    )

    async def story(bench: Bench) -> None:
        steps = Story(bench, signal, five(disk, *FIVE))
        both = ["containers", "images"]
        assert await steps.after(0, "16Gi") == (False, [])
        # The removed images free enough.
        bench.reclaim_frees = {signal: available("16Gi")}
        assert await steps.after(1, "750Mi") == (True, [])
        assert bench.reclaimed == both
        assert await steps.after(20, "16Gi") == (False, [])
        # It is more than the threshold, but less than the threshold plus the minimum reclaim.
        bench.reclaim_frees = {signal: available("1.1G")}
        assert await steps.after(1, "750Mi") == (True, [("low-priority-high-usage", 1)])
        assert bench.reclaimed == both * 2
        assert await steps.after(20, "16Gi") == (False, [])
        # It is nothing.
        bench.reclaim_frees = {}
        assert await steps.after(1, "750Mi") == (True, [("low-priority-high-usage", 1)])
        assert bench.reclaimed == both * 3
        assert await steps.after(1, "16Gi") == (True, [])
        assert await steps.after(5, "16Gi") == (False, [])
        assert bench.reclaimed == both * 3

    play(story, config=EvictionConfig(thresholds, max_pod_grace_period_s=5), dedicated_image_fs=dedicated)


LOCAL = [{"name": "local", "emptyDir": {"sizeLimit": "1Gi"}}]
STORAGE_NAME = "ephemeral-storage"
STORAGE = {STORAGE_NAME: "1Gi"}


@pytest.mark.parametrize(
    ("pod", "usage"),
    [
        pytest.param(make_pod("a", requests=STORAGE, limits=STORAGE), disk("2Gi"), id="rootfs above limit"),
        pytest.param(make_pod("a", requests=STORAGE, limits=STORAGE), disk("0", "2Gi"), id="logsfs above limit"),
        pytest.param(make_pod("a", volumes=LOCAL), disk("0", "0", "2Gi"), id="local volume above limit"),
    ],
)
def test_pods_beyond_their_own_limits(pod: Pod, usage: PodUsage) -> None:
    """TestStorageLimitEvictions"""
    thresholds = parse_threshold_config({"nodefs.available": "1Gi"}, enforce_node_allocatable=False)

    async def story(bench: Bench) -> None:
        steps = Story(bench, "nodefs.available", ((make_pod("b"), disk("0")), (pod, usage)))
        assert await steps.after(0, "200Mi") == (True, [("a", 1)])
        assert bench.reclaimed == []

    play(story, config=EvictionConfig(thresholds))


@pytest.mark.parametrize(
    ("signal", "threshold", "left", "pods", "resource"),
    [
        pytest.param("memory.available", "2Gi", "1500Mi", five(memory, *FIVE), "memory", id="memory"),
        pytest.param(
            "pid.available", "1200", "500", processes(("pod1", LOW, 2), ("pod2", DEFAULT, 2)), "pids", id="pids"
        ),
        pytest.param(
            "nodefs.available", "2Gi", "1.5Gi", five(disk, *FIVE), "ephemeral-storage", id="disk; no image fs"
        ),
        pytest.param("imagefs.available", "50Gi", "10Gi", five(disk, *FIVE), "ephemeral-storage", id="disk; image fs"),
    ],
)
def test_the_status_of_an_evicted_pod(
    signal: str, threshold: str, left: str, pods: tuple[tuple[Pod, PodUsage], ...], resource: str
) -> None:
    """Test...Pressure_VerifyPodStatus"""
    # Upstream's measurements name no container, so the message has none either.
    pods = tuple((pod, replace(usage, containers=())) for pod, usage in pods)

    async def story(bench: Bench) -> None:
        steps = Story(bench, signal, pods)
        under, killed = await steps.after(0, left)
        assert under
        status = bench.statuses[killed[0][0]]
        message = (
            f"The node was low on resource: {resource}. "
            f"Threshold quantity: {quantity(threshold)}, available: {quantity(left)}. "
        )
        assert (status.phase, status.reason, status.message) == ("Failed", "Evicted", message)
        condition = status.conditions[0]
        assert (condition.type, condition.status) == ("DisruptionTarget", "True")
        assert (condition.reason, condition.message) == ("TerminationByKubelet", message)

    thresholds = parse_threshold_config({signal: threshold}, enforce_node_allocatable=False)
    play(story, config=EvictionConfig(thresholds), dedicated_image_fs=signal.startswith("imagefs"))
