"""What every part of an agent uses, and what the kubelet knows of its pods: made first, shared by all.

Mirrors: pkg/kubelet/config/sources.go; pkg/kubelet/kubelet_pods.go filterOutInactivePods
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import field

from kubesim.api.pod import Pod, PodStatus
from kubesim.api.pods.phases import TERMINAL_PHASES
from kubesim.api.pods.resources import pod_qos_class
from kubesim.clock import LoopClock, Randomness
from kubesim.concurrency import TaskSet
from kubesim.features import DEFAULT_GATES, FeatureGates
from kubesim.kubelet.loop.pod_manager import PodManager
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.status.manager import StatusManager
from kubesim.podworkers.resyncs import Resyncs
from kubesim.podworkers.state import PodSyncStatuses
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.pod_cache import PodCache
from kubesim.trace import Recorder
from kubesim.values import part


@part
class KubeletContext:
    clock: LoopClock
    randomness: Randomness
    recorder: Recorder
    tasks: TaskSet
    settings: KubeletSettings
    events: EventRecorder
    gates: FeatureGates = DEFAULT_GATES


@part
class PodSources:
    """Which sources have been seen, and whether that is all of them: before that, nothing is known to be unwanted."""

    seen_all: Callable[[set[str]], bool]
    all_ready: bool = False
    _seen: set[str] = field(default_factory=set)

    def add(self, source: str) -> None:
        if source not in self._seen:
            self._seen.add(source)
            self.all_ready = self.seen_all(self._seen)


@part
class PodViews:
    """A pod as its source defines it, as its worker handles it, as the runtime has it, and as its status reports it."""

    manager: PodManager
    states: PodSyncStatuses
    cache: PodCache
    statuses: StatusManager
    resyncs: Resyncs
    sources: PodSources
    rejected_status: str = "Pod was rejected: {message}"
    rejections: Counter[str] = field(default_factory=Counter)  # by reason

    def reject_pod(self, pod: Pod, reason: str, message: str, events: EventRecorder) -> None:
        """The pod has failed. Mirrors: kubelet.go rejectPod, recordAdmissionRejection"""
        self.rejections[reason] += 1
        events.event(pod, "Warning", reason, message)
        message = self.rejected_status.format(message=message)
        status = PodStatus(qos_class=pod_qos_class(pod), phase="Failed", reason=reason, message=message)
        self.statuses.set_pod_status(pod, status)

    def active_pods(self) -> list[Pod]:
        """Pods that may use resources: not finished, not rejected, not known to have ended."""
        over, workers = self.manager.finished, self.states.statuses
        # Of a finished pod without a worker the answer is known. With 480 of them a run takes half as long.
        candidates = (pod for pod in self.manager.pods() if (uid := pod.metadata.uid) not in over or uid in workers)
        return [pod for pod in candidates if self.is_active(pod)]

    def is_active(self, pod: Pod) -> bool:
        uid = pod.metadata.uid
        if self.states.is_pod_known_terminated(uid):
            return False
        if self.states.is_pod_termination_requested(uid):
            return True  # it is still being stopped, so it still uses what it has
        reported = self.statuses.get_pod_status(uid)
        return pod.status.phase not in TERMINAL_PHASES and (reported is None or reported.phase not in TERMINAL_PHASES)
