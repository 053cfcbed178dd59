"""Objects that all components of a kubelet share: settings, clock, trace, pod sources and pod views.

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
    """Which pod sources have been received. Until all have, no pod counts as deleted."""

    seen_all: Callable[[set[str]], bool]
    all_ready: bool = False
    _seen: set[str] = field(default_factory=set)

    def add(self, source: str) -> None:
        if source not in self._seen:
            self._seen.add(source)
            self.all_ready = self.seen_all(self._seen)


@part
class PodViews:
    """The views of a pod: its source's spec, its worker's state, its runtime status and its reported status."""

    manager: PodManager
    states: PodSyncStatuses
    cache: PodCache
    statuses: StatusManager
    resyncs: Resyncs
    sources: PodSources
    rejected_status: str = "Pod was rejected: {message}"
    rejections: Counter[str] = field(default_factory=Counter)  # by reason

    def reject_pod(self, pod: Pod, reason: str, message: str, events: EventRecorder) -> None:
        """Emit the Event and set the pod to Failed. Mirrors: kubelet.go rejectPod, recordAdmissionRejection"""
        self.rejections[reason] += 1
        events.event(pod, "Warning", reason, message)
        message = self.rejected_status.format(message=message)
        status = PodStatus(qos_class=pod_qos_class(pod), phase="Failed", reason=reason, message=message)
        self.statuses.set_pod_status(pod, status)

    def active_pods(self) -> list[Pod]:
        """Pods that may use resources: not terminated, not rejected, not known to have ended."""
        over, workers = self.manager.finished, self.states.statuses
        # A terminal pod without a worker is inactive anyway. With 480 such pods the shortcut halves the run time.
        candidates = (pod for pod in self.manager.pods() if (uid := pod.metadata.uid) not in over or uid in workers)
        return [pod for pod in candidates if self.is_active(pod)]

    def is_active(self, pod: Pod) -> bool:
        uid = pod.metadata.uid
        if self.states.is_pod_known_terminated(uid):
            return False
        if self.states.is_pod_termination_requested(uid):
            return True  # it is still terminating, so it still uses its resources
        reported = self.statuses.get_pod_status(uid)
        return pod.status.phase not in TERMINAL_PHASES and (reported is None or reported.phase not in TERMINAL_PHASES)
