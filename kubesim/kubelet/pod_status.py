"""Gathers what a status is computed from, computes it, and does what follows from it.

The shell around the pure `status.generate`: it asks the managers, and afterwards runs readiness probes by hand and tells
about an exceeded deadline, as the kubelet does while it computes.
Mirrors: pkg/kubelet/kubelet_pods.go generateAPIPodStatus
"""

from __future__ import annotations

from kubesim.api.pod import Pod, PodStatus
from kubesim.clock import LoopClock
from kubesim.features import FeatureGates
from kubesim.kubelet.probes.manager import ProbeManager
from kubesim.kubelet.reason_cache import ReasonCache
from kubesim.kubelet.settings import KubeletSettings
from kubesim.kubelet.status.active_deadline import (
    DEADLINE_EXCEEDED,
    DEADLINE_EXCEEDED_MESSAGE,
    past_active_deadline,
)
from kubesim.kubelet.status.generate import generate_api_pod_status
from kubesim.kubelet.status.inputs import StatusInputs
from kubesim.kubelet.status.manager import StatusManager
from kubesim.kubelet.status.probe_overlay import readiness_workers_to_trigger
from kubesim.runtime.helper import EventRecorder
from kubesim.runtime.types import RuntimePodStatus


class StatusGenerator:
    def __init__(
        self,
        clock: LoopClock,
        settings: KubeletSettings,
        gates: FeatureGates,
        statuses: StatusManager,
        probes: ProbeManager,
        reasons: ReasonCache,
        events: EventRecorder,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._gates = gates
        self._statuses = statuses
        self._probes = probes
        self._reasons = reasons
        self._events = events
        self._kubelet_start = clock.now()

    def generate(self, pod: Pod, runtime: RuntimePodStatus, *, terminal: bool = False) -> PodStatus:
        uid = pod.metadata.uid
        now = self._clock.now()
        inputs = StatusInputs(
            pod=pod,
            runtime=runtime,
            now=now,
            kubelet_start=self._kubelet_start,
            cached_status=self._statuses.get_pod_status(uid),
            reasons=self._reasons.of(pod),
            readiness=self._probes.readiness.by_id,
            startup=self._probes.startup.by_id,
            probe_workers=self._probes.workers_of(uid),
            pod_is_terminal=terminal,
            host_ips=self._settings.host_ips,
            gates=self._gates,
        )
        status = generate_api_pod_status(inputs)
        if past_active_deadline(pod, inputs.old_status, now):
            self._events.event(pod, "Normal", DEADLINE_EXCEEDED, DEADLINE_EXCEEDED_MESSAGE)
        for name in readiness_workers_to_trigger(inputs, status):
            self._probes.trigger_readiness(uid, name)
        return status
