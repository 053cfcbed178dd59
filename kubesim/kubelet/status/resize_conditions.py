"""PodResizePending and PodResizeInProgress: the status manager stores them for status generation.

Mirrors: pkg/kubelet/status/status_manager.go (podResizeConditions, SetPodResizePendingCondition and its siblings).
"""

from __future__ import annotations

from collections.abc import Iterable

from kubesim.api.pod import Pod, PodCondition
from kubesim.api.pods.pod_conditions import POD_RESIZE_IN_PROGRESS, POD_RESIZE_PENDING, TRUE
from kubesim.api.timestamps import format_time
from kubesim.values import mutable

DEFERRED = "Deferred"
INFEASIBLE = "Infeasible"
IN_PROGRESS = "InProgress"


@mutable
class _OfPod:
    pending: PodCondition | None = None
    in_progress: PodCondition | None = None


class ResizeConditions:
    """Resize conditions by pod UID."""

    def __init__(self) -> None:
        self._pods: dict[str, _OfPod] = {}

    def get(self, uid: str) -> tuple[PodCondition, ...]:
        found = self._pods.get(uid)
        return () if found is None else tuple(c for c in (found.pending, found.in_progress) if c is not None)

    def set_pending(self, uid: str, reason: str, message: str, observed_generation: int, now: int) -> bool:
        """Set the condition; true if reason or generation changed. Every reason except Infeasible becomes Deferred."""
        reason = INFEASIBLE if reason == INFEASIBLE else DEFERRED
        pod = self._pods.setdefault(uid, _OfPod())
        previous = pod.pending
        pod.pending = _condition(POD_RESIZE_PENDING, previous, reason, message, observed_generation, now)
        if previous is None:
            return True
        return previous.reason != reason or previous.observed_generation != observed_generation

    def set_in_progress(
        self, uid: str, reason: str, message: str, observed_generation: int, now: int
    ) -> tuple[int, bool]:
        """Set the condition; returns its generation and whether it changed. Only clearing it updates the generation."""
        pod = self._pods.setdefault(uid, _OfPod())
        previous = pod.in_progress
        if previous is not None:
            if not reason and not message:
                reason, message = previous.reason, previous.message
            observed_generation = previous.observed_generation
        pod.in_progress = _condition(POD_RESIZE_IN_PROGRESS, previous, reason, message, observed_generation, now)
        if previous is None:
            return observed_generation, True
        return observed_generation, (previous.reason, previous.message) != (reason, message)

    def clear_pending(self, uid: str) -> None:
        if uid in self._pods:
            self._pods[uid].pending = None

    def clear_in_progress(self, uid: str) -> tuple[int, bool]:
        """Clear the condition; returns its generation, and whether it existed."""
        pod = self._pods.get(uid)
        if pod is None or pod.in_progress is None:
            return 0, False
        generation, pod.in_progress = pod.in_progress.observed_generation, None
        return generation, True

    def is_deferred(self, uid: str) -> bool:
        return self._pending_reason(uid) == DEFERRED

    def is_in_progress(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        return pod is not None and pod.in_progress is not None

    def is_infeasible(self, uid: str) -> bool:
        return self._pending_reason(uid) == INFEASIBLE

    def _pending_reason(self, uid: str) -> str | None:
        pod = self._pods.get(uid)
        return None if pod is None or pod.pending is None else pod.pending.reason

    def backfill(self, pods: Iterable[Pod], now: int) -> None:
        """After a kubelet restart: restore the conditions from the API server's status."""
        for pod in pods:
            for c in pod.status.conditions:
                if c.type not in (POD_RESIZE_PENDING, POD_RESIZE_IN_PROGRESS):
                    continue
                kept = self._pods.setdefault(pod.metadata.uid, _OfPod())
                condition = _condition(c.type, None, c.reason, c.message, c.observed_generation, now)
                if c.type == POD_RESIZE_PENDING:
                    kept.pending = condition
                else:
                    kept.in_progress = condition

    def forget(self, uid: str) -> None:
        self._pods.pop(uid, None)


def resize_status(conditions: Iterable[PodCondition]) -> str:
    """`status.resize` of kubelet v1.30: deferred, infeasible, in progress, or empty."""
    found = {condition.type: condition for condition in conditions}
    if POD_RESIZE_PENDING in found:
        return found[POD_RESIZE_PENDING].reason
    return IN_PROGRESS if POD_RESIZE_IN_PROGRESS in found else ""


def _condition(
    kind: str, old: PodCondition | None, reason: str, message: str, observed_generation: int, now: int
) -> PodCondition:
    same = old is not None and old.reason == reason
    return PodCondition(
        type=kind,
        status=TRUE,
        last_probe_time=format_time(now),
        last_transition_time=old.last_transition_time if same and old is not None else format_time(now),
        observed_generation=observed_generation,
        reason=reason,
        message=message,
    )
