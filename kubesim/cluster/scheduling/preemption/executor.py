"""Deletes the victims of a preemption.

All but the last are deleted concurrently. The preemptor may be retried once the last one is being deleted.

Mirrors: pkg/scheduler/framework/preemption/executor.go prepareCandidateAsync, PreemptPod
"""

from __future__ import annotations

from collections.abc import Sequence

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.timestamps import MILLISECOND
from kubesim.cluster.controllers.context import ControllerContext
from kubesim.cluster.scheduling.framework.pod_info import PodInfo, pod_priority
from kubesim.cluster.scheduling.preemption.post_filter import PREEMPTION_BY_SCHEDULER
from kubesim.cluster.scheduling.preemption.victims import Victims
from kubesim.cluster.scheduling.queue.nominator import Nominator
from kubesim.cluster.scheduling.scheduler_client import NAME, SchedulerClient
from kubesim.cluster.scheduling.scheduler_events import SchedulerEvents
from kubesim.errors import ApiError

FASTEST, SLOWEST = 5 * MILLISECOND, 25 * MILLISECOND  # from the decision to a deletion, as measured


class PreemptionExecutor:
    """Deletes victims; one per scheduler."""

    def __init__(self, context: ControllerContext, client: SchedulerClient, events: SchedulerEvents) -> None:
        self._clock, self._store = context.clock, context.store
        self._stream = context.randomness.stream("scheduler", "preemption")
        self._client = client
        self._events = events
        self._preempting: set[str] = set()

    def is_preempting(self, uid: str) -> bool:
        """Whether victims of this pod are not deleted yet."""
        return uid in self._preempting

    def prepare(self, preemptor: Pod, victims: Victims, nominator: Nominator) -> None:
        """Start to delete the victims. Pods of lower priority lose their nomination to the same node."""
        pods = [info for info in victims.pods if not info.is_terminating]
        if not pods:
            return
        self._preempting.add(preemptor.metadata.uid)
        moment = self._later(self._clock.now())
        self._clock.call_at(moment, self._preempt, preemptor, pods[:-1], victims.node, nominator)
        self._clock.call_at(self._later(moment), self._preempt_last, preemptor, pods[-1], victims.node)

    def _later(self, moment: int) -> int:
        return moment + self._stream.randint(FASTEST, SLOWEST)

    def _preempt(self, preemptor: Pod, pods: Sequence[PodInfo], node: str, nominator: Nominator) -> None:
        for info in list(nominator.pods_for(node)):
            current = self._current(info)
            if current is not None and pod_priority(info.pod) < pod_priority(preemptor):
                why = (
                    f"pod {preemptor.metadata.name} of higher priority waits for {node}, so this pod does not any more"
                )
                self._client.patch_status(current, None, "", why)
        for info in pods:
            self._preempt_pod(preemptor, info, node)

    def _preempt_last(self, preemptor: Pod, info: PodInfo, node: str) -> None:
        self._preempting.discard(preemptor.metadata.uid)
        self._preempt_pod(preemptor, info, node)

    def _preempt_pod(self, preemptor: Pod, info: PodInfo, node: str) -> None:
        victim = self._current(info)
        if victim is None:
            return
        condition = PodCondition(
            type="DisruptionTarget",
            status="True",
            reason=PREEMPTION_BY_SCHEDULER,
            message=f"{NAME}: preempting to accommodate a higher priority pod",
            observed_generation=victim.metadata.generation,
        )
        why = (
            f"pod {preemptor.metadata.name} of priority {pod_priority(preemptor)} needs room on {node}, "
            f"so this pod of priority {pod_priority(victim)} is preempted"
        )
        try:
            self._client.delete(self._client.patch_status(victim, condition, None, why), why)
        except ApiError:
            return
        message = f"Preempted by pod {preemptor.metadata.uid} on node {node}"
        self._events.event(victim, "Normal", "Preempted", "Preempting", message)

    def _current(self, info: PodInfo) -> Pod | None:
        metadata = info.pod.metadata
        found = self._store.find("Pod", metadata.namespace, metadata.name)
        return found if isinstance(found, Pod) and found.metadata.uid == metadata.uid else None
