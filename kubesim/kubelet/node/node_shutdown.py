"""Graceful node shutdown: terminates pods by priority group, lowest first, before the machine shuts down.

The next group starts when all pods of a group have stopped or its period has passed. During the shutdown the node is
NotReady and admits no pods.

Mirrors: pkg/kubelet/nodeshutdown/nodeshutdown_manager.go podManager, migrateConfig, groupByPriority;
nodeshutdown_manager_linux.go managerImpl
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.pod_kinds import SYSTEM_CRITICAL_PRIORITY
from kubesim.api.timestamps import SECOND
from kubesim.clock import LoopClock, wake
from kubesim.concurrency import TaskSet
from kubesim.errors import SyncError
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.eviction.manager import KillPod, NodeEventRecorder, with_disruption_target
from kubesim.podworkers.syncer import SyncContext
from kubesim.podworkers.updates import PodStatusFn
from kubesim.values import mutable, value_object

WaitForUnmount = Callable[[SyncContext, Pod], Coroutine[Any, Any, None]]

NOT_ADMITTED_REASON = "NodeShutdown"
NOT_ADMITTED_MESSAGE = "Pod was rejected as the node is shutting down."
REASON = "Terminated"
MESSAGE = "Pod was terminated in response to imminent node shutdown."
SHUTTING_DOWN = "node is shutting down"
DEFAULT_PRIORITY = 0


@value_object
class ShutdownGracePeriod:
    """The grace period for pods of at least this priority and below the next group's."""

    priority: int
    grace_period_s: int


@mutable
class ShutdownGroup:
    period: ShutdownGracePeriod
    pods: list[Pod] = field(default_factory=list)


def shutdown_periods(
    requested: int, critical_pods: int, by_pod_priority: Iterable[ShutdownGracePeriod] = ()
) -> tuple[ShutdownGracePeriod, ...]:
    """The groups from low to high priority; empty if graceful shutdown is not configured.

    `requested` and `critical_pods` are microseconds: the total period, and its final part for critical pods.
    """
    periods = tuple(by_pod_priority)
    if not periods and requested and 0 <= critical_pods <= requested:
        periods = (
            ShutdownGracePeriod(DEFAULT_PRIORITY, (requested - critical_pods) // SECOND),
            ShutdownGracePeriod(SYSTEM_CRITICAL_PRIORITY, critical_pods // SECOND),
        )
    return tuple(sorted(periods, key=lambda period: period.priority))


def group_by_priority(periods: Sequence[ShutdownGracePeriod], pods: Iterable[Pod]) -> list[ShutdownGroup]:
    """Assign each pod to the group at or below its priority; pods below the lowest group join it."""
    groups = [ShutdownGroup(period) for period in periods]
    priorities = [period.priority for period in periods]
    for pod in pods:
        priority = pod.spec.priority or 0
        index = min(bisect_left(priorities, priority), len(groups) - 1)
        if index > 0 and priorities[index] > priority:
            index -= 1
        groups[index].pods.append(pod)
    return groups


def grace_period(pod: Pod, group: ShutdownGracePeriod) -> int:
    own = pod.spec.termination_grace_period_seconds
    return group.grace_period_s if own is None else min(own, group.grace_period_s)


def terminated_status(generation: int) -> PodStatusFn:
    """The status of a pod that the shutdown terminated; a succeeded pod keeps its status."""

    def change(status: PodStatus) -> PodStatus:
        status = with_disruption_target(status, MESSAGE, generation)
        phase = status.phase if status.phase == "Succeeded" else "Failed"
        return status.changed(phase=phase, reason=REASON, message=MESSAGE)

    return change


class NodeShutdown:
    """The shutdown manager. `sync_node_status` immediately reports NotReady to the API server."""

    def __init__(
        self,
        clock: LoopClock,
        tasks: TaskSet,
        periods: tuple[ShutdownGracePeriod, ...],
        kill_pod: KillPod,
        wait_for_unmount: WaitForUnmount,
        events: NodeEventRecorder,
        active_pods: Callable[[], Sequence[Pod]],
        sync_node_status: Callable[[], None],
        gates: FeatureGates = DEFAULT_GATES,
    ) -> None:
        self._clock = clock
        self._tasks = tasks
        self._periods = periods if gates.enabled("GracefulNodeShutdown") else ()
        self._kill_pod = kill_pod
        self._wait_for_unmount = wait_for_unmount
        self._events = events
        self._active_pods = active_pods
        self._sync_node_status = sync_node_status
        self.shutting_down = False

    @property
    def is_configured(self) -> bool:
        return bool(self._periods)

    def problem(self) -> str:
        """The NotReady reason during a shutdown; empty otherwise."""
        return SHUTTING_DOWN if self.shutting_down else ""

    def admit(self, pod: Pod) -> tuple[str, str]:
        return (NOT_ADMITTED_REASON, NOT_ADMITTED_MESSAGE) if self.shutting_down else ("", "")

    async def shut_down(self) -> None:
        """Handle the shutdown signal; returns when the kubelet releases its inhibitor."""
        self._events.node_event("Normal", "NodeShutdown", "Shutdown manager detected shutdown event")
        self.shutting_down = True
        self._sync_node_status()
        for group in group_by_priority(self._periods, self._active_pods()):
            if group.pods:
                await self._kill_group(group)

    def cancel(self) -> None:
        """Cancel the shutdown. Terminated pods do not come back."""
        self._events.node_event("Normal", "NodeShutdown", "Shutdown manager detected shutdown cancellation")
        self.shutting_down = False

    async def _kill_group(self, group: ShutdownGroup) -> None:
        """Kill all pods of a group and wait until their volumes are unmounted: a later group may run the pod that
        serves a volume.

        Kills that exceed the group's period continue while the next group runs.
        """
        over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        context = SyncContext()
        open_kills = len(group.pods)

        async def kill(pod: Pod) -> None:
            nonlocal open_kills
            status_fn = terminated_status(pod.metadata.generation)
            with suppress(SyncError):
                await self._kill_pod(pod, grace_period_override=grace_period(pod, group.period), status_fn=status_fn)
            open_kills -= 1
            if not open_kills:
                for each in group.pods:
                    with suppress(SyncError):
                        await self._wait_for_unmount(context, each)
                wake(over, None)

        for pod in group.pods:
            self._tasks.start(f"shutdown of {pod.metadata.namespace}/{pod.metadata.name}", kill(pod))
        timer = self._clock.call_at(self._clock.now() + group.period.grace_period_s * SECOND, wake, over, None)
        try:
            await over
        finally:
            timer.cancel()
            context.cancel()
