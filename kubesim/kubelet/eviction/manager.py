"""The eviction manager: measures the node's resources every ten seconds and evicts at most one pod per check.

The decisions are in the pure modules of this package; this module runs the loop, kills pods and waits.

Mirrors: pkg/kubelet/eviction/eviction_manager.go managerImpl
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from kubesim.api.node import Taint
from kubesim.api.pod import Pod, PodCondition, PodStatus
from kubesim.api.pods.pod_conditions import DISRUPTION_TARGET, with_condition
from kubesim.api.pods.pod_kinds import is_critical_pod
from kubesim.api.pods.resources import BEST_EFFORT, pod_qos_class
from kubesim.api.timestamps import SECOND
from kubesim.clock import NEVER, LoopClock
from kubesim.cluster.scheduling.taints import tolerates
from kubesim.concurrency import Ticker
from kubesim.errors import ImageGCError, RuntimeCallError, SyncError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.eviction import signals
from kubesim.kubelet.eviction.limits import has_storage_limits, storage_limits_exceeded
from kubesim.kubelet.eviction.messages import REASON, eviction_message, node_condition_message
from kubesim.kubelet.eviction.pressure import PressureState, evaluate, thresholds_met
from kubesim.kubelet.eviction.ranking import rank_for_signal
from kubesim.kubelet.eviction.stats import Observations, PodUsages, StatsProvider, without_huge_pages
from kubesim.kubelet.eviction.thresholds import EvictionConfig, Threshold, with_container_fs
from kubesim.podworkers.updates import PodStatusFn

MONITORING_PERIOD = 10 * SECOND
POD_CLEANUP_TIMEOUT = 30 * SECOND
POD_CLEANUP_POLL = SECOND
TERMINATION_BY_KUBELET = "TerminationByKubelet"
MEMORY_PRESSURE_TAINT = Taint(key="node.kubernetes.io/memory-pressure", effect="NoSchedule")


class NodeEventRecorder(Protocol):
    """Emits Events about pods and about the node."""

    def event(
        self,
        pod: Pod,
        type: str,
        reason: str,
        message: str,
        container: str = "",
        annotations: Mapping[str, str] | None = None,
    ) -> None: ...

    def node_event(self, type: str, reason: str, message: str) -> None: ...


class KillPod(Protocol):
    """Kills a pod and returns when its containers have stopped (`PodWorkers.kill_pod_now`)."""

    async def __call__(
        self,
        pod: Pod,
        *,
        evict: bool = False,
        grace_period_override: int | None = None,
        status_fn: PodStatusFn | None = None,
    ) -> None: ...


class NodeReclaim(Protocol):
    """Reclaims node-level resources before a pod is evicted."""

    async def delete_all_unused_containers(self) -> None: ...
    async def delete_unused_images(self) -> None: ...


class EvictionManager:
    def __init__(
        self,
        clock: LoopClock,
        config: EvictionConfig,
        stats: StatsProvider,
        kill_pod: KillPod,
        reclaim: NodeReclaim,
        events: NodeEventRecorder,
        active_pods: Callable[[], Sequence[Pod]],
        is_pod_finished: Callable[[str], bool],
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._clock = clock
        self._config = config
        self._thresholds = with_container_fs(config.thresholds, dedicated_image_fs=stats.dedicated_image_fs)
        self._stats = stats
        self._kill_pod = kill_pod
        self._reclaim = reclaim
        self._events = events
        self._active_pods = active_pods
        self._is_pod_finished = is_pod_finished
        self._gates = gates
        self._state = PressureState()
        self.evictions: dict[str, int] = {}  # by signal

    @property
    def node_conditions(self) -> tuple[str, ...]:
        return self._state.node_conditions

    # -- admission ----------------------------------------------------------------------------------------------

    def admit(self, pod: Pod) -> tuple[str, str]:
        """Admission under pressure: reason and message of the rejection; both empty if admitted."""
        conditions = self._state.node_conditions
        if not conditions or is_critical_pod(pod):
            return "", ""
        if conditions == (signals.MEMORY_PRESSURE,):
            comparison = self._gates.enabled("TaintTolerationComparisonOperators")
            if pod_qos_class(pod, self._gates) != BEST_EFFORT or any(
                tolerates(toleration, MEMORY_PRESSURE_TAINT, comparison=comparison)
                for toleration in pod.spec.tolerations
            ):
                return "", ""
        return REASON, node_condition_message(conditions)

    # -- the loop -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        ticker = Ticker(self._clock, "eviction", MONITORING_PERIOD)
        try:
            while True:
                before = self._state
                evicted = await self.synchronize()
                if evicted:
                    await self._wait_for_pods_cleanup(evicted)
                    continue
                is_quiet = self._state.is_quiet and before.is_quiet
                ticker.reset()
                ticker.done(NEVER if is_quiet else 0)
                await ticker.channel.receive()
        finally:
            ticker.stop()

    async def synchronize(self) -> list[Pod]:
        """Run one check; returns the evicted pods."""
        pods = self._active_pods()
        observations, now = self._observations(), self._clock.now()
        found = evaluate(self._state, self._thresholds, observations, now, self._config.pressure_transition_period)
        self._state = found.state
        limited = [pod for pod in pods if has_storage_limits(pod)]
        usages = self._usages(pods if found.to_reclaim else limited)
        evicted = await self._evict_beyond_limits(limited, usages)
        if evicted or not found.to_reclaim:
            return evicted
        threshold = found.to_reclaim[0]
        resource = signals.RESOURCE[threshold.signal]
        self._events.node_event("Warning", "EvictionThresholdMet", f"Attempting to reclaim {resource}")
        if await self._reclaim_node_level_resources(threshold.signal):
            return []
        return await self._evict_one(pods, usages, threshold, found.to_reclaim)

    def _usages(self, pods: Sequence[Pod]) -> PodUsages:
        found = {pod.metadata.uid: self._stats.pod_usage(pod.metadata.uid) for pod in pods}
        return {uid: usage for uid, usage in found.items() if usage is not None}

    async def _wait_for_pods_cleanup(self, pods: list[Pod]) -> None:
        deadline = self._clock.now() + POD_CLEANUP_TIMEOUT
        while self._clock.now() < deadline:
            await self._clock.sleep(POD_CLEANUP_POLL)
            if all(self._is_pod_finished(pod.metadata.uid) for pod in pods):
                return

    # -- acting -------------------------------------------------------------------------------------------------

    async def _reclaim_node_level_resources(self, signal: str) -> bool:
        """Remove unused images and containers; true if that was enough."""
        actions = self._reclaim_actions(signal)
        for act in actions:
            with suppress(ImageGCError, RuntimeCallError):
                await act()
        if not actions:
            return False
        return not thresholds_met(self._thresholds, self._observations(), enforce_min_reclaim=True)

    def _reclaim_actions(self, signal: str) -> tuple[Callable[[], Awaitable[None]], ...]:
        if signals.CONDITION[signal] != signals.DISK_PRESSURE:
            return ()
        if self._stats.dedicated_image_fs and signal in (signals.NODEFS_AVAILABLE, signals.NODEFS_INODES_FREE):
            return ()
        return self._reclaim.delete_all_unused_containers, self._reclaim.delete_unused_images

    def _observations(self) -> Observations:
        observations = self._stats.observations()
        if self._gates.enabled("HugepageAwareEviction"):
            return without_huge_pages(observations, self._stats.huge_pages)
        return observations

    async def _evict_beyond_limits(self, pods: Sequence[Pod], usages: PodUsages) -> list[Pod]:
        evicted = []
        for pod in pods:
            usage = usages.get(pod.metadata.uid)
            if usage is None:
                continue
            dedicated = self._stats.dedicated_image_fs
            exceeded = storage_limits_exceeded(
                pod, usage, dedicated_image_fs=dedicated, limits_sidecars=self._gates.rules.limits_storage_of_sidecars
            )
            why = next(exceeded, None)
            if why is not None and await self._evict(pod, self._gates.rules.hard_eviction_grace_s, why):
                evicted.append(pod)
        return evicted

    async def _evict_one(
        self, pods: Sequence[Pod], usages: PodUsages, threshold: Threshold, thresholds: tuple[Threshold, ...]
    ) -> list[Pod]:
        dedicated, resource = self._stats.dedicated_image_fs, signals.RESOURCE[threshold.signal]
        for pod in rank_for_signal(threshold.signal, pods, usages, dedicated_image_fs=dedicated, gates=self._gates):
            usage = usages.get(pod.metadata.uid)
            message, annotations = eviction_message(
                resource, pod, usage, thresholds, self._state.observations, self._gates
            )
            grace = self._grace(pod, threshold)
            if await self._evict(pod, grace, message, annotations, disruption=True):
                self.evictions[threshold.signal] = self.evictions.get(threshold.signal, 0) + 1
                return [pod]
        return []

    def _grace(self, pod: Pod, threshold: Threshold) -> int:
        rules = self._gates.rules
        if threshold.is_hard:
            return rules.hard_eviction_grace_s
        longest, own = self._config.max_pod_grace_period_s, pod.spec.termination_grace_period_seconds
        return min(longest, own) if own is not None and rules.soft_eviction_within_pod_grace else longest

    async def _evict(
        self,
        pod: Pod,
        grace: int,
        message: str,
        annotations: Mapping[str, str] | None = None,
        *,
        disruption: bool = False,
    ) -> bool:
        """Evict a pod; false for a critical pod. A pod that does not stop in time counts as evicted."""
        if is_critical_pod(pod):
            return False
        self._events.event(pod, "Warning", REASON, message, annotations=annotations)
        generation = pod.metadata.generation
        status_fn = evicted_status(message, generation if disruption else None)
        with suppress(SyncError):
            await self._kill_pod(pod, evict=True, grace_period_override=grace, status_fn=status_fn)
        return True


def evicted_status(message: str, generation: int | None) -> PodStatusFn:
    """The status of an evicted pod. With a generation, it includes the DisruptionTarget condition."""

    def change(status: PodStatus) -> PodStatus:
        if generation is not None:
            status = with_disruption_target(status, message, generation)
        return status.changed(phase="Failed", reason=REASON, message=message)

    return change


def with_disruption_target(status: PodStatus, message: str, generation: int) -> PodStatus:
    condition = PodCondition(
        type=DISRUPTION_TARGET,
        status="True",
        reason=TERMINATION_BY_KUBELET,
        message=message,
        observed_generation=generation,
    )
    return status.changed(conditions=with_condition(status.conditions, condition))
