"""A node with scripted measurements and an eviction manager."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.timestamps import MINUTE
from kubesim.clock import LoopClock, run_virtual
from kubesim.errors import RuntimeCallError, SyncError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.eviction.manager import EvictionManager
from kubesim.kubelet.eviction.stats import Observations, PodUsage, SignalObservation
from kubesim.kubelet.eviction.thresholds import EvictionConfig, parse_threshold_config
from kubesim.podworkers.updates import PodStatusFn
from tests.support.eviction import DEFAULT, HIGH, LOW, available, make_pod, memory
from tests.support.fakes.events import RecordedEvents
from tests.support.ticks import ticks

CONFIG = EvictionConfig(
    parse_threshold_config(
        {"memory.available": "1Gi", "nodefs.available": "10%"},
        {"memory.available": "2Gi"},
        {"memory.available": 2 * MINUTE},
        enforce_node_allocatable=False,
    ),
    max_pod_grace_period_s=5,
)


class Watched(EvictionManager):
    """Records changes of the node conditions."""

    def __init__(self, conditions: list[tuple[str, ...]], *args: Any) -> None:
        super().__init__(*args)
        self._conditions = conditions

    async def synchronize(self) -> list[Pod]:
        before = self.node_conditions
        evicted = await super().synchronize()
        if self.node_conditions != before:
            self._conditions.append(self.node_conditions)
        return evicted


class Bench(RecordedEvents):
    """A node with scripted measurements; records the actions of the manager."""

    def __init__(
        self,
        clock: LoopClock,
        config: EvictionConfig = CONFIG,
        *,
        dedicated_image_fs: bool = False,
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self.clock = clock
        self.dedicated_image_fs = dedicated_image_fs
        self.signals: dict[str, SignalObservation] = {}
        self.usages: dict[str, PodUsage] = {}
        self.pods: list[Pod] = []
        self.killed: list[tuple[int, str, int | None]] = []
        self.statuses: dict[str, PodStatus] = {}
        RecordedEvents.__init__(self)
        self.reclaimed: list[str] = []
        self.reclaim_frees: dict[str, SignalObservation] = {}
        self.kill_fails = False
        self.runtime_is_down = False
        self.conditions: list[tuple[str, ...]] = []
        self.looks: list[int] = []
        self.manager = Watched(
            self.conditions, clock, config, self, self.kill, self, self, self.active, self.is_finished, gates
        )

    def set(self, **left: str) -> None:
        names = {"memory": "memory.available", "disk": "nodefs.available", "images": "imagefs.available"}
        for name, text in left.items():
            self.signals[names[name]] = available(text, "100Gi")

    def observations(self) -> Observations:
        now = self.clock.now()
        self.looks.append(now)
        return {signal: replace(observation, time=now) for signal, observation in self.signals.items()}

    def pod_usage(self, uid: str) -> PodUsage | None:
        return self.usages.get(uid)

    def image_fs(self) -> tuple[int, int]:
        return 1, 1

    async def delete_all_unused_containers(self) -> None:
        self.reclaimed.append("containers")
        if self.runtime_is_down:
            raise RuntimeCallError("connection refused")

    async def delete_unused_images(self) -> None:
        self.reclaimed.append("images")
        self.signals.update(self.reclaim_frees)

    async def kill(
        self,
        pod: Pod,
        *,
        evict: bool = False,
        grace_period_override: int | None = None,
        status_fn: PodStatusFn | None = None,
    ) -> None:
        assert evict
        assert status_fn is not None
        name = pod.metadata.name
        self.killed.append((self.clock.now(), name, grace_period_override))
        self.statuses[name] = status_fn(PodStatus(phase="Running"))
        if self.kill_fails:
            raise SyncError("timeout waiting to kill pod")
        self.pods.remove(pod)

    def active(self) -> list[Pod]:
        return list(self.pods)

    def is_finished(self, uid: str) -> bool:
        return all(pod.metadata.uid != uid for pod in self.pods)

    def fill(self) -> None:
        """Add upstream's five pods."""
        for name, priority, request, used in (
            ("guaranteed-low-priority-high-usage", LOW, "1Gi", "900Mi"),
            ("burstable-below-requests", DEFAULT, "100Mi", "50Mi"),
            ("burstable-above-requests", DEFAULT, "100Mi", "400Mi"),
            ("best-effort-high-priority-high-usage", HIGH, "", "400Mi"),
            ("best-effort-low-priority-low-usage", LOW, "", "100Mi"),
        ):
            self.pods.append(make_pod(name, priority, {"memory": request} if request else {}))
            self.usages[name] = memory(used)


def play(story: Callable[[Bench], Coroutine[Any, Any, None]], *, every_tick: bool = False, **options: Any) -> Bench:
    async def main() -> Bench:
        bench = Bench(LoopClock(0), **options)
        await story(bench)
        return bench

    with ticks(every_tick=every_tick):
        return run_virtual(main)
